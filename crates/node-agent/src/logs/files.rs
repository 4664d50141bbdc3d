//! Where the records of a log lie: in a file, and in those that were put aside when they were full
//! (`0.log.TIME`), which may happen and may be removed while we read.

use std::{
    fs, io,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use tokio::{fs::File, io::AsyncReadExt as _};

const BLOCK: u64 = 64 << 10;

/// A file of the log, open at some place.
#[derive(Debug)]
pub(super) struct Position {
    file: File,
    offset: u64,
    /// Tells the file from others, whatever it is called now.
    identity: u64,
    /// Where the log is no longer read.
    end: Option<End>,
}

/// Where the log ended when it was looked at.
#[derive(Clone, Copy, Debug)]
struct End {
    identity: u64,
    length: u64,
}

/// What is read of a log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// Only so many records before the end.
    pub(super) tail: Option<u64>,
    /// Also what comes after we have begun.
    pub(super) is_open_ended: bool,
}

impl Position {
    /// Where to begin: at the oldest record, or so many records before the end.
    pub(super) fn find(log: &Path, extent: Extent) -> io::Result<Self> {
        // Opened first: were it put aside meanwhile, the list has it.
        let newest = fs::File::open(log)?;
        let metadata = newest.metadata()?;
        let length = metadata.len();
        let end = End {
            identity: metadata.ino(),
            length,
        };
        let end = (!extent.is_open_ended).then_some(end);
        let mut files = Vec::new();
        for file in older(log, metadata.ino())? {
            let length = file.metadata()?.len();
            files.push((file, length));
        }
        files.push((newest, length));
        let Some(mut wanted) = extent.tail else {
            return Self::at(files.remove(0).0, 0, end);
        };
        let mut start = None;
        while let Some((file, length)) = files.pop() {
            let (offset, found) = last_records(&file, length, wanted)?;
            wanted -= found;
            start = Some((file, offset));
            if wanted == 0 {
                break;
            }
        }
        let (file, offset) = start.ok_or(io::ErrorKind::NotFound)?;
        Self::at(file, offset, end)
    }

    fn at(file: fs::File, offset: u64, end: Option<End>) -> io::Result<Self> {
        let identity = file.metadata()?.ino();
        io::Seek::seek(&mut &file, io::SeekFrom::Start(offset))?;
        Ok(Self {
            file: File::from_std(file),
            offset,
            identity,
            end,
        })
    }

    /// Where this file is no longer read.
    fn own_end(&self) -> Option<u64> {
        let end = self.end.filter(|end| end.identity == self.identity)?;
        Some(end.length)
    }

    /// What comes next in this file; nothing at its end.
    pub(super) async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self
            .own_end()
            .map_or(u64::MAX, |end| end.saturating_sub(self.offset));
        let room = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = self.file.read(&mut buffer[..room]).await?;
        self.offset += count as u64;
        Ok(count)
    }

    /// The file after this one, if this one was put aside and the log is read further.
    pub(super) fn next(&self, log: &Path) -> io::Result<Option<Self>> {
        if self.own_end().is_some() {
            return Ok(None);
        }
        let mut paths = put_aside(log)?;
        paths.push(log.to_owned());
        let identities: Vec<Option<u64>> = paths
            .iter()
            .map(|path| fs::metadata(path).ok().map(|metadata| metadata.ino()))
            .collect();
        let own = identities
            .iter()
            .position(|identity| *identity == Some(self.identity));
        // Removed as too old, all that is left comes after it.
        let next = own.map_or(0, |own| own + 1);
        match paths.get(next).map(fs::File::open) {
            None => Ok(None),
            Some(Ok(file)) => Self::at(file, 0, self.end).map(Some),
            // Between being put aside and begun anew; or all of it is gone.
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Some(Err(error)) => Err(error),
        }
    }
}

/// The files put aside before this one, oldest first.
fn older(log: &Path, identity: u64) -> io::Result<Vec<fs::File>> {
    let mut files = Vec::new();
    for path in put_aside(log)? {
        match fs::File::open(&path) {
            Ok(file) if file.metadata()?.ino() == identity => break,
            Ok(file) => files.push(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(files)
}

fn put_aside(log: &Path) -> io::Result<Vec<PathBuf>> {
    let (Some(folder), Some(name)) = (log.parent(), log.file_name()) else {
        return Ok(Vec::new());
    };
    let prefix = format!("{}.", name.to_string_lossy());
    let entries = fs::read_dir(folder)?.flatten();
    let mut paths: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path())
        .collect();
    // Their names end in a time.
    paths.sort();
    Ok(paths)
}

/// Where the last so many records of a file of this length begin, and how many of them it has.
fn last_records(file: &fs::File, length: u64, wanted: u64) -> io::Result<(u64, u64)> {
    let mut block = vec![0; BLOCK as usize];
    let (mut end, mut found) = (length, 0);
    if wanted == 0 {
        return Ok((length, 0));
    }
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        let bytes = &mut block[..(end - start) as usize];
        file.read_exact_at(bytes, start)?;
        for (index, _) in bytes.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n') {
            let after = start + index as u64 + 1;
            // The first one met ends the last record; each further one ends the record before.
            if after == length {
                continue;
            }
            found += 1;
            if found == wanted {
                return Ok((after, found));
            }
        }
        end = start;
    }
    Ok((0, found + u64::from(length > 0)))
}
