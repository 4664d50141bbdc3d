//! What a task leaves behind.

use resources::tasks::{Child, Output};
use serde_json::Value;

use super::Pod;

const RESULTS: usize = 32;

/// The claims among the objects of a task.
pub(super) fn claims(children: &[Child]) -> Vec<Output> {
    let claims = children
        .iter()
        .filter(|child| child.kind == "PersistentVolumeClaim");
    claims
        .map(|child| Output {
            name: child.name.clone(),
            value: child.name.clone(),
            kind: "claim".to_owned(),
        })
        .collect()
}

/// What the containers said at their end: a JSON object gives an output a field, other text one output.
pub(super) fn results(pods: &[Pod], attempt: i32) -> Vec<Output> {
    let mut pods: Vec<&Pod> = pods
        .iter()
        .filter(|pod| pod.attempt == attempt && !pod.result.is_empty())
        .collect();
    pods.sort_by(|one, other| one.name.cmp(&other.name));
    let Some(pod) = pods.first() else {
        return Vec::new();
    };
    let output = |name: &str, value: String| Output {
        name: name.to_owned(),
        value,
        kind: "result".to_owned(),
    };
    match serde_json::from_str::<Value>(&pod.result) {
        Ok(Value::Object(fields)) => {
            let field = |(name, value): (&String, &Value)| match value {
                Value::String(text) => output(name, text.clone()),
                other => output(name, other.to_string()),
            };
            fields.iter().take(RESULTS).map(field).collect()
        }
        _ => vec![output("message", pod.result.clone())],
    }
}
