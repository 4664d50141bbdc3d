//! The table of training kinds: what they are called, and in what the alike ones differ.

/// A kind of training job.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    pub kind: &'static str,
    pub group: &'static str,
    /// Served versions; the first is the stored one.
    pub versions: &'static [&'static str],
    pub plural: &'static str,
    pub short_names: &'static [&'static str],
    /// The field that holds the replicas.
    pub replicas_field: &'static str,
    /// Roles in the order in which their pods are made and counted.
    pub roles: &'static [&'static str],
    /// The container that the framework runs in; empty where any will do.
    pub container: &'static str,
    pub port: Option<Port>,
    /// The value of the operator-name label.
    pub operator: &'static str,
    /// The restart policy of a role that names none.
    pub restart_policy: &'static str,
    /// The role whose number the scale subresource changes.
    pub scaled_role: Option<&'static str>,
}

/// The port that is added to a framework container that does not have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    pub name: &'static str,
    pub number: u16,
}

const KUBEFLOW: &str = "kubeflow.org";

const fn port(name: &'static str, number: u16) -> Port {
    Port { name, number }
}

pub static TF_JOB: Kind = Kind {
    kind: "TFJob",
    group: KUBEFLOW,
    versions: &["v1"],
    plural: "tfjobs",
    short_names: &[],
    replicas_field: "tfReplicaSpecs",
    roles: &["Chief", "Evaluator", "Master", "PS", "Worker"],
    container: "tensorflow",
    port: Some(port("tfjob-port", 2222)),
    operator: "tfjob-controller",
    restart_policy: "Never",
    scaled_role: None,
};

pub static PYTORCH_JOB: Kind = Kind {
    kind: "PyTorchJob",
    group: KUBEFLOW,
    versions: &["v1"],
    plural: "pytorchjobs",
    short_names: &[],
    replicas_field: "pytorchReplicaSpecs",
    roles: &["Master", "Worker"],
    container: "pytorch",
    port: Some(port("pytorchjob-port", 23456)),
    operator: "pytorchjob-controller",
    restart_policy: "OnFailure",
    scaled_role: Some("Worker"),
};

pub static MXNET_JOB: Kind = Kind {
    kind: "MXJob",
    group: KUBEFLOW,
    versions: &["v1"],
    plural: "mxjobs",
    short_names: &[],
    replicas_field: "mxReplicaSpecs",
    roles: &[
        "Scheduler",
        "Server",
        "Worker",
        "TunerTracker",
        "TunerServer",
        "Tuner",
    ],
    container: "mxnet",
    port: Some(port("mxjob-port", 9091)),
    operator: "mxjob-controller",
    restart_policy: "Never",
    scaled_role: None,
};

pub static XGBOOST_JOB: Kind = Kind {
    kind: "XGBoostJob",
    group: KUBEFLOW,
    versions: &["v1"],
    plural: "xgboostjobs",
    short_names: &[],
    replicas_field: "xgbReplicaSpecs",
    roles: &["Master", "Worker"],
    container: "xgboost",
    port: Some(port("xgboostjob-port", 9999)),
    operator: "xgboostjob-controller",
    restart_policy: "Never",
    scaled_role: None,
};

pub static PADDLE_JOB: Kind = Kind {
    kind: "PaddleJob",
    group: KUBEFLOW,
    versions: &["v1"],
    plural: "paddlejobs",
    short_names: &[],
    replicas_field: "paddleReplicaSpecs",
    roles: &["Master", "Worker"],
    container: "paddle",
    port: Some(port("master", 36543)),
    operator: "paddlejob-controller",
    restart_policy: "OnFailure",
    scaled_role: Some("Worker"),
};

pub static JAX_JOB: Kind = Kind {
    kind: "JAXJob",
    group: KUBEFLOW,
    versions: &["v1"],
    plural: "jaxjobs",
    short_names: &[],
    replicas_field: "jaxReplicaSpecs",
    roles: &["Worker"],
    container: "jax",
    port: Some(port("jaxjob-port", 6666)),
    operator: "jaxjob-controller",
    restart_policy: "Never",
    scaled_role: Some("Worker"),
};

pub static MPI_JOB: Kind = Kind {
    kind: "MPIJob",
    group: KUBEFLOW,
    versions: &["v2beta1", "v1", "v1alpha2"],
    plural: "mpijobs",
    short_names: &["mj", "mpij"],
    replicas_field: "mpiReplicaSpecs",
    roles: &["Launcher", "Worker"],
    container: "",
    port: None,
    operator: "mpi-operator",
    restart_policy: "Never",
    scaled_role: None,
};

/// The MxJob of the standalone operator.
pub static MX_JOB: Kind = Kind {
    kind: "MxJob",
    group: "mxnet.mlkube.io",
    versions: &["v1beta1"],
    plural: "mxjobs",
    short_names: &[],
    replicas_field: "replicaSpecs",
    roles: &["SCHEDULER", "SERVER", "WORKER"],
    container: "mxnet",
    port: None,
    operator: "",
    restart_policy: "",
    scaled_role: None,
};

/// The same MxJob in the group that its README still names.
pub static OLD_MX_JOB: Kind = Kind {
    kind: MX_JOB.kind,
    group: "mlkube.io",
    versions: MX_JOB.versions,
    plural: MX_JOB.plural,
    short_names: MX_JOB.short_names,
    replicas_field: MX_JOB.replicas_field,
    roles: MX_JOB.roles,
    container: MX_JOB.container,
    port: MX_JOB.port,
    operator: MX_JOB.operator,
    restart_policy: MX_JOB.restart_policy,
    scaled_role: MX_JOB.scaled_role,
};

pub static ALL: [&Kind; 9] = [
    &TF_JOB,
    &PYTORCH_JOB,
    &MXNET_JOB,
    &XGBOOST_JOB,
    &PADDLE_JOB,
    &JAX_JOB,
    &MPI_JOB,
    &MX_JOB,
    &OLD_MX_JOB,
];

impl Kind {
    /// The kind of an object, by its `apiVersion` and `kind`.
    pub fn of(api_version: &str, kind: &str) -> Option<&'static Self> {
        let (group, version) = api_version.split_once('/')?;
        ALL.into_iter()
            .find(|row| row.group == group && row.kind == kind && row.versions.contains(&version))
    }

    /// The name of its definition: `tfjobs.kubeflow.org`.
    pub fn definition(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// The canonical spelling of a role that a user may have written in any case.
    pub fn role(&self, name: &str) -> Option<&'static str> {
        self.roles
            .iter()
            .find(|role| role.eq_ignore_ascii_case(name))
            .copied()
    }
}
