//! The types on the way to lists that patches merge. What is not here is replaced by a patch, or has
//! nothing below it that is merged.

/// A type, by those of its fields that matter.
pub(in super::super) struct Type {
    fields: &'static [Field],
}

pub(super) struct Field {
    name: &'static str,
    /// What it holds, or what its elements are.
    pub(super) of: Option<&'static Type>,
    /// For lists that are merged: the keys of their elements, none for scalars.
    pub(super) merge: Option<&'static [&'static str]>,
}

impl Type {
    pub(super) fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

const fn holds(name: &'static str, of: &'static Type) -> Field {
    Field {
        name,
        of: Some(of),
        merge: None,
    }
}

const fn merged(name: &'static str, keys: &'static [&'static str]) -> Field {
    Field {
        name,
        of: None,
        merge: Some(keys),
    }
}

const fn merged_of(name: &'static str, keys: &'static [&'static str], of: &'static Type) -> Field {
    Field {
        name,
        of: Some(of),
        merge: Some(keys),
    }
}

const fn object(fields: &'static [Field]) -> Type {
    Type { fields }
}

static METADATA: Type = object(&[merged("finalizers", &[]), merged("ownerReferences", &["uid"])]);
static CONTAINER: Type = object(&[
    merged("env", &["name"]),
    merged("ports", &["containerPort", "protocol"]),
    merged("volumeDevices", &["devicePath"]),
    merged("volumeMounts", &["mountPath"]),
]);
static EPHEMERAL_CONTAINER: Type = object(&[
    merged("env", &["name"]),
    merged("volumeDevices", &["devicePath"]),
    merged("volumeMounts", &["mountPath"]),
]);
static CLAIM_TEMPLATE: Type = object(&[holds("metadata", &METADATA)]);
static EPHEMERAL_VOLUME: Type = object(&[holds("volumeClaimTemplate", &CLAIM_TEMPLATE)]);
static VOLUME: Type = object(&[holds("ephemeral", &EPHEMERAL_VOLUME)]);
static POD_SPEC: Type = object(&[
    merged_of("containers", &["name"], &CONTAINER),
    merged_of("initContainers", &["name"], &CONTAINER),
    merged_of("ephemeralContainers", &["name"], &EPHEMERAL_CONTAINER),
    merged_of("volumes", &["name"], &VOLUME),
    merged("hostAliases", &["ip"]),
    merged("imagePullSecrets", &["name"]),
    merged("topologySpreadConstraints", &["topologyKey", "whenUnsatisfiable"]),
]);
static POD_STATUS: Type = object(&[merged("conditions", &["type"]), merged("podIPs", &["ip"])]);
static CONDITIONS: Type = object(&[merged("conditions", &["type"])]);
static TEMPLATE: Type = object(&[holds("metadata", &METADATA), holds("spec", &POD_SPEC)]);
static TEMPLATED: Type = object(&[holds("template", &TEMPLATE)]);
static JOB_TEMPLATE: Type = object(&[holds("metadata", &METADATA), holds("spec", &TEMPLATED)]);
static CRON_JOB_SPEC: Type = object(&[holds("jobTemplate", &JOB_TEMPLATE)]);
static SERVICE_SPEC: Type = object(&[merged("ports", &["port", "protocol"])]);
static NODE_SPEC: Type = object(&[merged("podCIDRs", &[])]);
static NODE_STATUS: Type = object(&[merged("addresses", &["type"]), merged("conditions", &["type"])]);
static CSI_NODE_SPEC: Type = object(&[merged("drivers", &["name"])]);

static PLAIN: Type = object(&[holds("metadata", &METADATA)]);
static POD: Type = object(&[
    holds("metadata", &METADATA),
    holds("spec", &POD_SPEC),
    holds("status", &POD_STATUS),
]);
static POD_TEMPLATE: Type = object(&[holds("metadata", &METADATA), holds("template", &TEMPLATE)]);
static WORKLOAD: Type = object(&[
    holds("metadata", &METADATA),
    holds("spec", &TEMPLATED),
    holds("status", &CONDITIONS),
]);
static CRON_JOB: Type = object(&[holds("metadata", &METADATA), holds("spec", &CRON_JOB_SPEC)]);
static SERVICE: Type = object(&[
    holds("metadata", &METADATA),
    holds("spec", &SERVICE_SPEC),
    holds("status", &CONDITIONS),
]);
static SERVICE_ACCOUNT: Type = object(&[holds("metadata", &METADATA), merged("secrets", &["name"])]);
static NODE: Type = object(&[
    holds("metadata", &METADATA),
    holds("spec", &NODE_SPEC),
    holds("status", &NODE_STATUS),
]);
static WITH_CONDITIONS: Type = object(&[holds("metadata", &METADATA), holds("status", &CONDITIONS)]);
static COMPONENT_STATUS: Type = object(&[holds("metadata", &METADATA), merged("conditions", &["type"])]);
static WEBHOOKS: Type = object(&[holds("metadata", &METADATA), merged("webhooks", &["name"])]);
static CSI_NODE: Type = object(&[holds("metadata", &METADATA), holds("spec", &CSI_NODE_SPEC)]);

/// What objects of a built-in kind are made of, in every version of its group.
pub(super) fn of_kind(kind: &str) -> &'static Type {
    match kind {
        "Pod" => &POD,
        "PodTemplate" => &POD_TEMPLATE,
        "DaemonSet" | "Deployment" | "Job" | "ReplicaSet" | "ReplicationController" | "StatefulSet" => {
            &WORKLOAD
        }
        "CronJob" => &CRON_JOB,
        "Service" => &SERVICE,
        "ServiceAccount" => &SERVICE_ACCOUNT,
        "Node" => &NODE,
        "APIService" | "Namespace" | "PersistentVolumeClaim" | "PodDisruptionBudget" => &WITH_CONDITIONS,
        "ComponentStatus" => &COMPONENT_STATUS,
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => &WEBHOOKS,
        "CSINode" => &CSI_NODE,
        _ => &PLAIN,
    }
}

/// A type that definitions of others may refer to.
pub(super) fn by_definition(name: &str) -> Option<&'static Type> {
    match name.strip_prefix("io.k8s.")? {
        "api.core.v1.PodSpec" => Some(&POD_SPEC),
        "api.core.v1.PodTemplateSpec" => Some(&TEMPLATE),
        "api.core.v1.Container" => Some(&CONTAINER),
        "api.core.v1.Volume" => Some(&VOLUME),
        "api.core.v1.ServiceSpec" => Some(&SERVICE_SPEC),
        "api.batch.v1.JobSpec" => Some(&TEMPLATED),
        "apimachinery.pkg.apis.meta.v1.ObjectMeta" => Some(&METADATA),
        _ => None,
    }
}
