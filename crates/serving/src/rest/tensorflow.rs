//! TensorFlow Serving's REST API: rows (`instances`) or columns (`inputs`), examples, status and metadata.

use std::collections::BTreeMap;

use saved_model::{
    DEFAULT_SIGNATURE, Port, Tensor,
    proto::{
        BytesList, Example, Feature, Features, FloatList, Int64List, SignatureDef, TensorInfo, feature::Kind,
        tensor_info::Encoding,
    },
};
use serde_json::{Map, Value, json};

use super::{
    Content,
    json::{is_binary, is_leaf, parse, stacked, tensor, text, write_nested, write_number, write_text},
};
use crate::{
    app::App,
    catalogue::Choice,
    examples,
    failure::{Code, Failure, Outcome},
    proto::prediction::{ExampleList, ExampleListWithContext, Input},
};

pub(super) fn status(app: &App, model: &str, choice: &Choice) -> Outcome<Content> {
    app.catalogue.check_name(model)?;
    let number = app.catalogue.number(choice)?;
    let known: Vec<Value> = app
        .catalogue
        .status()
        .into_iter()
        .filter(|status| number.is_none_or(|number| number == status.version))
        .map(|status| {
            json!({
                "version": status.version.to_string(),
                "state": status.state.name(),
                "status": {
                    "error_code": if status.error.is_some() { Code::Unknown.name() } else { Code::Ok.name() },
                    "error_message": status.error.unwrap_or_default(),
                },
            })
        })
        .collect();
    if known.is_empty() {
        return Err(Failure::new(
            Code::NotFound,
            format!("there is no such version of `{model}`"),
        ));
    }
    Ok(Content::json(pretty(&json!({ "model_version_status": known }))))
}

pub(super) fn metadata(app: &App, model: &str, choice: &Choice) -> Outcome<Content> {
    let version = app.catalogue.find(model, choice)?;
    let signatures = version.model.signatures().iter();
    let described: Map<String, Value> = signatures
        .map(|(name, signature)| (name.clone(), described(signature.definition())))
        .collect();
    let answer = json!({
        "model_spec": {
            "name": model,
            "signature_name": "",
            "version": version.number.to_string(),
        },
        "metadata": { "signature_def": { "signature_def": described } },
    });
    Ok(Content::json(pretty(&answer)))
}

fn described(definition: &SignatureDef) -> Value {
    let infos = |infos: &BTreeMap<String, TensorInfo>| -> Map<String, Value> {
        infos
            .iter()
            .map(|(name, info)| (name.clone(), shown(info)))
            .collect()
    };
    json!({
        "inputs": infos(&definition.inputs),
        "outputs": infos(&definition.outputs),
        "method_name": definition.method_name,
    })
}

fn shown(info: &TensorInfo) -> Value {
    let shape = info.tensor_shape.clone().unwrap_or_default();
    let sizes: Vec<Value> = shape
        .dim
        .iter()
        .map(|dim| json!({ "size": dim.size.to_string(), "name": "" }))
        .collect();
    let name = match &info.encoding {
        Some(Encoding::Name(name)) => name.as_str(),
        _ => "",
    };
    json!({
        "dtype": saved_model::DType::name_of(info.dtype),
        "tensor_shape": { "dim": sizes, "unknown_rank": shape.unknown_rank },
        "name": name,
    })
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

pub(super) async fn predict(app: &App, model: &str, choice: &Choice, body: &[u8]) -> Outcome<Content> {
    let version = app.catalogue.find(model, choice)?;
    let request = fields(body)?;
    let signature = signature(&request)?;
    let ports = version.signature(signature)?.inputs();
    let (given, is_rows) = match (request.get("instances"), request.get("inputs")) {
        (Some(rows), None) => (from_rows(ports, rows)?, true),
        (None, Some(columns)) => (from_columns(ports, columns)?, false),
        _ => {
            return Err(Failure::invalid(
                "a request has rows in `instances` or columns in `inputs`, one of them",
            ));
        }
    };
    let outputs = app.ask(&version, signature, given, &[]).await?;
    Ok(Content::json(if is_rows {
        rows(&outputs)?
    } else {
        columns(&outputs)
    }))
}

fn fields(body: &[u8]) -> Outcome<Map<String, Value>> {
    match parse(body)? {
        Value::Object(fields) => Ok(fields),
        _ => Err(Failure::invalid("a request is an object of JSON")),
    }
}

fn signature(request: &Map<String, Value>) -> Outcome<&str> {
    match request.get("signature_name") {
        None => Ok(DEFAULT_SIGNATURE),
        Some(Value::String(name)) if name.is_empty() => Ok(DEFAULT_SIGNATURE),
        Some(Value::String(name)) => Ok(name),
        Some(_) => Err(Failure::invalid("`signature_name` is a text")),
    }
}

fn about(name: &str) -> impl Fn(Failure) -> Failure + '_ {
    move |failure| Failure::invalid(format!("the input `{name}`: {}", failure.message))
}

