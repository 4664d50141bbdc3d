//! Images from files: OCI layouts, as a folder or an archive, and what `docker save` writes.

mod content;
mod source;

use std::{io, path::PathBuf};

use self::source::Source;
use crate::{
    assemble::{AssembleError, LayerPart},
    digest::Digest,
    image::Image,
    manifest::ManifestError,
    progress::Report,
    reference::{InvalidName, Reference},
    store::{Store, StoreError, Work},
};

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: io::Error },
    #[error("`{path}` is no archive")]
    NoArchive { path: PathBuf },
    #[error("`{path}` holds no image: neither `index.json` nor `manifest.json` is in it")]
    NoImage { path: PathBuf },
    #[error("`{0}` is missing in the archive")]
    Missing(String),
    #[error("`{0}` is larger than a document of an image may be")]
    TooLarge(String),
    #[error("`{path}` is damaged: its content is {found}")]
    Damaged { path: String, found: Digest },
    #[error("`{path}` is not JSON of the known form")]
    Json { path: String, source: serde_json::Error },
    #[error("`{path}` says nothing of an image")]
    Manifest { path: String, source: ManifestError },
    #[error("the archive calls an image by a bad name")]
    Name(#[from] InvalidName),
    #[error("there are {0} images here, and one name for them")]
    OneName(usize),
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Imports every image of a layout or an archive that runs on this machine. A `name` replaces those
    /// that are in there. Blocks; may be called beside other imports and pulls.
    pub fn import(
        &self,
        path: &std::path::Path,
        name: Option<&Reference>,
        report: Report<'_>,
    ) -> Result<Vec<Image>, ImportError> {
        let reading = Work::begin(self)?;
        let source = Source::open(path, &reading, self.options().limits.bytes, report)?;
        let mut found = content::find(&source, &self.options().platform)?;
        if let Some(name) = name {
            match found.as_mut_slice() {
                [one] => one.names = [name.to_string()].into(),
                several => return Err(ImportError::OneName(several.len())),
            }
        }
        let mut images = Vec::new();
        for parts in found {
            // What is held is given up with each, the archive only at the end.
            let work = Work::begin(self)?;
            parts.hold(self, &work)?;
            for (index, layer) in parts.layers.iter().enumerate() {
                if !parts.has_layer(self, index) {
                    let packed = open(&source, layer)?;
                    parts.unpack(self, &work, index, packed, report)?;
                }
            }
            images.push(parts.add(self)?);
        }
        Ok(images)
    }
}

fn open(source: &Source, layer: &LayerPart) -> Result<Box<dyn io::Read + Send>, ImportError> {
    match source.reader(&layer.path) {
        Ok(Some((reader, _))) => Ok(reader),
        Ok(None) => Err(ImportError::Missing(layer.path.clone())),
        Err(source) => Err(ImportError::Read {
            path: layer.path.clone().into(),
            source,
        }),
    }
}
