//! The fields transformers are about when nothing is configured.

use std::sync::{Arc, LazyLock};

use super::{Config, FieldSpecs, NameReference};
use crate::build::{field_spec::FieldSpec, identity::Gvk};

/// A row: kind, group, version, path. Empty ones stand for any.
type Row = (&'static str, &'static str, &'static str, &'static str);

/// Where the pod template of a kind is.
struct Holder {
    kind: &'static str,
    version: &'static str,
    pod: &'static str,
}

const fn holder(kind: &'static str, pod: &'static str) -> Holder {
    Holder {
        kind,
        version: "",
        pod,
    }
}

const POD: Holder = holder("Pod", "spec");
/// Some tables ask for the version of a Pod, others do not.
const POD_V1: Holder = Holder {
    kind: "Pod",
    version: "v1",
    pod: "spec",
};
const POD_TEMPLATE: Holder = holder("PodTemplate", "template/spec");
const DEPLOYMENT: Holder = holder("Deployment", "spec/template/spec");
const REPLICA_SET: Holder = holder("ReplicaSet", "spec/template/spec");
const DAEMON_SET: Holder = holder("DaemonSet", "spec/template/spec");
const STATEFUL_SET: Holder = holder("StatefulSet", "spec/template/spec");
const REPLICATION_CONTROLLER: Holder = holder("ReplicationController", "spec/template/spec");
const JOB: Holder = holder("Job", "spec/template/spec");
const CRON_JOB: Holder = holder("CronJob", "spec/jobTemplate/spec/template/spec");

/// Kinds whose pods may use ConfigMaps and Secrets.
const USERS_OF_DATA: &[Holder] = &[
    POD_V1,
    POD_TEMPLATE,
    DEPLOYMENT,
    REPLICA_SET,
    DAEMON_SET,
    STATEFUL_SET,
    JOB,
    CRON_JOB,
];
/// Kinds whose pods may use accounts, claims and priorities.
const USERS_OF_OBJECTS: &[Holder] = &[
    POD,
    STATEFUL_SET,
    DEPLOYMENT,
    REPLICATION_CONTROLLER,
    CRON_JOB,
    JOB,
    DAEMON_SET,
];
const USERS_OF_VARS: &[Holder] = &[
    CRON_JOB,
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
];

const CONFIG_MAP_FIELDS: &[&str] = &[
    "volumes/configMap/name",
    "containers/env/valueFrom/configMapKeyRef/name",
    "initContainers/env/valueFrom/configMapKeyRef/name",
    "containers/envFrom/configMapRef/name",
    "initContainers/envFrom/configMapRef/name",
    "volumes/projected/sources/configMap/name",
];
const SECRET_FIELDS: &[&str] = &[
    "volumes/secret/secretName",
    "containers/env/valueFrom/secretKeyRef/name",
    "initContainers/env/valueFrom/secretKeyRef/name",
    "containers/envFrom/secretRef/name",
    "initContainers/envFrom/secretRef/name",
    "imagePullSecrets/name",
    "volumes/projected/sources/secret/name",
];
const VAR_FIELDS: &[&str] = &[
    "containers/args",
    "containers/command",
    "containers/env/value",
    "containers/volumeMounts/mountPath",
    "initContainers/args",
    "initContainers/command",
    "initContainers/env/value",
    "initContainers/volumeMounts/mountPath",
];

const RBAC: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

