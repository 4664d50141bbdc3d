//! The Open Inference Protocol over HTTP.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::StatusCode;
use saved_model::{Port, Tensor};
use serde_json::{Value, json};

use super::{
    Content,
    json::{is_binary, parse, shaped, write_flat, write_text},
};
use crate::{
    app::App,
    failure::{Failure, Outcome},
    open_inference::{
        EXTENSIONS, SERVER, SIGNATURE, datatype, dtype, find, from_raw, raw_of, shape, signature, sizes,
    },
};

/// Of an answer with binary tensors behind its JSON.
const BINARY: &str = "application/octet-stream";

pub(super) fn server() -> Content {
    let answer = json!({ "name": SERVER, "version": env!("CARGO_PKG_VERSION"), "extensions": EXTENSIONS });
    Content::json(answer.to_string())
}

pub(super) fn ready(app: &App, model: &str, version: &str) -> Content {
    let is_ready = find(app, model, version).is_ok();
    Content {
        status: if is_ready {
            StatusCode::OK
        } else {
            StatusCode::NOT_FOUND
        },
        ..Content::json(json!({ "name": model, "ready": is_ready }).to_string())
    }
}

pub(super) fn metadata(app: &App, model: &str, version: &str) -> Outcome<Content> {
    let version = find(app, model, version)?;
    let asked = version.signature(signature(&version, None)?)?;
    let described = |ports: &[Port]| -> Vec<Value> {
        ports
            .iter()
            .map(|port| json!({ "name": port.name, "datatype": datatype(port.dtype), "shape": sizes(port) }))
            .collect()
    };
    let serving = app.catalogue.serving();
    let versions: Vec<String> = serving.iter().map(|version| version.number.to_string()).collect();
    let answer = json!({
        "name": model,
        "versions": versions,
        "platform": version.platform,
        "inputs": described(asked.inputs()),
        "outputs": described(asked.outputs()),
    });
    Ok(Content::json(answer.to_string()))
}

/// The JSON of a request, and the binary tensors behind it.
fn apart(body: &Bytes, json_length: Option<usize>) -> Outcome<(Bytes, Bytes)> {
    let length = json_length.unwrap_or(body.len());
    if length > body.len() {
        return Err(Failure::invalid(format!(
            "the request has {} bytes, so {length} of them cannot be JSON",
            body.len()
        )));
    }
    Ok((body.slice(..length), body.slice(length..)))
}

/// An output that is wanted, and whether its values are to follow the JSON.
struct WantedOutput {
    name: String,
    is_binary: Option<bool>,
}

fn wanted(request: &Value) -> Outcome<Vec<WantedOutput>> {
    let outputs = request["outputs"].as_array().into_iter().flatten();
    let wanted = outputs.map(|output| {
        Some(WantedOutput {
            name: output["name"].as_str()?.to_owned(),
            is_binary: output["parameters"]["binary_data"].as_bool(),
        })
    });
    wanted
        .collect::<Option<_>>()
        .ok_or_else(|| Failure::invalid("each of `outputs` has a `name`"))
}

