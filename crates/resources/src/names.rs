//! Names that users' scripts, dashboards and other operators rely on.

/// Labels of every pod and Service of a job, in the generation that training-operator has had since 1.6.
pub mod labels {
    pub const OPERATOR_NAME: &str = "training.kubeflow.org/operator-name";
    pub const JOB_NAME: &str = "training.kubeflow.org/job-name";
    pub const JOB_ROLE: &str = "training.kubeflow.org/job-role";
    pub const REPLICA_TYPE: &str = "training.kubeflow.org/replica-type";
    pub const REPLICA_INDEX: &str = "training.kubeflow.org/replica-index";
    /// The value of [`JOB_ROLE`] on the replica that speaks for the job.
    pub const MASTER: &str = "master";
    /// Which PodGroup of the scheduler-plugins a pod belongs to.
    pub const POD_GROUP: &str = "scheduling.x-k8s.io/pod-group";
}

/// Labels of MPIJobs of version v1alpha2.
pub mod mpi_v1alpha2_labels {
    pub const GROUP_NAME: &str = "group_name";
    pub const JOB_NAME: &str = "mpi_job_name";
    pub const ROLE: &str = "mpi_role_type";
}

/// Labels of MxJobs (`mxnet.mlkube.io/v1beta1`).
pub mod mxnet_labels {
    pub const GROUP: &str = "mxnet.mlkube.io";
    pub const ROLE: &str = "job_type";
    pub const RUNTIME_ID: &str = "runtime_id";
    pub const INDEX: &str = "task_index";
}

/// Annotations users or other operators set on a job, and those we set on its pods.
pub mod annotations {
    /// `"true"`: when one replica fails all are restarted together.
    pub const GANG_RESTART: &str = "trainyard.dev/gang-restart";
    /// The version an MPIJob was written for, where its fields do not tell.
    pub const MPI_VERSION: &str = "trainyard.dev/mpi-version";
    /// On pods of a job with gang restarts: the restart they were made for.
    pub const RESTART: &str = "trainyard.dev/restart";
    /// On pods: what is placed together by the embedded scheduler, and how many must be.
    pub const POD_GROUP: &str = "trainyard.dev/pod-group";
    pub const POD_GROUP_SIZE: &str = "trainyard.dev/pod-group-size";
    pub const VOLCANO_GROUP: &str = "scheduling.k8s.io/group-name";
    pub const VOLCANO_TASK: &str = "volcano.sh/task-spec";
    pub const VOLCANO_QUEUE: &str = "scheduling.volcano.sh/queue-name";
    pub const TUNER_SERVER_KEY: &str = "tuner-server-key";
}

/// Values of `managedBy` that mean this operator.
pub const MANAGED_BY: &str = "kubeflow.org/training-operator";
pub const MPI_MANAGED_BY: &str = "kubeflow.org/mpi-operator";
pub const MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";
