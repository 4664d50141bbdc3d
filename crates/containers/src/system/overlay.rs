//! Trying to mount an overlay in a child that then ends.

use std::{ffi::CString, os::unix::ffi::OsStrExt as _, path::Path};

use nix::{
    errno::Errno,
    fcntl::{OFlag, open},
    libc,
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
    sys::{
        stat::Mode,
        wait::{WaitStatus, waitpid},
    },
    unistd::{ForkResult, chdir, write},
};

/// Everything the child needs, made before the fork.
#[derive(Debug)]
pub(crate) struct OverlayTrial {
    /// Holds the folders `lower`, `upper`, `work` and `merged`.
    folder: CString,
    /// What to write into which file of `/proc/self` to be root in a user namespace of our own.
    mappings: Option<[(CString, String); 3]>,
}

impl OverlayTrial {
    /// With the user and group that are root in a new user namespace, or as root of the machine.
    pub(crate) fn new(folder: &Path, user_namespace: Option<(u32, u32)>) -> nix::Result<Self> {
        let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| Errno::EINVAL);
        let mappings = match user_namespace {
            None => None,
            Some((user, group)) => Some([
                (text(b"/proc/self/setgroups")?, "deny".to_owned()),
                (text(b"/proc/self/uid_map")?, format!("0 {user} 1")),
                (text(b"/proc/self/gid_map")?, format!("0 {group} 1")),
            ]),
        };
        Ok(Self {
            folder: text(folder.as_os_str().as_bytes())?,
            mappings,
        })
    }

    fn run(&self) -> nix::Result<()> {
        if let Some(mappings) = &self.mappings {
            unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
            for (file, mapping) in mappings {
                let file = open(file.as_c_str(), OFlag::O_WRONLY, Mode::empty())?;
                write(&file, mapping.as_bytes())?;
            }
        } else {
            unshare(CloneFlags::CLONE_NEWNS)?;
        }
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        mount(None::<&str>, c"/", None::<&str>, private, None::<&str>)?;
        chdir(self.folder.as_c_str())?;
        let overlay = |options| {
            mount(
                Some(c"overlay"),
                c"merged",
                Some(c"overlay"),
                MsFlags::empty(),
                Some(options),
            )
        };
        overlay(c"lowerdir=lower,upperdir=upper,workdir=work,userxattr")
            .or_else(|_| overlay(c"lowerdir=lower,upperdir=upper,workdir=work"))
    }
}

/// Whether an overlay can be mounted.
pub(crate) fn try_overlay(trial: &OverlayTrial) -> nix::Result<()> {
    // SAFETY: the caller may have threads; the child only makes system calls and allocates nothing.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child } => match waitpid(child, None)? {
            WaitStatus::Exited(_, 0) => Ok(()),
            WaitStatus::Exited(_, code) => Err(Errno::from_raw(code)),
            _ => Err(Errno::EPERM),
        },
        ForkResult::Child => {
            let code = trial.run().err().map_or(0, |errno| errno as i32);
            // SAFETY: ends the process at once; the parent's exit handlers and buffers are not ours.
            unsafe { libc::_exit(code) }
        }
    }
}
