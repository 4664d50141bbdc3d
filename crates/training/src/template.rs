//! Reading and changing pod templates, which stay JSON: most of a template is the user's affair.

use serde_json::{Map, Value, json};

/// The container of that name, or the first where there is none.
pub(crate) fn container<'a>(template: &'a Value, name: &str) -> Option<&'a Value> {
    let containers = template["spec"]["containers"].as_array()?;
    containers
        .iter()
        .find(|container| container["name"] == name)
        .or_else(|| containers.first())
}

pub(crate) fn container_mut<'a>(template: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    let containers = template.pointer_mut("/spec/containers")?.as_array_mut()?;
    let place = containers
        .iter()
        .position(|container| container["name"] == name)
        .unwrap_or(0);
    containers.get_mut(place)
}

pub(crate) fn containers_mut(template: &mut Value) -> impl Iterator<Item = &mut Value> {
    let containers = template.pointer_mut("/spec/containers");
    containers.and_then(Value::as_array_mut).into_iter().flatten()
}

/// The number of a container's port.
pub(crate) fn port(container: &Value, name: &str) -> Option<u16> {
    let ports = container["ports"].as_array()?;
    let port = ports.iter().find(|port| port["name"] == name)?;
    port["containerPort"].as_u64()?.try_into().ok()
}

/// The list of a field, made if it is not there.
pub(crate) fn list<'a>(object: &'a mut Value, field: &str) -> &'a mut Vec<Value> {
    let value = field_of(object, field);
    if !value.is_array() {
        *value = json!([]);
    }
    match value {
        Value::Array(list) => list,
        _ => unreachable!("it was just made a list"),
    }
}

/// The map of a field, made if it is not there.
pub(crate) fn map<'a>(object: &'a mut Value, field: &str) -> &'a mut Map<String, Value> {
    let value = field_of(object, field);
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("it was just made a map"),
    }
}

/// What is no object is none of ours to keep: the job is refused anyway.
fn field_of<'a>(object: &'a mut Value, field: &str) -> &'a mut Value {
    if !object.is_object() {
        *object = json!({});
    }
    &mut object[field]
}

/// Appends variables behind the user's own. Of two of the same name the last one counts.
pub(crate) fn append_env(container: &mut Value, variables: impl IntoIterator<Item = (String, String)>) {
    let env = list(container, "env");
    env.extend(
        variables
            .into_iter()
            .map(|(name, value)| json!({"name": name, "value": value})),
    );
}

pub(crate) fn has_env(container: &Value, name: &str) -> bool {
    container["env"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|variable| variable["name"] == name)
}

pub(crate) fn is_empty_list(value: &Value) -> bool {
    value.as_array().is_none_or(Vec::is_empty)
}