fn unknown(ports: &[Port], name: &str) -> Failure {
    let known: Vec<String> = ports.iter().map(|port| format!("`{}`", port.name)).collect();
    Failure::invalid(format!(
        "the signature has no input `{name}`; it has {}",
        known.join(", ")
    ))
}

/// Rows: each an object of inputs, or the value of the only input.
fn from_rows(ports: &[Port], rows: &Value) -> Outcome<BTreeMap<String, Tensor>> {
    let rows = rows.as_array().filter(|rows| !rows.is_empty());
    let rows = rows.ok_or_else(|| Failure::invalid("`instances` is a list of at least one row"))?;
    let is_named = |row: &Value| row.is_object() && !is_leaf(row);
    if rows.iter().any(|row| is_named(row) != is_named(&rows[0])) {
        return Err(Failure::invalid("some rows name their inputs and others do not"));
    }
    if !is_named(&rows[0]) {
        let [port] = ports else {
            return Err(Failure::invalid(format!(
                "the signature has {} inputs, so each row is an object of them",
                ports.len()
            )));
        };
        let rows: Vec<&Value> = rows.iter().collect();
        let tensor = stacked(port.dtype, &rows).map_err(about(&port.name))?;
        return Ok(BTreeMap::from([(port.name.clone(), tensor)]));
    }
    let mut columns: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for (name, value) in rows.iter().filter_map(Value::as_object).flatten() {
        columns.entry(name).or_default().push(value);
    }
    let mut given = BTreeMap::new();
    for (name, values) in columns {
        let port = ports.iter().find(|port| port.name == name);
        let port = port.ok_or_else(|| unknown(ports, name))?;
        if values.len() != rows.len() {
            return Err(Failure::invalid(format!("some rows have no `{name}`")));
        }
        let tensor = stacked(port.dtype, &values).map_err(about(name))?;
        given.insert(name.to_owned(), tensor);
    }
    Ok(given)
}

/// Columns: an object of inputs, or the only input.
fn from_columns(ports: &[Port], columns: &Value) -> Outcome<BTreeMap<String, Tensor>> {
    match (columns, ports) {
        (Value::Object(named), _) if !is_leaf(columns) => named
            .iter()
            .map(|(name, value)| {
                let port = ports.iter().find(|port| port.name == *name);
                let port = port.ok_or_else(|| unknown(ports, name))?;
                Ok((name.clone(), tensor(port.dtype, value).map_err(about(name))?))
            })
            .collect(),
        (value, [port]) => {
            let tensor = tensor(port.dtype, value).map_err(about(&port.name))?;
            Ok(BTreeMap::from([(port.name.clone(), tensor)]))
        }
        _ => Err(Failure::invalid(format!(
            "the signature has {} inputs, so `inputs` is an object of them",
            ports.len()
        ))),
    }
}

fn rows(outputs: &[(String, Tensor)]) -> Outcome<String> {
    let count = outputs
        .first()
        .and_then(|(_, tensor)| tensor.shape().first().copied());
    let count = count.filter(|count| {
        outputs
            .iter()
            .all(|(_, tensor)| tensor.shape().first() == Some(count))
    });
    let count = count.ok_or_else(|| {
        Failure::invalid("the outputs have not one row for each that is given; ask with columns in `inputs`")
    })?;
    let mut out = String::from("{\n    \"predictions\": [");
    for row in 0..count {
        if row > 0 {
            out.push_str(", ");
        }
        if let [(name, tensor)] = outputs {
            write_row(&mut out, name, tensor, row);
            continue;
        }
        out.push('{');
        for (index, (name, tensor)) in outputs.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            write_text(&mut out, name);
            out.push(':');
            write_row(&mut out, name, tensor, row);
        }
        out.push('}');
    }
    out.push_str("]\n}\n");
    Ok(out)
}

fn write_row(out: &mut String, name: &str, tensor: &Tensor, row: usize) {
    let shape = tensor.shape().get(1..).unwrap_or_default();
    let width: usize = shape.iter().product();
    write_nested(out, tensor, shape, row * width, is_binary(name));
}

fn columns(outputs: &[(String, Tensor)]) -> String {
    let mut out = String::from("{\n    \"outputs\": ");
    if let [(name, tensor)] = outputs {
        write_nested(&mut out, tensor, tensor.shape(), 0, is_binary(name));
    } else {
        out.push('{');
        for (index, (name, tensor)) in outputs.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            write_text(&mut out, name);
            out.push(':');
            write_nested(&mut out, tensor, tensor.shape(), 0, is_binary(name));
        }
        out.push('}');
    }
    out.push_str("\n}\n");
    out
}

