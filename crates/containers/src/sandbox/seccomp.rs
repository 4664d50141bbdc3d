//! Which system calls a container may not make. The default refuses what changes the machine, escapes
//! the container or has a history of doing so; the list follows Docker's default profile.

use std::{collections::BTreeMap, env::consts::ARCH};

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

use crate::{
    protocol::{Failure, FailureKind},
    spec::{Container, Seccomp},
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
            Seccomp::Profile(_) => Err(invalid("own system call profiles are not supported yet")),
        }
    }

    pub(super) fn install(&self) -> nix::Result<()> {
        self.0.iter().try_for_each(|program| system::install_filter(program))
    }
}

fn invalid(reason: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Setup, format!("cannot filter system calls: {reason}"))
}

/// Whoever may administer the system may use its calls.
fn may_administer(spec: &Container) -> bool {
    spec.capabilities.add.iter().any(|name| {
        let name = name.to_ascii_uppercase();
        name == "ALL" || name.trim_start_matches("CAP_") == "SYS_ADMIN"
    })
}

fn default_filters(administers: bool) -> Result<Vec<BpfProgram>, seccompiler::Error> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    if administers {
        return Ok(vec![filter(refused, libc::EPERM)?]);
    }
    refused.extend(ADMINISTRATION.iter().map(|call| (*call, Vec::new())));
    refused.insert(libc::SYS_clone, namespace_flags()?);
    // Its flags lie in memory where no filter can see them: programs fall back to `clone`.
    let invisible = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    Ok(vec![filter(refused, libc::EPERM)?, filter(invisible, libc::ENOSYS)?])
}

fn filter(calls: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> Result<BpfProgram, seccompiler::Error> {
    let arch = TargetArch::try_from(ARCH)?;
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    Ok(SeccompFilter::new(calls, SeccompAction::Allow, refuse, arch)?.try_into()?)
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
const REFUSED: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_move_pages,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// Allowed to whoever has `CAP_SYS_ADMIN`.
const ADMINISTRATION: &[i64] = &[
    libc::SYS_bpf,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
];

#[cfg(test)]
mod tests {
    use super::Filters;
    use crate::spec::{Capabilities, Container};

    #[test]
    fn a_privileged_container_has_no_filter_and_an_administrator_a_shorter_one() {
        let filters = |container: Container| Filters::for_container(&container).unwrap().0;
        assert!(filters(Container { privileged: true, ..Container::default() }).is_empty());
        let add = vec!["SYS_ADMIN".to_owned()];
        let capabilities = Capabilities { add, drop: Vec::new() };
        let administrator = filters(Container { capabilities, ..Container::default() });
        let usual = filters(Container::default());
        assert_eq!((administrator.len(), usual.len()), (1, 2));
        assert!(administrator[0].len() < usual[0].len());
    }
}
