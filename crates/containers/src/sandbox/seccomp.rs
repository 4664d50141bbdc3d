//! Which system calls a container may not make. The default refuses what changes the machine, escapes
//! the container or has a history of doing so; the list follows Docker's default profile.

mod calls;

use std::{collections::BTreeMap, env::consts::ARCH, io};

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

use crate::{
    protocol::{Failure, FailureKind},
    spec::{Container, Seccomp, SyscallAction, SyscallProfile},
    system,
};

/// Programs for the kernel, installed one after the other; the strictest answer counts.
#[derive(Debug)]
pub(super) struct Filters(Vec<BpfProgram>);

impl Filters {
    pub(super) fn for_container(spec: &Container) -> Result<Self, Failure> {
        if spec.privileged {
            return Ok(Self(Vec::new()));
        }
        match &spec.seccomp {
            Seccomp::Unconfined => Ok(Self(Vec::new())),
            Seccomp::Default => default_filters(may_administer(spec)).map(Self).map_err(invalid),
            Seccomp::Profile(profile) => profile_filters(profile).map(Self).map_err(invalid),
        }
    }

    /// Refuses everything but these.
    pub(super) fn only(names: &[&str]) -> Result<Self, io::Error> {
        let rest = SeccompAction::Errno(libc::EPERM.cast_unsigned());
        let program = TargetArch::try_from(ARCH)
            .and_then(|arch| SeccompFilter::new(numbered(names), rest, SeccompAction::Allow, arch))
            .and_then(BpfProgram::try_from);
        Ok(Self(vec![program.map_err(io::Error::other)?]))
    }

    pub(super) fn install(&self) -> nix::Result<()> {
        self.0
            .iter()
            .try_for_each(|program| system::install_filter(program))
    }
}

fn invalid(reason: impl std::fmt::Display) -> Failure {
    Failure::new(
        FailureKind::Setup,
        format!("cannot filter system calls: {reason}"),
    )
}

/// Whoever may administer the system may use its calls.
fn may_administer(spec: &Container) -> bool {
    spec.capabilities.add.iter().any(|name| {
        let name = name.to_ascii_uppercase();
        name == "ALL" || name.trim_start_matches("CAP_") == "SYS_ADMIN"
    })
}

fn default_filters(administers: bool) -> Result<Vec<BpfProgram>, seccompiler::Error> {
    let mut refused = numbered(REFUSED);
    if administers {
        // Elsewhere devices are of no use, but whoever may mount could make a place where they are.
        for (call, mode) in [("mknod", 1), ("mknodat", 2)] {
            if let Some(number) = calls::number(call) {
                refused.insert(number, devices(mode)?);
            }
        }
        return Ok(vec![filter(refused, libc::EPERM)?]);
    }
    refused.extend(numbered(ADMINISTRATION));
    refused.insert(libc::SYS_clone, namespace_flags()?);
    // Its flags lie in memory where no filter can see them: programs fall back to `clone`.
    let invisible = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    Ok(vec![
        filter(refused, libc::EPERM)?,
        filter(invisible, libc::ENOSYS)?,
    ])
}

/// The calls of these names, whatever their arguments; those this machine does not have are left out.
fn numbered<T: AsRef<str>>(names: &[T]) -> BTreeMap<i64, Vec<SeccompRule>> {
    names
        .iter()
        .filter_map(|name| Some((calls::number(name.as_ref())?, Vec::new())))
        .collect()
}

