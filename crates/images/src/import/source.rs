//! Where the files of an image to import are: a folder, or an archive that is read in place.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use super::ImportError;
use crate::{
    compression,
    manifest::MAX_DOCUMENT,
    progress::{Progress, Report, Reported, Step},
    store::Work,
};

/// A folder or an archive.
#[derive(Debug)]
pub(super) enum Source {
    Folder(PathBuf),
    Archive {
        path: PathBuf,
        entries: BTreeMap<String, Entry>,
    },
}

/// What an archive has under a name.
#[derive(Debug)]
pub(super) enum Entry {
    File {
        offset: u64,
        size: u64,
    },
    /// Old archives hold a layer once, and links to it.
    Link(String),
}

const MAX_LINKS: usize = 8;

impl Source {
    /// An archive that is packed as a whole is unpacked into the work folder first: its parts are not
    /// read in order.
    pub(super) fn open(
        path: &Path,
        work: &Work,
        limit: u64,
        report: Report<'_>,
    ) -> Result<Self, ImportError> {
        let read = |source| ImportError::Read {
            path: path.to_owned(),
            source,
        };
        if fs::metadata(path).map_err(read)?.is_dir() {
            return Ok(Self::Folder(path.to_owned()));
        }
        let plain = plain(path, work, limit, report).map_err(read)?;
        if !is_archive(&plain).map_err(read)? {
            return Err(ImportError::NoArchive {
                path: path.to_owned(),
            });
        }
        let entries = index(&plain).map_err(read)?;
        Ok(Self::Archive { path: plain, entries })
    }

    /// The content of a file and its size, or nothing if it is not there.
    pub(super) fn reader(&self, name: &str) -> io::Result<Option<(Box<dyn Read + Send>, u64)>> {
        match self {
            Self::Folder(folder) => {
                if !is_inside(name) {
                    return Ok(None);
                }
                match File::open(folder.join(name)) {
                    Ok(file) => {
                        let size = file.metadata()?.len();
                        Ok(Some((Box::new(file), size)))
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                    Err(error) => Err(error),
                }
            }
            Self::Archive { path, entries } => {
                let Some((offset, size)) = locate(entries, name) else {
                    return Ok(None);
                };
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(offset))?;
                Ok(Some((Box::new(file.take(size)), size)))
            }
        }
    }

    /// A small file as a whole.
    pub(super) fn document(&self, name: &str) -> Result<Option<Vec<u8>>, ImportError> {
        let read = |source| ImportError::Read {
            path: name.into(),
            source,
        };
        let Some((reader, size)) = self.reader(name).map_err(read)? else {
            return Ok(None);
        };
        if size > MAX_DOCUMENT {
            return Err(ImportError::TooLarge(name.to_owned()));
        }
        let mut bytes = Vec::new();
        reader.take(MAX_DOCUMENT).read_to_end(&mut bytes).map_err(read)?;
        Ok(Some(bytes))
    }
}

fn plain(path: &Path, work: &Work, limit: u64, report: Report<'_>) -> io::Result<PathBuf> {
    let mut file = File::open(path)?;
    let mut head = Vec::new();
    file.by_ref().take(6).read_to_end(&mut head)?;
    if !compression::is_packed(&head)? {
        return Ok(path.to_owned());
    }
    file.rewind()?;
    let name = path.display().to_string();
    let progress = Progress {
        step: Step::Reading,
        what: &name,
        done: 0,
        total: file.metadata()?.len(),
    };
    let packed = Reported {
        inner: file,
        progress,
        report,
    };
    let plain = work.path("archive.tar");
    let mut unpacked = compression::unpacked(packed)?.take(limit.saturating_add(1));
    let length = io::copy(&mut unpacked, &mut File::create(&plain)?)?;
    if length > limit {
        let message = format!("unpacked it has more than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(plain)
}

/// Whether a file begins as archives do, with a header whose checksum is right, or with their end. What
/// reads archives would quote the content of any other file in its complaint.
fn is_archive(path: &Path) -> io::Result<bool> {
    let mut header = tar::Header::new_old();
    match File::open(path)?.read_exact(header.as_mut_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        outcome => outcome?,
    }
    if header.as_bytes().iter().all(|byte| *byte == 0) {
        return Ok(true);
    }
    Ok(header
        .cksum()
        .is_ok_and(|checksum| checksum == checksum_of(&header)))
}

/// The sum of the bytes, where those of the checksum itself count as spaces.
fn checksum_of(header: &tar::Header) -> u32 {
    const CHECKSUM: std::ops::Range<usize> = 148..156;
    let bytes = header.as_bytes().iter().enumerate();
    bytes
        .map(|(index, byte)| if CHECKSUM.contains(&index) { b' ' } else { *byte })
        .map(u32::from)
        .sum()
}

/// Where each file lies in an archive.
fn index(path: &Path) -> io::Result<BTreeMap<String, Entry>> {
    let mut archive = tar::Archive::new(File::open(path)?);
    let mut entries = BTreeMap::new();
    for entry in archive.entries_with_seek()? {
        let entry = entry?;
        let name = clean(&String::from_utf8_lossy(&entry.path_bytes()));
        let kind = entry.header().entry_type();
        if kind.is_file() {
            let (offset, size) = (entry.raw_file_position(), entry.size());
            entries.insert(name, Entry::File { offset, size });
        } else if let Some(target) = entry.link_name_bytes() {
            let target = String::from_utf8_lossy(&target).into_owned();
            let folder = Path::new(&name).parent().unwrap_or(Path::new(""));
            let target = if kind.is_symlink() {
                clean(&folder.join(target).to_string_lossy())
            } else {
                clean(&target)
            };
            entries.insert(name, Entry::Link(target));
        }
    }
    Ok(entries)
}

fn locate(entries: &BTreeMap<String, Entry>, name: &str) -> Option<(u64, u64)> {
    let mut name = clean(name);
    for _ in 0..MAX_LINKS {
        match entries.get(&name)? {
            Entry::File { offset, size } => return Some((*offset, *size)),
            Entry::Link(target) => name.clone_from(target),
        }
    }
    None
}

/// `./a/../b` as `b`.
fn clean(name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Documents of a layout name files of the layout, nothing else.
fn is_inside(name: &str) -> bool {
    !name.is_empty() && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
}