const OTHER_CONFIG_MAP_FIELDS: &[Row] = &[
    ("Node", "", "", "spec/configSource/configMap"),
    ("Role", "", "", "rules/resourceNames"),
    ("ClusterRole", "", "", "rules/resourceNames"),
    (
        "Ingress",
        "",
        "",
        r"metadata/annotations/nginx.ingress.kubernetes.io\/fastcgi-params-configmap",
    ),
];
const OTHER_SECRET_FIELDS: &[Row] = &[
    ("Ingress", "", "", "spec/tls/secretName"),
    (
        "Ingress",
        "",
        "",
        r"metadata/annotations/ingress.kubernetes.io\/auth-secret",
    ),
    (
        "Ingress",
        "",
        "",
        r"metadata/annotations/nginx.ingress.kubernetes.io\/auth-secret",
    ),
    (
        "Ingress",
        "",
        "",
        r"metadata/annotations/nginx.ingress.kubernetes.io\/auth-tls-secret",
    ),
    ("ServiceAccount", "", "", "imagePullSecrets/name"),
    ("StorageClass", "", "", "parameters/secretName"),
    ("StorageClass", "", "", "parameters/adminSecretName"),
    ("StorageClass", "", "", "parameters/userSecretName"),
    ("StorageClass", "", "", "parameters/secretRef"),
    ("Role", "", "", "rules/resourceNames"),
    ("ClusterRole", "", "", "rules/resourceNames"),
    (
        "Service",
        "serving.knative.dev",
        "v1",
        "spec/template/spec/containers/env/valueFrom/secretKeyRef/name",
    ),
    ("PersistentVolume", "", "", "spec/azureFile/secretName"),
];
const SERVICE_FIELDS: &[Row] = &[
    ("StatefulSet", "apps", "", "spec/serviceName"),
    ("Ingress", "", "", "spec/rules/http/paths/backend/serviceName"),
    ("Ingress", "", "", "spec/backend/serviceName"),
    ("Ingress", "", "", "spec/rules/http/paths/backend/service/name"),
    ("Ingress", "", "", "spec/defaultBackend/service/name"),
    ("APIService", "apiregistration.k8s.io", "", "spec/service/name"),
    (
        "ValidatingWebhookConfiguration",
        ADMISSION,
        "",
        "webhooks/clientConfig/service",
    ),
    (
        "MutatingWebhookConfiguration",
        ADMISSION,
        "",
        "webhooks/clientConfig/service",
    ),
];
const STORAGE_CLASS_FIELDS: &[Row] = &[
    ("PersistentVolume", "", "", "spec/storageClassName"),
    ("PersistentVolumeClaim", "", "", "spec/storageClassName"),
    (
        "StatefulSet",
        "",
        "",
        "spec/volumeClaimTemplates/spec/storageClassName",
    ),
];
const SUBJECTS: &[Row] = &[
    ("RoleBinding", RBAC, "", "subjects"),
    ("ClusterRoleBinding", RBAC, "", "subjects"),
];

const LABEL_SELECTORS: &[(bool, Row)] = &[
    (true, ("Service", "", "v1", "spec/selector")),
    (true, ("ReplicationController", "", "v1", "spec/selector")),
    (true, ("Deployment", "", "", "spec/selector/matchLabels")),
    (true, ("ReplicaSet", "", "", "spec/selector/matchLabels")),
    (true, ("DaemonSet", "", "", "spec/selector/matchLabels")),
    (true, ("StatefulSet", "apps", "", "spec/selector/matchLabels")),
    (false, ("Job", "batch", "", "spec/selector/matchLabels")),
    (
        false,
        (
            "CronJob",
            "batch",
            "",
            "spec/jobTemplate/spec/selector/matchLabels",
        ),
    ),
    (
        false,
        ("PodDisruptionBudget", "policy", "", "spec/selector/matchLabels"),
    ),
    (
        false,
        (
            "NetworkPolicy",
            "networking.k8s.io",
            "",
            "spec/podSelector/matchLabels",
        ),
    ),
    (
        false,
        (
            "NetworkPolicy",
            "networking.k8s.io",
            "",
            "spec/ingress/from/podSelector/matchLabels",
        ),
    ),
    (
        false,
        (
            "NetworkPolicy",
            "networking.k8s.io",
            "",
            "spec/egress/to/podSelector/matchLabels",
        ),
    ),
];
/// Selectors within the pods of Deployments and StatefulSets.
const POD_SELECTORS: &[&str] = &[
    "affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
    "affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
    "affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
    "affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
    "topologySpreadConstraints/labelSelector/matchLabels",
];
const TEMPLATES: &[Row] = &[
    ("", "", "", "metadata"),
    ("ReplicationController", "", "v1", "spec/template/metadata"),
    ("Deployment", "", "", "spec/template/metadata"),
    ("ReplicaSet", "", "", "spec/template/metadata"),
    ("DaemonSet", "", "", "spec/template/metadata"),
    ("StatefulSet", "apps", "", "spec/template/metadata"),
    ("StatefulSet", "apps", "", "spec/volumeClaimTemplates[]/metadata"),
    ("Job", "batch", "", "spec/template/metadata"),
    ("CronJob", "batch", "", "spec/jobTemplate/metadata"),
    ("CronJob", "batch", "", "spec/jobTemplate/spec/template/metadata"),
];
const ANNOTATED: &[Row] = &[
    ("", "", "", "metadata"),
    ("ReplicationController", "", "v1", "spec/template/metadata"),
    ("Deployment", "", "", "spec/template/metadata"),
    ("ReplicaSet", "", "", "spec/template/metadata"),
    ("DaemonSet", "", "", "spec/template/metadata"),
    ("StatefulSet", "", "", "spec/template/metadata"),
    ("Job", "batch", "", "spec/template/metadata"),
    ("CronJob", "batch", "", "spec/jobTemplate/metadata"),
    ("CronJob", "batch", "", "spec/jobTemplate/spec/template/metadata"),
];
const IMAGES: &[Row] = &[
    ("", "", "", "spec/containers[]/image"),
    ("", "", "", "spec/initContainers[]/image"),
    ("", "", "", "spec/template/spec/containers[]/image"),
    ("", "", "", "spec/template/spec/initContainers[]/image"),
];
const OTHER_VAR_FIELDS: &[Row] = &[
    (
        "CronJob",
        "",
        "",
        "spec/jobTemplate/spec/template/volumes/nfs/server",
    ),
    ("DaemonSet", "", "", "spec/template/spec/volumes/nfs/server"),
    ("Deployment", "", "", "spec/template/spec/volumes/nfs/server"),
    ("Job", "", "", "spec/template/spec/volumes/nfs/server"),
    ("Pod", "", "", "spec/volumes/nfs/server"),
    ("ReplicaSet", "", "", "spec/template/spec/volumes/nfs/server"),
    ("StatefulSet", "", "", "spec/volumeClaimTemplates/spec/nfs/server"),
    ("PersistentVolume", "", "", "spec/nfs/server"),
    ("Deployment", "", "", "spec/template/metadata/annotations"),
    ("Ingress", "", "", "spec/rules/host"),
    ("Ingress", "", "", "spec/tls/hosts"),
    ("Ingress", "", "", "spec/tls/secretName"),
    ("Service", "", "", "spec/ports/port"),
    ("Service", "", "", "spec/ports/targetPort"),
    ("", "", "", "metadata/labels"),
    ("", "", "", "metadata/annotations"),
];