fn filter(calls: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> Result<BpfProgram, seccompiler::Error> {
    let arch = TargetArch::try_from(ARCH)?;
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    Ok(SeccompFilter::new(calls, SeccompAction::Allow, refuse, arch)?.try_into()?)
}

/// A filter for each action other than to allow. With a default that refuses, one filter lists all
/// calls for which some rule says otherwise.
fn profile_filters(profile: &SyscallProfile) -> Result<Vec<BpfProgram>, seccompiler::Error> {
    let arch = TargetArch::try_from(ARCH)?;
    let mut by_action: Vec<(SyscallAction, BTreeMap<i64, Vec<SeccompRule>>)> = Vec::new();
    let mut listed = BTreeMap::new();
    for rule in profile
        .syscalls
        .iter()
        .filter(|rule| rule.action != profile.default_action)
    {
        let calls = numbered(&rule.names);
        listed.extend(calls.clone());
        if rule.action != SyscallAction::Allow {
            by_action.push((rule.action, calls));
        }
    }
    let allow = SeccompAction::Allow;
    let mut programs = Vec::new();
    for (action, calls) in by_action {
        programs.push(SeccompFilter::new(calls, allow.clone(), seccomp_action(action), arch)?.try_into()?);
    }
    if profile.default_action != SyscallAction::Allow {
        let default = seccomp_action(profile.default_action);
        programs.push(SeccompFilter::new(listed, default, allow, arch)?.try_into()?);
    }
    Ok(programs)
}

fn seccomp_action(action: SyscallAction) -> SeccompAction {
    match action {
        SyscallAction::Allow => SeccompAction::Allow,
        SyscallAction::Log => SeccompAction::Log,
        SyscallAction::Errno => SeccompAction::Errno(libc::EPERM.cast_unsigned()),
        SyscallAction::Trap => SeccompAction::Trap,
        SyscallAction::KillThread => SeccompAction::KillThread,
        SyscallAction::KillProcess => SeccompAction::KillProcess,
    }
}

/// One rule for each sort of device, with the place of the mode among the arguments; the number of the
/// device follows. One without a number is not a device but a mark that overlayfs uses.
fn devices(mode: u8) -> Result<Vec<SeccompRule>, seccompiler::Error> {
    let rule = |sort: libc::mode_t| {
        let (mask, sort) = (u64::from(libc::S_IFMT), u64::from(sort));
        let is_device =
            SeccompCondition::new(mode, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(mask), sort)?;
        let has_number = SeccompCondition::new(mode + 1, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?;
        Ok(SeccompRule::new(vec![is_device, has_number])?)
    };
    [libc::S_IFCHR, libc::S_IFBLK].into_iter().map(rule).collect()
}

/// One rule for each flag of `clone` that makes a namespace.
fn namespace_flags() -> Result<Vec<SeccompRule>, seccompiler::Error> {
    let flags = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWCGROUP,
    ];
    let rule = |flag: i32| {
        let flag = u64::from(flag.cast_unsigned());
        let asks = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)?;
        Ok(SeccompRule::new(vec![asks])?)
    };
    flags.into_iter().map(rule).collect()
}

/// Refused whatever the capabilities are.
const REFUSED: &[&str] = &[
    "acct",
    "add_key",
    "delete_module",
    "finit_module",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "move_pages",
    "nfsservctl",
    "open_by_handle_at",
    "reboot",
    "request_key",
    "swapoff",
    "swapon",
    "userfaultfd",
    "vhangup",
];

/// Allowed to whoever has `CAP_SYS_ADMIN`.
const ADMINISTRATION: &[&str] = &[
    "bpf",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "lookup_dcookie",
    "mount",
    "mount_setattr",
    "move_mount",
    "open_tree",
    "perf_event_open",
    "pivot_root",
    "quotactl",
    "setdomainname",
    "sethostname",
    "setns",
    "syslog",
    "umount2",
    "unshare",
];

#[cfg(test)]
mod tests {
    use super::Filters;
    use crate::spec::{Capabilities, Container};

    #[test]
    fn a_privileged_container_has_no_filter_and_an_administrator_a_shorter_one() {
        let filters = |container: Container| Filters::for_container(&container).unwrap().0;
        assert!(
            filters(Container {
                privileged: true,
                ..Container::default()
            })
            .is_empty()
        );
        let add = vec!["SYS_ADMIN".to_owned()];
        let capabilities = Capabilities {
            add,
            drop: Vec::new(),
        };
        let administrator = filters(Container {
            capabilities,
            ..Container::default()
        });
        let usual = filters(Container::default());
        assert_eq!((administrator.len(), usual.len()), (1, 2));
        assert!(administrator[0].len() < usual[0].len());
    }
}
