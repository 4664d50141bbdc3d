//! The query of a connecting request as the options object that admission sees.

use serde_json::{Map, Value, json};

use crate::{
    call::Call,
    error::{ApiError, Result},
};

/// Reads a `PodExecOptions` or whatever the subresource's options are called.
pub(super) fn read(call: &Call, kind: &str) -> Result<Value> {
    let mut options = Map::new();
    let mut put = |name: &str, value: Value| options.insert(name.to_owned(), value);
    match kind {
        "PodExecOptions" | "PodAttachOptions" => {
            for flag in ["stdin", "stdout", "stderr", "tty"] {
                if call.query.flag(flag) {
                    put(flag, true.into());
                }
            }
            if let Some(container) = call.query.text("container") {
                put("container", container.into());
            }
            let command: Vec<&str> = call.query.all("command").collect();
            if kind == "PodExecOptions" && !command.is_empty() {
                put("command", json!(command));
            }
        }
        "PodPortForwardOptions" => {
            let ports = ports(call)?;
            if !ports.is_empty() {
                put("ports", json!(ports));
            }
        }
        _ => {
            if !call.target.rest.is_empty() {
                put("path", call.target.rest.as_str().into());
            }
        }
    }
    put("kind", kind.into());
    put("apiVersion", "v1".into());
    Ok(options.into())
}

/// Ports may be repeated or separated by commas.
fn ports(call: &Call) -> Result<Vec<u16>> {
    let mut ports = Vec::new();
    for text in call.query.all("ports").flat_map(|ports| ports.split(',')) {
        match text.parse::<u16>() {
            Ok(0) => return Err(ApiError::bad_request(format!("port \"{text}\" must be > 0"))),
            Ok(port) => ports.push(port),
            Err(_) => {
                return Err(ApiError::bad_request(format!(
                    "unable to parse \"{text}\" as a port: strconv.ParseUint: parsing \"{text}\": invalid syntax"
                )));
            }
        }
    }
    Ok(ports)
}
