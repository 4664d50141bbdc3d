//! The images of one machine: what there is, what it is called, and what is in use.
//!
//! ```text
//! images.json          which images there are, by id
//! blobs/sha256/HEX     their configurations
//! layers/HEX           unpacked layers, each complete or absent (`layers-of-one-user` without root)
//! leases/NAME          what is in use, one file each
//! downloads/           parts of layers that are on their way
//! work/                what is being made; a folder there is locked by whoever makes it
//! lock                 held while any of this changes
//! ```
//!
//! Everything appears by a rename of something complete, so a process may end at any moment, and
//! several may work at once.

mod error;
mod files;
mod leases;
mod records;
mod work;

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use self::files::Lock;
pub use self::{error::StoreError, leases::Lease};
pub(crate) use self::{
    records::Record,
    work::{Work, publish},
};
use crate::{
    config::Config,
    digest::Digest,
    image::Image,
    platform::Platform,
    pull::Flights,
    reference::Reference,
    registry::Network,
    unpack::{Limits, Ownership},
};

/// How a store works.
#[derive(Debug, Clone)]
pub struct Options {
    pub ownership: Ownership,
    pub limits: Limits,
    /// What images have to be for.
    pub platform: Platform,
    /// Registries, as `HOST` or `HOST:PORT`, that are spoken to without TLS. Loopback addresses always
    /// may be.
    pub insecure_registries: Vec<String>,
    /// Authorities, in PEM, that vouch for registries beside those the system trusts.
    pub certificate_authorities: Vec<u8>,
}

impl Options {
    pub fn new(ownership: Ownership) -> Self {
        Self {
            ownership,
            limits: Limits::default(),
            platform: Platform::of_this_machine(),
            insecure_registries: Vec::new(),
            certificate_authorities: Vec::new(),
        }
    }
}

/// A folder of images. Clones are the same store.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    dir: PathBuf,
    options: Options,
    network: OnceLock<Network>,
    flights: Flights,
}

/// What became of a removed name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The names that are gone.
    pub names: Vec<String>,
    /// The image, if this was its last name.
    pub image: Option<Digest>,
    /// Leases for whose sake its layers stay until they are released.
    pub in_use_by: Vec<String>,
}

impl Store {
    /// Opens the store in `dir`, making it if need be, and clears away what killed processes left.
    pub fn open(dir: &Path, options: Options) -> Result<Self, StoreError> {
        let store = Self {
            inner: Arc::new(Inner {
                dir: dir.to_owned(),
                options,
                network: OnceLock::new(),
                flights: Flights::default(),
            }),
        };
        for folder in ["blobs/sha256", "leases", "downloads", "work"] {
            files::make_folder(&dir.join(folder))?;
        }
        files::make_folder(&store.layers_folder())?;
        store.clean()?;
        Ok(store)
    }

    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// The image a name, a digest or an id stands for, if all of it is here.
    pub fn find(&self, reference: &Reference) -> Result<Option<Image>, StoreError> {
        let records = records::read(self.dir())?;
        match records.find(reference) {
            Some((id, record)) => self.load(id, record),
            None => Ok(None),
        }
    }

    /// The image with this id: `sha256:…`.
    pub fn find_id(&self, id: &Digest) -> Result<Option<Image>, StoreError> {
        let records = records::read(self.dir())?;
        match records.images.get(id) {
            Some(record) => self.load(id, record),
            None => Ok(None),
        }
    }

    /// All images, by name.
    pub fn list(&self) -> Result<Vec<Image>, StoreError> {
        let records = records::read(self.dir())?;
        let mut images = Vec::new();
        for (id, record) in &records.images {
            images.extend(self.load(id, record)?);
        }
        images.sort_by(|a, b| (&a.names, &a.id).cmp(&(&b.names, &b.id)));
        Ok(images)
    }

    /// Takes a name away, and the image with its last name. Layers that another image or a lease needs
    /// stay. Nothing happens if there is no such image.
    pub fn remove(&self, reference: &Reference) -> Result<Option<Removed>, StoreError> {
        self.change(|records| records.remove(reference))
    }

    /// The same by id: all its names go.
    pub fn remove_id(&self, id: &Digest) -> Result<Option<Removed>, StoreError> {
        self.change(|records| records.remove_id(id))
    }

    fn change(
        &self,
        remove: impl FnOnce(&mut records::Records) -> Option<(Vec<String>, Option<(Digest, Record)>)>,
    ) -> Result<Option<Removed>, StoreError> {
        let lock = self.lock()?;
        let mut records = records::read(self.dir())?;
        let Some((names, image)) = remove(&mut records) else {
            return Ok(None);
        };
        records::write(self.dir(), &records)?;
        let in_use_by = match &image {
            Some((_, record)) => self.users_of(&record.layers)?,
            None => Vec::new(),
        };
        self.collect(lock)?;
        Ok(Some(Removed {
            names,
            image: image.map(|(id, _)| id),
            in_use_by,
        }))
    }

