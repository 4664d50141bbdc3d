//! Checks that the kinds around CSI drivers share.

use super::field::{Errors, Field};
use crate::names;

/// A driver's name: a subdomain in any case, short enough for a label.
pub(crate) fn validate_driver_name(name: &Field<'_>, errors: &mut Errors) {
    name.require(errors);
    if name.text().len() > 63 {
        name.too_long(63, errors);
    }
    for complaint in names::dns_subdomain(&name.text().to_lowercase()) {
        name.invalid_as(name.text(), complaint, errors);
    }
}
