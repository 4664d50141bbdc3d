//! Pod subresources with rules of their own.

use crate::writes::update::Part;

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
