//! Pod subresources with rules of their own.

use http::StatusCode;
use kinds::pods::{ephemeral_containers, resize, streams};
use serde_json::json;

use crate::{
    call::Call,
    error::{ApiError, Qualified, Result},
    response::{self, Answer},
    writes::update::{Part, Special},
};

pub(crate) const EPHEMERAL_CONTAINERS: Part = Part::Special(Special {
    name: "ephemeralcontainers",
    prepare: ephemeral_containers::prepare_for_update,
    validate: ephemeral_containers::validate_update,
});

pub(crate) const RESIZE: Part = Part::Special(Special {
    name: "resize",
    prepare: resize::prepare_for_update,
    validate: resize::validate_update,
});

/// Logs, commands and connections come from the node a pod runs on. Without one there is an empty
/// log and nothing to connect to.
pub(crate) fn stream(call: &Call) -> Result<Answer> {
    let (name, subresource) = (&call.target.name, call.target.subresource.as_str());
    if subresource == "log" {
        check_log_options(call)?;
    }
    let stored = call
        .api
        .store
        .get(&call.kind.collection, call.key_namespace(), name);
    let stored = stored.ok_or_else(|| ApiError::not_found(call.kind.qualified(), name))?;
    let pod = call.kind.read(&stored);
    if matches!(subresource, "log" | "exec" | "attach") {
        let wanted = call.query.get("container").unwrap_or_default();
        streams::container(&pod, wanted).map_err(|error| ApiError::bad_request(error.to_string()))?;
    }
    let node = kinds::read::text(kinds::read::get(&pod, "spec"), "nodeName");
    if !node.is_empty() {
        let nodes = Qualified {
            group: "",
            name: "nodes",
        };
        return Err(ApiError::not_found(nodes, node));
    }
    if subresource == "log" {
        return Ok(response::text(StatusCode::NO_CONTENT, ""));
    }
    Err(ApiError::bad_request(format!(
        "pod {name} does not have a host assigned"
    )))
}

fn check_log_options(call: &Call) -> Result<()> {
    let mut options = json!({});
    for field in ["tailLines", "limitBytes", "sinceSeconds"] {
        options[field] = call.query.int(field)?.into();
    }
    for field in ["sinceTime", "stream"] {
        options[field] = call.query.text(field).into();
    }
    let mut errors = Vec::new();
    streams::validate_log_options(&options, &mut errors);
    if errors.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid("", "PodLogOptions", &call.target.name, &errors))
}
