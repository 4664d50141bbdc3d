//! Tables: the columns and cells `kubectl get` shows for each built-in kind. One table per kind, found by
//! group and kind, whatever the version; custom resources bring their own columns and are printed elsewhere.

mod admission;
mod aggregation;
mod apps;
mod autoscaling;
mod batch;
mod certificates;
mod configuration;
mod coordination;
mod devices;
pub mod duration;
mod event;
mod flow_control;
mod networking;
mod node;
mod pod;
mod policy;
mod rbac;
mod row;
mod selector;
mod service;
mod storage;
mod volume;

use std::cmp::Ordering;

use jiff::Timestamp;
use serde_json::Value;

use self::row::{Row, cells};

/// One column of a table, as clients are told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub r#type: &'static str,
    pub format: &'static str,
    pub description: &'static str,
    /// 0 is always shown, 1 only with `-o wide`.
    pub priority: i32,
}

/// The columns of a kind, in order. Kinds without a table of their own show their name and creation time.
pub fn columns(group: &str, kind: &str) -> &'static [Column] {
    table(group, kind).columns
}

/// The cells of an object's row, wide ones included: one per column (`IPAddress` has its age without a
/// column, as the real server does).
pub fn cells(group: &str, kind: &str, object: &Value, now: Timestamp) -> Vec<Value> {
    (table(group, kind).cells)(&Row { object, now })
}

