//! The mounts a container asks for, parents before children.

use std::path::{Path, PathBuf};

use super::{
    mirror,
    mounts::{HARMLESS, Held, make_read_only, mount_memory},
    parts,
};
use crate::{protocol::FailureKind, sandbox::error::SetupError, spec::Mount};

/// A mount whose source is held open.
#[derive(Debug)]
pub(super) enum Volume<'a> {
    Bind {
        source: Held,
        target: &'a Path,
        read_only: bool,
    },
    Memory {
        target: &'a Path,
        bytes: Option<u64>,
    },
}

pub(super) fn open(mounts: &[Mount]) -> Result<Vec<Volume<'_>>, SetupError> {
    let mut ordered: Vec<_> = mounts.iter().collect();
    ordered.sort_by_key(|mount| mount.target().components().count());
    ordered
        .into_iter()
        .map(|mount| match mount {
            Mount::Bind(bind) => Ok(Volume::Bind {
                source: Held::open(&bind.source)?,
                target: &bind.target,
                read_only: bind.read_only,
            }),
            Mount::Part(part) => Ok(Volume::Bind {
                source: parts::open(part).map_err(|error| error.of_kind(FailureKind::Part))?,
                target: &part.target,
                read_only: part.read_only,
            }),
            Mount::Memory { target, bytes } => Ok(Volume::Memory {
                target,
                bytes: *bytes,
            }),
        })
        .collect()
}

/// Mounts them; folders that had to be mirrored to make room are added to `mirrors`.
pub(super) fn mount_all(volumes: &[Volume<'_>], mirrors: &mut Vec<PathBuf>) -> Result<(), SetupError> {
    for volume in volumes {
        match volume {
            Volume::Bind {
                source,
                target,
                read_only,
            } => {
                let place = mirror::make_place(target, source.is_folder, mirrors)?;
                source.bind_to(&place)?;
                if *read_only {
                    make_read_only(&place)?;
                }
            }
            Volume::Memory { target, bytes } => {
                let place = mirror::make_place(target, true, mirrors)?;
                let size = bytes.map(|bytes| format!(",size={bytes}")).unwrap_or_default();
                mount_memory(
                    &place,
                    HARMLESS - nix::mount::MsFlags::MS_NOEXEC,
                    &format!("mode=1777{size}"),
                )?;
            }
        }
    }
    Ok(())
}
