//! Claims that name no storage class get the default one; ingresses likewise their class.

use serde_json::Value;
use store::Collection;

use crate::{call::Call, object};

pub(crate) fn admit(call: &Call, object: &mut Value) {
    if call.kind.is("", "PersistentVolumeClaim") {
        fill(
            call,
            object,
            "storageClassName",
            "storage.k8s.io",
            "storageclasses",
            "storageclass.kubernetes.io/is-default-class",
        );
    } else if call.kind.is("networking.k8s.io", "Ingress") {
        fill(
            call,
            object,
            "ingressClassName",
            "networking.k8s.io",
            "ingressclasses",
            "ingressclass.kubernetes.io/is-default-class",
        );
    }
}

fn fill(call: &Call, object: &mut Value, field: &str, group: &str, plural: &str, annotation: &str) {
    if kinds::read::has(&object["spec"], field) {
        return;
    }
    let classes = call
        .api
        .store
        .list(&Collection::new(group, plural), None, None, None)
        .items;
    let newest_default = classes
        .iter()
        .filter_map(|stored| object::readable(stored))
        .filter(|class| {
            class
                .pointer("/metadata/annotations")
                .is_some_and(|all| kinds::read::text(all, annotation) == "true")
        })
        .max_by(|a, b| {
            object::meta_text(a, "creationTimestamp").cmp(object::meta_text(b, "creationTimestamp"))
        });
    if let Some(class) = newest_default {
        object["spec"][field] = object::name(&class).into();
    }
}
