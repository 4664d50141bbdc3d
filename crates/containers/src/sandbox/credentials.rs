//! Who a container's process is: user, groups, capabilities, system calls.

use std::{collections::HashSet, fs, fs::File, str::FromStr as _};

use caps::{CapSet, Capability, CapsHashSet};
use nix::{
    sched::{CloneFlags, setns, unshare},
    sys::prctl,
    unistd::{Gid, Uid, getegid, geteuid, setgroups, setresgid, setresuid},
};

use super::{
    error::{Doing as _, SetupError},
    namespaces,
    seccomp::Filters,
};
use crate::{
    protocol::{Failure, FailureKind},
    spec::{Container, Root},
};

/// What a container's root may do unless told otherwise: Docker's list.
const USUAL: [Capability; 14] = [
    Capability::CAP_AUDIT_WRITE,
    Capability::CAP_CHOWN,
    Capability::CAP_DAC_OVERRIDE,
    Capability::CAP_FOWNER,
    Capability::CAP_FSETID,
    Capability::CAP_KILL,
    Capability::CAP_MKNOD,
    Capability::CAP_NET_BIND_SERVICE,
    Capability::CAP_NET_RAW,
    Capability::CAP_SETFCAP,
    Capability::CAP_SETGID,
    Capability::CAP_SETPCAP,
    Capability::CAP_SETUID,
    Capability::CAP_SYS_CHROOT,
];

/// In which user namespace the process ends up.
#[derive(Debug)]
pub(super) enum Home {
    /// The sandbox's, or a new one below it if the container's user does not exist there.
    Fresh,
    /// That of a running container, if it has its own.
    Of(Option<File>),
}

/// Becomes the container's user for good. Mounts must be done, and the way back is closed.
pub(super) fn take(spec: &Container, home: &Home, filters: &Filters) -> Result<(), Failure> {
    let wanted = capabilities(spec)?;
    let nested = enter_user_namespace(spec, home)?;
    let held = caps::read(None, CapSet::Permitted).map_err(refused("read its capabilities"))?;
    let allowed: CapsHashSet = wanted.intersection(&held).copied().collect();

    drop_bounding(&allowed)?;
    prctl::set_keepcaps(true).doing(|| "keep capabilities")?;
    if !nested {
        become_user(spec)?;
    }
    if spec.no_new_privileges {
        prctl::set_no_new_privs().doing(|| "give up gaining privileges")?;
    }
    // Filters need the right to administer; a change of user has put it to sleep.
    caps::set(None, CapSet::Effective, &held).map_err(refused("wake its capabilities"))?;
    filters.install().doing(|| "filter system calls")?;
    caps::clear(None, CapSet::Inheritable).map_err(refused("clear inheritable capabilities"))?;
    for set in [CapSet::Effective, CapSet::Permitted] {
        caps::set(None, set, &allowed).map_err(refused("drop capabilities"))?;
    }
    Ok(())
}

/// Without namespaces one may only be who one is; root may become another. User 0 means "whoever".
pub(super) fn take_bare(spec: &Container) -> Result<(), Failure> {
    if !matches!(spec.root, Root::Host { .. }) {
        let message = "an image needs namespaces, which this machine does not allow";
        return Err(Failure::new(FailureKind::Setup, message));
    }
    let (wanted, own) = ((spec.user, spec.group), (geteuid().as_raw(), getegid().as_raw()));
    if wanted != (0, 0) && wanted != own {
        if !geteuid().is_root() {
            let message = format!(
                "user {} needs namespaces, which this machine does not allow",
                spec.user
            );
            return Err(Failure::new(FailureKind::Setup, message));
        }
        become_user(spec)?;
    }
    if spec.no_new_privileges {
        prctl::set_no_new_privs().doing(|| "give up gaining privileges")?;
    }
    Ok(())
}

/// Whether the container's root may change its mounts.
pub(super) fn may_mount(spec: &Container) -> Result<bool, Failure> {
    Ok(capabilities(spec)?.contains(&Capability::CAP_SYS_ADMIN))
}

/// The usual set with what is added and dropped; all of them for a privileged container.
fn capabilities(spec: &Container) -> Result<CapsHashSet, Failure> {
    if spec.privileged {
        return Ok(caps::all());
    }
    let mut set: CapsHashSet = USUAL.into_iter().collect();
    let is_all = |name: &String| name.eq_ignore_ascii_case("all");
    if spec.capabilities.add.iter().any(is_all) {
        set = caps::all();
    }
    if spec.capabilities.drop.iter().any(is_all) {
        set = HashSet::default();
    }
    for name in spec.capabilities.add.iter().filter(|name| !is_all(name)) {
        set.insert(capability(name)?);
    }
    for name in spec.capabilities.drop.iter().filter(|name| !is_all(name)) {
        set.remove(&capability(name)?);
    }
    Ok(set)
}

