//! The built-in kinds as rows of the registry, made from the static tables.

use std::{borrow::Cow, sync::Arc};

use kinds::{
    resources::{RESOURCES, Resource},
    strategy::Strategy,
    types,
};
use store::Collection;

use crate::{
    kind::{BuiltIn, Conversion, Definition, Kind, Subresource},
    object,
};

pub(crate) fn kinds() -> Vec<Arc<Kind>> {
    RESOURCES.iter().filter_map(row).map(Arc::new).collect()
}

fn row(resource: &'static Resource) -> Option<Kind> {
    let shape = types::by_name(resource.type_name)?;
    let api_version: Cow<'static, str> = if resource.group.is_empty() {
        resource.version.into()
    } else {
        format!("{}/{}", resource.group, resource.version).into()
    };
    Some(Kind {
        group: resource.group.into(),
        version: resource.version.into(),
        prefix: object::type_prefix(&api_version, resource.kind),
        api_version,
        kind: resource.kind.into(),
        list_kind: format!("{}List", resource.kind),
        plural: resource.plural.into(),
        singular: resource.singular.into(),
        short_names: resource
            .short_names
            .iter()
            .map(|name| Cow::Borrowed(*name))
            .collect(),
        categories: resource
            .categories
            .iter()
            .map(|name| Cow::Borrowed(*name))
            .collect(),
        namespaced: resource.namespaced,
        verbs: resource.verbs.to_vec(),
        subresources: resource
            .subresources
            .iter()
            .map(|subresource| Subresource {
                name: subresource.name,
                group: subresource.group,
                version: subresource.version,
                kind: subresource.kind.into(),
                verbs: subresource.verbs,
            })
            .collect(),
        collection: collection(resource),
        blank: crate::ownership::blank(shape),
        definition: Definition::BuiltIn(BuiltIn {
            resource,
            shape,
            strategy: strategy(resource),
            conversion: conversion(resource),
        }),
    })
}

/// Both groups of events show the same objects.
fn collection(resource: &Resource) -> Collection {
    let group = if resource.group == "events.k8s.io" {
        ""
    } else {
        resource.group
    };
    Collection::new(group, resource.plural)
}

fn strategy(resource: &Resource) -> &'static Strategy {
    static NONE: Strategy = Strategy::NONE;
    if resource.group == "apiextensions.k8s.io" {
        return &crate::custom::DEFINITION_STRATEGY;
    }
    kinds::strategy_of(resource.group, resource.kind).unwrap_or(&NONE)
}

/// Kinds that are stored in another form than they are served in.
fn conversion(resource: &Resource) -> Option<Conversion> {
    match (resource.group, resource.version, resource.kind) {
        ("events.k8s.io", "v1", "Event") => Some(Conversion {
            to_stored: kinds::objects::event::to_core,
            from_stored: kinds::objects::event::from_core,
        }),
        ("autoscaling", "v1", "HorizontalPodAutoscaler") => Some(Conversion {
            to_stored: kinds::objects::horizontal_pod_autoscaler::v1::to_v2,
            from_stored: kinds::objects::horizontal_pod_autoscaler::v1::from_v2,
        }),
        _ => None,
    }
}
