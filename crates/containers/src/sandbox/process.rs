//! The life of a container's process from `fork` to `execve`. Whatever goes wrong is reported.

use std::{
    convert::Infallible,
    env, fs,
    fs::File,
    os::fd::{AsFd as _, OwnedFd},
    path::Path,
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sched::CloneFlags,
    sys::{
        prctl,
        resource::{Resource, setrlimit},
        signal::Signal,
        stat::{Mode, umask},
    },
    unistd::setsid,
};

use super::{
    command,
    credentials::{self, Home},
    error::{Doing as _, SetupError},
    namespaces::{self, Surroundings},
    report::Report,
    root,
    seccomp::Filters,
    stdio::{self, Stdio},
};
use crate::{
    cgroups::Group,
    protocol::Failure,
    spec::{Container, ResourceLimit},
    system,
};

/// Everything the new process needs; made before the fork.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) spec: &'a Container,
    pub(super) argv: &'a [String],
    pub(super) stdio: Stdio,
    pub(super) group: Option<&'a Group>,
    pub(super) place: Place<'a>,
}

/// Where the process runs.
#[derive(Debug)]
pub(super) enum Place<'a> {
    /// A container of its own, in these surroundings.
    New(&'a Surroundings),
    /// Beside a process of a running container, by its number on the host.
    Beside(i32),
    /// On the host as it is, without namespaces.
    Bare,
}

/// Runs in the child. Returns only if the program could not be started.
pub(super) fn run(plan: &Plan<'_>, report: OwnedFd) -> i32 {
    let mut report = File::from(report);
    let Err(failure) = start(plan, &mut report);
    let code = failure.exit_code();
    let _ = Report::Failed(failure).send(&mut report);
    code
}

fn start(plan: &Plan<'_>, report: &mut File) -> Result<Infallible, Failure> {
    let spec = plan.spec;
    Report::Pid(own_pid()?)
        .send(report)
        .doing(|| "report the process")?;
    system::reset_signals().doing(|| "reset the signals")?;
    setsid().doing(|| "start a session")?;
    umask(Mode::from_bits_truncate(0o022));
    if let Some(group) = plan.group {
        group.join().doing(|| "join the control group")?;
    }
    adjust_oom_score(spec);
    limit_resources(&spec.resource_limits)?;
    let filters = Filters::for_container(spec)?;
    let home = enter(plan)?;
    stdio::take(&plan.stdio, spec.user)?;
    if let Some(home) = home {
        make_working_directory(spec);
        credentials::take(spec, &home, &filters)?;
    } else {
        credentials::take_bare(spec)?;
    }
    enter_working_directory(spec)?;
    die_with_sandbox(report)?;
    command::run(plan.argv, &spec.env, spec.user)
}

/// Goes where the process is to run; none where there are no namespaces.
fn enter(plan: &Plan<'_>) -> Result<Option<Home>, Failure> {
    match &plan.place {
        Place::Bare => Ok(None),
        Place::New(surroundings) => {
            hide_from_others()?;
            let may_mount = credentials::may_mount(plan.spec)?;
            root::build(plan.spec, surroundings, plan.group, may_mount)?;
            Ok(Some(Home::Fresh))
        }
        Place::Beside(pid) => {
            hide_from_others()?;
            let user_namespace = different_user_namespace(*pid)?;
            namespaces::join(&process_namespace(*pid, "mnt"), CloneFlags::CLONE_NEWNS)?;
            Ok(Some(Home::Of(user_namespace)))
        }
    }
}

/// Until `execve` this process holds files of the host: containers that see it must not look into it.
fn hide_from_others() -> Result<(), SetupError> {
    prctl::set_dumpable(false).doing(|| "hide from other containers")
}

fn different_user_namespace(pid: i32) -> Result<Option<File>, SetupError> {
    let path = process_namespace(pid, "user");
    let (theirs, ours) = (fs::read_link(&path), fs::read_link("/proc/self/ns/user"));
    if theirs.doing(|| "find the container")? == ours.doing(|| "find ourselves")? {
        return Ok(None);
    }
    File::open(&path)
        .map(Some)
        .doing(|| format!("open `{}`", path.display()))
}

pub(super) fn process_namespace(pid: i32, kind: &str) -> std::path::PathBuf {
    format!("/proc/{pid}/ns/{kind}").into()
}

/// Our number as the host's `/proc` knows it, whatever process namespace we are in.
pub(super) fn own_pid() -> Result<i32, SetupError> {
    let link = fs::read_link("/proc/self").doing(|| "read `/proc/self`")?;
    let pid = link
        .to_str()
        .and_then(|text| text.parse().ok())
        .ok_or(Errno::EINVAL);
    pid.doing(|| "understand `/proc/self`")
}

fn adjust_oom_score(spec: &Container) {
    if let Some(adjustment) = spec.oom_score_adjustment {
        // Only a privileged process may lower it: then the pod is as likely a victim as its parent.
        let _ = fs::write("/proc/self/oom_score_adj", adjustment.to_string());
    }
}

fn limit_resources(limits: &[ResourceLimit]) -> Result<(), SetupError> {
    for limit in limits {
        let set = resource(&limit.name)
            .ok_or(Errno::EINVAL)
            .and_then(|resource| setrlimit(resource, limit.soft, limit.hard));
        set.doing(|| format!("limit `{}` to {}", limit.name, limit.hard))?;
    }
    Ok(())
}

fn resource(name: &str) -> Option<Resource> {
    Some(match name {
        "as" => Resource::RLIMIT_AS,
        "core" => Resource::RLIMIT_CORE,
        "cpu" => Resource::RLIMIT_CPU,
        "data" => Resource::RLIMIT_DATA,
        "fsize" => Resource::RLIMIT_FSIZE,
        "memlock" => Resource::RLIMIT_MEMLOCK,
        "nofile" => Resource::RLIMIT_NOFILE,
        "nproc" => Resource::RLIMIT_NPROC,
        "stack" => Resource::RLIMIT_STACK,
        _ => return None,
    })
}

/// Image authors name working directories without making them.
fn make_working_directory(spec: &Container) {
    if let Some(path) = &spec.working_directory {
        // If it cannot be made, entering it says so.
        let _ = fs::create_dir_all(path);
    }
}

fn enter_working_directory(spec: &Container) -> Result<(), SetupError> {
    let path = spec.working_directory.as_deref().unwrap_or(Path::new("/"));
    env::set_current_dir(path).doing(|| format!("enter the working directory `{}`", path.display()))
}

/// The kernel forgets this wish when credentials change, so it comes last. A sandbox that died before
/// has closed the other end of the report.
fn die_with_sandbox(report: &File) -> Result<(), SetupError> {
    prctl::set_pdeathsig(Signal::SIGKILL).doing(|| "bind to the sandbox's life")?;
    let mut ends = [PollFd::new(report.as_fd(), PollFlags::empty())];
    poll(&mut ends, PollTimeout::ZERO).doing(|| "look after the sandbox")?;
    let orphaned = ends[0]
        .revents()
        .is_some_and(|events| events.contains(PollFlags::POLLERR));
    let alive = if orphaned { Err(Errno::ESRCH) } else { Ok(()) };
    alive.doing(|| "find the sandbox")
}
