//! What persistent volume claims count: themselves and their storage, in all and by storage class.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Usage;
use crate::{
    quantity::Quantity,
    read::{at, get, has, text},
    resource_list::amount_of,
};

const CLAIMS: &str = "persistentvolumeclaims";
const STORAGE: &str = "requests.storage";
/// Between the name of a class and what is counted for it.
const BY_CLASS: &str = ".storageclass.storage.k8s.io/";

pub(super) fn tracks(name: &str) -> bool {
    [CLAIMS, STORAGE].iter().any(|counted| {
        let before = name.strip_suffix(counted);
        before.is_some_and(|before| before.is_empty() || before.ends_with(BY_CLASS))
    })
}

pub(super) fn usage(claim: &Value) -> Usage {
    let class = storage_class(claim);
    let counts = [(CLAIMS, Some(Quantity::from_int(1))), (STORAGE, storage(claim))];
    let mut usage = Usage::new();
    for (name, amount) in counts {
        let Some(amount) = amount else { continue };
        usage.insert(name.to_owned(), amount);
        if !class.is_empty() {
            usage.insert(format!("{class}{BY_CLASS}{name}"), amount);
        }
    }
    usage
}

fn storage_class(claim: &Value) -> &str {
    let annotations = at(claim, &["metadata", "annotations"]);
    match get(annotations, "volume.beta.kubernetes.io/storage-class") {
        Value::String(class) => class,
        _ => text(get(claim, "spec"), "storageClassName"),
    }
}

/// What is asked for, or what is already being given where that is more; in whole bytes.
fn storage(claim: &Value) -> Option<Quantity> {
    let requests = at(claim, &["spec", "resources", "requests"]);
    if !has(requests, "storage") {
        return None;
    }
    let asked = amount_of(get(requests, "storage")).rounded_up();
    let given = amount_of(at(claim, &["status", "allocatedResources", "storage"]));
    Some(if given > asked { given.rounded_up() } else { asked })
}

/// The volume attributes classes that the claim has, wants, or is being changed to.
pub(super) fn attributes_classes(claim: &Value) -> BTreeSet<&str> {
    let status = get(claim, "status");
    let names = [
        text(get(claim, "spec"), "volumeAttributesClassName"),
        text(status, "currentVolumeAttributesClassName"),
        text(
            get(status, "modifyVolumeStatus"),
            "targetVolumeAttributesClassName",
        ),
    ];
    names.into_iter().filter(|name| !name.is_empty()).collect()
}
