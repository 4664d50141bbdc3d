//! Files and folders as one file, and back.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};

/// Packs a file or folder under its own name.
pub(crate) fn pack(source: &Path, target: &Path, level: Option<u32>) -> io::Result<()> {
    let level = level.map_or_else(Compression::default, |level| Compression::new(level.min(9)));
    let mut archive = tar::Builder::new(GzEncoder::new(File::create(target)?, level));
    archive.follow_symlinks(false);
    let name = source.file_name().unwrap_or_else(|| "data".as_ref());
    if fs::metadata(source)?.is_dir() {
        archive.append_dir_all(name, source)?;
    } else {
        archive.append_path_with_name(fs::canonicalize(source)?, name)?;
    }
    archive.into_inner()?.finish()?.sync_all()
}

/// Whether a file is such an archive.
pub(crate) fn is_packed(file: &Path) -> io::Result<bool> {
    let mut start = [0; 2];
    let count = File::open(file)?.read(&mut start)?;
    Ok(count == 2 && start == [0x1f, 0x8b])
}

/// Unpacks into an empty folder. Nothing is written outside of it.
pub(crate) fn unpack(file: &Path, folder: &Path) -> io::Result<()> {
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(file)?));
    archive.set_preserve_permissions(true);
    archive.unpack(folder)
}

/// Copies a file or a folder with everything below it.
pub(crate) fn copy(source: &Path, target: &Path) -> io::Result<()> {
    let kind = fs::symlink_metadata(source)?.file_type();
    if kind.is_dir() {
        fs::create_dir_all(target)?;
        for entry in fs::read_dir(source)? {
            let entry = entry?;
            copy(&entry.path(), &target.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if kind.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(source)?, target);
    }
    fs::copy(source, target).map(drop)
}

/// Moves to where something may be already: files are replaced, folders are filled.
pub(crate) fn place(source: &Path, target: &Path) -> io::Result<()> {
    if fs::rename(source, target).is_ok() {
        return Ok(());
    }
    copy(source, target)?;
    if fs::metadata(source)?.is_dir() {
        fs::remove_dir_all(source)
    } else {
        fs::remove_file(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_out_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("model");
        fs::create_dir_all(source.join("sub")).unwrap();
        fs::write(source.join("sub/a"), "text").unwrap();
        let packed = folder.path().join("model.tgz");
        pack(&source, &packed, None).unwrap();
        assert!(is_packed(&packed).unwrap());
        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        unpack(&packed, &out).unwrap();
        assert_eq!(fs::read_to_string(out.join("model/sub/a")).unwrap(), "text");
        place(&out.join("model"), &folder.path().join("placed")).unwrap();
        assert_eq!(
            fs::read_to_string(folder.path().join("placed/sub/a")).unwrap(),
            "text"
        );
    }
}
