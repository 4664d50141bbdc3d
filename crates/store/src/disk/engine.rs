//! Starting the engine on an existing file, with a say in what it does about an incomplete commit.

use std::cell::Cell;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use redb::{Builder, Database, RepairSession};

use super::error::OpenError;
use super::file::{OrderedFile, Refusal};

/// What to do when the newest commit is not all there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Incomplete {
    /// Fail, and leave the file as it is.
    Refuse,
    /// Go back to the commit before it.
    Undo,
}

/// Why the engine did not open a file.
pub(super) enum EngineError {
    Incomplete(PathBuf),
    Other(OpenError),
}

impl From<EngineError> for OpenError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Incomplete(path) => {
                Self::damaged(&path, "its last commit is incomplete", Vec::new())
            }
            EngineError::Other(error) => error,
        }
    }
}

/// Opens an existing file, and says whether the engine has checked all its pages in doing so, as it
/// does after a crash.
pub(super) fn open(
    path: &Path,
    cache_bytes: usize,
    incomplete: Incomplete,
) -> Result<(Database, bool), EngineError> {
    let refusal = (incomplete == Incomplete::Refuse).then(Refusal::default);
    let checked = Rc::new(Cell::new(false));
    let mut builder = Builder::new();
    builder.set_cache_size(cache_bytes);
    builder.set_repair_callback(on_repair(Rc::clone(&checked), refusal.clone()));

    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(|error| EngineError::Other(OpenError::io(path, error)))?;
    let opened = OrderedFile::new(file, refusal.clone()).and_then(|file| builder.create_with_backend(file));
    match opened {
        Ok(database) => Ok((database, checked.get())),
        Err(_) if refusal.is_some_and(|refusal| refusal.is_noted()) => {
            Err(EngineError::Incomplete(path.to_owned()))
        }
        Err(error) => Err(EngineError::Other(OpenError::engine(path, error))),
    }
}

/// Listens to what the engine has to do to a file that was not closed.
fn on_repair(checked: Rc<Cell<bool>>, refusal: Option<Refusal>) -> impl Fn(&mut RepairSession) {
    move |session| {
        checked.set(true);
        // Between its start and its second half, a repair reports only that the newest commit fails
        // its checksums.
        let falls_back = session.progress() > 0.0 && session.progress() < 0.5;
        if let Some(refusal) = refusal.as_ref().filter(|_| falls_back) {
            refusal.note();
            session.abort();
        }
    }
}
