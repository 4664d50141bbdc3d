//! Where the files of a model come from; whoever loads it answers.

use std::io;

/// The files of one version of a model, by paths relative to its folder: `saved_model.pb`,
/// `variables/variables.index`, `assets/vocabulary.txt`.
pub trait Files {
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;

    /// Exactly so many bytes from an offset on.
    fn read_range(&self, path: &str, offset: u64, length: usize) -> io::Result<Vec<u8>>;
}

/// Files in memory.
impl Files for std::collections::BTreeMap<String, Vec<u8>> {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.get(path)
            .cloned()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn read_range(&self, path: &str, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let whole = self.get(path).ok_or(io::ErrorKind::NotFound)?;
        let start = usize::try_from(offset).ok();
        let range = start.and_then(|start| whole.get(start..start.checked_add(length)?));
        range
            .map(<[u8]>::to_vec)
            .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}
