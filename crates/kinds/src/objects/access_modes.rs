//! How a volume may be mounted, as volumes and claims both say it.

use super::field::{Errors, Field};

const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];
pub(crate) const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];

/// Complaints about one mode name the list.
pub(crate) fn validate(modes: &Field<'_>, errors: &mut Errors) {
    for mode in modes.items().filter(|mode| !MODES.contains(&mode.text())) {
        let error = manifests::field::FieldError::not_supported(&modes.path(), mode.value, &MODES);
        errors.push(error);
    }
    let known = || modes.items().map(|mode| mode.text() == "ReadWriteOncePod");
    let others = modes
        .items()
        .any(|mode| mode.text() != "ReadWriteOncePod" && MODES.contains(&mode.text()));
    if others && known().any(|single| single) {
        modes.forbidden("may not use ReadWriteOncePod with other access modes", errors);
    }
}
