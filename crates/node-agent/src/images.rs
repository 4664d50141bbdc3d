//! What a container's image gives it: a root, and how to run on it what is there.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use containers::{
    spec::Root,
    tier::{self, Tier},
};
use images::{
    Config, Keyring, Ownership, Reference, Store, UserFiles,
    policy::{self, Backoff, Decision, Event, PullPolicy, Waiting},
};
use parking_lot::Mutex;

use crate::agent::Settings;

/// The image that stands for this machine's own file system.
pub(crate) const HOST: &str = "host";

/// How the files of images are kept on this machine, by whoever imports them.
pub fn image_ownership() -> Ownership {
    ownership(tier::decide(&tier::probe()).tier)
}

/// Only root can give files to others.
fn ownership(tier: Tier) -> Ownership {
    match tier {
        Tier::Root => Ownership::Kept,
        Tier::Rootless | Tier::Process => Ownership::OneUser,
    }
}

/// An image that is ready to be run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    /// For the status of the container.
    pub(crate) id: String,
    pub(crate) base: Base,
    pub(crate) config: Config,
    /// The image's `/etc/passwd` and `/etc/group`.
    pub(crate) passwd: String,
    pub(crate) group: String,
}

#[derive(Clone, Debug)]
pub(crate) enum Base {
    /// This machine's own file system, with what of it is out of sight.
    Host(Root),
    /// Layers, from the top down.
    Layers { lower: Vec<PathBuf>, has_overlay: bool },
}

impl Default for Base {
    fn default() -> Self {
        Self::Host(Root::default())
    }
}

impl Image {
    pub(crate) fn users(&self) -> UserFiles<'_> {
        UserFiles {
            passwd: &self.passwd,
            group: &self.group,
        }
    }

    /// The root of one container, whose changes are kept in `folder`.
    pub(crate) fn root(&self, folder: &Path) -> Root {
        match &self.base {
            Base::Host(root) => root.clone(),
            Base::Layers { lower, has_overlay } => Root::image(lower.clone(), folder, *has_overlay),
        }
    }
}

/// Where images come from.
pub(crate) struct Images {
    store: Result<Store, String>,
    has_overlay: bool,
    home: Option<PathBuf>,
    host_only: bool,
    /// Pulls that failed, by pod and image.
    failures: Mutex<HashMap<(String, String), Backoff>>,
    /// What times of failures are counted from.
    epoch: Instant,
}

/// What is wanted, and by whom.
pub(crate) struct Wish<'a> {
    pub(crate) pod: &'a str,
    pub(crate) container: &'a str,
    pub(crate) image: &'a str,
    pub(crate) policy: PullPolicy,
    pub(crate) keyring: &'a Keyring,
}

impl Images {
    /// Opens the store of images; blocks for a moment.
    pub(crate) fn open(settings: Settings) -> Self {
        let tier = settings.tier.tier;
        let options = images::Options {
            certificate_authorities: settings.registry_authorities,
            ..images::Options::new(ownership(tier))
        };
        let folder = settings.data_dir.join("images");
        let store = Store::open(&folder, options).map_err(|error| error.to_string());
        if let Err(error) = &store {
            tracing::error!(error, "images cannot be used");
        }
        Self {
            store,
            has_overlay: tier::probe_overlay(&settings.data_dir, tier).is_ok(),
            home: settings.home,
            host_only: settings.host_images,
            failures: Mutex::new(HashMap::new()),
            epoch: Instant::now(),
        }
    }

    /// Finds or pulls an image and keeps it for the container; events are told on the way.
    pub(crate) async fn obtain(&self, wish: &Wish<'_>, tell: impl Fn(&Event)) -> Result<Image, Waiting> {
        if self.host_only || wish.image == HOST {
            tell(&Event {
                is_warning: false,
                reason: "Pulled",
                message: format!("Container image {:?} already present on machine", wish.image),
            });
            return Ok(self.host());
        }
        let outcome = self.obtain_stored(wish, &tell).await;
        if let Err(waiting) = &outcome {
            waiting.events.iter().for_each(tell);
        }
        outcome
    }

