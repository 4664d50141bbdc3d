//! What has been learnt, in a file: whole or not at all, with a checksum.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use xxhash_rust::xxh3::xxh3_64;

use crate::model::{Model, SIZE};

const MARK: &[u8; 8] = b"digits 1";
const NUMBER: usize = size_of::<u64>();
const LENGTH: usize = MARK.len() + NUMBER + 2 * SIZE * size_of::<f32>() + NUMBER;

#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("the checkpoint {path} cannot be read")]
    Unreadable {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("the checkpoint {path} is damaged or of another program; remove it to begin anew")]
    Damaged { path: PathBuf },
    #[error("the checkpoint {path} cannot be written")]
    Unwritable {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

/// The model of a directory's checkpoint and the step it was saved at.
pub(crate) fn load(directory: &Path) -> Result<Option<(u64, Model)>, CheckpointError> {
    let path = file(directory);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(CheckpointError::Unreadable { path, cause }),
    };
    decode(&bytes).map(Some).ok_or(CheckpointError::Damaged { path })
}

/// Replaces the directory's checkpoint.
pub(crate) fn save(directory: &Path, step: u64, model: &Model) -> Result<PathBuf, CheckpointError> {
    let path = file(directory);
    match replace(directory, &path, &encode(step, model)) {
        Ok(()) => Ok(path),
        Err(cause) => Err(CheckpointError::Unwritable { path, cause }),
    }
}

fn file(directory: &Path) -> PathBuf {
    directory.join("checkpoint")
}

fn replace(directory: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let draft = path.with_extension("draft");
    let mut written = File::create(&draft)?;
    written.write_all(bytes)?;
    written.sync_all()?;
    fs::rename(&draft, path)?;
    File::open(directory)?.sync_all()
}

fn encode(step: u64, model: &Model) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(LENGTH);
    bytes.extend_from_slice(MARK);
    bytes.extend_from_slice(&step.to_le_bytes());
    for number in model.weights.iter().chain(&model.velocity) {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<(u64, Model)> {
    let (content, sum) = bytes.split_last_chunk::<NUMBER>()?;
    if bytes.len() != LENGTH || xxh3_64(content).to_le_bytes() != *sum {
        return None;
    }
    let (step, numbers) = content.strip_prefix(MARK)?.split_first_chunk::<NUMBER>()?;
    let mut numbers = numbers.as_chunks().0.iter().copied().map(f32::from_le_bytes);
    let weights = numbers.by_ref().take(SIZE).collect();
    let velocity = numbers.collect();
    Some((u64::from_le_bytes(*step), Model { weights, velocity }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_is_loaded() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(load(directory.path()).unwrap(), None);
        let model = Model::untaught();
        save(directory.path(), 41, &model).unwrap();
        assert_eq!(load(directory.path()).unwrap(), Some((41, model)));
    }

    #[test]
    fn a_changed_byte_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let path = save(directory.path(), 41, &Model::untaught()).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[1000] ^= 1;
        fs::write(&path, bytes).unwrap();
        let error = load(directory.path()).unwrap_err();
        assert!(matches!(error, CheckpointError::Damaged { .. }), "{error}");
    }
}
