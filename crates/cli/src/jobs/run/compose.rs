//! From what a user asks for to a training job. Pure.

use clap::ValueEnum;
use resources::{Kind, kinds};
use serde_json::{Value, json};

/// A program, and what it is to have.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) framework: Framework,
    pub(crate) nodes: u32,
    pub(crate) gpus: u32,
    pub(crate) cpus: Option<String>,
    pub(crate) memory: Option<String>,
    pub(crate) image: String,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) command: Vec<String>,
    /// How many restarts the job may have.
    pub(crate) retries: u32,
    /// Somebody stays to tidy up when it has ended.
    pub(crate) is_attended: bool,
    /// What of this machine the program sees.
    pub(crate) workspace: Option<Workspace>,
}

/// This machine, as a program in a pod is to find it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Workspace {
    pub(crate) directory: Option<String>,
    pub(crate) mounts: Vec<Mount>,
    /// User and group; none is root, or whoever root is there.
    pub(crate) user: Option<(u32, u32)>,
    pub(crate) environment: Vec<(String, String)>,
}

/// A file or folder at its own place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) path: String,
    pub(crate) is_file: bool,
    pub(crate) read_only: bool,
    /// The job can do without it.
    pub(crate) is_optional: bool,
}

/// How nodes learn of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Framework {
    Pytorch,
    Tensorflow,
    Jax,
    Mxnet,
    Mpi,
}

/// Programs that start others by MPI.
const LAUNCHERS: [&str; 6] = [
    "mpirun",
    "mpiexec",
    "mpiexec.hydra",
    "orterun",
    "prterun",
    "horovodrun",
];

impl Framework {
    /// The one that suits a program.
    pub(crate) fn of(program: &str) -> Self {
        if is_launcher(program) {
            Self::Mpi
        } else {
            Self::Pytorch
        }
    }

    pub(crate) fn kind(self) -> &'static Kind {
        match self {
            Self::Pytorch => &kinds::PYTORCH_JOB,
            Self::Tensorflow => &kinds::TF_JOB,
            Self::Jax => &kinds::JAX_JOB,
            Self::Mxnet => &kinds::MXNET_JOB,
            Self::Mpi => &kinds::MPI_JOB,
        }
    }
}

fn file_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}

fn is_launcher(program: &str) -> bool {
    LAUNCHERS.contains(&file_name(program))
}

/// The job.
pub(crate) fn compose(wish: &Wish) -> Value {
    let kind = wish.framework.kind();
    let nodes = wish.nodes;
    let working = |count: u32| replica(wish, count, wish.command.clone(), true);
    let helping = |count: u32| replica(wish, count, wish.command.clone(), false);
    let mut spec = json!({ "runPolicy": run_policy(wish) });
    spec[kind.replicas_field] = match wish.framework {
        Framework::Pytorch if nodes > 1 => json!({"Master": working(1), "Worker": working(nodes - 1)}),
        Framework::Pytorch => json!({"Master": working(1)}),
        Framework::Tensorflow | Framework::Jax => json!({"Worker": working(nodes)}),
        Framework::Mxnet => {
            json!({"Scheduler": helping(1), "Server": helping(nodes), "Worker": working(nodes)})
        }
        Framework::Mpi => json!({
            "Launcher": replica(wish, 1, launched(wish), false),
            "Worker": replica(wish, nodes, Vec::new(), true),
        }),
    };
    match wish.framework {
        // Each of them runs the program, so each of them counts.
        Framework::Tensorflow => spec["successPolicy"] = json!("AllWorkers"),
        Framework::Mxnet => spec["jobMode"] = json!("MXTrain"),
        Framework::Mpi => spec["slotsPerWorker"] = json!(slots(wish)),
        Framework::Pytorch if file_name(&wish.command[0]) == "torchrun" && wish.gpus > 1 => {
            spec["nprocPerNode"] = json!(wish.gpus.to_string());
        }
        Framework::Pytorch | Framework::Jax => {}
    }
    let mut metadata = json!({"name": wish.name});
    if let Some(namespace) = &wish.namespace {
        metadata["namespace"] = json!(namespace);
    }
    json!({
        "apiVersion": format!("{}/{}", kind.group, kind.versions[0]),
        "kind": kind.kind,
        "metadata": metadata,
        "spec": spec,
    })
}

