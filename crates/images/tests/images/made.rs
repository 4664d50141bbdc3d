//! Images made up for a test, and a store of its own for each.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use images::{Digest, Image, ImportError, Options, Ownership, Progress, Reference, Store};
use serde_json::{Value, json};
use tar::{EntryType, Header};
use tempfile::TempDir;

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn ownership() -> Ownership {
    if is_root() {
        Ownership::Kept
    } else {
        Ownership::OneUser
    }
}

pub(crate) fn quiet(_: Progress<'_>) {}

/// How the layers of an image are packed.
#[derive(Clone, Copy)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

pub(crate) fn pack(bytes: &[u8], packing: Packing) -> Vec<u8> {
    match packing {
        Packing::Plain => bytes.to_vec(),
        Packing::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Packing::Zstd => zstd::encode_all(bytes, 1).unwrap(),
    }
}

/// A layer's archive in the making.
pub(crate) struct Layer(tar::Builder<Vec<u8>>);

impl Layer {
    pub(crate) fn new() -> Self {
        Self(tar::Builder::new(Vec::new()))
    }

    pub(crate) fn file(self, path: &str, content: &str) -> Self {
        self.file_with(path, content.as_bytes(), |_| {})
    }

    pub(crate) fn file_with(mut self, path: &str, content: &[u8], change: impl FnOnce(&mut Header)) -> Self {
        let mut header = header(EntryType::Regular, path);
        header.set_size(content.len() as u64);
        change(&mut header);
        header.set_cksum();
        self.0.append(&header, content).unwrap();
        self
    }

    pub(crate) fn folder(self, path: &str, mode: u32) -> Self {
        self.entry(EntryType::Directory, path, "", |header| header.set_mode(mode))
    }

    pub(crate) fn symlink(self, path: &str, target: &str) -> Self {
        self.entry(EntryType::Symlink, path, target, |_| {})
    }

    pub(crate) fn hard_link(self, path: &str, target: &str) -> Self {
        self.entry(EntryType::Link, path, target, |_| {})
    }

    pub(crate) fn entry(
        mut self,
        kind: EntryType,
        path: &str,
        target: &str,
        change: impl FnOnce(&mut Header),
    ) -> Self {
        let mut header = header(kind, path);
        header.as_gnu_mut().unwrap().linkname[..target.len()].copy_from_slice(target.as_bytes());
        change(&mut header);
        header.set_cksum();
        self.0.append(&header, std::io::empty()).unwrap();
        self
    }

    /// Extended headers for the next entry.
    pub(crate) fn extended(mut self, records: &[(&str, &[u8])]) -> Self {
        self.0.append_pax_extensions(records.iter().copied()).unwrap();
        self
    }

    /// With GNU's long names.
    pub(crate) fn long_file(mut self, path: &str, content: &str) -> Self {
        let mut header = header(EntryType::Regular, "x");
        header.set_size(content.len() as u64);
        self.0.append_data(&mut header, path, content.as_bytes()).unwrap();
        self
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }
}

/// The name goes in as it is: `..` and all.
fn header(kind: EntryType, path: &str) -> Header {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(0);
    header.set_mtime(1_000_000_000);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// An image: its layers and its configuration.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) layers: Vec<Vec<u8>>,
    pub(crate) config: Value,
}

impl Made {
    pub(crate) fn new(layers: Vec<Layer>) -> Self {
        let layers: Vec<Vec<u8>> = layers.into_iter().map(Layer::bytes).collect();
        let diff_ids: Vec<_> = layers.iter().map(|layer| Digest::sha256(layer)).collect();
        let machine = images::Platform::of_this_machine();
        let config = json!({
            "architecture": machine.architecture,
            "os": "linux",
            "config": { "Cmd": ["/bin/sh"], "Env": ["PATH=/bin"] },
            "rootfs": { "type": "layers", "diff_ids": diff_ids },
        });
        Self { layers, config }
    }

    pub(crate) fn config_bytes(&self) -> Vec<u8> {
        self.config.to_string().into_bytes()
    }

    pub(crate) fn id(&self) -> Digest {
        Digest::sha256(&self.config_bytes())
    }

    /// The manifest, and the blobs it speaks of.
    pub(crate) fn manifest(&self, packing: Packing) -> (Vec<u8>, Vec<Vec<u8>>) {
        let mut blobs: Vec<Vec<u8>> = self.layers.iter().map(|layer| pack(layer, packing)).collect();
        let layers: Vec<_> = blobs
            .iter()
            .map(|blob| {
                json!({
                    "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
                    "digest": Digest::sha256(blob),
                    "size": blob.len(),
                })
            })
            .collect();
        let config = self.config_bytes();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {
                "mediaType": "application/vnd.oci.image.config.v1+json",
                "digest": Digest::sha256(&config),
                "size": config.len(),
            },
            "layers": layers,
        });
        blobs.push(config);
        (manifest.to_string().into_bytes(), blobs)
    }
}

