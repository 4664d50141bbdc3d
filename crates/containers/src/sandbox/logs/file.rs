//! A log file that is put aside when it is full. Only whole records are written, each batch with one
//! call, and files change only between lines.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use crate::spec::Log;

#[derive(Debug)]
pub(in crate::sandbox) struct LogFile {
    spec: Log,
    file: File,
    size: u64,
}

impl LogFile {
    /// Continues the file if there is one.
    pub(in crate::sandbox) fn open(spec: Log) -> io::Result<Self> {
        if let Some(folder) = spec.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(&spec.path)?;
        let size = file.metadata()?.len();
        Ok(Self { spec, file, size })
    }

    /// Appends whole records. With `in_line` the last line written goes on in these records.
    pub(in crate::sandbox) fn write(&mut self, records: &[u8], in_line: bool) -> io::Result<()> {
        // A line that never ends must not keep the file from ever being put aside.
        let limit = if in_line {
            self.spec.max_bytes.saturating_mul(2)
        } else {
            self.spec.max_bytes
        };
        if self.size > 0 && self.size + records.len() as u64 > limit {
            self.rotate()?;
        }
        self.file.write_all(records)?;
        self.size += records.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        if self.spec.max_files < 2 {
            fs::remove_file(&self.spec.path)?;
        } else {
            fs::rename(&self.spec.path, put_aside(&self.spec.path, Timestamp::now()))?;
        }
        self.file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.spec.path)?;
        self.size = 0;
        let older = rotated(&self.spec.path)?;
        let surplus = older.len().saturating_sub(self.spec.max_files.saturating_sub(1));
        older[..surplus].iter().try_for_each(fs::remove_file)
    }
}

/// `0.log.20261115-224419.123456789`: later ones sort after earlier ones.
fn put_aside(path: &Path, now: Timestamp) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(now.strftime(".%Y%m%d-%H%M%S.%9f").to_string());
    name.into()
}

/// The files put aside so far, oldest first.
fn rotated(path: &Path) -> io::Result<Vec<PathBuf>> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Ok(Vec::new());
    };
    let prefix = format!("{name}.");
    let is_older = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with(&prefix))
    };
    let mut files: Vec<_> = fs::read_dir(folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(is_older)
        .collect();
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{LogFile, rotated};
    use crate::spec::Log;

    #[test]
    fn full_files_are_put_aside_and_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.log");
        let mut log = LogFile::open(Log {
            path: path.clone(),
            max_bytes: 20,
            max_files: 3,
        })
        .unwrap();
        for number in 0..10 {
            log.write(format!("record {number}\n").as_bytes(), false).unwrap();
        }
        let mut kept: Vec<_> = rotated(&path)
            .unwrap()
            .iter()
            .map(|file| fs::read_to_string(file).unwrap())
            .collect();
        kept.push(fs::read_to_string(&path).unwrap());
        assert_eq!(
            kept,
            [
                "record 4\nrecord 5\n",
                "record 6\nrecord 7\n",
                "record 8\nrecord 9\n"
            ]
        );
    }

    #[test]
    fn a_line_stays_in_one_file_unless_it_never_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.log");
        let mut log = LogFile::open(Log {
            path: path.clone(),
            max_bytes: 10,
            max_files: 3,
        })
        .unwrap();
        log.write(b"part one\n", false).unwrap();
        log.write(b"part two\n", true).unwrap();
        assert!(rotated(&path).unwrap().is_empty());
        log.write(b"part three\n", true).unwrap();
        assert_eq!(rotated(&path).unwrap().len(), 1);
    }
}
