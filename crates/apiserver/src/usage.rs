//! The `metrics.k8s.io` API: what pods and nodes use. Its objects are measured when they are asked
//! for; those of pods and nodes that nobody measures are not there.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::future::join_all;
use jiff::Timestamp;
use node_api::{Node, NodeUsage, PodUsage, Usage};
use serde_json::{Value, json};
use store::Collection;

use crate::{
    call::Call,
    custom,
    error::{ApiError, Result},
    get,
    kind::Kind,
    list, object,
    response::Answer,
    selection::Selection,
    writes::timestamp,
};

const GROUP: &str = "metrics.k8s.io";
const VERSION: &str = "v1beta1";

/// The kinds of the group.
pub(crate) fn kinds() -> Vec<Arc<Kind>> {
    let usage = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let nodes = definition("nodes", "NodeMetrics", "Cluster", json!({ "usage": usage }));
    let container =
        json!({ "type": "object", "properties": { "name": { "type": "string" }, "usage": usage } });
    let containers = json!({ "containers": { "type": "array", "items": container } });
    let pods = definition("pods", "PodMetrics", "Namespaced", containers);
    [nodes, pods].iter().flat_map(custom::read_only_kinds).collect()
}

/// A kind described as custom ones are, with what all measurements have.
fn definition(plural: &str, kind: &str, scope: &str, mut properties: Value) -> Value {
    properties["timestamp"] = json!({ "type": "string", "format": "date-time" });
    properties["window"] = json!({ "type": "string" });
    json!({
        "metadata": { "name": format!("{plural}.{GROUP}") },
        "spec": {
            "group": GROUP,
            "scope": scope,
            "names": { "plural": plural, "singular": "", "kind": kind, "listKind": format!("{kind}List") },
            "versions": [{
                "name": VERSION, "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": properties } },
            }],
        },
        "status": { "acceptedNames": { "plural": plural, "singular": "", "kind": kind, "listKind": format!("{kind}List") } },
    })
}

pub(crate) fn is_measured(kind: &Kind) -> bool {
    kind.group == GROUP && kind.version == VERSION
}

pub(crate) async fn answer(call: &Call) -> Result<Answer> {
    let measured = if call.kind.plural == "nodes" {
        of_nodes(call).await
    } else {
        of_pods(call).await
    };
    if call.target.verb == "list" {
        let selection = Selection::read(&call.query, &call.kind)?;
        let mut values = Vec::new();
        for stored in subjects(call) {
            if let Some(found) = measured.get(&key(stored.namespace(), stored.name()))
                && selection.matches(&call.kind, &stored)?
            {
                values.push(dressed(call, &stored, found)?);
            }
        }
        return list::show(call, json!({}), values);
    }
    let name = &call.target.name;
    let not_found = || ApiError::not_found(call.kind.qualified(), name);
    let found = measured
        .get(&key(call.key_namespace(), name))
        .ok_or_else(not_found)?;
    let stored = call.api.store.get(&subject(call), call.key_namespace(), name);
    let stored = stored.ok_or_else(not_found)?;
    let value = dressed(call, &stored, found)?;
    get::show(call, http::StatusCode::OK, value)
}

type Key = (String, String);

fn key(namespace: &str, name: &str) -> Key {
    (namespace.to_owned(), name.to_owned())
}

/// The pods or nodes that are measured.
fn subject(call: &Call) -> Collection {
    Collection::new("", &call.kind.plural)
}

fn subjects(call: &Call) -> Vec<Arc<store::Object>> {
    call.api
        .store
        .list(&subject(call), call.namespace(), None, None)
        .items
}

/// What every node says of its pods. One that says nothing is left out.
async fn of_pods(call: &Call) -> HashMap<Key, Value> {
    let nodes = call.api.nodes.all();
    let answers = join_all(nodes.iter().map(|(_, node)| node.pod_usage())).await;
    let pods = answers.into_iter().flat_map(Result::unwrap_or_default);
    pods.map(|pod| (key(&pod.namespace, &pod.name), pod_fields(&pod)))
        .collect()
}

async fn of_nodes(call: &Call) -> HashMap<Key, Value> {
    let nodes = call.api.nodes.all();
    let ask = |(name, node): (String, Arc<dyn Node>)| async move {
        Some((key("", &name), node.node_usage().await.ok()?))
    };
    let answers = join_all(nodes.into_iter().map(ask)).await;
    let measured = answers.into_iter().flatten();
    measured
        .map(
            |(
                key,
                NodeUsage {
                    measured,
                    window,
                    usage,
                },
            )| {
                let mut fields = fields(measured, window);
                fields["usage"] = amounts(usage);
                (key, fields)
            },
        )
        .collect()
}

fn pod_fields(pod: &PodUsage) -> Value {
    let mut fields = fields(pod.measured, pod.window);
    let containers = pod.containers.iter();
    fields["containers"] = containers
        .map(|container| json!({ "name": container.name, "usage": amounts(container.usage) }))
        .collect();
    fields
}

fn fields(measured: Timestamp, window: Duration) -> Value {
    json!({ "timestamp": timestamp(measured), "window": format!("{}s", window.as_secs_f64()) })
}

fn amounts(usage: Usage) -> Value {
    json!({ "cpu": format!("{}n", usage.cpu_nanocores), "memory": format!("{}Ki", usage.memory_bytes >> 10) })
}

/// A measurement with the name and labels of what was measured.
fn dressed(call: &Call, subject: &store::Object, fields: &Value) -> Result<Value> {
    let subject = object::parse(subject)?;
    let mut metadata = json!({
        "name": object::name(&subject),
        "creationTimestamp": fields["timestamp"],
    });
    if call.kind.namespaced {
        metadata["namespace"] = object::namespace(&subject).into();
    }
    if let Some(labels) = subject.pointer("/metadata/labels") {
        metadata["labels"] = labels.clone();
    }
    let mut value =
        json!({ "kind": call.kind.kind, "apiVersion": call.kind.api_version, "metadata": metadata });
    if let (Some(value), Some(fields)) = (value.as_object_mut(), fields.as_object()) {
        value.extend(fields.clone());
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_can_be_read_and_nothing_else() {
        let kinds = kinds();
        let rows: Vec<_> = kinds
            .iter()
            .map(|kind| {
                (
                    kind.plural.as_ref(),
                    kind.kind.as_ref(),
                    kind.namespaced,
                    kind.verbs.clone(),
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                ("nodes", "NodeMetrics", false, vec!["get", "list"]),
                ("pods", "PodMetrics", true, vec!["get", "list"]),
            ]
        );
        assert!(kinds.iter().all(|kind| is_measured(kind)));
    }

    #[test]
    fn amounts_are_written_as_quantities() {
        let usage = Usage {
            cpu_nanocores: 12_345,
            memory_bytes: 3 << 20,
        };
        assert_eq!(amounts(usage), json!({ "cpu": "12345n", "memory": "3072Ki" }));
        assert_eq!(
            fields(Timestamp::UNIX_EPOCH, Duration::from_millis(15_250))["window"],
            "15.25s"
        );
    }
}
