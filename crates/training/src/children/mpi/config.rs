//! The ConfigMap of an MPIJob: who the workers are, and how they are reached.

use serde_json::{Value, json};

use super::{labelled, uses_own_shell};
use crate::{
    Settings,
    children::delivery::PROGRAM,
    job::{Job, Mpi, MpiImplementation, MpiVersion},
};

pub(super) const HOSTFILE: &str = "hostfile";
pub(super) const REMOTE_SHELL: &str = "kubexec.sh";
pub(super) const DISCOVER_HOSTS: &str = "discover_hosts.sh";

pub(super) fn config_map(job: &Job, mpi: &Mpi, settings: &Settings, running_workers: &[String]) -> Value {
    let mut data = json!({ HOSTFILE: hostfile(job, mpi, settings) });
    if uses_own_shell(job, mpi) {
        data[REMOTE_SHELL] = json!(remote_shell(mpi));
    }
    if mpi.version != MpiVersion::V1Alpha2 {
        data[DISCOVER_HOSTS] = json!(discover_hosts(job, mpi, settings, running_workers));
    }
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": labelled(job, &format!("{}-config", job.name())),
        "data": data,
    })
}

fn hostfile(job: &Job, mpi: &Mpi, settings: &Settings) -> String {
    let launcher = launcher_takes_part(job, mpi).then(|| job.child_name("Launcher", 0));
    let workers = (0..job.count("Worker")).map(|index| job.child_name("Worker", index));
    let line = |pod: String| {
        let host = host(job, mpi, settings, &pod);
        match mpi.implementation {
            MpiImplementation::Intel | MpiImplementation::Mpich => format!("{host}:{}\n", mpi.slots),
            MpiImplementation::OpenMpi => format!("{host} slots={}\n", mpi.slots),
        }
    };
    launcher.into_iter().chain(workers).map(line).collect()
}

/// What stands in the files for a pod.
fn host(job: &Job, mpi: &Mpi, settings: &Settings, pod: &str) -> String {
    if mpi.version != MpiVersion::V2Beta1 {
        return pod.to_owned();
    }
    let domain = settings
        .cluster_domain
        .as_deref()
        .map_or(String::new(), |domain| format!(".{domain}"));
    format!("{pod}.{}.{}.svc{domain}", job.name(), job.namespace())
}

fn launcher_takes_part(job: &Job, mpi: &Mpi) -> bool {
    match mpi.version {
        MpiVersion::V1Alpha2 => false,
        MpiVersion::V1 => has_gpu_launcher(job),
        MpiVersion::V2Beta1 => mpi.launcher_works,
    }
}

/// A v1 launcher that asks for a GPU also computes. It asks by a limit, whatever the vendor calls it.
pub(super) fn has_gpu_launcher(job: &Job) -> bool {
    let containers = job
        .replica("Launcher")
        .map(|launcher| &launcher.template["spec"]["containers"]);
    let containers = containers.and_then(Value::as_array).into_iter().flatten();
    let limits = containers.filter_map(|container| container["resources"]["limits"].as_object());
    limits.flatten().any(|(name, _)| name.contains("gpu"))
}

/// Called as `ssh` is: options, host, command.
fn remote_shell(mpi: &Mpi) -> String {
    let container = mpi
        .main_container
        .as_deref()
        .map_or(String::new(), |name| format!(" --container {name}"));
    format!("#!/bin/sh\nexec {PROGRAM} mpi-rsh{container} -- \"$@\"\n")
}

/// Elastic Horovod asks it who is there now.
fn discover_hosts(job: &Job, mpi: &Mpi, settings: &Settings, running_workers: &[String]) -> String {
    let launcher = launcher_takes_part(job, mpi).then(|| job.child_name("Launcher", 0));
    let mut running: Vec<&String> = running_workers.iter().collect();
    running.sort();
    let all = launcher.iter().chain(running);
    if mpi.version == MpiVersion::V2Beta1 {
        let lines = all.map(|pod| format!("echo {}\n", host(job, mpi, settings, pod)));
        return format!("#!/bin/sh\n{}", lines.collect::<String>());
    }
    let lines = all.map(|pod| format!("\necho {pod}:{}", mpi.slots));
    format!("#!/bin/sh{}", lines.collect::<String>())
}