fn capability(name: &str) -> Result<Capability, Failure> {
    let upper = name.to_ascii_uppercase();
    let full = if upper.starts_with("CAP_") {
        upper
    } else {
        format!("CAP_{upper}")
    };
    Capability::from_str(&full)
        .map_err(|_| Failure::new(FailureKind::Invalid, format!("unknown capability \"{name}\"")))
}

fn drop_bounding(allowed: &CapsHashSet) -> Result<(), Failure> {
    let bounding = caps::read(None, CapSet::Bounding).map_err(refused("read the bounding set"))?;
    for capability in bounding.difference(allowed) {
        caps::drop(None, CapSet::Bounding, *capability).map_err(refused("shrink the bounding set"))?;
    }
    Ok(())
}

fn become_user(spec: &Container) -> Result<(), SetupError> {
    let (user, group) = (Uid::from_raw(spec.user), Gid::from_raw(spec.group));
    let groups: Vec<_> = spec.groups.iter().map(|group| Gid::from_raw(*group)).collect();
    // Where a user namespace holds one group only, there are no others to be in.
    if !fs::read_to_string("/proc/self/setgroups").is_ok_and(|text| text.trim() == "deny") {
        setgroups(&groups).doing(|| "set the supplementary groups")?;
    }
    setresgid(group, group, group).doing(|| format!("become group {}", spec.group))?;
    setresuid(user, user, user).doing(|| format!("become user {}", spec.user))
}

/// A user namespace that holds one user only cannot hold another. The container gets one of its own
/// in which its user is ours: it sees the id it asked for, and its files are ours.
fn enter_user_namespace(spec: &Container, home: &Home) -> Result<bool, Failure> {
    match home {
        Home::Of(None) => return Ok(false),
        Home::Of(Some(namespace)) => {
            setns(namespace, CloneFlags::CLONE_NEWUSER).doing(|| "join the container's user namespace")?;
            return Ok(true);
        }
        Home::Fresh => {}
    }
    let map = |file: &str| fs::read_to_string(file).unwrap_or_default();
    if is_mapped(&map("/proc/self/uid_map"), spec.user) && is_mapped(&map("/proc/self/gid_map"), spec.group) {
        return Ok(false);
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER).doing(|| format!("make a user namespace for user {}", spec.user))?;
    namespaces::map_single_ids((spec.user, user), (spec.group, group))?;
    prctl::set_dumpable(false).doing(|| "hide from other containers")?;
    Ok(true)
}

/// Whether a namespace with this `uid_map` has this id.
fn is_mapped(map: &str, id: u32) -> bool {
    map.lines().any(|line| {
        let mut fields = line
            .split_whitespace()
            .filter_map(|field| field.parse::<u64>().ok());
        match (fields.next(), fields.next(), fields.next()) {
            (Some(first), Some(_), Some(count)) => (first..first + count).contains(&u64::from(id)),
            _ => false,
        }
    })
}

fn refused(doing: &'static str) -> impl Fn(caps::errors::CapsError) -> Failure {
    move |error| Failure::new(FailureKind::Setup, format!("cannot {doing}: {error}"))
}

#[cfg(test)]
mod tests {
    use caps::Capability;

    use super::{USUAL, capabilities, is_mapped};
    use crate::{
        protocol::FailureKind,
        spec::{Capabilities, Container},
    };

    fn container(add: &[&str], drop: &[&str]) -> Container {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let capabilities = Capabilities {
            add: names(add),
            drop: names(drop),
        };
        Container {
            capabilities,
            ..Container::default()
        }
    }

    #[test]
    fn all_is_dropped_before_single_ones_are_added() {
        let set = capabilities(&container(&["NET_BIND_SERVICE"], &["ALL"])).unwrap();
        assert_eq!(
            set.into_iter().collect::<Vec<_>>(),
            [Capability::CAP_NET_BIND_SERVICE]
        );
    }

    #[test]
    fn the_usual_set_is_changed_by_names_with_or_without_prefix() {
        let set = capabilities(&container(&["sys_time"], &["CAP_MKNOD"])).unwrap();
        assert_eq!(set.len(), USUAL.len());
        assert!(set.contains(&Capability::CAP_SYS_TIME) && !set.contains(&Capability::CAP_MKNOD));
        let unknown = capabilities(&container(&["MAGIC"], &[])).unwrap_err();
        assert_eq!(unknown.kind, FailureKind::Invalid);
    }

    #[test]
    fn an_id_is_mapped_only_inside_a_range() {
        assert!(is_mapped("         0       1000          1\n", 0));
        assert!(!is_mapped("         0       1000          1\n", 1000));
        assert!(is_mapped("0 1000 1\n1 100000 65536\n", 1000));
        assert!(is_mapped("0 0 4294967295\n", 65534));
    }
}
