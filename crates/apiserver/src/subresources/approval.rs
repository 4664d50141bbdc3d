//! Approving certificate requests.

use kinds::objects::certificate_signing_request::{prepare_for_approval, validate_approval};

use crate::writes::update::Part;

pub(crate) const PART: Part = Part::Special("approval", prepare_for_approval, validate_approval);