    /// The image a record tells of, unless part of it is missing.
    fn load(&self, id: &Digest, record: &Record) -> Result<Option<Image>, StoreError> {
        let layers: Vec<PathBuf> = record
            .layers
            .iter()
            .rev()
            .map(|layer| self.layer(layer))
            .collect();
        if !layers.iter().all(|layer| layer.is_dir()) {
            return Ok(None);
        }
        let Some(bytes) = self.read_blob(id)? else {
            return Ok(None);
        };
        let config = Config::parse(&bytes).map_err(|source| StoreError::Config {
            id: id.clone(),
            source,
        })?;
        Ok(Some(Image {
            id: id.clone(),
            names: record.names.iter().cloned().collect(),
            digests: record.digests.iter().cloned().collect(),
            layers,
            config,
            size: record.size,
            added: record.added.clone(),
            chain: record.layers.clone(),
        }))
    }

    /// A small document, checked against its digest: a damaged one is as good as none.
    pub(crate) fn read_blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.blob(digest);
        match fs::read(&path) {
            Ok(bytes) => Ok(digest.is_of(&bytes).then_some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(StoreError::Read { path, source }),
        }
    }

    /// Adds an image whose layers are unpacked and held by `work`.
    pub(crate) fn add(&self, id: &Digest, config: &[u8], record: Record) -> Result<Image, StoreError> {
        let _lock = self.lock()?;
        files::write(&self.blob(id), config)?;
        let mut records = records::read(self.dir())?;
        records.add(id, record);
        records::write(self.dir(), &records)?;
        let record = &records.images[id];
        self.load(id, record)?
            .ok_or_else(|| StoreError::Vanished { id: id.clone() })
    }

    /// Removes everything nobody needs. What goes is renamed under the lock and deleted after it.
    fn collect(&self, lock: Lock) -> Result<(), StoreError> {
        let records = records::read(self.dir())?;
        let mut layers: BTreeSet<Digest> = records
            .images
            .values()
            .flat_map(|record| record.layers.clone())
            .collect();
        layers.extend(self.leased_layers()?);
        layers.extend(work::held_layers(&self.work_folder())?);
        let trash = Work::begin_locked(self)?;
        for name in files::names(&self.layers_folder())? {
            let is_needed = layers.iter().any(|layer| name == layer.hex());
            if !is_needed {
                files::rename(&self.layers_folder().join(&name), &trash.path(&name))?;
            }
        }
        let blobs = self.dir().join("blobs/sha256");
        for name in files::names(&blobs)? {
            let is_needed = records.images.keys().any(|id| name == id.hex());
            if !is_needed {
                files::remove_file(&blobs.join(name))?;
            }
        }
        drop(lock);
        trash.end()
    }

    /// After a crash: what was being made is dropped, and so is what was made for nobody.
    fn clean(&self) -> Result<(), StoreError> {
        let lock = self.lock()?;
        work::remove_abandoned(&self.work_folder())?;
        files::remove_old(&self.downloads_folder())?;
        files::remove_temporary(self.dir())?;
        files::remove_temporary(&self.dir().join("leases"))?;
        self.collect(lock)
    }

    fn lock(&self) -> Result<Lock, StoreError> {
        Lock::take(&self.dir().join("lock"))
    }

    /// Whom to trust is read from the system when it is first needed.
    pub(crate) fn network(&self) -> &Network {
        let Options {
            insecure_registries,
            certificate_authorities,
            ..
        } = self.options();
        self.inner
            .network
            .get_or_init(|| Network::new(insecure_registries, certificate_authorities))
    }

    pub(crate) fn flights(&self) -> &Flights {
        &self.inner.flights
    }

    fn dir(&self) -> &Path {
        &self.inner.dir
    }

    fn layers_folder(&self) -> PathBuf {
        self.dir().join(match self.options().ownership {
            Ownership::Kept => "layers",
            Ownership::OneUser => "layers-of-one-user",
        })
    }

    fn work_folder(&self) -> PathBuf {
        self.dir().join("work")
    }

    pub(crate) fn downloads_folder(&self) -> PathBuf {
        self.dir().join("downloads")
    }

    /// Where the layer with this chain id is, once it is complete.
    pub(crate) fn layer(&self, chain: &Digest) -> PathBuf {
        self.layers_folder().join(chain.hex())
    }

    pub(crate) fn blob(&self, digest: &Digest) -> PathBuf {
        self.dir()
            .join("blobs")
            .join(digest.algorithm())
            .join(digest.hex())
    }
}
