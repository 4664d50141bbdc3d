//! Objects in another version of their resource, for webhooks and policies that ask for that one.

use std::borrow::Cow;

use serde_json::Value;

use crate::kind::{Definition, Kind};

/// The object as `to` shows it. Bodies of subresources that are no version of the object itself
/// (a `Scale`, an `Eviction`) are the same in all of them.
pub(crate) fn convert<'v>(object: &'v Value, from: &Kind, to: &Kind) -> Cow<'v, Value> {
    let own = kinds::read::text(object, "apiVersion") == from.api_version;
    if !own || from.api_version == to.api_version {
        return Cow::Borrowed(object);
    }
    let mut object = object.clone();
    if let Some(built_in) = from.built_in() {
        built_in.store(&mut object);
    }
    match &to.definition {
        Definition::BuiltIn(built_in) => {
            built_in.show(&mut object);
            // An object that was valid in one version is in the other; what is empty is written anew.
            let _ = crate::body::normalize(built_in.shape, &mut object);
        }
        Definition::Custom(_) => object["apiVersion"] = to.api_version.as_ref().into(),
    }
    Cow::Owned(object)
}
