//! Makes volumes on this machine. Everything may be done again: what is there already stays.

use std::{
    error::Error,
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::{
    failure::Failure,
    folder, host_path, nfs,
    ownership::{self, Ownership},
    plan::{Ground, Plan, Source, Volume},
};

#[derive(Debug, thiserror::Error)]
enum FolderError {
    #[error("cannot make {}", .path.display())]
    Make { path: PathBuf, source: io::Error },
    #[error("path \"{}\" does not exist", .0.display())]
    Missing(PathBuf),
    #[error("cannot give {} to group {group}", .path.display())]
    Group {
        path: PathBuf,
        group: u32,
        source: io::Error,
    },
}

/// Makes or brings up to date every volume; says of every one that could not be made why. Blocks: a
/// large volume may have to be given to a group, a share may be far away. `stamp` must differ from
/// call to call.
pub fn set_up(plan: &Plan, ground: &Ground, stamp: &str) -> Result<(), Vec<Failure>> {
    let failures: Vec<Failure> = plan
        .volumes
        .iter()
        .filter_map(|volume| {
            let made = set_up_one(volume, &plan.ownership, ground, stamp);
            made.err().map(|error| Failure::set_up(&volume.title, &*error))
        })
        .collect();
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures)
    }
}

fn set_up_one(
    volume: &Volume,
    ownership: &Ownership,
    ground: &Ground,
    stamp: &str,
) -> Result<(), Box<dyn Error>> {
    let place = ground.folder.join(&volume.name);
    match &volume.source {
        Source::Folder => make_shared(&place, ownership)?,
        // The sandbox puts memory there; outside of it the folder stays empty.
        Source::Memory { .. } => make(&place)?,
        Source::Files(files) => {
            make(&place)?;
            folder::write(&place, files, stamp, ownership)?;
        }
        Source::Host { path, kind } => {
            host_path::check_outside(path, &ground.data_dir)?;
            host_path::prepare(path, *kind)?;
        }
        Source::Persistent { path, is_provisioned } => {
            if *is_provisioned {
                make_shared(path, &Ownership::default())?;
            } else {
                host_path::check_outside(path, &ground.data_dir)?;
                if !path.exists() {
                    return Err(FolderError::Missing(path.clone()).into());
                }
            }
            give(path, ownership, volume.is_read_only)?;
        }
        Source::Share(share) => nfs::mount(share, &place, volume.is_read_only, ground.tier)?,
    }
    Ok(())
}

fn make(path: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(path).map_err(|source| FolderError::Make {
        path: path.to_owned(),
        source,
    })
}

/// A folder any user may write to, or the pod's group. It appears under its name when it is finished,
/// so that one that is there needs no further look.
fn make_shared(path: &Path, ownership: &Ownership) -> Result<(), FolderError> {
    if path.exists() {
        return Ok(());
    }
    let failed = |source| FolderError::Make {
        path: path.to_owned(),
        source,
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push("..new");
    let unfinished = path.with_file_name(name);
    make(&unfinished)?;
    fs::set_permissions(&unfinished, fs::Permissions::from_mode(0o777)).map_err(failed)?;
    give(&unfinished, ownership, false)?;
    fs::rename(&unfinished, path).map_err(failed)
}

fn give(path: &Path, ownership: &Ownership, is_read_only: bool) -> Result<(), FolderError> {
    ownership::give_to_group(path, ownership, is_read_only).map_err(|source| FolderError::Group {
        path: path.to_owned(),
        group: ownership.group.unwrap_or_default(),
        source,
    })
}

#[cfg(test)]
mod tests;
