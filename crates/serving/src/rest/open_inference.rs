//! The Open Inference Protocol over HTTP.

use std::collections::BTreeMap;

use http::StatusCode;
use saved_model::Port;
use serde_json::{Value, json};

use super::{
    Content,
    json::{is_binary, parse, shaped, write_flat, write_text},
};
use crate::{
    app::App,
    failure::{Failure, Outcome},
    open_inference::{PLATFORM, SERVER, SIGNATURE, datatype, dtype, find, shape, signature, sizes},
};

pub(super) fn server() -> Content {
    let answer = json!({ "name": SERVER, "version": env!("CARGO_PKG_VERSION"), "extensions": [] });
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
        "platform": PLATFORM,
        "inputs": described(asked.inputs()),
        "outputs": described(asked.outputs()),
    });
    Ok(Content::json(answer.to_string()))
}

pub(super) async fn infer(app: &App, model: &str, version: &str, body: &[u8]) -> Outcome<Content> {
    let version = find(app, model, version)?;
    let request = parse(body)?;
    let signature = signature(&version, request["parameters"][SIGNATURE].as_str())?;
    let inputs = request["inputs"]
        .as_array()
        .ok_or_else(|| Failure::invalid("`inputs` is a list of tensors"))?;
    let mut given = BTreeMap::new();
    for input in inputs {
        let (name, tensor) = tensor(input)?;
        given.insert(name, tensor);
    }
    let wanted = request["outputs"].as_array().into_iter().flatten();
    let wanted = wanted.map(|output| output["name"].as_str().map(str::to_owned));
    let filter = wanted
        .collect::<Option<Vec<String>>>()
        .ok_or_else(|| Failure::invalid("each of `outputs` has a `name`"))?;
    let outputs = app.ask(&version, signature, given, &filter).await?;
    let mut out = String::from("{\"model_name\":");
    write_text(&mut out, model);
    out.push_str(&format!(",\"model_version\":\"{}\"", version.number));
    if let Some(id) = request["id"].as_str() {
        out.push_str(",\"id\":");
        write_text(&mut out, id);
    }
    out.push_str(",\"outputs\":[");
    for (index, (name, tensor)) in outputs.iter().enumerate() {
        out.push_str(if index > 0 { ",{\"name\":" } else { "{\"name\":" });
        write_text(&mut out, name);
        out.push_str(&format!(
            ",\"datatype\":\"{}\",\"shape\":{:?},\"data\":",
            datatype(tensor.dtype()),
            tensor.shape()
        ));
        write_flat(&mut out, tensor, is_binary(name));
        out.push('}');
    }
    out.push_str("]}");
    Ok(Content::json(out))
}

fn tensor(input: &Value) -> Outcome<(String, saved_model::Tensor)> {
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
    let tensor = shaped(dtype, &shape, &input["data"]).map_err(about)?;
    Ok((name.to_owned(), tensor))
}
