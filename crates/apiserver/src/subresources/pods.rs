//! Pod subresources with rules of their own.

use kinds::pods::{ephemeral_containers, resize};

use crate::writes::update::{Part, Special};

pub(crate) const EPHEMERAL_CONTAINERS: Part = Part::Special(Special {
    name: "ephemeralcontainers",
    prepare: ephemeral_containers::prepare_for_update,
    validate: ephemeral_containers::validate_update,
    is_counted: true,
});

pub(crate) const RESIZE: Part = Part::Special(Special {
    name: "resize",
    prepare: resize::prepare_for_update,
    validate: resize::validate_update,
    is_counted: true,
});
