//! The table of metrics.

pub(crate) struct Family {
    pub name: &'static str,
    pub help: &'static str,
    pub sort: Sort,
}

#[derive(Clone, Copy)]
pub(crate) enum Sort {
    Counter { is_labelled: bool },
    Gauge { is_labelled: bool },
    Histogram,
}

impl Sort {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Counter { .. } => "counter",
            Self::Gauge { .. } => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

macro_rules! families {
    ($($name:ident = $sort:expr, $text:literal, $help:literal;)*) => {
        $(pub(crate) static $name: Family = Family { name: $text, help: $help, sort: $sort };)*
        pub(super) static ALL: &[&Family] = &[$(&$name),*];
    };
}

const LABELLED: Sort = Sort::Counter { is_labelled: true };
const PLAIN: Sort = Sort::Counter { is_labelled: false };
const GAUGE: Sort = Sort::Gauge { is_labelled: true };
const PLAIN_GAUGE: Sort = Sort::Gauge { is_labelled: false };

families! {
    JOBS_CREATED = LABELLED, "training_operator_jobs_created_total", "Counts number of jobs created";
    JOBS_DELETED = LABELLED, "training_operator_jobs_deleted_total", "Counts number of jobs deleted";
    JOBS_SUCCESSFUL = LABELLED, "training_operator_jobs_successful_total", "Counts number of jobs successful";
    JOBS_FAILED = LABELLED, "training_operator_jobs_failed_total", "Counts number of jobs failed";
    JOBS_RESTARTED = LABELLED, "training_operator_jobs_restarted_total", "Counts number of jobs restarted";
    MPI_JOBS_CREATED = PLAIN, "mpi_operator_jobs_created_total", "Counts number of MPI jobs created";
    MPI_JOBS_SUCCESSFUL = PLAIN, "mpi_operator_jobs_successful_total", "Counts number of MPI jobs successful";
    MPI_JOBS_FAILED = PLAIN, "mpi_operator_jobs_failed_total", "Counts number of MPI jobs failed";
    MPI_JOBS_RESTARTED = PLAIN, "mpi_operator_jobs_restarted_total", "Counts number of MPI jobs restarted";
    MPI_JOB_INFO = GAUGE, "mpi_operator_job_info", "Information about MPIJob";
    IS_LEADER = PLAIN_GAUGE, "mpi_operator_is_leader", "Whether this process is the operator that acts";
    CREATED_PODS = PLAIN, "created_pods_total", "The total number of created pods";
    DELETED_PODS = PLAIN, "deleted_pods_total", "The total number of deleted pods";
    FAILED_PODS = PLAIN, "failed_pods_total", "The total number of pods that could not be created";
    CREATED_POD_GROUPS = PLAIN, "created_pod_groups_total", "The total number of created pod groups";
    DELETED_POD_GROUPS = PLAIN, "deleted_pod_groups_total", "The total number of deleted pod groups";
    SERVICES_CREATED = PLAIN, "succeeded_service_creation_total", "The total number of succeeded service creation";
    FAILED_SERVICES = PLAIN, "failed_service_creation_total", "The total number of failed service creation";
    QUEUE_DEPTH = GAUGE, "workqueue_depth", "Jobs that wait to be looked at";
    RECONCILE_TIME = Sort::Histogram, "controller_runtime_reconcile_time_seconds", "Length of time per look at a job";
    RECONCILES = LABELLED, "controller_runtime_reconcile_total", "Looks at jobs, by how they ended";
    REQUESTS = LABELLED, "rest_client_requests_total", "Requests to the API server, by method and status code";
}