/// Writes an OCI layout with these images as a folder.
pub(crate) fn write_layout(folder: &Path, images: &[(&str, &Made)], packing: Packing) {
    let blobs = folder.join("blobs/sha256");
    fs::create_dir_all(&blobs).unwrap();
    let put = |bytes: &[u8]| fs::write(blobs.join(Digest::sha256(bytes).hex()), bytes).unwrap();
    let mut descriptors = Vec::new();
    for (name, image) in images {
        let (manifest, parts) = image.manifest(packing);
        for part in &parts {
            put(part);
        }
        put(&manifest);
        descriptors.push(json!({
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": Digest::sha256(&manifest),
            "size": manifest.len(),
            "annotations": { "org.opencontainers.image.ref.name": name },
        }));
    }
    let index = json!({ "schemaVersion": 2, "manifests": descriptors });
    fs::write(folder.join("index.json"), index.to_string()).unwrap();
    fs::write(folder.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
}

/// What `docker save` wrote before version 25: a folder for each layer, and links for repeated ones.
pub(crate) fn docker_archive(images: &[(&[&str], &Made)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut add = |path: &str, bytes: &[u8]| {
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, bytes).unwrap();
    };
    let mut list = Vec::new();
    for (names, image) in images {
        let config = format!("{}.json", image.id().hex());
        add(&config, &image.config_bytes());
        let mut layers = Vec::new();
        for layer in &image.layers {
            let path = format!("{}/layer.tar", Digest::sha256(layer).hex());
            add(&path, layer);
            layers.push(path);
        }
        list.push(json!({ "Config": config, "RepoTags": names, "Layers": layers }));
    }
    add("manifest.json", json!(list).to_string().as_bytes());
    archive.into_inner().unwrap()
}

/// A folder as an archive.
pub(crate) fn archive_of(folder: &Path) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    archive.append_dir_all(".", folder).unwrap();
    archive.into_inner().unwrap()
}

/// A store in a folder of its own.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) store: Store,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::with(Options::new(ownership()))
    }

    pub(crate) fn with(options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("images"), options).unwrap();
        Self { folder, store }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The store as another process would see it after this one was gone.
    pub(crate) fn opened_again(&self) -> Store {
        Store::open(&self.path("images"), self.store.options().clone()).unwrap()
    }

    pub(crate) fn import(&self, made: &Made, name: &str) -> Result<Image, ImportError> {
        let path = self.path("import.tar");
        fs::write(&path, docker_archive(&[(&[name], made)])).unwrap();
        let images = self.store.import(&path, None, &quiet)?;
        Ok(images.into_iter().next().unwrap())
    }

    pub(crate) fn find(&self, name: &str) -> Option<Image> {
        self.store.find(&name.parse::<Reference>().unwrap()).unwrap()
    }

    pub(crate) fn folders(&self, name: &str) -> usize {
        fs::read_dir(self.path("images").join(name)).map_or(0, Iterator::count)
    }

    pub(crate) fn layer_count(&self) -> usize {
        self.folders("layers") + self.folders("layers-of-one-user")
    }
}

/// An error with all its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}
