//! What admission expressions know of the types of their variables.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use crate::cel::{
    declared::{Declared, Shape},
    types::Type,
};

/// The request, as `request` describes it.
pub(super) static REQUEST: LazyLock<Type> = LazyLock::new(|| {
    let kind = object("GroupVersionKind", &[("group version kind", Type::Text)], &[]);
    let resource = object(
        "GroupVersionResource",
        &[("group version resource", Type::Text)],
        &[],
    );
    let texts = Type::list(Type::Text);
    let extra = Type::map(Type::Text, texts.clone());
    let user = object(
        "UserInfo",
        &[("username uid", Type::Text), ("groups", texts), ("extra", extra)],
        &[],
    );
    let texts = "subResource requestSubResource name namespace operation";
    object(
        "AdmissionRequest",
        &[
            (texts, Type::Text),
            ("dryRun", Type::Bool),
            ("options", Type::Dyn),
        ],
        &[
            ("kind", kind.clone()),
            ("resource", resource.clone()),
            ("requestKind", kind),
            ("requestResource", resource),
            ("userInfo", user),
        ],
    )
    .type_of()
});

/// The namespace of the object: `namespaceObject`.
pub(super) static NAMESPACE: LazyLock<Type> = LazyLock::new(|| {
    let labels = Type::map(Type::Text, Type::Text);
    let texts = Type::list(Type::Text);
    let metadata = object(
        "NamespaceMetadata",
        &[
            ("name generateName namespace UID resourceVersion", Type::Text),
            ("labels annotations", labels),
            ("creationTimestamp deletionTimestamp", Type::Timestamp),
            ("deletionGracePeriodSeconds generation", Type::Int),
            ("finalizers", texts.clone()),
        ],
        &[],
    );
    let spec = object("NamespaceSpec", &[("finalizers", texts)], &[]);
    let condition = object(
        "NamespaceCondition",
        &[
            ("status type message reason", Type::Text),
            ("lastTransitionTime", Type::Timestamp),
        ],
        &[],
    );
    let conditions = Type::list(condition.type_of());
    let status = object(
        "NamespaceStatus",
        &[("phase", Type::Text), ("conditions", conditions)],
        &[],
    );
    object(
        "Namespace",
        &[],
        &[("metadata", metadata), ("spec", spec), ("status", status)],
    )
    .type_of()
});

/// An object of fields that share a type, and of fields that are objects.
fn object(name: &str, plain: &[(&str, Type)], objects: &[(&str, Arc<Declared>)]) -> Arc<Declared> {
    let plain = plain.iter().flat_map(|(names, of)| {
        names
            .split(' ')
            .map(|name| (name.to_owned(), Declared::of_shape(Shape::Scalar(of.clone()))))
    });
    let objects = objects
        .iter()
        .map(|(name, of)| ((*name).to_owned(), Arc::clone(of)));
    let fields: BTreeMap<_, _> = plain.chain(objects).collect();
    Declared::of_shape(Shape::Object {
        name: format!("kubernetes.{name}"),
        fields,
    })
}