pub(super) async fn infer(
    app: &App,
    model: &str,
    version: &str,
    body: &Bytes,
    json_length: Option<usize>,
) -> Outcome<Content> {
    let version = find(app, model, version)?;
    let (json, mut binary) = apart(body, json_length)?;
    let request = parse(&json)?;
    let signature = signature(&version, request["parameters"][SIGNATURE].as_str())?;
    let inputs = request["inputs"]
        .as_array()
        .ok_or_else(|| Failure::invalid("`inputs` is a list of tensors"))?;
    let mut given = BTreeMap::new();
    for input in inputs {
        let (name, tensor) = tensor(input, &mut binary)?;
        given.insert(name, tensor);
    }
    if !binary.is_empty() {
        return Err(Failure::invalid(format!(
            "{} bytes after the JSON belong to no input",
            binary.len()
        )));
    }
    let wanted = wanted(&request)?;
    let filter: Vec<String> = wanted.iter().map(|output| output.name.clone()).collect();
    let outputs = app.ask(&version, signature, given, &filter).await?;
    let all_binary = request["parameters"]["binary_data_output"].as_bool();
    let is_raw = |name: &str| {
        let asked = wanted.iter().find(|output| output.name == name);
        let asked = asked.and_then(|output| output.is_binary);
        asked.or(all_binary).unwrap_or(false)
    };
    let mut out = String::from("{\"model_name\":");
    write_text(&mut out, model);
    out.push_str(&format!(",\"model_version\":\"{}\"", version.number));
    if let Some(id) = request["id"].as_str() {
        out.push_str(",\"id\":");
        write_text(&mut out, id);
    }
    let raw = write_outputs(&mut out, &outputs, is_raw);
    out.push('}');
    if raw.is_empty() {
        return Ok(Content::json(out));
    }
    let json_length = Some(out.len());
    let parts: Vec<&[u8]> = std::iter::once(out.as_bytes())
        .chain(raw.iter().map(AsRef::as_ref))
        .collect();
    Ok(Content {
        kind: BINARY,
        json_length,
        ..Content::json(parts.concat())
    })
}

/// Writes the outputs; the values of those that are to follow the JSON come back.
fn write_outputs(
    out: &mut String,
    outputs: &[(String, Tensor)],
    is_raw: impl Fn(&str) -> bool,
) -> Vec<Bytes> {
    let mut raw = Vec::new();
    out.push_str(",\"outputs\":[");
    for (index, (name, tensor)) in outputs.iter().enumerate() {
        out.push_str(if index > 0 { ",{\"name\":" } else { "{\"name\":" });
        write_text(out, name);
        out.push_str(&format!(
            ",\"datatype\":\"{}\",\"shape\":{:?}",
            datatype(tensor.dtype()),
            tensor.shape()
        ));
        if is_raw(name) {
            let bytes = raw_of(tensor);
            let size = bytes.len();
            out.push_str(&format!(",\"parameters\":{{\"binary_data_size\":{size}}}"));
            raw.push(bytes);
        } else {
            out.push_str(",\"data\":");
            write_flat(out, tensor, is_binary(name));
        }
        out.push('}');
    }
    out.push(']');
    raw
}

/// The next tensor, with its values in the JSON or behind it.
fn tensor(input: &Value, binary: &mut Bytes) -> Outcome<(String, Tensor)> {
    let name = input["name"]
        .as_str()
        .ok_or_else(|| Failure::invalid("each of `inputs` has a `name`"))?;
    let about = |failure: Failure| Failure::invalid(format!("the input `{name}`: {}", failure.message));
    let wanted = |words: &str| about(Failure::invalid(words));
    let kind = input["datatype"]
        .as_str()
        .ok_or_else(|| wanted("it has no `datatype`"))?;
    let dtype = dtype(kind).map_err(about)?;
    let sizes: Option<Vec<i64>> = input["shape"]
        .as_array()
        .and_then(|sizes| sizes.iter().map(Value::as_i64).collect());
    let shape = shape(&sizes.ok_or_else(|| wanted("its `shape` is a list of sizes"))?).map_err(about)?;
    let size = match &input["parameters"]["binary_data_size"] {
        Value::Null => {
            let tensor = shaped(dtype, &shape, &input["data"]).map_err(about)?;
            return Ok((name.to_owned(), tensor));
        }
        size => size.as_u64().map(|size| size as usize),
    };
    let size = size.filter(|size| *size <= binary.len());
    let size = size.ok_or_else(|| wanted("its `binary_data_size` is more than there is after the JSON"))?;
    let tensor = from_raw(dtype, &shape, binary.split_to(size)).map_err(about)?;
    Ok((name.to_owned(), tensor))
}