static DEFAULTS: LazyLock<Config> = LazyLock::new(|| Arc::new(make()));

/// The built-in configuration, made once.
pub(in super::super) fn defaults() -> Config {
    Arc::clone(&DEFAULTS)
}

fn make() -> FieldSpecs {
    let mut specs = FieldSpecs {
        name_prefix: rows(&[("", "", "", "metadata/name")], false),
        name_suffix: rows(&[("", "", "", "metadata/name")], false),
        namespace: namespaces(),
        common_labels: common_labels(),
        labels: Vec::new(),
        template_labels: below(TEMPLATES, "labels"),
        common_annotations: below(ANNOTATED, "annotations"),
        name_reference: references(),
        var_reference: var_references(),
        images: rows(IMAGES, true),
        replicas: replicas(),
    };
    specs.sort();
    specs
}

fn row(&(kind, group, version, path): &Row, create: bool) -> FieldSpec {
    FieldSpec::new(gvk(group, version, kind), path, create)
}

fn rows(rows: &[Row], create: bool) -> Vec<FieldSpec> {
    rows.iter().map(|it| row(it, create)).collect()
}

/// A field of each metadata in a table.
fn below(table: &[Row], field: &str) -> Vec<FieldSpec> {
    let spec = |(kind, group, version, path): &Row| {
        FieldSpec::new(gvk(group, version, kind), &format!("{path}/{field}"), true)
    };
    table.iter().map(spec).collect()
}

fn gvk(group: &str, version: &str, kind: &str) -> Gvk {
    Gvk {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
    }
}

/// Fields of pods, in every kind that holds some.
fn in_pods(holders: &[Holder], fields: &[&str]) -> Vec<FieldSpec> {
    let of_holder = |holder: &Holder| {
        let gvk = gvk("", holder.version, holder.kind);
        let pod = holder.pod;
        let specs = fields.iter();
        specs
            .map(|field| FieldSpec::new(gvk.clone(), &format!("{pod}/{field}"), false))
            .collect::<Vec<_>>()
    };
    holders.iter().flat_map(of_holder).collect()
}

