//! Limit ranges: the resources a container gets when it names none, and what may be asked for at all.
//!
//! The API server calls [`admit`] before and [`validate`] after everything else that changes an object,
//! each with all limit ranges of the namespace.

mod constraint;
mod defaults;
#[cfg(test)]
mod tests;
mod violation;

use serde_json::Value;

use crate::read::{get, has, list};

pub use self::violation::Violation;

/// A write that limit ranges may have a say in.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    pub group: &'a str,
    pub plural: &'a str,
    /// Empty for the object itself.
    pub subresource: &'a str,
    /// The object before an update.
    pub old: Option<&'a Value>,
}

/// What limit ranges are about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limited {
    Pod,
    VolumeClaim,
}

impl Target<'_> {
    /// Whether limit ranges have a say. The resources of a pod only change when it is resized, and an
    /// object that is being deleted may end as it is.
    pub fn is_limited(&self) -> bool {
        self.limited().is_some()
    }

    fn limited(&self) -> Option<Limited> {
        if self
            .old
            .is_some_and(|old| has(get(old, "metadata"), "deletionTimestamp"))
        {
            return None;
        }
        match (self.group, self.plural, self.subresource, self.old) {
            ("", "pods", "", None) | ("", "pods", "resize", Some(_)) => Some(Limited::Pod),
            ("", "persistentvolumeclaims", "", _) => Some(Limited::VolumeClaim),
            _ => None,
        }
    }
}

/// Gives containers the requests and limits they do not name, and notes on the pod what was given.
pub fn admit<'a>(ranges: impl IntoIterator<Item = &'a Value>, target: &Target<'_>, object: &mut Value) {
    if target.limited() == Some(Limited::Pod) {
        for range in ranges {
            defaults::give(range, object);
        }
    }
}

/// Checks an object against each range. The first one it does not fit forbids it.
pub fn validate<'a>(
    ranges: impl IntoIterator<Item = &'a Value>,
    target: &Target<'_>,
    object: &Value,
) -> Result<(), Violation> {
    let Some(limited) = target.limited() else {
        return Ok(());
    };
    for range in ranges {
        let mut complaints = Vec::new();
        for limit in list(get(range, "spec"), "limits") {
            constraint::check(limited, limit, object, &mut complaints);
        }
        if !complaints.is_empty() {
            return Err(Violation(complaints));
        }
    }
    Ok(())
}
