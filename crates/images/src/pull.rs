//! Images from registries. Layers are downloaded side by side and unpacked from the bottom up; whoever
//! wants the same layer at the same time waits for the first.

mod download;
mod flights;

use std::sync::Arc;

use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
};

pub(crate) use self::flights::Flights;
use crate::{
    assemble::{AssembleError, LayerPart, Parts},
    credentials::{Credential, Keyring},
    digest::Digest,
    image::Image,
    manifest::{self, Manifest, ManifestError},
    progress::Reporter,
    reference::Reference,
    registry::{RegistryError, Session},
    store::{Store, StoreError, Work},
};

/// How many layers of an image are downloaded at once.
const AT_ONCE: usize = 3;

/// Why an image was not pulled.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    #[error("failed to pull and unpack image \"{image}\"")]
    Pull { image: String, source: Cause },
    /// None of the credentials helped; each for its reason.
    #[error("[{}]", causes.join(", "))]
    Several { causes: Vec<String> },
}

/// What went wrong on the way.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    #[error("failed to resolve reference \"{image}\"")]
    Resolve { image: String, source: RegistryError },
    #[error("failed to copy")]
    Copy(#[source] RegistryError),
    #[error("the registry's content for {expected} is {found}")]
    Content { expected: Digest, found: Digest },
    #[error("layer {layer} has more than the {size} bytes its manifest speaks of")]
    Size { layer: Digest, size: u64 },
    #[error("cannot keep a download")]
    Keep(#[source] std::io::Error),
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the pull was interrupted")]
    Interrupted,
}

impl PullError {
    /// Everything in one line, as a pod's status shows it; with what to do where no network is.
    pub fn message(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !text.ends_with(&cause_text) {
                text += &format!(": {cause_text}");
            }
            source = cause.source();
        }
        if self.is_unreachable() {
            text += " (this machine does not reach the registry; `trainyard image import` takes images from files)";
        }
        text
    }

    /// Whether the registry was never reached.
    pub fn is_unreachable(&self) -> bool {
        let Self::Pull { source, .. } = self else {
            return false;
        };
        match source {
            Cause::Resolve { source, .. } | Cause::Copy(source) => source.is_unreachable(),
            _ => false,
        }
    }
}

impl Store {
    /// Pulls an image, or makes sure that what is here is what the registry has. Every credential that
    /// fits is tried. May be dropped at any point; the next pull goes on where this one was.
    pub async fn pull(
        &self,
        reference: &Reference,
        keyring: &Keyring,
        report: Reporter,
    ) -> Result<Image, PullError> {
        let credentials = keyring.find(&reference.repository());
        if credentials.is_empty() {
            return self.pull_as(reference, None, &report).await;
        }
        let mut errors = Vec::new();
        for credential in credentials {
            match self.pull_as(reference, Some(credential), &report).await {
                Ok(image) => return Ok(image),
                Err(error) => errors.push(error),
            }
        }
        if errors.len() == 1 {
            return Err(errors.swap_remove(0));
        }
        let causes = errors.iter().map(PullError::message).collect();
        Err(PullError::Several { causes })
    }

    async fn pull_as(
        &self,
        reference: &Reference,
        credential: Option<Credential>,
        report: &Reporter,
    ) -> Result<Image, PullError> {
        let session = Session::new(self.network(), reference, credential);
        let pull = async {
            let (parts, digest) = self.resolve(reference, &session).await?;
            self.fetch(reference, parts, &digest, &session, report).await
        };
        pull.await.map_err(|source| PullError::Pull {
            image: reference.to_string(),
            source,
        })
    }

    /// What the image consists of, and the digest its name stands for.
    async fn resolve(&self, reference: &Reference, session: &Session) -> Result<(Parts, Digest), Cause> {
        let failed = |source| Cause::Resolve {
            image: reference.to_string(),
            source: match source {
                RegistryError::NotFound { .. } => RegistryError::NotFound {
                    what: reference.to_string(),
                },
                other => other,
            },
        };
        let bytes = session.manifest(&reference.version()).await.map_err(failed)?;
        let digest = match reference.digest() {
            Some(digest) => checked(&bytes, digest)?,
            None => Digest::sha256(&bytes),
        };
        let mut parsed = Manifest::parse(&bytes)?;
        // Indexes may hold indexes, though hardly any does.
        for _ in 0..4 {
            let Manifest::Index(manifests) = &parsed else {
                break;
            };
            let chosen = &manifest::choose(manifests, &self.options().platform)?.digest;
            let bytes = session.manifest(&chosen.to_string()).await.map_err(Cause::Copy)?;
            checked(&bytes, chosen)?;
            parsed = Manifest::parse(&bytes)?;
        }
        let Manifest::Image { config, layers } = parsed else {
            return Err(ManifestError::MediaType("index of indexes".to_owned()).into());
        };
        let config_bytes = match self.read_blob(&config.digest)? {
            Some(known) => known,
            None => session
                .document(&config.digest.to_string())
                .await
                .map_err(Cause::Copy)?
                .to_vec(),
        };
        checked(&config_bytes, &config.digest)?;
        let layers = layers.iter().map(LayerPart::from).collect();
        Ok((
            Parts::new(config_bytes, layers, &self.options().platform)?,
            digest,
        ))
    }