/// Pods that have ended stay, for their output. Those that still run when the job has ended do so to end
/// by themselves, where somebody sees to it; MPI's workers never would.
fn run_policy(wish: &Wish) -> Value {
    let stays = wish.is_attended && wish.framework != Framework::Mpi;
    json!({
        "cleanPodPolicy": if stays { "None" } else { "Running" },
        "backoffLimit": wish.retries,
    })
}

fn slots(wish: &Wish) -> u32 {
    wish.gpus.max(1)
}

/// The launcher's command: `mpirun` over all slots, unless the user calls it himself.
fn launched(wish: &Wish) -> Vec<String> {
    if is_launcher(&wish.command[0]) {
        return wish.command.clone();
    }
    let count = (wish.nodes * slots(wish)).to_string();
    let own = ["mpirun".to_owned(), "-np".to_owned(), count];
    own.into_iter().chain(wish.command.iter().cloned()).collect()
}

fn replica(wish: &Wish, count: u32, command: Vec<String>, computes: bool) -> Value {
    let mut container = json!({"name": container_name(wish), "image": wish.image});
    if !command.is_empty() {
        container["command"] = command.iter().map(|word| json!(literal(word))).collect();
    }
    let environment = environment(wish);
    if !environment.is_empty() {
        container["env"] = environment
            .iter()
            .map(|(name, value)| json!({"name": name, "value": literal(value)}))
            .collect();
    }
    let limits = limits(wish, computes);
    if !limits.is_null() {
        container["resources"] = json!({ "limits": limits });
    }
    let mut spec = json!({});
    if let Some(workspace) = &wish.workspace {
        equip(&mut spec, &mut container, workspace);
    }
    spec["containers"] = json!([container]);
    json!({
        "replicas": count,
        "restartPolicy": if wish.retries > 0 { "OnFailure" } else { "Never" },
        "template": {"spec": spec},
    })
}

fn container_name(wish: &Wish) -> &'static str {
    match wish.framework.kind().container {
        "" => "mpi",
        name => name,
    }
}

/// The caller's variables, those asked for over them, and what makes output come at once.
fn environment(wish: &Wish) -> Vec<(String, String)> {
    let mut all = wish
        .workspace
        .as_ref()
        .map(|workspace| workspace.environment.clone())
        .unwrap_or_default();
    if wish.framework == Framework::Mpi && wish.workspace.as_ref().is_some_and(|it| it.user.is_none()) {
        // Root in a pod of this machine is who the user is.
        for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
            all.push((name.to_owned(), "1".to_owned()));
        }
    }
    if wish.framework != Framework::Pytorch {
        all.push(("PYTHONUNBUFFERED".to_owned(), "1".to_owned()));
    }
    for (name, value) in &wish.environment {
        all.retain(|(known, _)| known != name);
        all.push((name.clone(), value.clone()));
    }
    all
}

fn limits(wish: &Wish, computes: bool) -> Value {
    let gpus = (computes && wish.gpus > 0).then(|| wish.gpus.to_string());
    let amounts = [
        ("cpu", wish.cpus.clone()),
        ("memory", wish.memory.clone()),
        ("nvidia.com/gpu", gpus),
    ];
    let amounts = amounts
        .into_iter()
        .filter_map(|(name, amount)| Some((name, amount?)));
    let limits: serde_json::Map<String, Value> = amounts
        .map(|(name, amount)| (name.to_owned(), json!(amount)))
        .collect();
    if limits.is_empty() {
        Value::Null
    } else {
        json!(limits)
    }
}

