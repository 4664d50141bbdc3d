//! Names of other objects in pods and bindings that nothing in the package has. The cluster may have it, so most
//! of this is no more than a warning.

use std::collections::{BTreeSet, HashMap};

use manifests::spelling::nearest;
use packages::TracedObject;
use serde_json::Value;

use crate::{complaints::Complaints, pipelines, pod_specs::pod_specs};

/// What is there without anybody's doing.
const ALWAYS_THERE: [(&str, &str); 2] = [("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")];

/// The objects of the package that others may name, by kind and namespace.
pub(crate) struct Inventory<'o> {
    objects: HashMap<(&'o str, &'o str), HashMap<&'o str, &'o Value>>,
}

impl<'o> Inventory<'o> {
    pub(crate) fn of(objects: &'o [TracedObject]) -> Self {
        let mut inventory = Self {
            objects: HashMap::new(),
        };
        for object in objects.iter().map(|object| &object.value) {
            let kind = object["kind"].as_str().unwrap_or_default();
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let of_kind = inventory.objects.entry((kind, namespace(object))).or_default();
            of_kind.insert(name, object);
        }
        inventory
    }

    fn names<'s>(&'s self, kind: &'s str, namespace: &'s str) -> impl Iterator<Item = &'s str> {
        let found = self.objects.get(&(kind, namespace));
        found.into_iter().flat_map(|names| names.keys().copied())
    }

    fn find<'s>(&'s self, kind: &'s str, namespace: &'s str, name: &'s str) -> Option<&'s Value> {
        self.objects.get(&(kind, namespace))?.get(name).copied()
    }
}

/// A field that names another object.
struct Reference<'v> {
    kind: &'static str,
    namespace: &'v str,
    name: &'v str,
    /// Of its data.
    key: Option<&'v str>,
    path: String,
    key_path: String,
}

pub(crate) fn check(object: &Value, inventory: &Inventory<'_>, complaints: &mut Complaints<'_>) {
    let mut references = subjects(object);
    for (path, spec) in pod_specs(object) {
        let mut collector = Collector {
            namespace: namespace(object),
            found: Vec::new(),
        };
        collector.pod(spec, &path);
        references.append(&mut collector.found);
    }
    if pipelines::is_one(object) {
        let mut collector = Collector {
            namespace: namespace(object),
            found: Vec::new(),
        };
        collector.pipeline(object);
        references.append(&mut collector.found);
    }
    for reference in references {
        reference.check(inventory, complaints);
    }
}

/// Objects without one are together in whichever namespace they are applied to.
fn namespace(object: &Value) -> &str {
    match object["metadata"]["namespace"].as_str() {
        None | Some("default") => "",
        Some(namespace) => namespace,
    }
}

impl Reference<'_> {
    fn check(&self, inventory: &Inventory<'_>, complaints: &mut Complaints<'_>) {
        let Self { kind, name, .. } = self;
        if name.is_empty() || ALWAYS_THERE.contains(&(kind, name)) {
            return;
        }
        let Some(found) = inventory.find(kind, self.namespace, name) else {
            let meant = nearest(name, inventory.names(kind, self.namespace));
            let hint = match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "add it to the package, unless the cluster has it".to_owned(),
            };
            let message = format!("the {kind} {name:?} is not in the package");
            return complaints.warn(&self.path, message, hint);
        };
        let keys = keys(found);
        if let Some(key) = self.key.filter(|key| !keys.contains(key)) {
            let hint = match nearest(key, keys.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("add it to the {kind}"),
            };
            let message = format!("the {kind} {name:?} has no key {key:?}");
            complaints.refuse(&self.key_path, message, hint);
        }
    }
}

fn keys(object: &Value) -> BTreeSet<&str> {
    let fields = ["data", "binaryData", "stringData"].into_iter();
    let maps = fields.filter_map(|field| object[field].as_object());
    maps.flat_map(|map| map.keys().map(String::as_str)).collect()
}

/// The service accounts a binding gives rights to. Those of other namespaces are others' to make.
fn subjects(object: &Value) -> Vec<Reference<'_>> {
    let is_binding = matches!(
        object["kind"].as_str(),
        Some("RoleBinding" | "ClusterRoleBinding")
    );
    let subjects = object["subjects"].as_array().filter(|_| is_binding);
    let subjects = subjects.into_iter().flatten().enumerate();
    let accounts = subjects.filter(|(_, subject)| subject["kind"] == "ServiceAccount");
    accounts
        .map(|(index, subject)| Reference {
            kind: "ServiceAccount",
            namespace: match subject["namespace"].as_str() {
                None => namespace(object),
                Some("default") => "",
                Some(other) => other,
            },
            name: subject["name"].as_str().unwrap_or_default(),
            key: None,
            path: format!("subjects[{index}].name"),
            key_path: String::new(),
        })
        .collect()
}

