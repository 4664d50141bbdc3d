//! A layer's packed bytes, in a file that outlives a broken connection and a killed process.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use http::StatusCode;
use http_body_util::BodyExt as _;
use rustix::fs::{FlockOperation, flock};

use super::{Cause, aside};
use crate::{
    assemble::LayerPart,
    digest::{Digest, Hasher},
    progress::{Progress, Reporter, Step},
    registry::{RegistryError, Session},
    store::Store,
};

/// How long nothing may arrive before the connection counts as broken.
const STALL: Duration = Duration::from_mins(1);
/// How often in a row a connection may break without anything having arrived.
const MAX_FAILURES: usize = 3;

/// A file with the whole layer, held until it is dropped.
#[derive(Debug)]
pub(super) struct Download {
    path: PathBuf,
    file: File,
}

impl Download {
    pub(super) fn open(&self) -> io::Result<File> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        Ok(file)
    }

    /// It is unpacked and not needed any more.
    pub(super) fn remove(self) {
        // Left over it is used, or removed after a day.
        let _ = fs::remove_file(&self.path);
    }
}

/// Downloads what is missing of a layer.
pub(super) async fn layer(
    store: &Store,
    session: &Session,
    layer: &LayerPart,
    report: &Reporter,
) -> Result<Download, Cause> {
    let Some(digest) = layer.digest.clone() else {
        return Err(Cause::Interrupted);
    };
    let path = store
        .downloads_folder()
        .join(format!("{}-{}", digest.algorithm(), digest.hex()));
    let (held, expected) = (path.clone(), digest.clone());
    let (file, hasher, length) = aside(move || hold(&held, &expected))
        .await?
        .map_err(Cause::Keep)?;
    let mut arriving = Arriving {
        file,
        hasher,
        length,
        digest: &digest,
        size: layer.size,
        report,
    };
    let mut failures = 0;
    while arriving.length < layer.size {
        let before = arriving.length;
        match arriving.receive(session).await {
            Ok(()) => {}
            Err(Cause::Copy(error)) if failures < MAX_FAILURES && is_passing(&error) => {
                failures = if arriving.length > before { 0 } else { failures + 1 };
            }
            Err(error) => return Err(error),
        }
    }
    let Arriving { file, hasher, .. } = arriving;
    let found = hasher.finish();
    if found != digest {
        // Nothing of it can be trusted; the next try starts anew.
        let _ = fs::remove_file(&path);
        return Err(Cause::Content {
            expected: digest,
            found,
        });
    }
    Ok(Download { path, file })
}

/// Opens and locks the file. Others with the same layer wait, here or in another process; if they
/// removed the file meanwhile, there is a new one.
fn hold(path: &Path, digest: &Digest) -> io::Result<(File, Hasher, u64)> {
    let mut file = loop {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        flock(&file, FlockOperation::LockExclusive)?;
        let is_same =
            fs::metadata(path).is_ok_and(|now| file.metadata().is_ok_and(|own| own.ino() == now.ino()));
        if is_same {
            break file;
        }
    };
    let mut hasher = digest.hasher();
    let mut buffer = vec![0; 1 << 20];
    let mut length = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((file, hasher, length)),
            read => {
                hasher.update(&buffer[..read]);
                length += read as u64;
            }
        }
    }
}

/// A layer of which some bytes are here.
struct Arriving<'a> {
    file: File,
    hasher: Hasher,
    length: u64,
    digest: &'a Digest,
    size: u64,
    report: &'a Reporter,
}

impl Arriving<'_> {
    /// Receives until the end of an answer or a broken connection.
    async fn receive(&mut self, session: &Session) -> Result<(), Cause> {
        let name = self.digest.to_string();
        let answer = session.blob(&name, self.length).await.map_err(Cause::Copy)?;
        if answer.status() != StatusCode::PARTIAL_CONTENT {
            self.restart().map_err(Cause::Keep)?;
        }
        let mut body = answer.into_body();
        let broken = |reason: String| {
            Cause::Copy(RegistryError::Broken {
                url: name.clone(),
                reason,
            })
        };
        loop {
            let frame = match tokio::time::timeout(STALL, body.frame()).await {
                Ok(Some(frame)) => frame.map_err(|error| broken(error.to_string()))?,
                Ok(None) if self.length < self.size => return Err(broken("unexpected EOF".to_owned())),
                Ok(None) => return Ok(()),
                Err(_) => return Err(broken("no data for a minute".to_owned())),
            };
            if let Ok(bytes) = frame.into_data() {
                self.keep(&bytes)?;
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Cause> {
        self.length += bytes.len() as u64;
        if self.length > self.size {
            return Err(Cause::Size {
                layer: self.digest.clone(),
                size: self.size,
            });
        }
        self.file.write_all(bytes).map_err(Cause::Keep)?;
        self.hasher.update(bytes);
        (self.report)(Progress {
            step: Step::Downloading,
            what: &self.digest.to_string(),
            done: self.length,
            total: self.size,
        });
        Ok(())
    }

    /// The registry sends all of it again.
    fn restart(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.hasher = self.digest.hasher();
        self.length = 0;
        Ok(())
    }
}

/// Whether trying again may help.
fn is_passing(error: &RegistryError) -> bool {
    match error {
        RegistryError::Broken { .. } | RegistryError::Request { .. } => true,
        RegistryError::Status { status, .. } => status.starts_with('5') || status.starts_with("429"),
        _ => false,
    }
}
