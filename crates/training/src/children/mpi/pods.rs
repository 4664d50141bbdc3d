//! Launcher and workers of an MPIJob: variables, files, and our program in the right places.

use serde_json::{Value, json};

use super::{
    config::{DISCOVER_HOSTS, HOSTFILE, REMOTE_SHELL, has_gpu_launcher},
    rights, uses_own_shell,
};
use crate::{
    Settings,
    children::delivery::{self, PROGRAM},
    job::{Job, Mpi, MpiImplementation, MpiVersion},
    template,
};

const CONFIG_VOLUME: &str = "mpi-job-config";
const CONFIG_FOLDER: &str = "/etc/mpi";
const SCRIPT_MODE: u32 = 0o555;
const FILE_MODE: u32 = 0o444;

pub(in crate::children) fn complete(
    job: &Job,
    mpi: &Mpi,
    role: &str,
    index: u32,
    settings: &Settings,
    template: &mut Value,
) {
    if mpi.version == MpiVersion::V2Beta1 {
        name_host(job, role, index, template);
    }
    if role == "Launcher" {
        launcher(job, mpi, settings, template);
    } else {
        worker(job, mpi, settings, template);
    }
}

/// Gives the pod the name that stands in the hostfile.
fn name_host(job: &Job, role: &str, index: u32, template: &mut Value) {
    let spec = &mut template["spec"];
    spec["hostname"] = json!(job.child_name(role, index));
    spec["subdomain"] = json!(job.name());
    if spec["hostNetwork"] == true {
        spec["dnsPolicy"] = json!("ClusterFirstWithHostNet");
    }
    if role == "Worker" {
        let search = format!("{}.{}.svc.cluster.local", job.name(), job.namespace());
        template::map(spec, "dnsConfig");
        template::list(&mut spec["dnsConfig"], "searches").push(json!(search));
    }
}

fn launcher(job: &Job, mpi: &Mpi, settings: &Settings, template: &mut Value) {
    let own_shell = uses_own_shell(job, mpi);
    let variables = variables(job, mpi, own_shell, &template["spec"]["containers"][0]);
    if let Some(container) = template["spec"]["containers"].get_mut(0) {
        template::append_env(
            container,
            variables
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value)),
        );
    }
    if !own_shell {
        mount_key(job, mpi, template);
    }
    let config_mount = json!({"name": CONFIG_VOLUME, "mountPath": CONFIG_FOLDER});
    if own_shell {
        template["spec"]["serviceAccountName"] = json!(rights::service_account(job, mpi));
        delivery::deliver(template, settings, &[0]);
    }
    if let Some(container) = template["spec"]["containers"].get_mut(0) {
        template::list(container, "volumeMounts").push(config_mount.clone());
    }
    let mut files = Vec::new();
    if own_shell {
        files.push((REMOTE_SHELL, SCRIPT_MODE));
    }
    files.push((HOSTFILE, FILE_MODE));
    if mpi.version != MpiVersion::V1Alpha2 {
        files.push((DISCOVER_HOSTS, SCRIPT_MODE));
    }
    add_config_volume(job, &files, template);
    if own_shell {
        // `mpirun` gives up when a worker is not there; so it begins when all are.
        delivery::wait(template, &["mpi-wait", "/etc/mpi/hostfile"], &[config_mount]);
    }
}

fn worker(job: &Job, mpi: &Mpi, settings: &Settings, template: &mut Value) {
    let own_shell = uses_own_shell(job, mpi);
    let Some(container) = template["spec"]["containers"].get_mut(0) else {
        return;
    };
    if mpi.version == MpiVersion::V2Beta1 {
        if own_shell {
            container["command"] = json!([PROGRAM, "mpi-worker"]);
        }
        template::append_env(container, [("K_MPI_JOB_ROLE".to_owned(), "worker".to_owned())]);
    } else if template::is_empty_list(&container["command"]) {
        container["command"] = json!(["sleep"]);
        container["args"] = json!(["365d"]);
    }
    if own_shell {
        mount_shell(job, settings, template);
    } else {
        mount_key(job, mpi, template);
    }
}

/// Open MPI looks for its remote shell on every rank.
fn mount_shell(job: &Job, settings: &Settings, template: &mut Value) {
    if let Some(container) = template["spec"]["containers"].get_mut(0) {
        let mount = json!({"name": CONFIG_VOLUME, "mountPath": CONFIG_FOLDER});
        template::list(container, "volumeMounts").push(mount);
    }
    delivery::deliver(template, settings, &[0]);
    add_config_volume(job, &[(REMOTE_SHELL, SCRIPT_MODE)], template);
}

fn add_config_volume(job: &Job, files: &[(&str, u32)], template: &mut Value) {
    let items: Vec<Value> = files
        .iter()
        .map(|(file, mode)| json!({"key": file, "path": file, "mode": mode}))
        .collect();
    let source = json!({"name": format!("{}-config", job.name()), "items": items});
    let volume = json!({"name": CONFIG_VOLUME, "configMap": source});
    template::list(&mut template["spec"], "volumes").push(volume);
}