fn namespaces() -> Vec<FieldSpec> {
    let mut specs = rows(
        &[
            ("Namespace", "", "", "metadata/name"),
            (
                "APIService",
                "apiregistration.k8s.io",
                "",
                "spec/service/namespace",
            ),
        ],
        true,
    );
    let conversion = "spec/conversion/webhook/clientConfig/service/namespace";
    let definition = ("CustomResourceDefinition", "apiextensions.k8s.io", "", conversion);
    specs.push(row(&definition, false));
    specs
}

fn common_labels() -> Vec<FieldSpec> {
    let selectors = LABEL_SELECTORS.iter().map(|(create, it)| row(it, *create));
    let mut specs: Vec<FieldSpec> = selectors.collect();
    for kind in ["Deployment", "StatefulSet"] {
        for field in POD_SELECTORS {
            let path = format!("spec/template/spec/{field}");
            specs.push(FieldSpec::new(gvk("apps", "", kind), &path, false));
        }
    }
    specs.extend(below(TEMPLATES, "labels"));
    specs
}

fn replicas() -> Vec<FieldSpec> {
    let kinds = ["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"];
    let spec = |kind: &str| FieldSpec::new(gvk("", "", kind), "spec/replicas", true);
    kinds.into_iter().map(spec).collect()
}

fn var_references() -> Vec<FieldSpec> {
    let mut specs = in_pods(USERS_OF_VARS, VAR_FIELDS);
    specs.extend(rows(OTHER_VAR_FIELDS, false));
    specs
}

fn references() -> Vec<NameReference> {
    let reference = |kind: &str, group: &str, version: &str, field_specs: Vec<FieldSpec>| NameReference {
        gvk: gvk(group, version, kind),
        field_specs,
    };
    let with = |mut specs: Vec<FieldSpec>, others: &[Row]| {
        specs.extend(rows(others, false));
        specs
    };
    let in_objects = |field: &str| in_pods(USERS_OF_OBJECTS, &[field]);
    let scaled = || {
        rows(
            &[("HorizontalPodAutoscaler", "", "", "spec/scaleTargetRef/name")],
            false,
        )
    };
    let role_binding = ("RoleBinding", RBAC, "", "roleRef/name");
    let cluster_role_binding = ("ClusterRoleBinding", RBAC, "", "roleRef/name");
    let claims = [
        ("PersistentVolumeClaim", "", "", "spec/volumeName"),
        ("ClusterRole", "", "", "rules/resourceNames"),
    ];
    let policies = [(
        "ValidatingAdmissionPolicyBinding",
        ADMISSION,
        "",
        "spec/policyName",
    )];
    vec![
        reference("Deployment", "", "", scaled()),
        reference("ReplicationController", "", "", scaled()),
        reference("ReplicaSet", "", "", scaled()),
        reference("StatefulSet", "", "", scaled()),
        reference(
            "ConfigMap",
            "",
            "v1",
            with(in_pods(USERS_OF_DATA, CONFIG_MAP_FIELDS), OTHER_CONFIG_MAP_FIELDS),
        ),
        reference(
            "Secret",
            "",
            "v1",
            with(in_pods(USERS_OF_DATA, SECRET_FIELDS), OTHER_SECRET_FIELDS),
        ),
        reference("Service", "", "v1", rows(SERVICE_FIELDS, false)),
        reference("Role", RBAC, "", rows(&[role_binding], false)),
        reference(
            "ClusterRole",
            RBAC,
            "",
            rows(&[role_binding, cluster_role_binding], false),
        ),
        reference(
            "ServiceAccount",
            "",
            "v1",
            with(rows(SUBJECTS, false), &[])
                .into_iter()
                .chain(in_objects("serviceAccountName"))
                .collect(),
        ),
        reference(
            "PersistentVolumeClaim",
            "",
            "v1",
            in_objects("volumes/persistentVolumeClaim/claimName"),
        ),
        reference("PersistentVolume", "", "v1", rows(&claims, false)),
        reference(
            "StorageClass",
            "storage.k8s.io",
            "v1",
            rows(STORAGE_CLASS_FIELDS, false),
        ),
        reference(
            "PriorityClass",
            "scheduling.k8s.io",
            "v1",
            in_objects("priorityClassName"),
        ),
        reference(
            "IngressClass",
            "networking.k8s.io/v1",
            "v1",
            rows(&[("Ingress", "", "", "spec/ingressClassName")], false),
        ),
        reference("ValidatingAdmissionPolicy", ADMISSION, "", rows(&policies, false)),
    ]
}
