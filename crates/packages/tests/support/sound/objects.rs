//! Objects of sound packages: what they refer to is there.

use fastrand::Rng;
use serde_json::{Map, Value, json};

#[derive(Clone)]
pub(super) struct Object {
    pub(super) value: Value,
    /// Whether what it was made as is all there is to know of it: nothing in it was removed or renamed since.
    pub(super) is_known: bool,
    pub(super) is_generated: bool,
    /// Whether something depends on it, so that it must stay.
    pub(super) is_needed: bool,
}

impl Object {
    pub(super) fn kind(&self) -> &str {
        self.value["kind"].as_str().unwrap_or_default()
    }

    pub(super) fn api_version(&self) -> &str {
        self.value["apiVersion"].as_str().unwrap_or_default()
    }

    pub(super) fn name(&self) -> &str {
        self.value["metadata"]["name"].as_str().unwrap_or_default()
    }

    pub(super) fn namespace(&self) -> Option<&str> {
        self.value["metadata"]["namespace"].as_str()
    }

    pub(super) fn has_template(&self) -> bool {
        self.value["spec"]["template"]["spec"].is_object()
    }
}

const TEXTS: &[&str] = &[
    "word",
    "two words",
    "yes",
    "1",
    "1.50",
    "2020-01-01",
    "a: b",
    "# no",
    "tab\there",
    "caf\u{e9}",
    " lead",
    "line\nbreak",
    "lines\nwith an end\n",
    "",
    "null",
    "0x1F",
    "host:5000/name",
    "a-b-c",
    "a text that is so long that it has to be folded somewhere behind column eighty, for sure",
    "$(NAME)",
    "{\"json\": [1, 2]}",
    "'",
];

pub(super) fn text(random: &mut Rng) -> &'static str {
    TEXTS[random.usize(0..TEXTS.len())]
}

pub(super) fn entries(random: &mut Rng) -> Value {
    let keys = ["app", "tier", "example.com/a", "x1", "on", "Key", "k.e.y"];
    let count = random.usize(1..4);
    let entries = (0..count).map(|_| (keys[random.usize(0..keys.len())].to_owned(), text(random).into()));
    Value::Object(entries.collect::<Map<_, _>>())
}

/// Makes an object of some kind, under a name no other has. What is visible may be referred to.
pub(super) fn make(name: &str, visible: &[Object], random: &mut Rng) -> Object {
    let kinds = [
        "Deployment",
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "Job",
        "CronJob",
        "Pod",
        "Service",
        "ConfigMap",
        "ConfigMap",
        "Secret",
        "ServiceAccount",
        "RoleBinding",
        "Role",
        "ClusterRole",
        "Ingress",
        "PersistentVolumeClaim",
        "Widget",
        "Widget",
        "HorizontalPodAutoscaler",
        "Namespace",
        "CustomResourceDefinition",
    ];
    let kind = kinds[random.usize(0..kinds.len())];
    let refer = Names { visible };
    let mut value = body(kind, &refer, random);
    value["apiVersion"] = api_version(kind).into();
    value["kind"] = kind.into();
    value["metadata"] = json!({"name": name});
    let has_no_namespace = ["ClusterRole", "Namespace", "CustomResourceDefinition"].contains(&kind);
    if !has_no_namespace && random.u32(0..5) == 0 {
        value["metadata"]["namespace"] = ["team", "default", "other"][random.usize(0..3)].into();
    }
    for field in ["labels", "annotations"] {
        if random.u32(0..3) == 0 {
            value["metadata"][field] = entries(random);
        }
    }
    if random.u32(0..40) == 0 {
        value["metadata"]["annotations"] = json!({"config.kubernetes.io/local-config": "true"});
    }
    Object {
        value,
        is_known: true,
        is_generated: false,
        is_needed: false,
    }
}

fn api_version(kind: &str) -> &'static str {
    match kind {
        "Deployment" | "StatefulSet" | "DaemonSet" => "apps/v1",
        "Job" | "CronJob" => "batch/v1",
        "Role" | "RoleBinding" | "ClusterRole" => "rbac.authorization.k8s.io/v1",
        "Ingress" => "networking.k8s.io/v1",
        "Widget" => "example.com/v1",
        "HorizontalPodAutoscaler" => "autoscaling/v2",
        "CustomResourceDefinition" => "apiextensions.k8s.io/v1",
        _ => "v1",
    }
}

/// Names of what is there.
struct Names<'o> {
    visible: &'o [Object],
}

impl Names<'_> {
    fn of(&self, kind: &str, random: &mut Rng) -> String {
        let names: Vec<&str> = self
            .visible
            .iter()
            .filter(|object| object.kind() == kind)
            .map(Object::name)
            .collect();
        match names.len() {
            0 => "elsewhere".to_owned(),
            count => names[random.usize(0..count)].to_owned(),
        }
    }
}

