//! The mounts a container asks for, parents before children.

use std::path::{Path, PathBuf};

use super::{
    base,
    hidden::Hidden,
    mirror,
    mounts::{HARMLESS, Held, make_read_only, mount_memory, refuse_devices},
    parts,
};
use crate::{
    protocol::FailureKind,
    sandbox::error::SetupError,
    spec::{Container, Mount},
};

/// A mount whose source is held open.
#[derive(Debug)]
pub(super) enum Volume<'a> {
    Bind {
        source: Held,
        target: &'a Path,
        read_only: bool,
        /// What of the source nobody may see, relative to it.
        hidden: Vec<PathBuf>,
        /// Devices in it can be used.
        has_devices: bool,
    },
    Memory {
        target: &'a Path,
        bytes: Option<u64>,
    },
}

impl Volume<'_> {
    /// Whether a part of it is covered.
    pub(super) fn hides(&self) -> bool {
        matches!(self, Self::Bind { hidden, .. } if !hidden.is_empty())
    }
}

pub(super) fn open<'a>(spec: &'a Container, hidden: &Hidden) -> Result<Vec<Volume<'a>>, SetupError> {
    let mut ordered: Vec<_> = spec.mounts.iter().collect();
    // A device that is mounted by its name was asked for.
    let has_devices = |source: &Path| spec.privileged || source.starts_with("/dev");
    ordered.sort_by_key(|mount| mount.target().components().count());
    ordered
        .into_iter()
        .map(|mount| match mount {
            Mount::Bind(bind) => {
                let source = Held::open(&bind.source)?;
                Ok(Volume::Bind {
                    hidden: hidden.below(&bind.source, &source)?,
                    has_devices: has_devices(&bind.source),
                    source,
                    target: &bind.target,
                    read_only: bind.read_only,
                })
            }
            Mount::Part(part) => {
                let source = parts::open(part).map_err(|error| error.of_kind(FailureKind::Part))?;
                Ok(Volume::Bind {
                    hidden: hidden.below(&part.volume, &source)?,
                    has_devices: has_devices(&part.volume),
                    source,
                    target: &part.target,
                    read_only: part.read_only,
                })
            }
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
                hidden,
                has_devices,
            } => {
                let place = mirror::make_place(target, source.is_folder, mirrors)?;
                source.bind_to(&place)?;
                if !has_devices {
                    refuse_devices(&place)?;
                }
                if *read_only {
                    make_read_only(&place)?;
                }
                for part in hidden {
                    base::hide(&place.join(part))?;
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