fn mount_key(job: &Job, mpi: &Mpi, template: &mut Value) {
    let items = json!([
        {"key": "ssh-privatekey", "path": "id_rsa"},
        {"key": "ssh-publickey", "path": "id_rsa.pub"},
        {"key": "ssh-publickey", "path": "authorized_keys"},
    ]);
    let mut source = json!({"secretName": format!("{}-ssh", job.name()), "items": items});
    if mpi.ssh_path == "/root/.ssh" {
        source["defaultMode"] = json!(0o600);
    }
    template::list(&mut template["spec"], "volumes").push(json!({"name": "ssh-auth", "secret": source}));
    if let Some(container) = template["spec"]["containers"].get_mut(0) {
        template::list(container, "volumeMounts")
            .push(json!({"name": "ssh-auth", "mountPath": mpi.ssh_path}));
    }
}

/// The launcher's variables, in the order of the originals.
fn variables(job: &Job, mpi: &Mpi, own_shell: bool, container: &Value) -> Vec<(&'static str, String)> {
    let shell = format!("{CONFIG_FOLDER}/{REMOTE_SHELL}");
    let hostfile = format!("{CONFIG_FOLDER}/{HOSTFILE}");
    let no_gpu = || {
        [
            ("NVIDIA_VISIBLE_DEVICES", String::new()),
            ("NVIDIA_DRIVER_CAPABILITIES", String::new()),
        ]
    };
    let mut variables = Vec::new();
    match mpi.version {
        MpiVersion::V1Alpha2 => {
            let names = match mpi.implementation {
                MpiImplementation::OpenMpi => ["OMPI_MCA_plm_rsh_agent", "OMPI_MCA_orte_default_hostfile"],
                MpiImplementation::Intel => ["I_MPI_HYDRA_BOOTSTRAP_EXEC", "I_MPI_HYDRA_HOST_FILE"],
                MpiImplementation::Mpich => ["HYDRA_LAUNCHER_EXEC", "HYDRA_HOST_FILE"],
            };
            variables.extend(names.into_iter().zip([shell, hostfile]));
            variables.extend(no_gpu());
            variables.extend(interface(job, mpi.implementation, container));
        }
        MpiVersion::V1 => {
            variables.push(("OMPI_MCA_plm_rsh_agent", shell.clone()));
            variables.push(("OMPI_MCA_orte_default_hostfile", hostfile));
            if !has_gpu_launcher(job) {
                variables.extend(no_gpu());
            }
            let bootstrap = [
                ("I_MPI_HYDRA_BOOTSTRAP", "rsh".to_owned()),
                ("I_MPI_HYDRA_BOOTSTRAP_EXEC", shell),
            ];
            variables.extend(
                bootstrap
                    .into_iter()
                    .filter(|(name, _)| !template::has_env(container, name)),
            );
            variables.extend(interface(job, MpiImplementation::Intel, container));
        }
        MpiVersion::V2Beta1 => {
            variables.push(("K_MPI_JOB_ROLE", "launcher".to_owned()));
            variables.extend(of_v2beta1(mpi, hostfile));
            if !mpi.launcher_works {
                variables.extend(no_gpu());
            }
            if own_shell {
                variables.extend(own_shell_of(mpi.implementation, shell));
            }
        }
    }
    variables
}

fn of_v2beta1(mpi: &Mpi, hostfile: String) -> Vec<(&'static str, String)> {
    let patience = "-o ConnectionAttempts=10".to_owned();
    let slots = mpi.slots.to_string();
    match mpi.implementation {
        MpiImplementation::OpenMpi => vec![
            ("OMPI_MCA_orte_keep_fqdn_hostnames", "true".to_owned()),
            ("OMPI_MCA_orte_default_hostfile", hostfile),
            ("OMPI_MCA_plm_rsh_args", patience),
            ("OMPI_MCA_orte_set_default_slots", slots),
        ],
        MpiImplementation::Intel => vec![
            ("I_MPI_HYDRA_HOST_FILE", hostfile),
            ("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", patience),
            ("I_MPI_PERHOST", slots),
        ],
        MpiImplementation::Mpich => vec![
            ("HYDRA_HOST_FILE", hostfile),
            ("HYDRA_LAUNCH_EXTRA_ARGS", patience),
        ],
    }
}

/// Hydra's daemons call the launcher back. Before v2beta1 its name means nothing to the workers, so they
/// are told its address: that of the interface which pods have by convention, unless the user knows better.
fn interface(
    job: &Job,
    implementation: MpiImplementation,
    container: &Value,
) -> Option<(&'static str, String)> {
    let name = match implementation {
        MpiImplementation::OpenMpi => return None,
        MpiImplementation::Intel => "I_MPI_HYDRA_IFACE",
        MpiImplementation::Mpich => "HYDRA_IFACE",
    };
    let launcher = job.replica("Launcher");
    let is_of_host = launcher.is_some_and(|launcher| launcher.template["spec"]["hostNetwork"] == true);
    (!is_of_host && !template::has_env(container, name)).then(|| (name, "eth0".to_owned()))
}

/// How each implementation is told of a remote shell that is not `ssh`.
fn own_shell_of(implementation: MpiImplementation, shell: String) -> Vec<(&'static str, String)> {
    let rsh = "rsh".to_owned();
    match implementation {
        MpiImplementation::OpenMpi => vec![("OMPI_MCA_plm_rsh_agent", shell)],
        MpiImplementation::Intel => vec![
            ("I_MPI_HYDRA_BOOTSTRAP", rsh),
            ("I_MPI_HYDRA_BOOTSTRAP_EXEC", shell),
        ],
        MpiImplementation::Mpich => vec![("HYDRA_LAUNCHER", rsh), ("HYDRA_LAUNCHER_EXEC", shell)],
    }
}