    async fn fetch(
        &self,
        reference: &Reference,
        mut parts: Parts,
        digest: &Digest,
        session: &Session,
        report: &Reporter,
    ) -> Result<Image, Cause> {
        parts.digests.insert(reference.with_digest(digest));
        if let (Some(tag), None) = (reference.tag(), reference.digest()) {
            parts.names.insert(format!("{}:{tag}", reference.repository()));
        }
        let (store, parts) = (self.clone(), Arc::new(parts));
        let work = {
            let (store, parts) = (store.clone(), parts.clone());
            aside(move || {
                let work = Work::begin(&store)?;
                parts.hold(&store, &work)?;
                Ok::<_, StoreError>(Arc::new(work))
            })
            .await??
        };
        let permits = Arc::new(Semaphore::new(AT_ONCE));
        // Dropped with this future, and everything that still runs in it.
        let mut tasks = JoinSet::new();
        let mut below = None;
        for index in 0..parts.layers.len() {
            let (done, this) = watch::channel(false);
            let task = LayerTask {
                store: store.clone(),
                work: work.clone(),
                parts: parts.clone(),
                index,
                session: session.clone(),
                permits: permits.clone(),
                report: report.clone(),
            };
            tasks.spawn(task.run(below.replace(this), done));
        }
        while let Some(result) = tasks.join_next().await {
            result.map_err(|_| Cause::Interrupted)??;
        }
        let image = aside(move || {
            let parts = Arc::into_inner(parts).ok_or(Cause::Interrupted)?;
            let image = parts.add(&store)?;
            drop(work);
            Ok::<_, Cause>(image)
        });
        image.await?
    }
}

/// One layer on its way from the registry to its folder.
struct LayerTask {
    store: Store,
    work: Arc<Work>,
    parts: Arc<Parts>,
    index: usize,
    session: Session,
    permits: Arc<Semaphore>,
    report: Reporter,
}

impl LayerTask {
    /// Tells `done` when the layer is there; unpacks it only when the one below is.
    async fn run(self, below: Option<watch::Receiver<bool>>, done: watch::Sender<bool>) -> Result<(), Cause> {
        // Held until the layer is unpacked. Whoever waits here needs only layers above.
        let flight = self.store.flights().join(self.parts.chain(self.index));
        let _turn = flight.lock().await;
        if !self.parts.has_layer(&self.store, self.index) {
            let layer = &self.parts.layers[self.index];
            let download = {
                let _permit = self.permits.acquire().await.map_err(|_| Cause::Interrupted)?;
                download::layer(&self.store, &self.session, layer, &self.report).await?
            };
            if let Some(mut below) = below {
                below
                    .wait_for(|is_done| *is_done)
                    .await
                    .map_err(|_| Cause::Interrupted)?;
            }
            let (store, work, parts) = (self.store.clone(), self.work.clone(), self.parts.clone());
            let (index, report) = (self.index, self.report.clone());
            aside(move || {
                let file = download.open().map_err(Cause::Keep)?;
                parts.unpack(&store, &work, index, file, &*report)?;
                download.remove();
                Ok::<_, Cause>(())
            })
            .await??;
        }
        // Nobody may be listening: this is the topmost layer.
        let _ = done.send(true);
        Ok(())
    }
}

/// Work with files, away from the threads that serve the network.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Cause> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Cause::Interrupted)
}

fn checked(bytes: &[u8], expected: &Digest) -> Result<Digest, Cause> {
    if expected.is_of(bytes) {
        return Ok(expected.clone());
    }
    Err(Cause::Content {
        expected: expected.clone(),
        found: Digest::sha256(bytes),
    })
}
