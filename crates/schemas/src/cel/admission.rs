//! The variables of admission policies and match conditions. Only the request has a type; objects
//! are what they are.

use std::sync::Arc;

use super::{
    declared::{Declared, Shape},
    types::Type,
};

pub(super) fn variables() -> [(&'static str, Type); 6] {
    [
        ("object", Type::Dyn),
        ("oldObject", Type::Dyn),
        ("request", request().type_of()),
        ("params", Type::Dyn),
        ("namespaceObject", Type::Dyn),
        ("variables", Type::Dyn),
    ]
}

fn request() -> Arc<Declared> {
    let text = || Declared::of_type(Shape::Scalar(Type::Text));
    let texts = || Declared::of_type(Shape::List(text()));
    let kind = || {
        object(
            "kubernetes.GroupVersionKind",
            ["group", "version", "kind"].map(|name| (name, text())),
        )
    };
    let resource = || {
        object(
            "kubernetes.GroupVersionResource",
            ["group", "version", "resource"].map(|name| (name, text())),
        )
    };
    let user = [
        ("username", text()),
        ("uid", text()),
        ("groups", texts()),
        ("extra", Declared::of_type(Shape::Map(texts()))),
    ];
    let fields = [
        ("kind", kind()),
        ("resource", resource()),
        ("subResource", text()),
        ("requestKind", kind()),
        ("requestResource", resource()),
        ("requestSubResource", text()),
        ("name", text()),
        ("namespace", text()),
        ("operation", text()),
        ("userInfo", object("kubernetes.UserInfo", user)),
        ("dryRun", Declared::of_type(Shape::Scalar(Type::Bool))),
        ("options", Declared::of_type(Shape::Scalar(Type::Dyn))),
    ];
    object("kubernetes.AdmissionRequest", fields)
}

fn object<const N: usize>(name: &str, fields: [(&str, Arc<Declared>); N]) -> Arc<Declared> {
    let fields = fields
        .into_iter()
        .map(|(name, declared)| (name.to_owned(), declared))
        .collect();
    Declared::of_type(Shape::Object {
        name: name.to_owned(),
        fields,
    })
}
