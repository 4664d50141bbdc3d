//! Custom resources as objects: reading, writing, listing, watching, patching and printing them.

use std::time::Duration;

use serde_json::{Value, json};

use super::{define, definition, unique_group, widgets, with_properties, with_spec};
use crate::{Check, Context, Outcome, answer::Answer, failure::ensure};

const AREA: &str = "custom resources";

/// Widgets with an integer `size` and a text `color`.
fn sized(cx: &Context<'_>) -> Outcome<super::Widgets> {
    widgets(
        cx,
        with_properties(json!({"size": {"type": "integer"}, "color": {"type": "string"}})),
    )
}

/// What each manager owns of a spec.
fn owned(answer: &Answer) -> Vec<(String, Value)> {
    let entries = answer
        .at("/metadata/managedFields")
        .as_array()
        .into_iter()
        .flatten();
    entries
        .map(|entry| {
            let manager = entry["manager"].as_str().unwrap_or_default().to_owned();
            (manager, entry["fieldsV1"]["f:spec"].clone())
        })
        .collect()
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        AREA,
        "declared fields are owned as such beside those that are preserved",
        |cx| {
            let widgets = widgets(
                cx,
                with_spec(json!({
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    "properties": {"known": {"type": "object", "properties": {"a": {"type": "string"}}}},
                })),
            )?;
            let apply = |manager: &str, value: &str| {
                let spec = json!({"known": {"a": value, "z": value}, "free": {"b": value}});
                cx.apply(widgets.one(), manager, widgets.object(&json!({"spec": spec})))
                    .query("force", true)
                    .send()
            };
            let all = json!({"f:known": {"f:a": {}, "f:z": {}}, "f:free": {".": {}, "f:b": {}}});
            let first = owned(&apply("one", "1")?.expect(201)?);
            ensure(
                first == [("one".to_owned(), all.clone())],
                "all of one",
                format!("{first:?}"),
            )?;
            let then = owned(&apply("two", "2")?.expect(200)?);
            let left = json!({"f:free": {}});
            ensure(
                then == [("one".to_owned(), left), ("two".to_owned(), all)],
                "one keeps what two did not change",
                format!("{then:?}"),
            )
        },
    ),
    Check::new(AREA, "what is applied must have the form the schema says", |cx| {
        let widgets = widgets(cx, with_properties(json!({"size": {"type": "integer"}})))?;
        let body = widgets.object(&json!({"spec": {"size": "x"}}));
        let message = format!(
            "failed to create typed patch object (/a; {}, Kind=Widget): .spec.size: expected numeric (int or \
             float), got string",
            widgets.api_version()
        );
        cx.eventually(|| {
            cx.apply(widgets.one(), "one", body.clone())
                .expect(500)?
                .has(json!({"message": message}))
        })?
        .done()
    }),
    Check::new(AREA, "an object is created and read back", |cx| {
        let widgets = sized(cx)?;
        let made = widgets.create(cx, json!({"spec": {"size": 3}}))?.exactly(
            "",
            json!({
                "apiVersion": widgets.api_version(), "kind": "Widget", "spec": {"size": 3},
                "metadata": {
                    "name": "a", "namespace": cx.namespace()?, "uid": "<uid>", "resourceVersion": "<number>",
                    "generation": 1,
                    "creationTimestamp": "<time>", "managedFields": "<any>",
                },
            }),
        )?;
        cx.get(widgets.one()).expect(200)?.exactly("", made.json)?.done()
    }),
    Check::new(AREA, "the items of a list say their kind", |cx| {
        let widgets = sized(cx)?;
        widgets.create(cx, json!({}))?;
        cx.get(&widgets.path)
            .expect(200)?
            .has(json!({
                "apiVersion": widgets.api_version(), "kind": "WidgetList",
                "metadata": {"continue": "", "resourceVersion": "<number>"},
                "items": [{"apiVersion": widgets.api_version(), "kind": "Widget"}],
            }))?
            .done()
    }),
    Check::new(AREA, "a missing object names resource and group", |cx| {
        let widgets = sized(cx)?;
        cx.get(widgets.one())
            .refused(
                404,
                "NotFound",
                &format!("widgets.{} \"a\" not found", widgets.group),
            )?
            .exactly(
                "/details",
                json!({"name": "a", "group": widgets.group, "kind": "widgets"}),
            )?
            .done()
    }),
    Check::new(AREA, "an object must say its version and kind", |cx| {
        let widgets = sized(cx)?;
        cx.post(&widgets.path, json!({"metadata": {"name": "a"}}))
            .expect(400)?
            .has(
                json!({"reason": "BadRequest", "message": "the object provided is unrecognized (must be of \
                type Widget): Object \
                'Kind' is missing in '{\"metadata\":{\"name\":\"a\"}}' ({\"metadata\":{\"name\":\"a\"}})"}),
            )?
            .done()
    }),
    Check::new(AREA, "an object of another kind is refused", |cx| {
        let widgets = sized(cx)?;
        let mut body = widgets.object(&json!({}));
        body["kind"] = json!("Gadget");
        cx.post(&widgets.path, body)
            .invalid(&[(
                "kind",
                "FieldValueInvalid",
                "Invalid value: \"Gadget\": must be Widget",
            )])?
            .done()
    }),
    Check::new(AREA, "a spec that is no object is refused", |cx| {
        let widgets = sized(cx)?;
        widgets
            .post(cx, json!({"spec": "text"}))
            .invalid(&[(
                "spec",
                "FieldValueTypeInvalid",
                "Invalid value: \"string\": spec in body must be of type object: \"string\"",
            )])?
            .done()
    }),
    Check::new(AREA, "a replacement needs the version", |cx| {
        let widgets = sized(cx)?;
        widgets.create(cx, json!({}))?;
        cx.put(widgets.one(), widgets.object(&json!({"spec": {"size": 1}})))
            .refused(
                422,
                "Invalid",
                &format!(
                    "widgets.{} \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: must be \
                     specified for an update",
                    widgets.group
                ),
            )?
            .done()
    }),
    Check::new(AREA, "a replacement with a stale version is a conflict", |cx| {
        let widgets = sized(cx)?;
        let made = widgets.create(cx, json!({}))?;
        cx.merge_patch(widgets.one(), json!({"spec": {"size": 1}}))
            .expect(200)?;
        cx.put(widgets.one(), made.json)
            .refused(
                409,
                "Conflict",
                &format!(
                    "Operation cannot be fulfilled on widgets.{} \"a\": the object has been modified; please \
                     apply your changes \
                     to the latest version and try again",
                    widgets.group
                ),
            )?
            .done()
    }),
    Check::new(
        AREA,
        "a change raises the generation, but not of metadata",
        |cx| {
            let widgets = sized(cx)?;
            widgets.create(cx, json!({}))?;
            cx.merge_patch(widgets.one(), json!({"spec": {"size": 1}}))
                .expect(200)?
                .has(json!({"metadata": {"generation": 2}}))?;
            cx.merge_patch(widgets.one(), json!({"metadata": {"labels": {"x": "1"}}}))
                .expect(200)?
                .has(json!({"metadata": {"generation": 2}}))?
                .done()
        },
    ),
    Check::new(AREA, "a strategic merge is not for custom resources", |cx| {
        let widgets = sized(cx)?;
        widgets.create(cx, json!({}))?;
        cx.strategic_patch(widgets.one(), json!({"spec": {"size": 1}}))
            .refused(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            )?
            .done()
    }),
    Check::new(AREA, "a JSON patch changes an object", |cx| {
        let widgets = sized(cx)?;
        widgets.create(cx, json!({"spec": {"size": 1}}))?;
        cx.json_patch(
            widgets.one(),
            json!([{"op": "replace", "path": "/spec/size", "value": 2}]),
        )
        .expect(200)?
        .has(json!({"spec": {"size": 2}}))?
        .done()
    }),
    Check::new(AREA, "an object is applied and owned", |cx| {
        let widgets = sized(cx)?;
        cx.apply(
            widgets.one(),
            "one",
            widgets.object(&json!({"spec": {"size": 1}})),
        )
        .expect(201)?
        .exactly(
            "/metadata/managedFields",
            json!([{
                "manager": "one", "operation": "Apply", "apiVersion": widgets.api_version(), "time": "<time>",
                "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:size": {}}},
            }]),
        )?;
        cx.apply(
            widgets.one(),
            "two",
            widgets.object(&json!({"spec": {"size": 2}})),
        )
        .refused(
            409,
            "Conflict",
            "Apply failed with 1 conflict: conflict with \"one\": .spec.size",
        )?
        .done()
    }),
    Check::new(AREA, "an apply of an unknown field is refused", |cx| {
        let widgets = sized(cx)?;
        cx.apply(
            widgets.one(),
            "one",
            widgets.object(&json!({"spec": {"weight": 1}})),
        )
        .expect(500)?
        .has(
            json!({"message": format!("failed to create typed patch object (/a; {}, Kind=Widget): \
                .spec.weight: field not \
                declared in schema", widgets.api_version())}),
        )?
        .done()
    }),
    Check::new(AREA, "a watch sends objects", |cx| {
        let widgets = sized(cx)?;
        let first = cx.get(&widgets.path).expect(200)?;
        let mut watch = cx
            .get(&widgets.path)
            .query("resourceVersion", first.resource_version())
            .watch()?;
        widgets.create(cx, json!({"spec": {"size": 1}}))?;
        watch.expect("ADDED", json!({"kind": "Widget", "spec": {"size": 1}}))?;
        cx.delete(widgets.one()).expect(200)?;
        watch.expect_named("DELETED", "a")?;
        Ok(())
    }),
    Check::new(
        AREA,
        "a watch from before the definition fails inside the stream",
        |cx| {
            let widgets = sized(cx)?;
            let mut watch = cx.get(&widgets.path).query("resourceVersion", 1).watch()?;
            watch.expect(
                "ERROR",
                json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                    "message": "too old resource version: 1 ({*})", "reason": "Expired", "code": 410,
                }),
            )?;
            watch.expect_end(Duration::from_secs(5))
        },
    ),
    Check::new(
        AREA,
        "a watch goes on from before a label of the definition",
        |cx| {
            let widgets = sized(cx)?;
            let first = cx.get(&widgets.path).expect(200)?;
            widgets.create(cx, json!({}))?;
            let label = json!({"metadata": {"labels": {"a": "b"}}});
            cx.merge_patch(&widgets.definition, label).expect(200)?;
            // By then the server has seen the label, whenever it looks at it.
            cx.get(&widgets.definition).expect(200)?;
            let mut watch = cx
                .get(&widgets.path)
                .query("resourceVersion", first.resource_version())
                .watch()?;
            watch.expect_named("ADDED", "a")?;
            Ok(())
        },
    ),
    Check::new(AREA, "a patch to another kind or version is refused", |cx| {
        let widgets = sized(cx)?;
        widgets.create(cx, json!({}))?;
        let (one, version) = (widgets.one(), widgets.api_version());
        let must_be = |sent: &str, due: &str| format!("Invalid value: \"{sent}\": must be {due}");
        let wrong_kind = must_be("Gadget", "Widget");
        let wrong_version = must_be("other.example.com/v1", &version);
        cx.merge_patch(&one, json!({"kind": "Gadget"}))
            .invalid(&[("kind", "FieldValueInvalid", &wrong_kind)])?
            .has(json!({"details": {"name": "a", "group": widgets.group, "kind": "Gadget"}}))?;
        cx.json_patch(
            &one,
            json!([{"op": "replace", "path": "/kind", "value": "Gadget"}]),
        )
        .invalid(&[("kind", "FieldValueInvalid", &wrong_kind)])?;
        cx.merge_patch(
            &one,
            json!({"kind": "Gadget", "apiVersion": "other.example.com/v1"}),
        )
        .invalid(&[
            ("kind", "FieldValueInvalid", &wrong_kind),
            ("apiVersion", "FieldValueInvalid", &wrong_version),
        ])?
        .has(json!({"details": {"name": "a", "group": "other.example.com", "kind": "Gadget"}}))?
        .done()
    }),
    Check::new(AREA, "a patch that takes the type away is refused", |cx| {
        let widgets = sized(cx)?;
        widgets.create(cx, json!({}))?;
        cx.merge_patch(widgets.one(), json!({"kind": null}))
            .expect(422)?
            .has(json!({
                "message": " \"\" is invalid: patch: Invalid value: {*}: Object 'Kind' is missing in '{*}'",
            }))?;
        cx.merge_patch(widgets.one(), json!({"apiVersion": null}))
            .refused(
                500,
                "InternalError",
                "Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'",
            )?
            .done()
    }),
    Check::new(
        AREA,
        "initial events of custom resources end with a bookmark",
        |cx| {
            let widgets = sized(cx)?;
            widgets.create(cx, json!({}))?;
            let mut watch = cx
                .get(&widgets.path)
                .query("sendInitialEvents", "true")
                .query("resourceVersionMatch", "NotOlderThan")
                .query("allowWatchBookmarks", "true")
                .watch()?;
            watch.expect_named("ADDED", "a")?;
            watch.expect(
                "BOOKMARK",
                json!({"kind": "Widget", "apiVersion": widgets.api_version(), "metadata": {
                    "annotations": {"k8s.io/initial-events-end": "true"},
                }}),
            )?;
            Ok(())
        },
    ),
    Check::new(AREA, "a deletion answers with a success", |cx| {
        let widgets = sized(cx)?;
        let made = widgets.create(cx, json!({}))?;
        cx.delete(widgets.one())
            .expect(200)?
            .has(json!({"status": "Success", "details": {
                "name": "a", "group": widgets.group, "kind": "widgets", "uid": made.uid(),
            }}))?
            .done()
    }),
    Check::new(AREA, "a collection is deleted", |cx| {
        let widgets = sized(cx)?;
        widgets.create(cx, json!({}))?;
        cx.delete(&widgets.path).expect(200)?;
        cx.get(&widgets.path).expect(200)?.lists(&[])?.done()
    }),
    Check::new(AREA, "a table has name and age when nothing else is said", |cx| {
        let widgets = sized(cx)?;
        widgets.create(cx, json!({}))?;
        cx.get(&widgets.path)
            .accept("application/json;as=Table;v=v1;g=meta.k8s.io")
            .expect(200)?
            .has(json!({
                "columnDefinitions": [
                    {"name": "Name", "type": "string", "format": "name", "priority": 0},
                    {"name": "Age", "type": "date", "format": "", "priority": 0},
                ],
                "rows": [{"cells": ["a", "<any>"]}],
            }))?
            .done()
    }),
    Check::new(AREA, "a table has the columns of the definition", |cx| {
        let schema = with_properties(json!({
            "size": {"type": "integer"}, "color": {"type": "string"}, "on": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "since": {"type": "string", "format": "date-time"},
        }));
        let mut body = definition(&unique_group(cx), schema);
        body["spec"]["versions"][0]["additionalPrinterColumns"] = json!([
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "How large"},
            {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1},
            {"name": "On", "type": "boolean", "jsonPath": ".spec.on"},
            {"name": "First", "type": "string", "jsonPath": ".spec.tags[0]"},
            {"name": "All", "type": "string", "jsonPath": ".spec.tags[*]"},
            {"name": "Since", "type": "date", "jsonPath": ".spec.since"},
            {"name": "Nothing", "type": "string", "jsonPath": ".spec.nothing"},
        ]);
        let widgets = define(cx, body)?;
        widgets.create(
            cx,
            json!({"spec": {
                "size": 7, "color": "red", "on": true, "tags": ["x", "y"], "since": "2020-01-01T00:00:00Z",
            }}),
        )?;
        cx.get(widgets.one())
            .accept("application/json;as=Table;v=v1;g=meta.k8s.io")
            .expect(200)?
            .has(json!({"columnDefinitions": [
                {"name": "Name"},
                {"name": "Size", "type": "integer", "description": "How large", "priority": 0},
                {"name": "Color", "priority": 1}, {"name": "On", "type": "boolean"}, {"name": "First"},
                {"name": "All"},
                {"name": "Since", "type": "date"}, {"name": "Nothing"},
            ]}))?
            .exactly(
                "/rows/0/cells",
                json!(["a", 7, "red", true, "x", "x", "{*}y{*}", null]),
            )?
            .done()
    }),
    Check::new(AREA, "an object can show only its metadata", |cx| {
        let widgets = sized(cx)?;
        widgets.create(cx, json!({"spec": {"size": 1}}))?;
        cx.get(widgets.one())
            .accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
            .expect(200)?
            .exactly(
                "",
                json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": "<any>"}),
            )?
            .done()
    }),
    Check::new(AREA, "fields of the definition's choice can be selected", |cx| {
        let mut body = definition(
            &unique_group(cx),
            with_properties(json!({"size": {"type": "integer"}, "color": {"type": "string"}})),
        );
        body["spec"]["versions"][0]["selectableFields"] =
            json!([{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.size"}]);
        let widgets = define(cx, body)?;
        for (name, color) in [("a", "red"), ("b", "blue")] {
            let mut object = widgets.object(&json!({"spec": {"color": color, "size": 5}}));
            object["metadata"]["name"] = json!(name);
            cx.post(&widgets.path, object).expect(201)?;
        }
        let finds = |selector: &str, names: &[&str]| {
            cx.get(&widgets.path)
                .query("fieldSelector", selector)
                .expect(200)?
                .lists(names)
        };
        finds("spec.color=red", &["a"])?;
        finds("spec.color!=red,spec.size=5", &["b"])?;
        finds("metadata.name=b", &["b"])?;
        cx.get(&widgets.path)
            .query("fieldSelector", "spec.weight=1")
            .refused(400, "BadRequest", "field label not supported: spec.weight")?
            .done()
    }),
    Check::new(AREA, "a resource of the cluster has no namespace", |cx| {
        let mut body = definition(&unique_group(cx), json!({"type": "object"}));
        body["spec"]["scope"] = json!("Cluster");
        let made = cx.create_cluster("apiextensions.k8s.io/v1", "customresourcedefinitions", body)?;
        let group = made.text("/spec/group");
        let path = format!("/apis/{group}/v1/widgets");
        cx.eventually(|| cx.get(&path).expect(200))?;
        let object =
            json!({"apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": {"name": "a"}});
        let made = cx
            .post(&path, object)
            .expect(201)?
            .has(json!({"metadata": {"namespace": "<absent>"}}))?;
        cx.get(format!("{path}/a"))
            .expect(200)?
            .exactly("", made.json)?
            .done()
    }),
    Check::new(AREA, "pages of custom resources are complete", |cx| {
        let widgets = sized(cx)?;
        for name in ["a", "b", "c"] {
            let mut object = widgets.object(&json!({}));
            object["metadata"]["name"] = json!(name);
            cx.post(&widgets.path, object).expect(201)?;
        }
        let first = cx
            .get(&widgets.path)
            .query("limit", 2)
            .expect(200)?
            .lists(&["a", "b"])?;
        cx.get(&widgets.path)
            .query("limit", 2)
            .query("continue", first.text("/metadata/continue"))
            .expect(200)?
            .lists(&["c"])?
            .done()
    }),
    Check::new(AREA, "a write that changes nothing keeps the version", |cx| {
        let widgets = sized(cx)?;
        let made = widgets.create(cx, json!({"spec": {"size": 1}}))?;
        let again = cx
            .merge_patch(widgets.one(), json!({"spec": {"size": 1}}))
            .expect(200)?;
        ensure(
            again.resource_version() == made.resource_version(),
            "the same version",
            again.json,
        )
    }),
    Check::new(AREA, "a number is kept as it was written", |cx| {
        let widgets = widgets(
            cx,
            with_properties(json!({"ratio": {"type": "number"}, "big": {"type": "integer"}})),
        )?;
        widgets
            .create(
                cx,
                json!({"spec": {"ratio": 0.1, "big": 9_007_199_254_740_993_i64}}),
            )?
            .exactly("/spec", json!({"ratio": 0.1, "big": 9_007_199_254_740_993_i64}))?
            .done()
    }),
    Check::new(AREA, "a dry creation of a custom resource stores nothing", |cx| {
        let widgets = sized(cx)?;
        widgets.post(cx, json!({})).query("dryRun", "All").expect(201)?;
        cx.get(widgets.one()).expect(404)?.done()
    }),
];
