//! Pod subresources with rules of their own.

use crate::{
    call::Call,
    error::{ApiError, Result},
    response::Answer,
    writes::update::Part,
};

pub(crate) const EPHEMERAL_CONTAINERS: Part = Part::Special(
    "ephemeralcontainers",
    kinds::pods::ephemeral_containers::prepare_for_update,
    kinds::pods::ephemeral_containers::validate_update,
);

pub(crate) const RESIZE: Part = Part::Special(
    "resize",
    kinds::pods::resize::prepare_for_update,
    kinds::pods::resize::validate_update,
);

/// Logs, commands and connections come from the node a pod runs on. Until one is there, the pod has
/// none to give.
pub(crate) fn stream(call: &Call) -> Result<Answer> {
    if call
        .api
        .store
        .get(&call.kind.collection, call.key_namespace(), &call.target.name)
        .is_none()
    {
        return Err(ApiError::not_found(call.kind.qualified(), &call.target.name));
    }
    Err(ApiError::bad_request(format!(
        "pod {} does not have a host assigned that can answer {}",
        call.target.name, call.target.subresource
    )))
}
