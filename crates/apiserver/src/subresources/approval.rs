//! Approving certificate requests.

use kinds::objects::certificate_signing_request::{prepare_for_approval, validate_approval};

use crate::writes::update::{Part, Special};

pub(crate) const PART: Part = Part::Special(Special {
    name: "approval",
    prepare: prepare_for_approval,
    validate: validate_approval,
    is_counted: true,
});
