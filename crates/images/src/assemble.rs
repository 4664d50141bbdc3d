//! From the parts of an image, wherever they come from, to an image in the store.

use std::{
    collections::BTreeSet,
    io::{self, Read},
};

use crate::{
    config::Config,
    digest::{Digest, HashingReader},
    image::Image,
    manifest::Descriptor,
    platform::Platform,
    progress::{Progress, Report, Reported, Step},
    store::{Record, Store, StoreError, Work, publish},
    unpack::{self, Destination, UnpackError},
};

/// What an image consists of, but for the content of its layers.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) id: Digest,
    pub(crate) config: Vec<u8>,
    /// From the bottom up.
    pub(crate) layers: Vec<LayerPart>,
    /// Whole names with tags.
    pub(crate) names: BTreeSet<String>,
    /// Whole names with digests.
    pub(crate) digests: BTreeSet<String>,
    parsed: Config,
    chain: Vec<Digest>,
}

/// A packed layer.
#[derive(Debug, Clone)]
pub(crate) struct LayerPart {
    /// For people: the name of the file, or the digest.
    pub(crate) name: String,
    /// Where it is in an archive or a layout.
    pub(crate) path: String,
    /// Of the packed bytes, if it is known.
    pub(crate) digest: Option<Digest>,
    pub(crate) size: u64,
}

impl From<&Descriptor> for LayerPart {
    fn from(descriptor: &Descriptor) -> Self {
        Self {
            name: descriptor.digest.to_string(),
            path: descriptor.digest.blob_path(),
            digest: Some(descriptor.digest.clone()),
            size: descriptor.size,
        }
    }
}

/// Why parts make no image.
#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    #[error("the configuration {id} is not JSON of the known form")]
    Config { id: Digest, source: serde_json::Error },
    #[error("the image has {layers} layers, its configuration speaks of {expected}")]
    Layers { layers: usize, expected: usize },
    #[error("the image is for {image}, this machine is {machine}")]
    Platform { image: String, machine: String },
    #[error("cannot read layer {layer}")]
    Read { layer: String, source: io::Error },
    #[error("layer {layer} is damaged: its content is {found}")]
    Damaged { layer: String, found: Digest },
    #[error("cannot unpack layer {layer}")]
    Unpack { layer: String, source: UnpackError },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Parts {
    pub(crate) fn new(
        config: Vec<u8>,
        layers: Vec<LayerPart>,
        machine: &Platform,
    ) -> Result<Self, AssembleError> {
        let id = Digest::sha256(&config);
        let parsed = Config::parse(&config).map_err(|source| AssembleError::Config {
            id: id.clone(),
            source,
        })?;
        let expected = parsed.rootfs.diff_ids.len();
        if expected != layers.len() {
            let layers = layers.len();
            return Err(AssembleError::Layers { layers, expected });
        }
        let says_nothing = parsed.platform.architecture.is_empty();
        if !says_nothing && machine.fit(&parsed.platform).is_none() {
            return Err(AssembleError::Platform {
                image: parsed.platform.to_string(),
                machine: machine.to_string(),
            });
        }
        let chain = parsed.chain();
        Ok(Self {
            id,
            config,
            layers,
            names: BTreeSet::new(),
            digests: BTreeSet::new(),
            parsed,
            chain,
        })
    }

    /// Keeps the layers, there or not yet, from being removed until the work ends.
    pub(crate) fn hold(&self, store: &Store, work: &Work) -> Result<(), StoreError> {
        work.hold(store, &self.chain)
    }

    /// What stands for a layer and all below it, by its number from the bottom.
    pub(crate) fn chain(&self, index: usize) -> &Digest {
        &self.chain[index]
    }

    /// Whether a layer is unpacked, by its number from the bottom.
    pub(crate) fn has_layer(&self, store: &Store, index: usize) -> bool {
        store.layer(&self.chain[index]).is_dir()
    }

    /// Unpacks a layer, all below which are unpacked, from its packed bytes.
    pub(crate) fn unpack(
        &self,
        store: &Store,
        work: &Work,
        index: usize,
        packed: impl Read,
        report: Report<'_>,
    ) -> Result<(), AssembleError> {
        let part = &self.layers[index];
        let layer = || part.name.clone();
        let diff_id = &self.parsed.rootfs.diff_ids[index];
        let folder = work.path(format!("layer-{index}"));
        std::fs::create_dir(&folder).map_err(|source| StoreError::Write {
            path: folder.clone(),
            source,
        })?;
        let below: Vec<_> = self.chain[..index]
            .iter()
            .rev()
            .map(|layer| store.layer(layer))
            .collect();
        let destination = Destination {
            folder: &folder,
            below: &below,
            ownership: store.options().ownership,
            limits: store.options().limits,
        };
        let progress = Progress {
            step: Step::Unpacking,
            what: &part.name,
            done: 0,
            total: part.size,
        };
        let inner = HashingReader::new(packed, part.digest.as_ref().unwrap_or(diff_id));
        let mut packed = Reported {
            inner,
            progress,
            report,
        };
        let unpacked = unpack::layer(&mut packed, diff_id, &destination);
        // A layer that arrived damaged is called so, whatever that did to the unpacking.
        if let Some(digest) = &part.digest {
            let found = packed.inner.finish();
            let found = found.map_err(|source| AssembleError::Read {
                layer: layer(),
                source,
            })?;
            if found != *digest {
                return Err(AssembleError::Damaged {
                    layer: layer(),
                    found,
                });
            }
        }
        unpacked.map_err(|source| AssembleError::Unpack {
            layer: layer(),
            source,
        })?;
        Ok(publish(&folder, &store.layer(&self.chain[index]))?)
    }

    /// Adds the image under its names. All layers are unpacked.
    pub(crate) fn add(self, store: &Store) -> Result<Image, StoreError> {
        let record = Record {
            size: self.layers.iter().map(|layer| layer.size).sum::<u64>() + self.config.len() as u64,
            names: self.names,
            digests: self.digests,
            layers: self.chain,
            added: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        };
        store.add(&self.id, &self.config, record)
    }
}