fn body(kind: &str, names: &Names<'_>, random: &mut Rng) -> Value {
    match kind {
        "Deployment" | "StatefulSet" | "DaemonSet" | "Job" => {
            let mut spec = json!({"template": {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec(names, random)}});
            if kind != "Job" {
                spec["selector"] = json!({"matchLabels": {"app": "web"}});
            }
            if kind == "StatefulSet" {
                spec["serviceName"] = names.of("Service", random).into();
                spec["volumeClaimTemplates"] =
                    json!([{"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}]);
            }
            if kind != "DaemonSet" && kind != "Job" && random.bool() {
                spec["replicas"] = random.u32(0..4).into();
            }
            json!({ "spec": spec })
        }
        "CronJob" => {
            json!({"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": pod_spec(names, random)}}}}})
        }
        "Pod" => json!({ "spec": pod_spec(names, random) }),
        "Service" => {
            json!({"spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}, {"port": 81, "name": "more"}]}})
        }
        "ConfigMap" => json!({ "data": entries(random) }),
        "Secret" => json!({"type": "Opaque", "stringData": entries(random)}),
        "ServiceAccount" => json!({"imagePullSecrets": [{"name": names.of("Secret", random)}]}),
        "RoleBinding" => json!({
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": names.of("Role", random)},
            "subjects": [{"kind": "ServiceAccount", "name": names.of("ServiceAccount", random)}, {"kind": "ServiceAccount", "name": "default", "namespace": "x"}],
        }),
        "Role" | "ClusterRole" => {
            json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "resourceNames": [names.of("ConfigMap", random)]}]})
        }
        "Ingress" => json!({"spec": {
            "tls": [{"hosts": ["$(NAME).example.com"], "secretName": names.of("Secret", random)}],
            "rules": [{"host": "a.example.com", "http": {"paths": [{"path": "/", "backend": {"service": {"name": names.of("Service", random), "port": {"number": 80}}}}]}}],
        }}),
        "PersistentVolumeClaim" => {
            json!({"spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
        }
        "HorizontalPodAutoscaler" => {
            json!({"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": names.of("Deployment", random)}, "maxReplicas": 3}})
        }
        "CustomResourceDefinition" => {
            json!({"spec": {"names": {"kind": "Other"}, "containers": [{"image": "nginx"}]}})
        }
        "Widget" => widget(names, random),
        _ => json!({}),
    }
}

fn widget(names: &Names<'_>, random: &mut Rng) -> Value {
    let mut spec = json!({
        "map": names.of("ConfigMap", random),
        "ref": {"name": names.of("ConfigMap", random)},
        "values": entries(random),
        "number": random.u32(0..100),
        "ratio": 1.5,
        "flag": random.bool(),
        "list": [{"name": "one", "value": 1}, {"name": "two", "value": text(random)}],
        "texts": ["a", "b-c", text(random)],
    });
    if random.bool() {
        spec["template"] = json!({"metadata": {"labels": {"app": "web"}}, "spec": pod_spec(names, random)});
    }
    json!({ "spec": spec })
}

fn pod_spec(names: &Names<'_>, random: &mut Rng) -> Value {
    let mut spec = json!({"containers": [container("main", names, random)]});
    if random.u32(0..3) == 0 {
        let more = container("side", names, random);
        spec["containers"] = json!([spec["containers"][0].clone(), more]);
    }
    if random.u32(0..4) == 0 {
        spec["initContainers"] = json!([container("init", names, random)]);
    }
    if random.bool() {
        spec["serviceAccountName"] = names.of("ServiceAccount", random).into();
    }
    if random.bool() {
        spec["volumes"] = json!([
            {"name": "a", "configMap": {"name": names.of("ConfigMap", random)}},
            {"name": "b", "secret": {"secretName": names.of("Secret", random)}},
            {"name": "c", "persistentVolumeClaim": {"claimName": names.of("PersistentVolumeClaim", random)}},
            {"name": "d", "projected": {"sources": [{"configMap": {"name": names.of("ConfigMap", random)}}]}},
        ]);
    }
    spec
}

fn container(name: &str, names: &Names<'_>, random: &mut Rng) -> Value {
    let images = [
        "nginx",
        "nginx:1.2",
        "host:5000/nginx:v1",
        "redis@sha256:abc",
        "ghcr.io/x/app:a-b",
    ];
    let mut container = json!({"name": name, "image": images[random.usize(0..images.len())]});
    if random.bool() {
        container["env"] = json!([
            {"name": "A", "value": text(random)},
            {"name": "B", "valueFrom": {"configMapKeyRef": {"name": names.of("ConfigMap", random), "key": "k"}}},
        ]);
    }
    if random.bool() {
        container["args"] = json!(["--name=$(NAME)", "$(OTHER)", "--plain"]);
    }
    if random.u32(0..3) == 0 {
        container["ports"] =
            json!([{"containerPort": 80}, {"containerPort": 81, "name": "more", "protocol": "TCP"}]);
    }
    if random.u32(0..3) == 0 {
        container["volumeMounts"] =
            json!([{"name": "a", "mountPath": "/a"}, {"name": "b", "mountPath": "/b"}]);
    }
    if random.u32(0..4) == 0 {
        container["resources"] = json!({"limits": {"memory": "1Gi", "nvidia.com/gpu": 1}});
    }
    container
}
