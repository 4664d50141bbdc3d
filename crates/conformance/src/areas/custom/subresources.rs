//! Status and scale of custom resources.

use serde_json::{Value, json};

use super::{Widgets, define, definition, unique_group};
use crate::{Check, Context, Outcome};

const AREA: &str = "custom subresources";

/// Widgets with replicas and a status, and these subresources.
fn with_subresources(cx: &Context<'_>, subresources: Value) -> Outcome<Widgets> {
    let schema = json!({"type": "object", "properties": {
        "spec": {
            "type": "object", "properties": {"replicas": {"type": "integer"}, "size": {"type": "integer"}},
        },
        "status": {"type": "object", "properties": {
            "replicas": {"type": "integer"}, "selector": {"type": "string"}, "phase": {"type": "string"},
        }},
    }});
    let mut body = definition(&unique_group(cx), schema);
    body["spec"]["versions"][0]["subresources"] = subresources;
    define(cx, body)
}

fn scaled(cx: &Context<'_>) -> Outcome<Widgets> {
    with_subresources(
        cx,
        json!({"status": {}, "scale": {
            "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        }}),
    )
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "a status is dropped on creation", |cx| {
        let widgets = with_subresources(cx, json!({"status": {}}))?;
        widgets
            .create(cx, json!({"spec": {}, "status": {"phase": "Done"}}))?
            .has(json!({"status": "<absent>"}))?
            .done()
    }),
    Check::new(AREA, "a write of the object leaves the status", |cx| {
        let widgets = with_subresources(cx, json!({"status": {}}))?;
        widgets.create(cx, json!({"spec": {}}))?;
        cx.merge_patch(
            format!("{}/status", widgets.one()),
            json!({"status": {"phase": "Running"}}),
        )
        .expect(200)?;
        cx.merge_patch(
            widgets.one(),
            json!({"spec": {"size": 1}, "status": {"phase": "Done"}}),
        )
        .expect(200)?
        .has(json!({"spec": {"size": 1}, "status": {"phase": "Running"}, "metadata": {"generation": 2}}))?
        .done()
    }),
    Check::new(AREA, "a write of the status leaves the object", |cx| {
        let widgets = with_subresources(cx, json!({"status": {}}))?;
        widgets.create(cx, json!({"spec": {"size": 1}}))?;
        let patch =
            json!({"spec": {"size": 2}, "status": {"phase": "Running"}, "metadata": {"labels": {"x": "1"}}});
        cx.merge_patch(format!("{}/status", widgets.one()), patch)
            .expect(200)?
            .has(json!({
                "spec": {"size": 1}, "status": {"phase": "Running"},
                "metadata": {"generation": 1, "labels": "<absent>"},
            }))?
            .done()
    }),
    Check::new(AREA, "a status is replaced with its version", |cx| {
        let widgets = with_subresources(cx, json!({"status": {}}))?;
        let mut body = widgets.create(cx, json!({"spec": {}}))?.json;
        body["status"] = json!({"phase": "Running"});
        cx.put(format!("{}/status", widgets.one()), body)
            .expect(200)?
            .has(json!({"status": {"phase": "Running"}}))?
            .done()
    }),
    Check::new(AREA, "a status is validated", |cx| {
        let widgets = with_subresources(cx, json!({"status": {}}))?;
        widgets.create(cx, json!({"spec": {}}))?;
        cx.merge_patch(
            format!("{}/status", widgets.one()),
            json!({"status": {"phase": 5}}),
        )
        .invalid(&[(
            "status.phase",
            "FieldValueTypeInvalid",
            "Invalid value: \"integer\": phase in body must be of type string: \"integer\"",
        )])?
        .done()
    }),
    Check::new(
        AREA,
        "without the subresource status is a field like any other",
        |cx| {
            let widgets = with_subresources(cx, json!({}))?;
            widgets
                .create(cx, json!({"status": {"phase": "Done"}}))?
                .has(json!({"status": {"phase": "Done"}}))?;
            cx.get(format!("{}/status", widgets.one())).expect(404)?;
            cx.merge_patch(widgets.one(), json!({"status": {"phase": "Again"}}))
                .expect(200)?
                .has(json!({"metadata": {"generation": 2}}))?
                .done()
        },
    ),
    Check::new(AREA, "a status is applied by its own manager", |cx| {
        let widgets = with_subresources(cx, json!({"status": {}}))?;
        cx.apply(
            widgets.one(),
            "one",
            widgets.object(&json!({"spec": {"size": 1}})),
        )
        .expect(201)?;
        cx.apply(
            format!("{}/status", widgets.one()),
            "two",
            widgets.object(&json!({
                "status": {"phase": "Running"},
            })),
        )
        .expect(200)?
        .has(json!({"metadata": {"managedFields": ["<includes>", {
            "manager": "two", "operation": "Apply", "subresource": "status",
            "fieldsV1": {"f:status": {"f:phase": {}}},
        }]}}))?
        .done()
    }),
    Check::new(AREA, "a scale reads its paths", |cx| {
        let widgets = scaled(cx)?;
        let made = widgets.create(cx, json!({"spec": {"replicas": 3}}))?;
        let status = json!({"status": {"replicas": 2, "selector": "app=a"}});
        cx.merge_patch(format!("{}/status", widgets.one()), status)
            .expect(200)?;
        cx.get(format!("{}/scale", widgets.one()))
            .expect(200)?
            .has(json!({
                "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "a", "uid": made.uid()},
                "spec": {"replicas": 3}, "status": {"replicas": 2, "selector": "app=a"},
            }))?
            .done()
    }),
    Check::new(AREA, "a scale is changed by patch and by replacement", |cx| {
        let widgets = scaled(cx)?;
        widgets.create(cx, json!({"spec": {"replicas": 3}}))?;
        let path = format!("{}/scale", widgets.one());
        let mut scale = cx
            .merge_patch(&path, json!({"spec": {"replicas": 5}}))
            .expect(200)?
            .has(json!({"spec": {"replicas": 5}}))?
            .json;
        scale["spec"]["replicas"] = json!(6);
        cx.put(&path, scale)
            .expect(200)?
            .has(json!({"kind": "Scale", "spec": {"replicas": 6}}))?;
        cx.get(widgets.one())
            .expect(200)?
            .has(json!({"spec": {"replicas": 6}, "metadata": {"generation": 3}}))?
            .done()
    }),
    Check::new(AREA, "a scale below zero is refused", |cx| {
        let widgets = scaled(cx)?;
        widgets.create(cx, json!({"spec": {"replicas": 3}}))?;
        cx.merge_patch(
            format!("{}/scale", widgets.one()),
            json!({"spec": {"replicas": -1}}),
        )
        .invalid(&[(
            ".spec.replicas",
            "FieldValueInvalid",
            "Invalid value: -1: should be a non-negative integer",
        )])?
        .done()
    }),
    Check::new(AREA, "a scale of an object without replicas is refused", |cx| {
        let widgets = scaled(cx)?;
        widgets.create(cx, json!({"spec": {}}))?;
        cx.get(format!("{}/scale", widgets.one()))
            .expect(500)?
            .has(json!({
                "message": "Internal error occurred: the spec replicas field \".spec.replicas\" does not \
                 exist",
            }))?
            .done()
    }),
];
