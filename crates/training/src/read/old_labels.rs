//! Labels that older operators gave to pods. Selectors in templates still look for them, so pods of such jobs have
//! those that are looked for.

use std::collections::BTreeSet;

use resources::names::labels;
use serde_json::{Map, Value, json};

use crate::{
    children,
    job::{Framework, Job, MpiVersion, Replica, Warning},
};

/// A label of an older operator.
#[derive(Debug)]
pub(crate) struct OldLabel {
    key: &'static str,
    /// The label that says the same today; empty where none does.
    now: &'static str,
    says: Says,
    /// A word that users have for labels of their own, and that is theirs where a template sets it.
    is_common: bool,
}

#[derive(Clone, Copy, Debug)]
enum Says {
    Group,
    Job,
    Role,
    Index,
    Master,
    Operator,
}

const fn own(key: &'static str, now: &'static str, says: Says) -> OldLabel {
    OldLabel {
        key,
        now,
        says,
        is_common: false,
    }
}

const fn common(key: &'static str, now: &'static str, says: Says) -> OldLabel {
    OldLabel {
        key,
        now,
        says,
        is_common: true,
    }
}

/// tf-operator up to 1.3, pytorch-operator, mxnet-operator, mpi-operator v1 and v1alpha2, training-operator 1.4 and 1.5.
static ALL: [OldLabel; 20] = [
    common("group-name", "", Says::Group),
    common("controller-name", labels::OPERATOR_NAME, Says::Operator),
    common("job-name", labels::JOB_NAME, Says::Job),
    common("job-role", labels::JOB_ROLE, Says::Master),
    common("replica-type", labels::REPLICA_TYPE, Says::Role),
    common("replica-index", labels::REPLICA_INDEX, Says::Index),
    own("tf-job-name", labels::JOB_NAME, Says::Job),
    own("tf-replica-type", labels::REPLICA_TYPE, Says::Role),
    own("tf-replica-index", labels::REPLICA_INDEX, Says::Index),
    own("pytorch-job-name", labels::JOB_NAME, Says::Job),
    own("pytorch-replica-type", labels::REPLICA_TYPE, Says::Role),
    own("pytorch-replica-index", labels::REPLICA_INDEX, Says::Index),
    own("mxnet-job-name", labels::JOB_NAME, Says::Job),
    own("mxnet-replica-type", labels::REPLICA_TYPE, Says::Role),
    own("mxnet-replica-index", labels::REPLICA_INDEX, Says::Index),
    own("mpi-job-name", labels::JOB_NAME, Says::Job),
    own("mpi-job-role", labels::JOB_ROLE, Says::Role),
    own("group_name", "", Says::Group),
    own("mpi_job_name", labels::JOB_NAME, Says::Job),
    own("mpi_role_type", labels::JOB_ROLE, Says::Role),
];

/// Those that the templates of a job know and that its pods do not have anyway.
pub(super) fn known(job: &Job) -> Vec<&'static OldLabel> {
    let mut set = BTreeSet::new();
    let mut selected = BTreeSet::new();
    for replica in &job.replicas {
        let spec = &replica.template["spec"];
        find_selected(&spec["affinity"]["podAffinity"], &mut selected);
        find_selected(&spec["affinity"]["podAntiAffinity"], &mut selected);
        find_selected(&spec["topologySpreadConstraints"], &mut selected);
        let labels = replica.template["metadata"]["labels"].as_object();
        set.extend(labels.into_iter().flatten().map(|(name, _)| name.as_str()));
    }
    let has_underscored = job.mpi().is_some_and(|mpi| mpi.version == MpiVersion::V1Alpha2);
    ALL.iter()
        .filter(|label| selected.contains(label.key) || (!label.is_common && set.contains(label.key)))
        .filter(|label| !(has_underscored && label.key.contains('_')))
        .collect()
}

/// The labels that selectors look for.
fn find_selected<'a>(value: &'a Value, selected: &mut BTreeSet<&'a str>) {
    match value {
        Value::Array(list) => list.iter().for_each(|item| find_selected(item, selected)),
        Value::Object(map) => {
            let labels = map.get("matchLabels").and_then(Value::as_object);
            selected.extend(labels.into_iter().flatten().map(|(name, _)| name.as_str()));
            let expressions = map.get("matchExpressions").and_then(Value::as_array);
            let keys = expressions.into_iter().flatten();
            selected.extend(keys.filter_map(|expression| expression["key"].as_str()));
            map.values().for_each(|value| find_selected(value, selected));
        }
        _ => {}
    }
}

impl OldLabel {
    pub(super) fn warning(&self) -> Warning {
        let now = match self.now {
            "" => String::new(),
            now => format!("; it is `{now}` now"),
        };
        Warning {
            reason: "OldLabels",
            message: format!(
                "`{}` is a label of an older operator, which the pods get too{now}",
                self.key
            ),
        }
    }

    /// Adds the label to those of a replica's pod.
    pub(crate) fn write(&self, job: &Job, replica: &Replica, index: u32, labels: &mut Map<String, Value>) {
        // A batch Job gives its pods a label of this name.
        let is_batch = replica.role == "Launcher" && job.launches_by_batch_job() && self.key == "job-name";
        if is_batch || (self.is_common && labels.contains_key(self.key)) {
            return;
        }
        let value = match self.says {
            Says::Group => "kubeflow.org".to_owned(),
            Says::Job => job.name().to_owned(),
            Says::Role => replica.role.to_lowercase(),
            Says::Index => index.to_string(),
            Says::Master if children::is_master(job, replica.role, index) => labels::MASTER.to_owned(),
            Says::Master => return,
            Says::Operator => match operator(job) {
                Some(name) => name.to_owned(),
                None => return,
            },
        };
        labels.insert(self.key.to_owned(), json!(value));
    }
}

/// The operator that a kind once had to itself.
fn operator(job: &Job) -> Option<&'static str> {
    Some(match job.framework {
        Framework::TensorFlow { .. } => "tf-operator",
        Framework::PyTorch { .. } => "pytorch-operator",
        Framework::Mxnet => "mxnet-operator",
        Framework::XgBoost => "xgboostjob-operator",
        Framework::Mpi(_) => "mpi-operator",
        Framework::Paddle { .. } | Framework::Jax => return None,
    })
}
