//! What a node's own service answers: its health, its pods and what they use. There is no such service
//! here to pass requests on to, so these are answered in its place.

use http::{Method, StatusCode};
use node_api::{ContainerUsage, NodeError, NodeUsage, PodUsage, Usage};
use serde_json::{Value, json};
use store::Collection;

use crate::{
    call::Call,
    error::{ApiError, Result},
    negotiate::Representation,
    object,
    response::{self, Answer},
    streams::backend,
    writes::timestamp,
};

pub(super) async fn answer(call: &Call, method: &Method, path: &str, node: &str) -> Result<Answer> {
    let path = path.trim_end_matches('/');
    let source = backend::node_called(call, node, path)?;
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Ok(response::text(
            StatusCode::METHOD_NOT_ALLOWED,
            "405: Method Not Allowed\n",
        ));
    }
    match path {
        "/healthz" => Ok(response::text(StatusCode::OK, "ok")),
        "/pods" | "/runningpods" => Ok(json_answer(&pods(call, node))),
        "/stats/summary" => {
            let (of_node, of_pods) = (source.node_usage().await, source.pod_usage().await);
            let summary = summary(
                node,
                of_node.map_err(unmeasured)?,
                &of_pods.map_err(unmeasured)?,
                &pods(call, node),
            );
            Ok(json_answer(&summary))
        }
        _ => Ok(response::text(StatusCode::NOT_FOUND, "404 page not found\n")),
    }
}

fn json_answer(value: &Value) -> Answer {
    response::value(StatusCode::OK, Representation::JSON, value)
}

fn unmeasured(error: NodeError) -> ApiError {
    ApiError::internal(error)
}

/// The pods that were given to the node.
fn pods(call: &Call, node: &str) -> Value {
    let stored = call
        .api
        .store
        .list(&Collection::new("", "pods"), None, None, None);
    let items: Vec<Value> = stored
        .items
        .iter()
        .filter_map(|stored| object::readable(stored))
        .filter(|pod| backend::node_name(pod) == node)
        .collect();
    json!({ "kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items })
}

fn summary(node: &str, of_node: NodeUsage, of_pods: &[PodUsage], pods: &Value) -> Value {
    let uid = |usage: &PodUsage| {
        let pods = kinds::read::list(pods, "items").iter();
        let mut found = pods.filter(|pod| {
            crate::object::namespace(pod) == usage.namespace && crate::object::name(pod) == usage.name
        });
        let found = found.next().map(|pod| crate::object::meta_text(pod, "uid"));
        found.unwrap_or_default().to_owned()
    };
    let pods: Vec<Value> = of_pods
        .iter()
        .map(|usage| {
            let at = timestamp(usage.measured);
            let containers = usage.containers.iter();
            let containers: Vec<Value> = containers
                .map(|ContainerUsage { name, usage }| with(json!({ "name": name }), &at, *usage))
                .collect();
            let reference = json!({ "name": usage.name, "namespace": usage.namespace, "uid": uid(usage) });
            let total = usage
                .containers
                .iter()
                .fold(Usage::default(), |sum, container| Usage {
                    cpu_nanocores: sum.cpu_nanocores + container.usage.cpu_nanocores,
                    memory_bytes: sum.memory_bytes + container.usage.memory_bytes,
                });
            with(
                json!({ "podRef": reference, "containers": containers }),
                &at,
                total,
            )
        })
        .collect();
    let at = timestamp(of_node.measured);
    json!({ "node": with(json!({ "nodeName": node }), &at, of_node.usage), "pods": pods })
}

fn with(mut about: Value, at: &str, usage: Usage) -> Value {
    about["cpu"] = json!({ "time": at, "usageNanoCores": usage.cpu_nanocores });
    about["memory"] = json!({ "time": at, "workingSetBytes": usage.memory_bytes });
    about
}
