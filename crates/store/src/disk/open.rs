//! Opening the file: creating it whole or not at all, reading every record, and trusting nothing
//! that fails its checksum.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use redb::{Builder, Database, ReadableDatabase, ReadableTable};
use tracing::{info, warn};

use super::error::{OpenError, panic_message};
use super::{Disk, META, OBJECTS, record};
use crate::list::Objects;
use crate::name::Collection;
use crate::options::Options;

pub(super) const REVISION: &str = "revision";
const FORMAT: &str = "format";
const CLUSTER: &str = "cluster";
/// The format of the file as a whole. Raise it for changes an older version would misread.
const FORMAT_VERSION: u32 = 1;
/// Revisions start above zero, which clients take for "any".
const FIRST_REVISION: u64 = 1;
/// Added to the revision when records are dropped: the newest one handed out may be among them.
const REVISIONS_SKIPPED: u64 = 1_000_000;

/// Everything the file holds.
pub(crate) struct Loaded {
    pub(crate) collections: BTreeMap<Collection, Objects>,
    pub(crate) revision: u64,
    pub(crate) cluster_id: String,
    damaged: Vec<String>,
    live_bytes: u64,
}

/// Opens the file, creating it where there is none, and reads it whole.
pub(crate) fn open(path: &Path, options: &Options) -> Result<(Disk, Loaded), OpenError> {
    // The engine checks what it reads, but a damaged file is the one place it might still panic.
    catch_unwind(AssertUnwindSafe(|| open_unguarded(path, options)))
        .unwrap_or_else(|panic| Err(OpenError::damaged(path, panic_message(&*panic), Vec::new())))
}

/// Opens the engine again after a failed write. Memory knows what the file should hold.
pub(super) fn reopen(path: &Path, cache_bytes: usize) -> Result<Database, OpenError> {
    Ok(open_engine(path, cache_bytes)?.0)
}

fn open_unguarded(path: &Path, options: &Options) -> Result<(Disk, Loaded), OpenError> {
    if is_absent_or_empty(path).map_err(|error| OpenError::io(path, error))? {
        create(path)?;
    }
    let (mut database, verified) = open_engine(path, options.cache_bytes)?;
    let mut loaded = load(&database, path)?;
    if !loaded.damaged.is_empty() {
        if !options.drop_damaged {
            let records = loaded.damaged.iter().map(|key| record::readable(key)).collect();
            return Err(OpenError::damaged(path, "records fail their checksum", records));
        }
        drop_damaged(&database, path, &mut loaded)?;
    }
    if !verified {
        verify(&mut database, path)?;
    }
    compact_if_worthwhile(&mut database, path, loaded.live_bytes);
    Ok((Disk::new(path.to_owned(), options.cache_bytes, database), loaded))
}

