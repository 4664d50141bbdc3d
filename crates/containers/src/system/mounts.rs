//! `mount_setattr`, which `nix` does not have yet.

use std::{ffi::CString, os::unix::ffi::OsStrExt as _, path::Path};

use nix::{errno::Errno, libc};

/// Adds attributes, such as `MOUNT_ATTR_RDONLY`, to a mount and all mounts below it. Linux 5.12; `ENOSYS`
/// before.
pub(crate) fn restrict_below(path: &Path, attributes: u64) -> nix::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::EINVAL)?;
    let attributes = libc::mount_attr {
        attr_set: attributes,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: both pointers live across the call and the size is that of the structure.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    Errno::result(result).map(drop)
}
