//! MPIJobs of three versions. One definition serves them all, so an object does not remember which
//! one it was written for; this finds out.

use resources::{ReplicaSpec, mpi::MpiJobSpec, names::annotations};
use serde_json::Value;

use super::Read;
use crate::job::{Framework, Mpi, MpiImplementation, MpiVersion};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

pub(super) fn read(object: &Value, spec: MpiJobSpec) -> Read {
    let version = version(object, &spec);
    let implementation = spec.mpi_implementation.or(spec.mpi_distribution);
    let mpi = Mpi {
        version,
        slots: spec.slots_per_worker.unwrap_or(1),
        main_container: spec.main_container.filter(|name| !name.is_empty()),
        implementation: implementation
            .as_deref()
            .map_or(MpiImplementation::OpenMpi, MpiImplementation::named),
        ssh_path: spec
            .ssh_auth_mount_path
            .filter(|path| !path.is_empty())
            .unwrap_or_else(|| "/root/.ssh".to_owned()),
        launcher_waits: spec.launcher_creation_policy.as_deref() == Some("WaitForWorkersReady"),
        launcher_works: spec.run_launcher_as_worker.unwrap_or_default(),
    };
    Read {
        run_policy: spec.run_policy.unwrap_or_default(),
        replicas: spec.mpi_replica_specs,
        framework: Framework::Mpi(mpi),
        mpi_version: Some(version),
    }
}

/// How many replicas, and the restart policy, where they are not given.
pub(super) fn defaults<'a>(role: &str, spec: &'a ReplicaSpec, version: MpiVersion) -> (i32, &'a str) {
    let is_launcher = role == "Launcher";
    let given = spec.restart_policy.as_deref().filter(|policy| !policy.is_empty());
    let restart = match (version, is_launcher) {
        // Nobody asked for anything else in the days of StatefulSets.
        (MpiVersion::V1Alpha2, false) => "Always",
        (MpiVersion::V1Alpha2, true) if given != Some("Never") => "OnFailure",
        (MpiVersion::V2Beta1, true) => given.unwrap_or("OnFailure"),
        _ => given.unwrap_or("Never"),
    };
    (spec.replicas.unwrap_or(i32::from(is_launcher)), restart)
}

fn version(object: &Value, spec: &MpiJobSpec) -> MpiVersion {
    let meta = &object["metadata"];
    // What runs was made as of this version, whoever writes the job in which one now.
    let stored = object["status"]["mpiVersion"]
        .as_str()
        .and_then(MpiVersion::named);
    let annotated = meta["annotations"][annotations::MPI_VERSION]
        .as_str()
        .and_then(MpiVersion::named);
    // An object that was never stored is what it says it is.
    let unstored = meta["resourceVersion"]
        .is_null()
        .then(|| own_version(object))
        .flatten();
    stored
        .or(annotated)
        .or(unstored)
        .or_else(|| written_as(meta))
        .unwrap_or_else(|| by_fields(spec))
}

fn own_version(object: &Value) -> Option<MpiVersion> {
    MpiVersion::named(object["apiVersion"].as_str()?.rsplit('/').next()?)
}

/// The version in which the specification was first written: the API server keeps it for each writer.
fn written_as(meta: &Value) -> Option<MpiVersion> {
    let entries = meta["managedFields"].as_array()?.iter();
    let writers = entries.filter(|entry| entry["subresource"].as_str().unwrap_or_default().is_empty());
    let time = |entry: &Value| entry["time"].as_str().unwrap_or_default().to_owned();
    let first = writers.min_by_key(|entry| time(entry))?;
    // Who wrote it first and has written it again since is known by the later time.
    let created = meta["creationTimestamp"].as_str();
    let has_changed = created.is_some_and(|created| *created < *time(first));
    let applied = has_changed.then(|| last_applied(meta)).flatten();
    applied.or_else(|| own_version(first))
}

/// The version of the manifest, where `kubectl apply` has kept it.
fn last_applied(meta: &Value) -> Option<MpiVersion> {
    let text = meta["annotations"][LAST_APPLIED].as_str()?;
    own_version(&serde_json::from_str(text).ok()?)
}

fn by_fields(spec: &MpiJobSpec) -> MpiVersion {
    if spec.mpi_distribution.is_some()
        || spec.backoff_limit.is_some()
        || spec.active_deadline_seconds.is_some()
    {
        MpiVersion::V1Alpha2
    } else if spec.main_container.is_some() || spec.clean_pod_policy.is_some() {
        MpiVersion::V1
    } else {
        MpiVersion::V2Beta1
    }
}