fn is_absent_or_empty(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(metadata.is_file() && metadata.len() == 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Opens an existing file, and says whether the engine has verified all pages in doing so, as it
/// does after a crash.
fn open_engine(path: &Path, cache_bytes: usize) -> Result<(Database, bool), OpenError> {
    let recovered = Rc::new(Cell::new(false));
    let noticed = Rc::clone(&recovered);
    let database = Builder::new()
        .set_cache_size(cache_bytes)
        .set_repair_callback(move |_| noticed.set(true))
        .open(path)
        .map_err(|error| OpenError::engine(path, error))?;
    Ok((database, recovered.get()))
}

/// Checks every page against its checksum, so that no record can be missing unnoticed.
fn verify(database: &mut Database, path: &Path) -> Result<(), OpenError> {
    match database.check_integrity() {
        Ok(true) => Ok(()),
        Ok(false) => {
            warn!(path = %path.display(), "the store's free space was miscounted and has been counted again");
            Ok(())
        }
        Err(error) => Err(OpenError::engine(path, error)),
    }
}

fn load(database: &Database, path: &Path) -> Result<Loaded, OpenError> {
    let transaction = database
        .begin_read()
        .map_err(|error| OpenError::engine(path, error))?;
    let foreign = |error: redb::TableError| match error {
        redb::TableError::Storage(error) => OpenError::engine(path, error),
        _ => OpenError::NotAStore {
            path: path.to_owned(),
        },
    };
    let meta = transaction.open_table(META).map_err(foreign)?;
    let mut loaded = read_meta(&meta, path)?;
    let objects = transaction.open_table(OBJECTS).map_err(foreign)?;
    read_objects(&objects, &mut loaded).map_err(|error| OpenError::engine(path, error))?;
    Ok(loaded)
}

fn read_meta(
    meta: &impl ReadableTable<&'static str, &'static [u8]>,
    path: &Path,
) -> Result<Loaded, OpenError> {
    let value = |name: &str| -> Result<Vec<u8>, OpenError> {
        let entry = meta.get(name).map_err(|error| OpenError::engine(path, error))?;
        let entry = entry.ok_or_else(|| OpenError::NotAStore {
            path: path.to_owned(),
        })?;
        Ok(entry.value().to_vec())
    };
    let unreadable = |name: &str| OpenError::damaged(path, format!("its {name} is unreadable"), Vec::new());

    let format = value(FORMAT)?
        .try_into()
        .map(u32::from_le_bytes)
        .map_err(|_| unreadable(FORMAT))?;
    if format > FORMAT_VERSION {
        let (path, supported) = (path.to_owned(), FORMAT_VERSION);
        return Err(OpenError::NewerFormat {
            path,
            found: format,
            supported,
        });
    }
    Ok(Loaded {
        collections: BTreeMap::new(),
        revision: value(REVISION)?
            .try_into()
            .map(u64::from_le_bytes)
            .map_err(|_| unreadable(REVISION))?,
        cluster_id: String::from_utf8(value(CLUSTER)?).map_err(|_| unreadable(CLUSTER))?,
        damaged: Vec::new(),
        live_bytes: 0,
    })
}

fn read_objects(
    objects: &impl ReadableTable<&'static str, &'static [u8]>,
    loaded: &mut Loaded,
) -> Result<(), redb::StorageError> {
    let mut last = String::new();
    for entry in objects.iter()? {
        let (key, value) = entry?;
        let (key, value) = (key.value(), value.value());
        if key <= last.as_str() {
            return Err(redb::StorageError::Corrupted(
                "records are out of order".to_owned(),
            ));
        }
        key.clone_into(&mut last);
        loaded.live_bytes += (key.len() + value.len()) as u64;
        loaded.take(key, value);
    }
    Ok(())
}

impl Loaded {
    fn take(&mut self, key: &str, value: &[u8]) {
        let decoded = record::split_key(key).and_then(|(collection, joined)| {
            let object = record::decode(key, joined, value)?;
            (object.revision() <= self.revision).then_some((collection, object))
        });
        match decoded {
            Some((collection, object)) => {
                let objects = self.collections.entry(Collection::from(collection)).or_default();
                objects.insert(object.key().clone(), Arc::new(object));
            }
            None => self.damaged.push(key.to_owned()),
        }
    }
}

/// Writes a new file beside its final place and moves it there complete: a crash leaves no file or
/// a whole one.
fn create(path: &Path) -> Result<(), OpenError> {
    let draft = beside(path, "new");
    initialise(&draft)?;
    let moved = move_into_place(&draft, path).and_then(|()| sync_directory(path));
    moved.map_err(|error| OpenError::io(path, error))
}

fn initialise(draft: &Path) -> Result<(), OpenError> {
    let file = private_file(draft).map_err(|error| OpenError::io(draft, error))?;
    file.try_lock().map_err(|_| OpenError::Locked {
        path: draft.to_owned(),
    })?;
    file.set_len(0).map_err(|error| OpenError::io(draft, error))?;
    let database = Builder::new()
        .set_cache_size(0)
        .create_file(file)
        .map_err(|error| OpenError::engine(draft, error))?;
    write_meta(&database).map_err(|error| OpenError::engine(draft, error))
}

fn write_meta(database: &Database) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_two_phase_commit(true);
    {
        transaction.open_table(OBJECTS)?;
        let mut meta = transaction.open_table(META)?;
        meta.insert(FORMAT, FORMAT_VERSION.to_le_bytes().as_slice())?;
        meta.insert(REVISION, FIRST_REVISION.to_le_bytes().as_slice())?;
        meta.insert(CLUSTER, uuid::Uuid::new_v4().to_string().as_bytes())?;
    }
    transaction.commit()?;
    Ok(())
}

/// Secrets are stored too, so the file is for its owner only.
fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn move_into_place(draft: &Path, path: &Path) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0) {
        warn!(path = %path.display(), "the store is an empty file; starting a new one");
        fs::remove_file(path)?;
    }
    // A link, unlike a rename, cannot replace the file another process has just put there.
    match fs::hard_link(draft, path) {
        Ok(()) => fs::remove_file(draft),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => fs::remove_file(draft),
        Err(_) => fs::rename(draft, path),
    }
}

fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

/// Sets a copy of the file aside and removes the damaged records from the original.
fn drop_damaged(database: &Database, path: &Path, loaded: &mut Loaded) -> Result<(), OpenError> {
    let copy = beside(path, "damaged");
    fs::copy(path, &copy).map_err(|error| OpenError::io(&copy, error))?;
    loaded.revision += REVISIONS_SKIPPED;
    for key in &loaded.damaged {
        warn!(record = record::readable(key), copy = %copy.display(), "dropping a damaged record");
    }
    remove(database, &loaded.damaged, loaded.revision).map_err(|error| OpenError::engine(path, error))
}

fn remove(database: &Database, keys: &[String], revision: u64) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_two_phase_commit(true);
    {
        let mut objects = transaction.open_table(OBJECTS)?;
        for key in keys {
            objects.remove(key.as_str())?;
        }
        transaction
            .open_table(META)?
            .insert(REVISION, revision.to_le_bytes().as_slice())?;
    }
    transaction.commit()?;
    Ok(())
}

/// Gives space back that deleted objects left behind. Failing to is no reason not to start.
fn compact_if_worthwhile(database: &mut Database, path: &Path, live_bytes: u64) {
    const SMALL: u64 = 64 << 20;
    let size = || fs::metadata(path).map_or(0, |metadata| metadata.len());
    let before = size();
    if before <= SMALL || before / 4 <= live_bytes {
        return;
    }
    match database.compact() {
        Ok(_) => info!(path = %path.display(), before, after = size(), "compacted the store"),
        Err(error) => warn!(path = %path.display(), %error, "could not compact the store"),
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}
