//! JSON of an object as protobuf that says the same, for servers that read it in a fraction of the time.
//!
//! What the type table does not know, and what protobuf does not tell apart (an empty list from none), is not left
//! out in silence: then there is no protobuf, and the object is sent as the JSON it is.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Number, Value};

use super::{MAGIC, writer::Writer};
use crate::{
    quantity::Quantity,
    resources,
    types::{Form, Struct, TypeRef, Wire},
};

/// A whole body, where the object can be said in protobuf.
pub fn encode_object(object: &Value) -> Option<Vec<u8>> {
    let (api_version, kind) = (object["apiVersion"].as_str()?, object["kind"].as_str()?);
    let described = resources::type_of(api_version, kind)?.as_struct()?;
    let mut body = Writer::after(MAGIC);
    body.nested(1, |type_meta| {
        type_meta.data(1, api_version.as_bytes());
        type_meta.data(2, kind.as_bytes());
    });
    // The two that say what it is stand outside.
    let fields = object.as_object()?;
    let written = body.nested(2, |raw| write_fields(raw, described, fields))?;
    (written + 2 == fields.len()).then(|| body.into_bytes())
}

/// Writes those fields of an object that a message of this type has. Says how many they are.
fn write_fields(
    message: &mut Writer,
    described: &'static Struct,
    object: &Map<String, Value>,
) -> Option<usize> {
    let mut written = 0;
    for (tag, wire) in described.wire() {
        match wire {
            Wire::Field(field) => {
                if let Some(value) = object.get(field.name) {
                    write_field(message, tag, field.ty, value)?;
                    written += 1;
                }
            }
            Wire::Inline(inner) => {
                written += message.nested(tag, |message| write_fields(message, inner, object))?;
            }
        }
    }
    Some(written)
}

fn write_field(message: &mut Writer, tag: u32, ty: TypeRef, value: &Value) -> Option<()> {
    match (ty.form(), value) {
        // Clients of Go write it of an object that is still to be made.
        (Form::Time | Form::MicroTime, Value::Null) => Some(()),
        (Form::List(element), Value::Array(items)) if !items.is_empty() => {
            let mut items = items.iter();
            if ty.is_wrapped() {
                return message.nested(tag, |list| {
                    items.try_for_each(|item| write(list, 1, element, item))
                });
            }
            items.try_for_each(|item| write(message, tag, element, item))
        }
        (Form::Map(element), Value::Object(entries)) if !entries.is_empty() => {
            entries.iter().try_for_each(|(key, value)| {
                message.nested(tag, |entry| {
                    entry.data(1, key.as_bytes());
                    write(entry, 2, element, value)
                })
            })
        }
        _ => write(message, tag, ty, value),
    }
}

fn write(message: &mut Writer, tag: u32, ty: TypeRef, value: &Value) -> Option<()> {
    match (ty.form(), value) {
        (Form::Struct(described), Value::Object(object)) => {
            let written = message.nested(tag, |inner| write_fields(inner, described, object))?;
            return (written == object.len()).then_some(());
        }
        (Form::String, Value::String(text)) => message.data(tag, text.as_bytes()),
        (Form::Bytes, Value::String(text)) => message.data(tag, &STANDARD.decode(text).ok()?),
        (Form::Bool, Value::Bool(is)) => message.number(tag, u64::from(*is)),
        (Form::Int32, Value::Number(number)) => message.number(tag, small(number)? as u64),
        (Form::Int64, Value::Number(number)) => message.number(tag, number.as_i64()? as u64),
        (Form::Quantity, Value::String(text)) => write_quantity(message, tag, text)?,
        (Form::Quantity, Value::Number(number)) => write_quantity(message, tag, &number.to_string())?,
        (Form::IntOrString, Value::String(text)) => message.nested(tag, |either| {
            either.number(1, 1);
            either.data(3, text.as_bytes());
        }),
        (Form::IntOrString, Value::Number(number)) => {
            let number = small(number)?;
            message.nested(tag, |either| either.number(2, number as u64));
        }
        _ => return None,
    }
    Some(())
}

fn write_quantity(message: &mut Writer, tag: u32, text: &str) -> Option<()> {
    Quantity::parse(text).ok()?;
    message.nested(tag, |quantity| quantity.data(1, text.as_bytes()));
    Some(())
}

fn small(number: &Number) -> Option<i32> {
    i32::try_from(number.as_i64()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::tests::vectors, *};
    use crate::protobuf::decode_object;

    #[test]
    fn what_is_encoded_is_decoded_as_it_was() {
        let mut encoded = 0;
        for (_, object) in vectors() {
            let Some(bytes) = encode_object(&object) else {
                continue;
            };
            let (_, kind, decoded) = decode_object(&bytes).unwrap();
            assert_eq!(decoded, object, "{kind}");
            encoded += 1;
        }
        assert!(encoded > 10, "{encoded}");
    }

    fn pod(spec: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    }

    #[test]
    fn what_nobody_said_is_no_time() {
        let mut object = pod(json!({"containers": [{"name": "c"}]}));
        object["metadata"]["creationTimestamp"] = Value::Null;
        let (_, _, decoded) = decode_object(&encode_object(&object).unwrap()).unwrap();
        assert_eq!(decoded["metadata"], json!({"name": "p"}));
    }

    #[test]
    fn numbers_and_texts_that_stand_for_each_other_are_kept() {
        let object = pod(json!({"containers": [{
            "name": "c",
            "ports": [{"containerPort": 65535}],
            "livenessProbe": {"httpGet": {"port": "http"}, "failureThreshold": -1},
            "readinessProbe": {"tcpSocket": {"port": 8080}},
            "resources": {"limits": {"cpu": 2, "memory": "1Gi"}},
        }], "terminationGracePeriodSeconds": 0}));
        let (_, _, decoded) = decode_object(&encode_object(&object).unwrap()).unwrap();
        let container = &decoded["spec"]["containers"][0];
        assert_eq!(container["livenessProbe"]["httpGet"]["port"], "http");
        assert_eq!(container["livenessProbe"]["failureThreshold"], -1);
        assert_eq!(container["readinessProbe"]["tcpSocket"]["port"], 8080);
        assert_eq!(
            container["resources"]["limits"],
            json!({"cpu": "2", "memory": "1Gi"})
        );
        assert_eq!(decoded["spec"]["terminationGracePeriodSeconds"], 0);
    }

    #[test]
    fn what_would_get_lost_or_be_refused_is_not_encoded() {
        for spec in [
            json!({"containers": [{"name": "c", "fromTheFuture": true}]}),
            json!({"containers": [{"name": "c", "args": []}]}),
            json!({"containers": [{"name": "c", "image": null}]}),
            json!({"containers": [{"name": "c", "image": 7}]}),
            json!({"containers": [{"name": "c", "ports": [{"containerPort": 4_294_967_296_u64}]}]}),
            json!({"containers": [{"name": "c", "ports": [{"containerPort": 1.5}]}]}),
            json!({"containers": [{"name": "c", "resources": {"limits": {"cpu": "many"}}}]}),
            json!({"containers": {"name": "c"}}),
            json!({"nodeSelector": {}}),
            json!("containers"),
        ] {
            assert_eq!(encode_object(&pod(spec.clone())), None, "{spec}");
        }
        assert_eq!(encode_object(&json!({"apiVersion": "v9", "kind": "Thing"})), None);
        assert_eq!(encode_object(&json!({"kind": "Pod"})), None);
        assert_eq!(encode_object(&Value::Null), None);
    }
}