    async fn obtain_stored(&self, wish: &Wish<'_>, tell: impl Fn(&Event)) -> Result<Image, Waiting> {
        let broken = |cause: &str| policy::failed(wish.image, cause);
        let store = self.store.as_ref().map_err(|error| broken(error))?;
        let reference = policy::parse_name(wish.image)?;
        let present = store
            .find(&reference)
            .map_err(|error| broken(&error.to_string()))?;
        let key = (wish.pod.to_owned(), wish.image.to_owned());
        let failure = self.failures.lock().get(&key).cloned();
        let now = self.epoch.elapsed();
        let image = match policy::decide(wish.policy, wish.image, present.is_some(), failure.as_ref(), now) {
            Decision::Wait(waiting) => return Err(waiting),
            Decision::Use(event) => {
                tell(&event);
                present
            }
            Decision::Pull(event) => {
                tell(&event);
                Some(self.pull(store, &reference, wish, key, &tell).await?)
            }
        };
        let image = image.ok_or_else(|| broken("the image has vanished"))?;
        self.keep(store, wish, image).map_err(|error| broken(&error))
    }

    async fn pull(
        &self,
        store: &Store,
        reference: &Reference,
        wish: &Wish<'_>,
        key: (String, String),
        tell: impl Fn(&Event),
    ) -> Result<images::Image, Waiting> {
        let started = Instant::now();
        match store.pull(reference, wish.keyring, Arc::new(|_| {})).await {
            Ok(image) => {
                self.failures.lock().remove(&key);
                let took = started.elapsed();
                tell(&policy::pulled(wish.image, took, took, image.size));
                Ok(image)
            }
            Err(error) => {
                let (cause, now) = (error.message(), self.epoch.elapsed());
                let mut failures = self.failures.lock();
                let failure = match failures.get(&key) {
                    Some(known) => known.next(&cause, now),
                    None => Backoff::first(&cause, now),
                };
                failures.insert(key, failure);
                Err(policy::failed(wish.image, &cause))
            }
        }
    }

    /// From now on the image stays for as long as the container.
    fn keep(&self, store: &Store, wish: &Wish<'_>, image: images::Image) -> Result<Image, String> {
        let is_whole = store
            .lease(&lease(wish.pod, wish.container), &image)
            .map_err(|error| error.to_string())?;
        if !is_whole {
            return Err("the image was removed meanwhile".to_owned());
        }
        let read = |path: &str| {
            let bytes = image.read(Path::new(path)).map_err(|error| error.to_string())?;
            Ok::<_, String>(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
        };
        Ok(Image {
            id: image.image_id(),
            passwd: read("etc/passwd")?,
            group: read("etc/group")?,
            base: Base::Layers {
                lower: image.layers,
                has_overlay: self.has_overlay,
            },
            config: image.config,
        })
    }

    fn host(&self) -> Image {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Image {
            id: HOST.to_owned(),
            base: Base::Host(Root::host(self.home.clone())),
            passwd: read("/etc/passwd"),
            group: read("/etc/group"),
            config: Config::default(),
        }
    }

    /// A pod is over: its images may go.
    pub(crate) fn release<'a>(&self, pod: &str, containers: impl Iterator<Item = &'a str>) {
        self.failures.lock().retain(|(known, _), _| known != pod);
        let Ok(store) = &self.store else { return };
        for container in containers {
            if let Err(error) = store.release(&lease(pod, container)) {
                tracing::warn!(%error, pod, container, "an image is kept for nobody");
            }
        }
    }

    /// Releases what pods had that exist no more.
    pub(crate) fn release_others(&self, is_known: impl Fn(&str) -> bool) {
        let Ok(store) = &self.store else { return };
        for lease in store.leases().unwrap_or_default() {
            let pod = lease.name.split('_').next().unwrap_or_default();
            if !is_known(pod) {
                let _ = store.release(&lease.name);
            }
        }
    }

    /// All names and sizes, for the node's status.
    pub(crate) fn list(&self) -> BTreeMap<Vec<String>, u64> {
        let stored = self.store.as_ref().ok().and_then(|store| store.list().ok());
        let stored = stored.into_iter().flatten();
        stored
            .map(|image| ([image.digests, image.names].concat(), image.size))
            .chain([(vec![HOST.to_owned()], 0)])
            .collect()
    }
}

fn lease(pod: &str, container: &str) -> String {
    format!("{pod}_{container}")
}

/// The rule for an image, with what it is when nobody says.
pub(crate) fn pull_policy(container: &k8s_openapi::api::core::v1::Container) -> PullPolicy {
    let asked = container.image_pull_policy.as_deref();
    asked
        .and_then(PullPolicy::parse)
        .unwrap_or(PullPolicy::IfNotPresent)
}
