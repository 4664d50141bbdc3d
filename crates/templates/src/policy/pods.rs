//! Pods in objects of any kind: in a Job's template, in the replicas of a training job, in the steps of a workflow.
//! They are held against the baseline of the Pod Security Standards, wherever they are found.

use kinds::pod_security::{Level, Policy, Version, violations};
use serde_json::{Map, Value, json};

use super::Judge;

const BASELINE: Policy = Policy {
    level: Level::Baseline,
    version: Version::Latest,
};

/// Fields that only pods have, and what is as good as one.
const MARKS: &[&str] = &[
    "containers",
    "initContainers",
    "ephemeralContainers",
    "volumes",
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "container",
    "script",
    "sidecars",
];

/// Fields whose texts a controller would read as further objects or patches of pods.
const HIDDEN: &[&str] = &["podSpecPatch", "manifest", "manifestFrom"];

impl Judge<'_> {
    /// Looks at a value and everything in it.
    pub(super) fn pods(&mut self, value: &Value, pointer: &str) {
        match value {
            Value::Object(fields) => {
                self.mapping(fields, pointer);
                for (name, field) in fields {
                    // What is in there is text for programs.
                    if !(pointer.is_empty() && matches!(name.as_str(), "data" | "metadata")) {
                        self.pods(field, &format!("{pointer}/{}", escaped(name)));
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.pods(item, &format!("{pointer}/{index}"));
                }
            }
            _ => {}
        }
    }

    fn mapping(&mut self, fields: &Map<String, Value>, pointer: &str) {
        if MARKS.iter().any(|mark| fields.contains_key(*mark)) {
            let metadata = fields.get("metadata").cloned().unwrap_or_else(|| json!({}));
            for violation in violations(BASELINE, &metadata, &pod(fields)) {
                self.refuse(
                    pointer,
                    format!("{}: {}", violation.reason, violation.detail),
                    Some("only trusted templates may ask for it"),
                );
            }
        }
        for field in ["serviceAccountName", "serviceAccount"] {
            let account = fields.get(field).and_then(Value::as_str).unwrap_or_default();
            if !matches!(account, "" | "default") {
                self.refuse(
                    &format!("{pointer}/{field}"),
                    "only trusted templates may choose a service account",
                    Some("leave it out"),
                );
            }
        }
        for field in HIDDEN.iter().filter(|field| fields.contains_key(**field)) {
            self.refuse(
                &format!("{pointer}/{field}"),
                format!("only trusted templates may have a `{field}`: nobody can see what becomes of it"),
                None,
            );
        }
    }
}

/// The fields of a pod, with everything that runs among its containers.
fn pod(fields: &Map<String, Value>) -> Value {
    let mut pod = fields.clone();
    let mut containers = list(fields, "containers");
    containers.extend(list(fields, "sidecars"));
    for name in ["container", "script"] {
        containers.extend(
            fields
                .get(name)
                .filter(|container| container.is_object())
                .cloned(),
        );
    }
    pod.insert("containers".to_owned(), containers.into());
    Value::Object(pod)
}

fn list(fields: &Map<String, Value>, name: &str) -> Vec<Value> {
    let items = fields.get(name).and_then(Value::as_array);
    items.cloned().unwrap_or_default()
}

/// A name as a part of a JSON pointer.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
