//! Binding a pod to a node, as schedulers do.

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    admission::{self, Operation},
    body,
    call::Call,
    error::{ApiError, Result},
    negotiate, object,
    response::{self, Answer},
    writes::{
        Writer,
        options::WriteOptions,
        timestamp,
        update::{self, Part},
    },
};

/// Bindings change fields no user may; the checks are in `bind` itself.
const PART: Part = Part::Special("binding", |_, _| {}, |_, _, _| {});

pub(crate) async fn bind(call: &Call, bytes: &[u8]) -> Result<Answer> {
    let options = WriteOptions::read(&call.query, "CreateOptions")?;
    let mut binding = body::decode(negotiate::content_type(&call.headers), bytes, "Binding")?.value;
    let mut writer = Writer::new(call, options);
    admission::admit_body(&mut writer, &mut binding).await?;
    let target = kinds::read::get(&binding, "target");
    let target_kind = kinds::read::text(target, "kind");
    if !target_kind.is_empty() && target_kind != "Node" {
        return Err(invalid_target(call, target_kind));
    }
    let node = kinds::read::text(target, "name").to_owned();
    if node.is_empty() {
        return Err(ApiError::invalid(
            "",
            "Binding",
            &call.target.name,
            &[manifests::field::FieldError::required(
                &manifests::field::Path::new("target").child("name"),
                "",
            )],
        ));
    }
    update::change(&mut writer, PART, Operation::Update, |writer, old| {
        bound(writer, old, &binding, &node)
    })
    .await?;
    Ok(response::value(
        StatusCode::CREATED,
        call.representation,
        &json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 }),
    ))
}

fn invalid_target(call: &Call, kind: &str) -> ApiError {
    ApiError::invalid(
        "",
        "Binding",
        &call.target.name,
        &[manifests::field::FieldError::not_supported(
            &manifests::field::Path::new("target").child("kind"),
            &json!(kind),
            &["Node", "<empty>"],
        )],
    )
}

/// The pod with its node, or why it cannot have one.
fn bound(writer: &Writer<'_>, old: &Value, binding: &Value, node: &str) -> Result<Value> {
    let call = writer.call;
    let conflict = |why: String| {
        ApiError::conflict(
            crate::error::Qualified {
                group: "",
                name: "pods/binding",
            },
            &call.target.name,
            &why,
        )
    };
    let name = &call.target.name;
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
    let uid = object::uid(binding);
    if !uid.is_empty() && uid != object::uid(old) {
        return Err(conflict(format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            object::uid(old)
        )));
    }
    let mut new = old.clone();
    new["spec"]["nodeName"] = node.into();
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