pub(super) async fn classify(app: &App, model: &str, choice: &Choice, body: &[u8]) -> Outcome<Content> {
    let version = app.catalogue.find(model, choice)?;
    let request = fields(body)?;
    let examples = examples::examples(input(&request)?)?;
    let result = examples::classify(app, &version, signature(&request)?, &examples).await?;
    let mut out = String::from("{\n    \"results\": [");
    for (row, classes) in result.classifications.iter().enumerate() {
        out.push_str(if row > 0 { ", [" } else { "[" });
        for (index, class) in classes.classes.iter().enumerate() {
            out.push_str(if index > 0 { ", [" } else { "[" });
            write_text(&mut out, &class.label);
            out.push_str(", ");
            write_number(&mut out, f64::from(class.score), format!("{:?}", class.score));
            out.push(']');
        }
        out.push(']');
    }
    out.push_str("]\n}\n");
    Ok(Content::json(out))
}

pub(super) async fn regress(app: &App, model: &str, choice: &Choice, body: &[u8]) -> Outcome<Content> {
    let version = app.catalogue.find(model, choice)?;
    let request = fields(body)?;
    let examples = examples::examples(input(&request)?)?;
    let result = examples::regress(app, &version, signature(&request)?, &examples).await?;
    let mut out = String::from("{\n    \"results\": [");
    for (index, regression) in result.regressions.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write_number(
            &mut out,
            f64::from(regression.value),
            format!("{:?}", regression.value),
        );
    }
    out.push_str("]\n}\n");
    Ok(Content::json(out))
}

fn input(request: &Map<String, Value>) -> Outcome<Input> {
    let examples = request.get("examples").and_then(Value::as_array);
    let examples = examples.ok_or_else(|| Failure::invalid("`examples` is a list of objects of features"))?;
    let examples = examples.iter().map(example).collect::<Outcome<Vec<Example>>>()?;
    Ok(match request.get("context") {
        None => Input {
            example_list: Some(ExampleList { examples }),
            example_list_with_context: None,
        },
        Some(context) => Input {
            example_list: None,
            example_list_with_context: Some(ExampleListWithContext {
                examples,
                context: Some(example(context)?),
            }),
        },
    })
}

fn example(value: &Value) -> Outcome<Example> {
    let features = value
        .as_object()
        .ok_or_else(|| Failure::invalid("an example is an object of features"))?;
    if features.is_empty() {
        return Ok(Example::default());
    }
    let feature = features
        .iter()
        .map(|(name, value)| Ok((name.clone(), feature(value).map_err(about(name))?)))
        .collect::<Outcome<_>>()?;
    Ok(Example {
        features: Some(Features { feature }),
    })
}

/// One value or a list of them: whole numbers, numbers, or texts.
fn feature(value: &Value) -> Outcome<Feature> {
    let values: Vec<&Value> = match value {
        Value::Array(values) => values.iter().collect(),
        one => vec![one],
    };
    let all = |values: &[&Value]| -> Option<Kind> {
        if let Some(value) = values.iter().map(|value| value.as_i64()).collect() {
            return Some(Kind::Int64(Int64List { value }));
        }
        let numbers: Option<Vec<f32>> = values
            .iter()
            .map(|value| value.as_f64().map(|value| value as f32))
            .collect();
        if let Some(value) = numbers {
            return Some(Kind::Float(FloatList { value }));
        }
        let value = values.iter().map(|value| text(value)).collect::<Option<_>>()?;
        Some(Kind::Bytes(BytesList { value }))
    };
    let kind = all(&values).ok_or_else(|| Failure::invalid("a feature is a list of numbers or of texts"))?;
    Ok(Feature { kind: Some(kind) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_whole_numbers_numbers_or_texts() {
        let kind =
            |text: &str| feature(&serde_json::from_str(text).unwrap()).map(|feature| feature.kind.unwrap());
        assert_eq!(kind("3"), Ok(Kind::Int64(Int64List { value: vec![3] })));
        assert_eq!(
            kind("[1, 2.5]"),
            Ok(Kind::Float(FloatList {
                value: vec![1.0, 2.5]
            }))
        );
        let texts = BytesList {
            value: vec!["a".into(), "b".into()],
        };
        assert_eq!(kind(r#"["a", {"b64": "Yg=="}]"#), Ok(Kind::Bytes(texts)));
        assert!(kind(r#"["a", 1]"#).is_err());
        assert!(kind("[[1]]").is_err());
    }
}