fn equip(spec: &mut Value, container: &mut Value, workspace: &Workspace) {
    // Programs from the command line expect somebody else to be the first process: a signal that they do
    // not care for ends them, and children that they forget are buried.
    spec["shareProcessNamespace"] = json!(true);
    if let Some(directory) = &workspace.directory {
        container["workingDir"] = json!(directory);
    }
    if let Some((user, group)) = workspace.user {
        spec["securityContext"] = json!({"runAsUser": user, "runAsGroup": group});
    }
    let (mut volumes, mut mounts) = (Vec::new(), Vec::new());
    for (index, mount) in workspace.mounts.iter().enumerate() {
        let name = format!("host-{index}");
        let ty = if mount.is_file { "File" } else { "Directory" };
        volumes.push(json!({"name": name, "hostPath": {"path": mount.path, "type": ty}}));
        let mut place = json!({"name": name, "mountPath": mount.path});
        if mount.read_only {
            place["readOnly"] = json!(true);
        }
        mounts.push(place);
    }
    if !volumes.is_empty() {
        spec["volumes"] = json!(volumes);
        container["volumeMounts"] = json!(mounts);
    }
}

/// A word that reaches the program as it was typed: Kubernetes reads `$(NAME)` as a variable.
fn literal(word: &str) -> String {
    word.replace("$(", "$$(")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(framework: Framework, nodes: u32, command: &[&str]) -> Wish {
        Wish {
            name: "x".to_owned(),
            namespace: None,
            framework,
            nodes,
            gpus: 0,
            cpus: None,
            memory: None,
            image: "host".to_owned(),
            environment: Vec::new(),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            retries: 0,
            is_attended: true,
            workspace: None,
        }
    }

    #[test]
    fn every_framework_makes_a_job_that_passes_its_own_checks() {
        for framework in Framework::value_variants() {
            for (nodes, gpus) in [(1, 0), (3, 2)] {
                let wish = Wish {
                    gpus,
                    ..wish(*framework, nodes, &["./train"])
                };
                let problems = training::check(&compose(&wish));
                assert!(problems.is_empty(), "{framework:?}: {problems:?}");
            }
        }
    }

    #[test]
    fn one_node_is_a_master_alone() {
        let job = compose(&wish(Framework::Pytorch, 1, &["echo", "$(HOME)"]));
        let replicas = &job["spec"]["pytorchReplicaSpecs"];
        assert!(replicas["Worker"].is_null());
        let master = &replicas["Master"]["template"]["spec"]["containers"][0];
        assert_eq!(master["command"], json!(["echo", "$$(HOME)"]));
    }

    #[test]
    fn mpirun_is_put_before_programs_that_do_not_call_it() {
        let command = |words: &[&str]| {
            let wish = Wish {
                gpus: 2,
                ..wish(Framework::Mpi, 3, words)
            };
            let job = compose(&wish);
            let spec = &job["spec"]["mpiReplicaSpecs"];
            assert_eq!(
                spec["Worker"]["template"]["spec"]["containers"][0]["command"],
                Value::Null
            );
            assert!(spec["Launcher"]["template"]["spec"]["containers"][0]["resources"].is_null());
            spec["Launcher"]["template"]["spec"]["containers"][0]["command"].clone()
        };
        assert_eq!(command(&["./ring"]), json!(["mpirun", "-np", "6", "./ring"]));
        assert_eq!(
            command(&["/usr/bin/mpirun", "a"]),
            json!(["/usr/bin/mpirun", "a"])
        );
        assert_eq!(Framework::of("horovodrun"), Framework::Mpi);
        assert_eq!(Framework::of("python"), Framework::Pytorch);
    }

    #[test]
    fn what_is_asked_for_comes_over_what_the_caller_has() {
        let mut wish = wish(Framework::Jax, 1, &["a"]);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        wish.environment = vec![pair("PATH", "/mine")];
        wish.workspace = Some(Workspace {
            environment: vec![pair("PATH", "/theirs"), pair("HOME", "/h")],
            ..Workspace::default()
        });
        let names: Vec<_> = environment(&wish);
        assert_eq!(
            names,
            [
                pair("HOME", "/h"),
                pair("PYTHONUNBUFFERED", "1"),
                pair("PATH", "/mine")
            ]
        );
    }
}
