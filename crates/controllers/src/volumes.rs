//! Claims get volumes, and volumes get rid of claims: the binder, and the provisioner of the built-in
//! class, whose volumes are directories on this machine.

mod bind;
mod claims;
mod classes;
mod directories;
mod provision;
mod reclaim;

use std::{
    collections::HashMap,
    fmt::{self, Display},
    path::PathBuf,
    sync::Arc,
};

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::{Api, Resource as _};
use parking_lot::Mutex;
use reconcile::{Key, Next, Queue, Recorder, run, volumes};
use tokio::task::JoinSet;

use crate::{Result, ownership, world::World};

pub use provision::PROVISIONER;

const NAME: &str = "persistentvolume-controller";
const WORKERS: usize = 4;

/// Where the volumes of the built-in class are kept.
#[derive(Clone, Debug)]
pub struct Directories {
    /// Each volume is a directory in this one.
    pub root: PathBuf,
    /// The node whose pods see it; without one, any node does.
    pub node: Option<String>,
    /// Names of StorageClasses that are made for it; the first becomes the default.
    pub classes: Vec<String>,
}

/// One queue for both sides, because they are two sides of one bond.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Subject {
    Claim(Key),
    Volume(Key),
}

impl Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claim(key) => write!(formatter, "claim {key}"),
            Self::Volume(key) => write!(formatter, "volume {key}"),
        }
    }
}

pub(crate) fn start(world: &Arc<World>, directories: Option<Directories>, tasks: &mut JoinSet<()>) {
    let queue = Queue::new();
    listen(world, &queue);
    if let Some(directories) = directories.clone() {
        tasks.spawn(classes::ensure(world.clone(), directories.classes));
    }
    let binder = Arc::new(Binder {
        world: world.clone(),
        recorder: world.recorder(NAME),
        directories,
        told: Mutex::default(),
        choice: tokio::sync::Mutex::default(),
    });
    let world = world.clone();
    tasks.spawn(async move {
        world.claims.synced().await;
        world.volumes.synced().await;
        world.storage_classes.synced().await;
        world.pods.synced().await;
        run(NAME, queue, WORKERS, move |subject| {
            let binder = binder.clone();
            async move {
                match subject {
                    Subject::Claim(key) => Box::pin(binder.reconcile_claim(key)).await,
                    Subject::Volume(key) => binder.reconcile_volume(key).await,
                }
            }
        })
        .await;
    });
}

fn listen(world: &Arc<World>, queue: &Queue<Subject>) {
    let touched = queue.clone();
    world.claims.on_change(move |change| {
        let Some(claim) = change.object() else { return };
        touched.add(Subject::Claim(Key::of(&**claim)));
        if let Some(volume) = volumes::volume_name(claim) {
            touched.add(Subject::Volume(Key::new("", volume)));
        }
    });
    let (touched, claims) = (queue.clone(), world.claims.clone());
    world.volumes.on_change(move |change| {
        let Some(volume) = change.object() else { return };
        touched.add(Subject::Volume(Key::of(&**volume)));
        match claim_of(volume) {
            Some(claim) => touched.add(Subject::Claim(claim)),
            None => add_unbound(&touched, &claims.all()),
        }
    });
    let (touched, claims) = (queue.clone(), world.claims.clone());
    world
        .storage_classes
        .on_change(move |_| add_unbound(&touched, &claims.all()));
}

fn add_unbound(queue: &Queue<Subject>, claims: &[Arc<PersistentVolumeClaim>]) {
    for claim in claims.iter().filter(|claim| !volumes::is_bound(claim)) {
        queue.add(Subject::Claim(Key::of(&**claim)));
    }
}

/// The claim a volume names.
fn claim_of(volume: &PersistentVolume) -> Option<Key> {
    let reference = volume.spec.as_ref()?.claim_ref.as_ref()?;
    Some(Key::new(
        reference.namespace.as_deref()?,
        reference.name.as_deref()?,
    ))
}

struct Binder {
    world: Arc<World>,
    recorder: Recorder,
    directories: Option<Directories>,
    /// What was said last of a claim, by its uid: the same is not said twice.
    told: Mutex<HashMap<String, String>>,
    /// Two claims must not choose the same volume at the same time.
    choice: tokio::sync::Mutex<()>,
}

impl Binder {
    fn tell(&self, claim: &PersistentVolumeClaim, note: &claims::Note) {
        let uid = claim.metadata.uid.clone().unwrap_or_default();
        if self.told.lock().insert(uid, note.text.clone()).as_ref() == Some(&note.text) {
            return;
        }
        let about = claim.object_ref(&());
        if note.is_warning {
            self.recorder.warning(about, note.reason, note.text.clone());
        } else {
            self.recorder.normal(about, note.reason, note.text.clone());
        }
    }

    async fn reconcile_claim(&self, key: Key) -> Result<Next> {
        let _choosing = self.choice.lock().await;
        let Some(claim) = self.world.claims.get(&key) else {
            return Ok(Next::Wait);
        };
        let known = self.world.volumes.all();
        let classes = self.world.storage_classes.all();
        let step = claims::plan(&claims::Observed {
            claim: &claim,
            volumes: &known,
            classes: &classes,
        });
        match step {
            claims::Step::Nothing => {}
            claims::Step::Wait(note) => {
                self.set_phase(&claim, "Pending").await?;
                if let Some(note) = note {
                    self.tell(&claim, &note);
                }
            }
            claims::Step::Lose(note) => {
                self.set_phase(&claim, "Lost").await?;
                self.tell(&claim, &note);
            }
            claims::Step::AssignClass(class) => self.assign_class(&claim, &class).await?,
            claims::Step::Bind(volume) => {
                let claim = self.bind(&claim, &volume).await?;
                self.told
                    .lock()
                    .remove(claim.metadata.uid.as_deref().unwrap_or_default());
            }
            claims::Step::Provision(class) => Box::pin(self.provision(&claim, &class)).await?,
            claims::Step::Grow(volume, size) => self.grow(&claim, &volume, &size).await?,
        }
        Ok(Next::Wait)
    }

    fn claims(&self, claim: &PersistentVolumeClaim) -> Api<PersistentVolumeClaim> {
        ownership::beside(&self.world.client, claim)
    }

    fn volumes(&self) -> Api<PersistentVolume> {
        Api::all(self.world.client.clone())
    }
}
