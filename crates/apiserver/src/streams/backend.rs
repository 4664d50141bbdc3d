//! Who answers for a pod: the node it runs on, or, where nobody does, what the real server says then.

use std::sync::Arc;

use http::StatusCode;
use node_api::{Node, Pod};
use serde_json::Value;
use store::Collection;

use crate::{
    call::Call,
    error::{ApiError, Qualified, Result},
    object,
};

/// The port of a node's own service.
const NODE_PORT: i64 = 10250;
/// The kinds of addresses by which a node is called, best first.
const PREFERRED_ADDRESSES: [&str; 5] = [
    "Hostname",
    "InternalDNS",
    "InternalIP",
    "ExternalDNS",
    "ExternalIP",
];

/// The pod a request names.
pub(super) fn pod(call: &Call, name: &str) -> Result<Value> {
    let stored = call
        .api
        .store
        .get(&call.kind.collection, call.key_namespace(), name);
    let stored = stored.ok_or_else(|| ApiError::not_found(call.kind.qualified(), name))?;
    object::parse(&stored)
}

pub(super) fn identity(pod: &Value) -> Pod {
    Pod {
        namespace: object::namespace(pod).to_owned(),
        name: object::name(pod).to_owned(),
        uid: object::meta_text(pod, "uid").to_owned(),
    }
}

/// The node of a pod that was given one.
pub(super) fn node(call: &Call, pod: &Value, path: &str) -> Result<Arc<dyn Node>> {
    let name = node_name(pod);
    if name.is_empty() {
        return Err(ApiError::bad_request(format!(
            "pod {} does not have a host assigned",
            object::name(pod)
        )));
    }
    node_called(call, name, path)
}

pub(super) fn node_name(pod: &Value) -> &str {
    kinds::read::text(kinds::read::get(pod, "spec"), "nodeName")
}

/// A node by its name, asked for `path` of its own service (empty for an upgrade).
pub(super) fn node_called(call: &Call, name: &str, path: &str) -> Result<Arc<dyn Node>> {
    call.api
        .nodes
        .get(name)
        .ok_or_else(|| nobody_answers(call, name, path))
}

fn nobody_answers(call: &Call, name: &str, path: &str) -> ApiError {
    let Some(stored) = call.api.store.get(&Collection::new("", "nodes"), "", name) else {
        let nodes = Qualified {
            group: "",
            name: "nodes",
        };
        return ApiError::not_found(nodes, name);
    };
    match object::parse(&stored) {
        Ok(node) => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "", why_silent(&node, path)),
        Err(unreadable) => unreadable,
    }
}

fn why_silent(node: &Value, path: &str) -> String {
    let status = kinds::read::get(node, "status");
    let addresses = kinds::read::list(status, "addresses");
    let preferred = PREFERRED_ADDRESSES.iter().find_map(|kind| {
        let found = addresses
            .iter()
            .find(|address| kinds::read::text(address, "type") == *kind)?;
        Some(kinds::read::text(found, "address"))
    });
    let Some(host) = preferred else {
        return "no preferred addresses found; known addresses: []".to_owned();
    };
    let port = status
        .pointer("/daemonEndpoints/kubeletEndpoint/Port")
        .and_then(Value::as_i64)
        .filter(|port| *port != 0)
        .unwrap_or(NODE_PORT);
    let refused = format!("dial tcp {host}:{port}: connect: connection refused");
    if path.is_empty() {
        format!("error dialing backend: {refused}")
    } else {
        format!("Get \"https://{host}:{port}{path}\": {refused}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_node_that_nobody_answers_for_is_a_refused_connection() {
        let node = json!({"status": {
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": "one"}],
        }});
        assert_eq!(
            why_silent(&node, ""),
            "error dialing backend: dial tcp one:10250: connect: connection refused"
        );
        assert_eq!(
            why_silent(&node, "/containerLogs/ns/p/c"),
            "Get \"https://one:10250/containerLogs/ns/p/c\": dial tcp one:10250: connect: connection refused"
        );
        assert_eq!(
            why_silent(&json!({}), ""),
            "no preferred addresses found; known addresses: []"
        );
    }
}
