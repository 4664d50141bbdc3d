//! The user namespace in which an ordinary user may have networks of their own.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio, id},
};

use nix::{
    sched::{CloneFlags, setns, unshare},
    unistd::{User, getegid, geteuid},
};

use crate::description::Tier;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the kernel refuses one to this user")]
    Refused(#[source] io::Error),
    #[error("cannot join `{path}`")]
    Join { path: PathBuf, source: io::Error },
    #[error("cannot write `{file}`")]
    Map { file: &'static str, source: io::Error },
    #[error("cannot run `newuidmap` and `newgidmap`")]
    Helpers(#[source] io::Error),
    #[error("`newuidmap` or `newgidmap` failed")]
    HelpersFailed,
}

/// Capabilities by their numbers, as in `CapEff` of `/proc/self/status`.
const NET_ADMIN: u64 = 1 << 12;
const SYS_ADMIN: u64 = 1 << 21;

/// Moves the process into a user namespace unless it has the rights it needs already.
pub(crate) fn enter(existing: Option<&Path>) -> Result<Tier, Error> {
    if let Some(path) = existing {
        let join = || setns(File::open(path)?, CloneFlags::CLONE_NEWUSER).map_err(io::Error::from);
        join().map_err(|source| Error::Join {
            path: path.to_owned(),
            source,
        })?;
        return Ok(Tier::Rootless);
    }
    if may_administer(&fs::read_to_string("/proc/self/status").unwrap_or_default()) {
        return Ok(Tier::Root);
    }
    let helpers = Helpers::start()?;
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|errno| Error::Refused(errno.into()))?;
    match helpers {
        Some(helpers) => helpers.finish()?,
        None => map_self(user.as_raw(), group.as_raw())?,
    }
    Ok(Tier::Rootless)
}

fn may_administer(status: &str) -> bool {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let capabilities = effective
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    capabilities & (NET_ADMIN | SYS_ADMIN) == NET_ADMIN | SYS_ADMIN
}

/// The one id that a user may map without help is their own, to root.
fn map_self(user: u32, group: u32) -> Result<(), Error> {
    // A group map is accepted only from those who can no longer drop groups.
    let files = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {user} 1")),
        ("/proc/self/gid_map", format!("0 {group} 1")),
    ];
    for (file, text) in files {
        fs::write(file, text).map_err(|source| Error::Map { file, source })?;
    }
    Ok(())
}

/// `newuidmap` and `newgidmap`, which map the ids that `/etc/subuid` and `/etc/subgid` grant this user.
///
/// They must run outside of the namespace they map. A shell is started before this process enters it,
/// and waits for the end of its input.
struct Helpers(Child);

const SCRIPT: &str =
    r#"cat >/dev/null; newuidmap "$1" 0 "$2" 1 1 "$3" "$4" && newgidmap "$1" 0 "$5" 1 1 "$6" "$7""#;

impl Helpers {
    /// Nothing to start if the machine has no such helpers, or no ids for this user.
    fn start() -> Result<Option<Self>, Error> {
        let (user, group) = (geteuid(), getegid());
        let name = User::from_uid(user)
            .ok()
            .flatten()
            .map(|user| user.name)
            .unwrap_or_default();
        let granted = |file: &str| {
            let text = fs::read_to_string(file).unwrap_or_default();
            granted(&text, &name, user.as_raw())
        };
        let (Some(users), Some(groups)) = (granted("/etc/subuid"), granted("/etc/subgid")) else {
            return Ok(None);
        };
        if !is_installed("newuidmap") || !is_installed("newgidmap") {
            return Ok(None);
        }
        let numbers = [
            id(),
            user.as_raw(),
            users.0,
            users.1,
            group.as_raw(),
            groups.0,
            groups.1,
        ];
        let child = Command::new("sh")
            .args(["-c", SCRIPT, "sh"])
            .args(numbers.map(|number| number.to_string()))
            .stdin(Stdio::piped())
            .spawn()
            .map_err(Error::Helpers)?;
        Ok(Some(Self(child)))
    }

    fn finish(mut self) -> Result<(), Error> {
        // Waiting closes the shell's input.
        let status = self.0.wait().map_err(Error::Helpers)?;
        if status.success() {
            Ok(())
        } else {
            Err(Error::HelpersFailed)
        }
    }
}

/// The first range of ids granted to a user: where it starts and how many they are.
fn granted(text: &str, name: &str, id: u32) -> Option<(u32, u32)> {
    let id = id.to_string();
    text.lines().find_map(|line| {
        let mut fields = line.trim().split(':');
        let who = fields.next()?;
        let range = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        (who == name || who == id).then_some(range)
    })
}

fn is_installed(program: &str) -> bool {
    ["/usr/bin", "/bin", "/usr/local/bin"]
        .iter()
        .any(|folder| Path::new(folder).join(program).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_without_capabilities_is_an_ordinary_user() {
        assert!(may_administer("Name:\tx\nCapEff:\t000001ffffffffff\n"));
        assert!(!may_administer("CapEff:\t00000000a80425fb\n"));
        assert!(!may_administer("CapEff:\t0000000000000000\n"));
        assert!(!may_administer(""));
    }

    #[test]
    fn ranges_are_granted_by_name_or_by_number() {
        let text = "# comment\nanna:100000:65536\n1001:165536:65536\n";
        assert_eq!(granted(text, "anna", 1000), Some((100_000, 65_536)));
        assert_eq!(granted(text, "bert", 1001), Some((165_536, 65_536)));
        assert_eq!(granted(text, "carl", 1002), None);
    }
}
