//! Which images a layout or an archive holds.

use serde::Deserialize;

use super::{ImportError, source::Source};
use crate::{
    assemble::{LayerPart, Parts},
    digest::Digest,
    manifest::{self, Descriptor, Manifest},
    platform::Platform,
    reference::Reference,
};

/// Where layouts say what an image is called; the first is a whole name, the second may be a tag alone.
const FULL_NAME: &str = "io.containerd.image.name";
const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// The images for this machine. Newer archives have both forms: the layout tells digests, Docker's list
/// tells names.
pub(super) fn find(source: &Source, machine: &Platform) -> Result<Vec<Parts>, ImportError> {
    let layout = source.document("index.json")?;
    let list = source.document("manifest.json")?;
    let mut images = match &layout {
        Some(index) => from_layout(source, index, machine)?,
        None => Vec::new(),
    };
    if let Some(list) = &list {
        for parts in from_list(source, list, machine, layout.is_some())? {
            match images.iter_mut().find(|image| image.id == parts.id) {
                Some(known) => known.names.extend(parts.names),
                None => images.push(parts),
            }
        }
    }
    if layout.is_none() && list.is_none() {
        let path = match source {
            Source::Folder(path) | Source::Archive { path, .. } => path.clone(),
        };
        return Err(ImportError::NoImage { path });
    }
    Ok(images)
}

fn from_layout(source: &Source, index: &[u8], machine: &Platform) -> Result<Vec<Parts>, ImportError> {
    let descriptors = match parse("index.json", index)? {
        Manifest::Index(descriptors) => descriptors,
        Manifest::Image { .. } => return Ok(Vec::new()),
    };
    let runs_here = |descriptor: &&Descriptor| match &descriptor.platform {
        Some(platform) => machine.fit(platform).is_some(),
        None => true,
    };
    let mut images: Vec<Parts> = Vec::new();
    for descriptor in descriptors.iter().filter(runs_here) {
        let Some((parts, digest)) = from_descriptor(source, descriptor, machine)? else {
            continue;
        };
        let known = images.iter().position(|image| image.id == parts.id);
        if known.is_none() {
            images.push(parts);
        }
        let position = known.unwrap_or(images.len() - 1);
        let image = &mut images[position];
        if let Some(name) = name_of(descriptor)? {
            image.digests.insert(name.with_digest(&digest));
            image.names.insert(name.to_string());
        }
    }
    if images.is_empty() {
        // Says what there is instead.
        manifest::choose(&descriptors, machine).map_err(|source| ImportError::Manifest {
            path: "index.json".to_owned(),
            source,
        })?;
    }
    Ok(images)
}

/// The image a descriptor leads to, with the digest a registry would know it by.
fn from_descriptor(
    source: &Source,
    descriptor: &Descriptor,
    machine: &Platform,
) -> Result<Option<(Parts, Digest)>, ImportError> {
    let path = descriptor.digest.blob_path();
    let Some(bytes) = source.document(&path)? else {
        // Docker leaves out what is for other machines.
        return Ok(None);
    };
    check(&path, &bytes, &descriptor.digest)?;
    match parse(&path, &bytes)? {
        Manifest::Index(inner) => {
            let chosen = manifest::choose(&inner, machine).map_err(|source| ImportError::Manifest {
                path: path.clone(),
                source,
            })?;
            let found = from_descriptor(source, chosen, machine)?;
            Ok(found.map(|(parts, _)| (parts, descriptor.digest.clone())))
        }
        // Signatures and the like are in layouts, too.
        Manifest::Image { config, .. } if !is_image_config(&config.media_type) => Ok(None),
        Manifest::Image { config, layers } => {
            let path = config.digest.blob_path();
            let bytes = required(source, &path)?;
            check(&path, &bytes, &config.digest)?;
            let layers = layers.iter().map(LayerPart::from).collect();
            let parts = Parts::new(bytes, layers, machine)?;
            Ok(Some((parts, descriptor.digest.clone())))
        }
    }
}

fn is_image_config(media_type: &str) -> bool {
    matches!(
        media_type,
        "" | "application/vnd.oci.image.config.v1+json" | "application/vnd.docker.container.image.v1+json"
    )
}

/// What Docker's `manifest.json` says of one image.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    config: String,
    repo_tags: Option<Vec<String>>,
    layers: Vec<String>,
}

/// Beside a layout the list may name what the layout has not, for other machines.
fn from_list(
    source: &Source,
    list: &[u8],
    machine: &Platform,
    beside_layout: bool,
) -> Result<Vec<Parts>, ImportError> {
    let path = "manifest.json";
    let list: Vec<Listed> = serde_json::from_slice(list).map_err(|source| ImportError::Json {
        path: path.to_owned(),
        source,
    })?;
    let mut images = Vec::new();
    for listed in list {
        let config = match source.document(&listed.config)? {
            Some(config) => config,
            None if beside_layout => continue,
            None => return Err(ImportError::Missing(listed.config)),
        };
        let mut layers = Vec::new();
        for path in listed.layers {
            let found = source.reader(&path).map_err(|source| ImportError::Read {
                path: path.clone().into(),
                source,
            })?;
            let (_, size) = found.ok_or_else(|| ImportError::Missing(path.clone()))?;
            layers.push(LayerPart {
                name: path.clone(),
                path,
                digest: None,
                size,
            });
        }
        let mut parts = Parts::new(config, layers, machine)?;
        for tag in listed.repo_tags.unwrap_or_default() {
            parts.names.insert(tag.parse::<Reference>()?.to_string());
        }
        images.push(parts);
    }
    Ok(images)
}

/// What a layout calls an image. A tag alone is not a name.
fn name_of(descriptor: &Descriptor) -> Result<Option<Reference>, ImportError> {
    if let Some(name) = descriptor.annotations.get(FULL_NAME) {
        return Ok(Some(name.parse()?));
    }
    match descriptor.annotations.get(REF_NAME) {
        Some(name) if name.contains([':', '/']) => Ok(Some(name.parse()?)),
        _ => Ok(None),
    }
}

fn required(source: &Source, path: &str) -> Result<Vec<u8>, ImportError> {
    source
        .document(path)?
        .ok_or_else(|| ImportError::Missing(path.to_owned()))
}

fn check(path: &str, bytes: &[u8], digest: &Digest) -> Result<(), ImportError> {
    if digest.is_of(bytes) {
        return Ok(());
    }
    Err(ImportError::Damaged {
        path: path.to_owned(),
        found: Digest::sha256(bytes),
    })
}

fn parse(path: &str, bytes: &[u8]) -> Result<Manifest, ImportError> {
    Manifest::parse(bytes).map_err(|source| ImportError::Manifest {
        path: path.to_owned(),
        source,
    })
}