impl MpiVersion {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "v1alpha2" => Self::V1Alpha2,
            "v1" => Self::V1,
            "v2beta1" => Self::V2Beta1,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V1Alpha2 => "v1alpha2",
            Self::V1 => "v1",
            Self::V2Beta1 => "v2beta1",
        }
    }

    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V1Alpha2 => "kubeflow.org/v1alpha2",
            Self::V1 => "kubeflow.org/v1",
            Self::V2Beta1 => "kubeflow.org/v2beta1",
        }
    }
}

impl MpiImplementation {
    fn named(name: &str) -> Self {
        match name {
            "Intel" | "IntelMPI" => Self::Intel,
            "MPICH" => Self::Mpich,
            _ => Self::OpenMpi,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(object: Value, expected: MpiVersion) {
        let spec = serde_json::from_value(object["spec"].clone()).unwrap();
        assert_eq!(version(&object, &spec), expected);
    }

    #[test]
    fn a_manifest_is_of_the_version_it_names() {
        check(
            json!({"apiVersion": "kubeflow.org/v1", "metadata": {}, "spec": {}}),
            MpiVersion::V1,
        );
    }

    #[test]
    fn a_stored_object_is_of_the_version_of_its_first_writer() {
        let managed = json!([
            {"manager": "trainyard", "apiVersion": "kubeflow.org/v2beta1", "subresource": "status", "time": "2026-01-01T00:00:00Z"},
            {"manager": "kubectl", "apiVersion": "kubeflow.org/v1alpha2", "time": "2026-01-01T00:00:01Z"},
            {"manager": "someone", "apiVersion": "kubeflow.org/v2beta1", "time": "2026-01-01T00:00:02Z"},
        ]);
        let meta = json!({"resourceVersion": "7", "managedFields": managed});
        check(
            json!({"apiVersion": "kubeflow.org/v2beta1", "metadata": meta, "spec": {}}),
            MpiVersion::V1Alpha2,
        );
    }

    #[test]
    fn who_wrote_it_first_and_then_again_is_told_by_the_manifest() {
        let managed = json!([
            {"manager": "kubectl-edit", "apiVersion": "kubeflow.org/v1", "time": "2026-01-01T00:00:05Z"},
            {"manager": "kubectl", "apiVersion": "kubeflow.org/v2beta1", "time": "2026-01-01T00:00:09Z"},
        ]);
        let applied = json!({LAST_APPLIED: r#"{"apiVersion":"kubeflow.org/v2beta1","kind":"MPIJob"}"#});
        let stored = |created: &str| {
            let meta = json!({
                "resourceVersion": "7", "managedFields": managed, "annotations": applied, "creationTimestamp": created,
            });
            json!({"apiVersion": "kubeflow.org/v2beta1", "metadata": meta, "spec": {}})
        };
        check(stored("2026-01-01T00:00:01Z"), MpiVersion::V2Beta1);
        check(stored("2026-01-01T00:00:05Z"), MpiVersion::V1);
    }

    #[test]
    fn what_was_found_once_stays() {
        let meta = json!({"resourceVersion": "7", "annotations": {"trainyard.dev/mpi-version": "v1"}});
        let status = json!({"mpiVersion": "v1alpha2"});
        let object =
            json!({"apiVersion": "kubeflow.org/v2beta1", "metadata": meta, "spec": {}, "status": status});
        check(object, MpiVersion::V1Alpha2);
    }

    #[test]
    fn an_annotation_settles_it_and_fields_help_where_nothing_else_does() {
        let stored = |spec: Value, annotations: Value| {
            let meta = json!({"resourceVersion": "7", "annotations": annotations});
            json!({"apiVersion": "kubeflow.org/v2beta1", "metadata": meta, "spec": spec})
        };
        check(
            stored(json!({}), json!({"trainyard.dev/mpi-version": "v1"})),
            MpiVersion::V1,
        );
        check(
            stored(json!({"MPIDistribution": "IntelMPI"}), json!({})),
            MpiVersion::V1Alpha2,
        );
        check(stored(json!({"mainContainer": "mpi"}), json!({})), MpiVersion::V1);
        check(
            stored(json!({"slotsPerWorker": 2}), json!({})),
            MpiVersion::V2Beta1,
        );
    }
}
