//! Opening the file and trusting nothing in it that fails its checksum.

use std::path::Path;
use std::{fs, thread};

use redb::Database;
use tracing::{info, warn};

use super::engine::{self, EngineError, Incomplete};
use super::error::{OpenError, panic_message};
use super::load::{Loaded, load};
use super::meta::{self, META};
use super::{Disk, OBJECTS, beside, create, record};
use crate::options::Options;

/// Added to the revision when records are dropped: the newest one handed out may be among them.
const REVISIONS_SKIPPED: u64 = 1_000_000;

/// The thread on which the engine meets a file that may be damaged. A panic there is an ordinary
/// error by the time anybody hears of it, so a program need not show it.
pub const GUARDED_THREAD: &str = "store-open";

/// Opens the file, creating it where there is none, and reads it whole.
pub(crate) fn open(path: &Path, options: &Options) -> Result<(Disk, Loaded), OpenError> {
    // The engine checks what it reads, but a damaged file is where it might still panic.
    let guarded = thread::Builder::new().name(GUARDED_THREAD.to_owned());
    thread::scope(|scope| {
        let opening = guarded
            .spawn_scoped(scope, || open_unguarded(path, options))
            .map_err(|source| OpenError::Io {
                path: path.to_owned(),
                source,
            })?;
        opening
            .join()
            .unwrap_or_else(|panic| Err(OpenError::damaged(path, panic_message(&*panic), Vec::new())))
    })
}

fn open_unguarded(path: &Path, options: &Options) -> Result<(Disk, Loaded), OpenError> {
    create::create_if_absent(path)?;
    let (mut database, verified) = open_whole(path, options.cache_bytes)?;
    let mut loaded = load(&database, path)?;
    if !loaded.damaged.is_empty() && !options.drop_damaged {
        let records = loaded.damaged.iter().map(|key| record::readable(key)).collect();
        return Err(OpenError::damaged(path, "records fail their checksum", records));
    }
    if !loaded.damaged.is_empty() {
        drop_damaged(&database, path, &mut loaded)?;
    }
    if !verified {
        verify(&mut database, path)?;
    }
    compact_if_worthwhile(&mut database, path, loaded.live_bytes);
    let marked = mark_boot(&database, &loaded.boot_id);
    if let Err(error) = &marked {
        warn!(path = %path.display(), %error, "the store can be read but, for now, not written");
    }
    let database = marked.is_ok().then_some(database);
    Ok((Disk::new(path, options.cache_bytes, database, &loaded), loaded))
}

/// Opens the engine again after a failed write, and says at which revision the file is. Memory knows
/// what it should hold, provided that it is still the same file.
pub(super) fn reopen(
    path: &Path,
    cluster_id: &str,
    cache_bytes: usize,
) -> Result<(Database, u64), OpenError> {
    // A write that failed is allowed to be incomplete.
    let (database, _) = engine::open(path, cache_bytes, Incomplete::Undo)?;
    let found = meta::of(&database, path)?;
    if found.cluster_id != cluster_id {
        let reason = "it has been replaced by another store";
        return Err(OpenError::damaged(path, reason, Vec::new()));
    }
    Ok((database, found.revision))
}

/// Opens the file with its last commit, or without it where a power failure cut it short.
fn open_whole(path: &Path, cache_bytes: usize) -> Result<(Database, bool), OpenError> {
    match engine::open(path, cache_bytes, Incomplete::Refuse) {
        Err(EngineError::Incomplete(_)) => {}
        opened => return Ok(opened?),
    }
    let (before, now) = (written_in(path, cache_bytes)?, meta::boot_id());
    if before == now && !now.is_empty() {
        // The machine has been up ever since, so the commit was whole once.
        return Err(EngineError::Incomplete(path.to_owned()).into());
    }
    warn!(path = %path.display(), "the machine stopped during a commit, which is being undone");
    Ok(engine::open(path, cache_bytes, Incomplete::Undo)?)
}

/// The run of the machine that last wrote the file, found out without changing it.
fn written_in(path: &Path, cache_bytes: usize) -> Result<String, OpenError> {
    let copy = beside(path, "examined");
    fs::copy(path, &copy).map_err(|error| OpenError::io(&copy, error))?;
    let found = match engine::open(&copy, cache_bytes, Incomplete::Undo) {
        Ok((database, _)) => meta::of(&database, path),
        Err(_) => Err(OpenError::damaged(
            path,
            "its last two commits are unreadable",
            Vec::new(),
        )),
    };
    fs::remove_file(&copy).map_err(|error| OpenError::io(&copy, error))?;
    found.map(|meta| meta.boot_id)
}

fn mark_boot(database: &Database, written_in: &str) -> Result<(), redb::Error> {
    let boot_id = meta::boot_id();
    if boot_id == written_in {
        return Ok(());
    }
    let transaction = database.begin_write()?;
    meta::set_boot_id(&mut transaction.open_table(META)?, &boot_id)?;
    transaction.commit()?;
    Ok(())
}

/// Checks every page against its checksum, so that no record can be missing unnoticed.
fn verify(database: &mut Database, path: &Path) -> Result<(), OpenError> {
    if !database
        .check_integrity()
        .map_err(|error| OpenError::engine(path, error))?
    {
        warn!(path = %path.display(), "the store's free space was miscounted and has been counted again");
    }
    Ok(())
}

/// Sets a copy of the file aside and removes the damaged records from the original.
fn drop_damaged(database: &Database, path: &Path, loaded: &mut Loaded) -> Result<(), OpenError> {
    let copy = beside(path, "damaged");
    fs::copy(path, &copy).map_err(|error| OpenError::io(&copy, error))?;
    for key in &loaded.damaged {
        warn!(record = record::readable(key), copy = %copy.display(), "dropping a damaged record");
    }
    loaded.revision += REVISIONS_SKIPPED;
    remove(database, &loaded.damaged, loaded.revision).map_err(|error| OpenError::engine(path, error))
}

fn remove(database: &Database, keys: &[String], revision: u64) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut objects = transaction.open_table(OBJECTS)?;
        for key in keys {
            objects.remove(key.as_str())?;
        }
        meta::set_revision(&mut transaction.open_table(META)?, revision)?;
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
