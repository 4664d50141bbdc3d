//! Binding a pod to a node, as schedulers do.

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    admission::{self, Operation},
    body,
    call::Call,
    error::{ApiError, Qualified, Result},
    negotiate, object,
    response::{self, Answer},
    writes::{
        Writer,
        options::WriteOptions,
        timestamp,
        update::{self, Part, Special},
    },
};

/// Bindings change fields no user may; the checks are in `bind` itself.
const PART: Part = Part::Special(Special::unchecked("binding"));

/// Answers both paths of bindings: of a pod, and the old one of a namespace.
pub(crate) async fn bind(call: &Call, bytes: &[u8]) -> Result<Answer> {
    let options = WriteOptions::read(&call.query, "CreateOptions")?;
    let mut binding = body::decode(negotiate::content_type(&call.headers), bytes, "Binding")?.value;
    let pod = call_of_pod(call, &binding)?;
    let mut writer = Writer::new(call, options.clone());
    admission::admit_body(&mut writer, &mut binding).await?;
    let mut writer = Writer::new(&pod, options);
    writer.admitted = true;
    update::change(&mut writer, PART, Operation::Update, |writer, old| {
        bound(writer, old, &binding)
    })
    .await?;
    Ok(response::value(
        StatusCode::CREATED,
        call.representation,
        &json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 }),
    ))
}

/// The request as one to the pod that is bound. On the old path only the body names it.
fn call_of_pod(call: &Call, binding: &Value) -> Result<Call> {
    let name = object::name(binding);
    if call.target.name.is_empty() {
        if name.is_empty() {
            return Err(ApiError::bad_request("Name parameter required."));
        }
    } else if name != call.target.name {
        return Err(ApiError::bad_request(
            "name in URL does not match name in Binding object",
        ));
    }
    let snapshot = call.api.registry.snapshot();
    let pods = snapshot
        .get("", "v1", "pods")
        .ok_or_else(ApiError::no_such_resource)?;
    let mut pod = call.clone();
    pod.kind = pods.clone();
    "pods".clone_into(&mut pod.target.resource);
    "binding".clone_into(&mut pod.target.subresource);
    name.clone_into(&mut pod.target.name);
    Ok(pod)
}

/// The pod with its node, or why it cannot have one.
fn bound(writer: &Writer<'_>, old: &Value, binding: &Value) -> Result<Value> {
    let name = &writer.call.target.name;
    let conflict = |why: String| {
        let bindings = Qualified {
            group: "",
            name: "pods/binding",
        };
        ApiError::conflict(bindings, name, &why)
    };
    if object::is_deleting(old) {
        return Err(conflict(format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        )));
    }
    let present = old
        .pointer("/spec/nodeName")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !present.is_empty() {
        return Err(conflict(format!(
            "pod {name} is already assigned to node \"{present}\""
        )));
    }
    if !kinds::read::list(&old["spec"], "schedulingGates").is_empty() {
        return Err(conflict(format!(
            "pod {name} has non-empty .spec.schedulingGates"
        )));
    }
    let uid = object::uid(binding);
    if !uid.is_empty() && uid != object::uid(old) {
        return Err(conflict(format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            object::uid(old)
        )));
    }
    let mut new = old.clone();
    new["spec"]["nodeName"] = binding["target"]["name"].clone();
    // Where the scheduler meant to put the pod is history now.
    kinds::read::object_mut(&mut new, "status").remove("nominatedNodeName");
    for field in ["annotations", "labels"] {
        for (key, value) in kinds::read::entries(kinds::read::get(binding, "metadata"), field) {
            let meta = &mut new["metadata"];
            kinds::read::object_mut(meta, field).insert(key.clone(), value.clone());
        }
    }
    set_scheduled(&mut new, writer.now);
    Ok(new)
}

fn set_scheduled(pod: &mut Value, now: Timestamp) {
    let condition = json!({
        "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": timestamp(now),
        "observedGeneration": object::generation(pod),
    });
    let status = kinds::read::object_mut(pod, "status");
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    let Some(list) = conditions.as_array_mut() else {
        return;
    };
    match list
        .iter_mut()
        .find(|condition| condition["type"] == "PodScheduled")
    {
        Some(existing) if existing["status"] == "True" => {}
        Some(existing) => *existing = condition,
        None => list.push(condition),
    }
}
