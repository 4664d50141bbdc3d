//! Ownership recorded under an earlier type of the object, in terms of the current one.

use super::field_set::{Branch, elements, elements_mut, has_below};
use crate::shape::{Forms, ListKind, Shape};

/// Makes objects and lists that have become atomic one field: whoever owned a part owns all.
/// The other way round needs nothing: an owner of the whole owns it until it is written again.
pub(super) fn reconcile<S: Shape>(branch: &mut Branch, shape: S) {
    if !shape.is_atomic_object() && shape.forms() == Forms::ANYTHING {
        return;
    }
    for (text, below) in elements_mut(branch) {
        let inside = match text.strip_prefix("f:") {
            Some(name) => shape.field(name),
            None => shape.element(),
        };
        let Some(inside) = inside else { continue };
        if has_below(below) && is_now_atomic(below, inside) {
            below.clear();
        } else {
            reconcile(below, inside);
        }
    }
}

fn is_now_atomic<S: Shape>(branch: &Branch, shape: S) -> bool {
    let has_fields = elements(branch).any(|(text, _)| text.starts_with("f:"));
    if has_fields {
        shape.is_atomic_object()
    } else {
        shape.forms() != Forms::ANYTHING && shape.list_kind() == ListKind::Atomic
    }
}