/// The conditions of an object's row: whether it has run to completion. Only pods ever have one.
pub fn conditions(group: &str, kind: &str, object: &Value) -> Vec<Value> {
    match (group, kind) {
        ("", "Pod") => pod::completion(object).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The order of a kind's rows, where it is not that of the list.
pub fn order(group: &str, kind: &str) -> Option<fn(&Value, &Value) -> Ordering> {
    match (group, kind) {
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => Some(flow_control::by_precedence),
        _ => None,
    }
}

/// What a kind shows: its columns, and how an object fills them.
struct Table {
    columns: &'static [Column],
    cells: fn(&Row<'_>) -> Vec<Value>,
}

const ADMISSION: &str = "admissionregistration.k8s.io";

fn table(group: &str, kind: &str) -> &'static Table {
    match (group, kind) {
        ("", "ComponentStatus") => &aggregation::COMPONENT_STATUS,
        ("", "ConfigMap") => &configuration::CONFIG_MAP,
        ("", "Endpoints") => &service::ENDPOINTS,
        ("" | "events.k8s.io", "Event") => &event::EVENT,
        ("", "Namespace") => &configuration::NAMESPACE,
        ("", "Node") => &node::NODE,
        ("", "PersistentVolume") => &volume::PERSISTENT_VOLUME,
        ("", "PersistentVolumeClaim") => &volume::PERSISTENT_VOLUME_CLAIM,
        ("", "Pod") => &pod::POD,
        ("", "PodTemplate") => &apps::POD_TEMPLATE,
        ("", "ReplicationController") => &apps::REPLICATION_CONTROLLER,
        ("", "ResourceQuota") => &policy::RESOURCE_QUOTA,
        ("", "Secret") => &configuration::SECRET,
        ("", "Service") => &service::SERVICE,
        ("", "ServiceAccount") => &configuration::SERVICE_ACCOUNT,
        ("" | "meta.k8s.io", "Status") => &aggregation::STATUS,
        (ADMISSION, "MutatingAdmissionPolicy") => &admission::MUTATING_POLICY,
        (ADMISSION, "ValidatingAdmissionPolicy") => &admission::VALIDATING_POLICY,
        (ADMISSION, "MutatingAdmissionPolicyBinding" | "ValidatingAdmissionPolicyBinding") => {
            &admission::POLICY_BINDING
        }
        (ADMISSION, "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration") => {
            &admission::WEBHOOKS
        }
        ("apiregistration.k8s.io", "APIService") => &aggregation::API_SERVICE,
        ("apps", "ControllerRevision") => &apps::CONTROLLER_REVISION,
        ("apps", "DaemonSet") => &apps::DAEMON_SET,
        ("apps", "Deployment") => &apps::DEPLOYMENT,
        ("apps", "ReplicaSet") => &apps::REPLICA_SET,
        ("apps", "StatefulSet") => &apps::STATEFUL_SET,
        ("autoscaling", "HorizontalPodAutoscaler") => &autoscaling::HORIZONTAL_POD_AUTOSCALER,
        ("autoscaling", "Scale") => &autoscaling::SCALE,
        ("batch", "CronJob") => &batch::CRON_JOB,
        ("batch", "Job") => &batch::JOB,
        ("certificates.k8s.io", "CertificateSigningRequest") => &certificates::SIGNING_REQUEST,
        ("certificates.k8s.io", "ClusterTrustBundle") => &certificates::CLUSTER_TRUST_BUNDLE,
        ("certificates.k8s.io", "PodCertificateRequest") => &certificates::POD_CERTIFICATE_REQUEST,
        ("coordination.k8s.io", "Lease") => &coordination::LEASE,
        ("coordination.k8s.io", "LeaseCandidate") => &coordination::LEASE_CANDIDATE,
        ("discovery.k8s.io", "EndpointSlice") => &service::ENDPOINT_SLICE,
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => &flow_control::FLOW_SCHEMA,
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => &flow_control::PRIORITY_LEVEL,
        ("internal.apiserver.k8s.io", "StorageVersion") => &aggregation::STORAGE_VERSION,
        ("networking.k8s.io", "IPAddress") => &networking::IP_ADDRESS,
        ("networking.k8s.io", "Ingress") => &networking::INGRESS,
        ("networking.k8s.io", "IngressClass") => &networking::INGRESS_CLASS,
        ("networking.k8s.io", "NetworkPolicy") => &networking::NETWORK_POLICY,
        ("networking.k8s.io", "ServiceCIDR") => &networking::SERVICE_CIDR,
        ("node.k8s.io", "RuntimeClass") => &node::RUNTIME_CLASS,
        ("policy", "PodDisruptionBudget") => &policy::POD_DISRUPTION_BUDGET,
        ("rbac.authorization.k8s.io", "ClusterRoleBinding" | "RoleBinding") => &rbac::BINDING,
        ("resource.k8s.io", "DeviceClass" | "ResourceClaimTemplate") => &devices::NAME_AND_AGE,
        ("resource.k8s.io", "DeviceTaintRule") => &devices::DEVICE_TAINT_RULE,
        ("resource.k8s.io", "ResourceClaim") => &devices::RESOURCE_CLAIM,
        ("resource.k8s.io", "ResourceSlice") => &devices::RESOURCE_SLICE,
        ("scheduling.k8s.io", "PriorityClass") => &policy::PRIORITY_CLASS,
        ("storage.k8s.io", "CSIDriver") => &storage::CSI_DRIVER,
        ("storage.k8s.io", "CSINode") => &storage::CSI_NODE,
        ("storage.k8s.io", "StorageClass") => &storage::STORAGE_CLASS,
        ("storage.k8s.io", "VolumeAttachment") => &storage::VOLUME_ATTACHMENT,
        ("storage.k8s.io", "VolumeAttributesClass") => &storage::VOLUME_ATTRIBUTES_CLASS,
        ("storagemigration.k8s.io", "StorageVersionMigration") => &aggregation::STORAGE_VERSION_MIGRATION,
        _ => &NAME_AND_CREATION,
    }
}

static NAME_AND_CREATION: Table = Table {
    columns: &[
        NAME,
        Column {
            r#type: "date",
            ..string("Created At", "When the object was created.")
        },
    ],
    cells: |row| cells![row.name(), row.created_at()],
};

const NAME: Column = Column {
    format: "name",
    ..string("Name", "Name of the object.")
};
const AGE: Column = string("Age", "Time since the object was created.");
const CONTAINERS: Column = wide(string(
    "Containers",
    "Names of the containers in the pod template.",
));
const IMAGES: Column = wide(string("Images", "Images of the containers in the pod template."));
const SELECTOR: Column = wide(string("Selector", "Labels of the pods this object acts on."));

const fn string(name: &'static str, description: &'static str) -> Column {
    Column {
        name,
        r#type: "string",
        format: "",
        description,
        priority: 0,
    }
}

const fn integer(name: &'static str, description: &'static str) -> Column {
    Column {
        r#type: "integer",
        ..string(name, description)
    }
}

const fn boolean(name: &'static str, description: &'static str) -> Column {
    Column {
        r#type: "boolean",
        ..string(name, description)
    }
}

/// The same column, shown only with `-o wide`.
const fn wide(column: Column) -> Column {
    Column {
        priority: 1,
        ..column
    }
}

#[cfg(test)]
mod tests;