struct Collector<'v> {
    namespace: &'v str,
    found: Vec<Reference<'v>>,
}

impl<'v> Collector<'v> {
    /// Templates have one container each, and share volumes and an account.
    fn pipeline(&mut self, object: &'v Value) {
        let (path, spec) = pipelines::specification(object);
        self.pod(spec, path);
        for (index, template) in items(&spec["templates"]) {
            let path = format!("{path}.templates[{index}]");
            // Sets of containers are found as pods are.
            if template["containers"].is_null() {
                self.pod(template, &path);
            }
            for field in ["container", "script"] {
                self.container(&template[field], &format!("{path}.{field}"));
            }
        }
        // What is filled in when it runs is not known before.
        self.found.retain(|reference| !reference.name.contains("{{"));
    }

    fn pod(&mut self, spec: &'v Value, path: &str) {
        self.name(
            "ServiceAccount",
            &spec["serviceAccountName"],
            format!("{path}.serviceAccountName"),
        );
        for (index, secret) in items(&spec["imagePullSecrets"]) {
            self.name(
                "Secret",
                &secret["name"],
                format!("{path}.imagePullSecrets[{index}].name"),
            );
        }
        for (index, volume) in items(&spec["volumes"]) {
            self.volume(volume, &format!("{path}.volumes[{index}]"));
        }
        for field in ["initContainers", "containers"] {
            for (index, container) in items(&spec[field]) {
                self.container(container, &format!("{path}.{field}[{index}]"));
            }
        }
    }

    fn volume(&mut self, volume: &'v Value, path: &str) {
        let claim = &volume["persistentVolumeClaim"]["claimName"];
        self.name(
            "PersistentVolumeClaim",
            claim,
            format!("{path}.persistentVolumeClaim.claimName"),
        );
        self.files(
            "ConfigMap",
            &volume["configMap"],
            "name",
            &format!("{path}.configMap"),
        );
        self.files(
            "Secret",
            &volume["secret"],
            "secretName",
            &format!("{path}.secret"),
        );
        for (index, source) in items(&volume["projected"]["sources"]) {
            let path = format!("{path}.projected.sources[{index}]");
            self.files(
                "ConfigMap",
                &source["configMap"],
                "name",
                &format!("{path}.configMap"),
            );
            self.files("Secret", &source["secret"], "name", &format!("{path}.secret"));
        }
    }

    fn container(&mut self, container: &'v Value, path: &str) {
        for (index, source) in items(&container["envFrom"]) {
            let path = format!("{path}.envFrom[{index}]");
            for (field, kind) in [("configMapRef", "ConfigMap"), ("secretRef", "Secret")] {
                self.files(kind, &source[field], "name", &format!("{path}.{field}"));
            }
        }
        for (index, variable) in items(&container["env"]) {
            let path = format!("{path}.env[{index}].valueFrom");
            for (field, kind) in [("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")] {
                let source = &variable["valueFrom"][field];
                let path = format!("{path}.{field}");
                if source["optional"] != true {
                    let key = source["key"].as_str();
                    self.keyed(
                        kind,
                        &source["name"],
                        key,
                        format!("{path}.name"),
                        format!("{path}.key"),
                    );
                }
            }
        }
    }

    /// A source of all keys, or of those that are listed.
    fn files(&mut self, kind: &'static str, source: &'v Value, name: &str, path: &str) {
        if source["optional"] == true {
            return;
        }
        let name_path = format!("{path}.{name}");
        let listed = items(&source["items"]);
        if listed.is_empty() {
            return self.name(kind, &source[name], name_path);
        }
        for (index, item) in listed {
            let key_path = format!("{path}.items[{index}].key");
            self.keyed(
                kind,
                &source[name],
                item["key"].as_str(),
                name_path.clone(),
                key_path,
            );
        }
    }

    fn name(&mut self, kind: &'static str, name: &'v Value, path: String) {
        self.keyed(kind, name, None, path, String::new());
    }

    fn keyed(
        &mut self,
        kind: &'static str,
        name: &'v Value,
        key: Option<&'v str>,
        path: String,
        key_path: String,
    ) {
        if let Some(name) = name.as_str() {
            self.found.push(Reference {
                kind,
                namespace: self.namespace,
                name,
                key,
                path,
                key_path,
            });
        }
    }
}

fn items(value: &Value) -> Vec<(usize, &Value)> {
    value.as_array().into_iter().flatten().enumerate().collect()
}
