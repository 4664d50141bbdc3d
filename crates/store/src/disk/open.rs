//! Opening the file and trusting nothing in it that fails its checksum.

use std::cell::Cell;
use std::fs::{self, OpenOptions};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::rc::Rc;

use redb::{Builder, Database, ReadableDatabase};
use tracing::{info, warn};

use super::error::{OpenError, panic_message};
use super::file::{OrderedFile, RolledBack};
use super::load::{Loaded, load};
use super::meta::{self, META};
use super::{Disk, OBJECTS, beside, create, record};
use crate::options::Options;

/// Added to the revision when records are dropped: the newest one handed out may be among them.
const REVISIONS_SKIPPED: u64 = 1_000_000;

/// Opens the file, creating it where there is none, and reads it whole.
pub(crate) fn open(path: &Path, options: &Options) -> Result<(Disk, Loaded), OpenError> {
    // The engine checks what it reads, but a damaged file is where it might still panic.
    catch_unwind(AssertUnwindSafe(|| open_unguarded(path, options)))
        .unwrap_or_else(|panic| Err(OpenError::damaged(path, panic_message(&*panic), Vec::new())))
}

fn open_unguarded(path: &Path, options: &Options) -> Result<(Disk, Loaded), OpenError> {
    create::create_if_absent(path)?;
    let Engine {
        mut database,
        verified,
        rolled_back,
    } = open_engine(path, options.cache_bytes)?;
    let mut loaded = load(&database, path)?;
    if rolled_back {
        accept_rollback(path, &loaded.boot_id)?;
    }
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
    mark_boot(&database, &loaded.boot_id).map_err(|error| OpenError::engine(path, error))?;
    let disk = Disk::new(
        path.to_owned(),
        loaded.cluster_id.clone(),
        options.cache_bytes,
        database,
    );
    Ok((disk, loaded))
}

/// An incomplete last commit is what a power failure leaves, and it was never acknowledged. Without
/// one in between, the commit was whole once.
fn accept_rollback(path: &Path, written_in: &str) -> Result<(), OpenError> {
    if !written_in.is_empty() && written_in == meta::boot_id() {
        return Err(OpenError::damaged(
            path,
            "its last commit is unreadable",
            Vec::new(),
        ));
    }
    warn!(path = %path.display(), "the machine stopped during a commit, which has been undone");
    Ok(())
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

/// Opens the engine again after a failed write. Memory knows what the file should hold, provided
/// that it is still the same file.
pub(super) fn reopen(path: &Path, cluster_id: &str, cache_bytes: usize) -> Result<Database, OpenError> {
    let Engine { database, .. } = open_engine(path, cache_bytes)?;
    let transaction = database
        .begin_read()
        .map_err(|error| OpenError::engine(path, error))?;
    let table = transaction
        .open_table(META)
        .map_err(|error| OpenError::engine(path, error))?;
    if meta::read(&table, path)?.cluster_id != cluster_id {
        return Err(OpenError::damaged(
            path,
            "it has been replaced by another store",
            Vec::new(),
        ));
    }
    Ok(database)
}

/// The engine, and what it did to open the file.
struct Engine {
    database: Database,
    /// All pages were checked against their checksums, as they are after a crash.
    verified: bool,
    /// The newest commit was given up for the one before it.
    rolled_back: bool,
}

fn open_engine(path: &Path, cache_bytes: usize) -> Result<Engine, OpenError> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(|error| OpenError::io(path, error))?;
    let (verified, rolled_back) = (Rc::new(Cell::new(false)), RolledBack::default());
    let mut builder = Builder::new();
    builder.set_cache_size(cache_bytes).set_repair_callback({
        let (verified, rolled_back) = (Rc::clone(&verified), rolled_back.clone());
        move |session| {
            verified.set(true);
            // Between its start and its second half, a repair reports only that the newest commit
            // failed its checksums.
            if session.progress() > 0.0 && session.progress() < 0.5 {
                rolled_back.set();
            }
        }
    });
    let file = OrderedFile::new(file, rolled_back.clone());
    let database = file.and_then(|file| builder.create_with_backend(file));
    let database = database.map_err(|error| OpenError::engine(path, error))?;
    Ok(Engine {
        database,
        verified: verified.get(),
        rolled_back: rolled_back.get(),
    })
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
