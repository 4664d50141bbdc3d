//! Watches: what is sent first, what follows, and how they end.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{Check, Context, Outcome, answer::Answer, failure::ensure};

const AREA: &str = "watch";

fn secret(cx: &Context<'_>, name: &str) -> Outcome<Answer> {
    cx.create("v1", "secrets", json!({"metadata": {"name": name}}))
}

fn label(cx: &Context<'_>, name: &str, labels: Value) -> Outcome<Answer> {
    cx.merge_patch(
        cx.core(&format!("secrets/{name}"))?,
        json!({"metadata": {"labels": labels}}),
    )
    .expect(200)
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "initial events need no bookmark at their end", |cx| {
        secret(cx, "a")?;
        let mut watch = cx
            .get(cx.core("secrets")?)
            .query("sendInitialEvents", true)
            .query("resourceVersionMatch", "NotOlderThan")
            .watch()?;
        watch.expect_named("ADDED", "a")?;
        secret(cx, "b")?;
        watch.expect_named("ADDED", "b")?;
        Ok(())
    }),
    Check::new(AREA, "a watch is a stream of JSON lines", |cx| {
        let watch = cx.get(cx.core("secrets")?).query("timeoutSeconds", 1).watch()?;
        ensure(
            watch.head.header("content-type") == Some("application/json"),
            "application/json",
            format!("{:?}", watch.head),
        )
    }),
    Check::new(
        AREA,
        "a watch from a version sends only what happened after it",
        |cx| {
            let first = secret(cx, "a")?;
            let mut watch = cx
                .get(cx.core("secrets")?)
                .query("resourceVersion", first.resource_version())
                .watch()?;
            let second = secret(cx, "b")?;
            watch.expect("ADDED", json!({
            "kind": "Secret", "apiVersion": "v1",
            "metadata": {"name": "b", "uid": second.uid(), "resourceVersion": second.resource_version()},
        }))?;
            Ok(())
        },
    ),
    Check::new(AREA, "changes and deletions follow in order", |cx| {
        let first = secret(cx, "a")?;
        let mut watch = cx
            .get(cx.core("secrets")?)
            .query("resourceVersion", first.resource_version())
            .watch()?;
        let changed = label(cx, "a", json!({"x": "1"}))?;
        cx.delete(cx.core("secrets/a")?).expect(200)?;
        watch.expect(
            "MODIFIED",
            json!({"metadata": {"name": "a", "resourceVersion": changed.resource_version()}}),
        )?;
        let deleted = watch.expect(
            "DELETED",
            json!({"metadata": {"name": "a", "labels": {"x": "1"}}}),
        )?;
        let version = deleted["object"]["metadata"]["resourceVersion"]
            .as_str()
            .and_then(|text| text.parse::<u64>().ok());
        let before = changed.resource_version().parse::<u64>().ok();
        ensure(version > before, "a deletion has a version of its own", deleted)
    }),
    Check::new(
        AREA,
        "a watch without a version begins with what is there",
        |cx| {
            secret(cx, "a")?;
            let mut watch = cx.get(cx.core("secrets")?).watch()?;
            watch.expect_named("ADDED", "a")?;
            secret(cx, "b")?;
            watch.expect_named("ADDED", "b")?;
            Ok(())
        },
    ),
    Check::new(
        AREA,
        "a watch from version zero begins with what is there",
        |cx| {
            secret(cx, "a")?;
            let mut watch = cx.get(cx.core("secrets")?).query("resourceVersion", 0).watch()?;
            watch.expect_named("ADDED", "a")?;
            Ok(())
        },
    ),
    Check::new(AREA, "a watch ends when its time is over", |cx| {
        let mut watch = cx.get(cx.core("secrets")?).query("timeoutSeconds", 1).watch()?;
        watch.expect_end(Duration::from_secs(5))
    }),
    Check::new(AREA, "a watch stays open while nothing happens", |cx| {
        let mut watch = cx.get(cx.core("secrets")?).query("timeoutSeconds", 30).watch()?;
        watch.expect_silence(Duration::from_millis(1500))
    }),
    Check::new(AREA, "a watch of one name sends only that", |cx| {
        let first = secret(cx, "a")?;
        let mut watch = cx
            .get(cx.core("secrets")?)
            .query("fieldSelector", "metadata.name=c")
            .query("resourceVersion", first.resource_version())
            .watch()?;
        secret(cx, "b")?;
        secret(cx, "c")?;
        watch.expect_named("ADDED", "c")?;
        Ok(())
    }),
    Check::new(AREA, "an object that starts to match is added", |cx| {
        let made = secret(cx, "a")?;
        let mut watch = cx
            .get(cx.core("secrets")?)
            .query("labelSelector", "in=yes")
            .query("resourceVersion", made.resource_version())
            .watch()?;
        label(cx, "a", json!({"other": "1"}))?;
        let entered = label(cx, "a", json!({"in": "yes"}))?;
        watch.expect(
            "ADDED",
            json!({"metadata": {"name": "a", "resourceVersion": entered.resource_version()}}),
        )?;
        Ok(())
    }),
    Check::new(
        AREA,
        "an object that no longer matches is deleted, as it was but at the new version",
        |cx| {
            let made = cx.create(
                "v1",
                "secrets",
                json!({"metadata": {"name": "a", "labels": {"in": "yes"}}}),
            )?;
            let mut watch = cx
                .get(cx.core("secrets")?)
                .query("labelSelector", "in=yes")
                .query("resourceVersion", made.resource_version())
                .watch()?;
            let left = label(cx, "a", json!({"in": "no"}))?;
            watch.expect(
                "DELETED",
                json!({"metadata": {
                    "name": "a", "labels": {"in": "yes"}, "resourceVersion": left.resource_version(),
                }}),
            )?;
            Ok(())
        },
    ),
    Check::new(AREA, "an object that goes on matching is modified", |cx| {
        let made = cx.create(
            "v1",
            "secrets",
            json!({"metadata": {"name": "a", "labels": {"in": "yes"}}}),
        )?;
        let mut watch = cx
            .get(cx.core("secrets")?)
            .query("labelSelector", "in=yes")
            .query("resourceVersion", made.resource_version())
            .watch()?;
        label(cx, "a", json!({"more": "1"}))?;
        watch.expect_named("MODIFIED", "a")?;
        Ok(())
    }),
    Check::new(AREA, "a deletion with a grace period is first a change", |cx| {
        let made = cx.create(
            "v1",
            "secrets",
            json!({"metadata": {"name": "a", "finalizers": ["example.com/wait"]}}),
        )?;
        let mut watch = cx
            .get(cx.core("secrets")?)
            .query("resourceVersion", made.resource_version())
            .watch()?;
        cx.delete(cx.core("secrets/a")?).expect(200)?;
        watch.expect(
            "MODIFIED",
            json!({"metadata": {"name": "a", "deletionTimestamp": "<time>"}}),
        )?;
        cx.merge_patch(cx.core("secrets/a")?, json!({"metadata": {"finalizers": null}}))
            .expect(200)?;
        watch.expect(
            "DELETED",
            json!({"metadata": {"name": "a", "deletionTimestamp": "<time>"}}),
        )?;
        Ok(())
    }),
    Check::new(AREA, "a write that changes nothing is no event", |cx| {
        let made = secret(cx, "a")?;
        let mut watch = cx
            .get(cx.core("secrets")?)
            .query("resourceVersion", made.resource_version())
            .watch()?;
        label(cx, "a", json!({"absent": null}))?;
        secret(cx, "b")?;
        watch.expect_named("ADDED", "b")?;
        Ok(())
    }),
    Check::new(AREA, "initial events end with a marked bookmark", |cx| {
        secret(cx, "a")?;
        secret(cx, "b")?;
        let mut watch = cx
            .get(cx.core("secrets")?)
            .query("sendInitialEvents", "true")
            .query("resourceVersionMatch", "NotOlderThan")
            .query("allowWatchBookmarks", "true")
            .watch()?;
        watch.expect_named("ADDED", "a")?;
        watch.expect_named("ADDED", "b")?;
        let bookmark = watch.expect("BOOKMARK", json!({
            "kind": "Secret", "apiVersion": "v1",
            "metadata": {"resourceVersion": "<number>", "annotations": {"k8s.io/initial-events-end": "true"}},
        }))?;
        ensure(
            bookmark["object"]["metadata"]["name"].is_null(),
            "a bookmark without a name",
            &bookmark,
        )?;
        secret(cx, "c")?;
        watch.expect_named("ADDED", "c")?;
        Ok(())
    }),
    Check::new(
        AREA,
        "initial events of an empty collection are only the bookmark",
        |cx| {
            let mut watch = cx
                .get(cx.core("secrets")?)
                .query("sendInitialEvents", "true")
                .query("resourceVersionMatch", "NotOlderThan")
                .query("resourceVersion", 0)
                .query("allowWatchBookmarks", "true")
                .watch()?;
            watch.expect(
                "BOOKMARK",
                json!({"metadata": {"annotations": {"k8s.io/initial-events-end": "true"}}}),
            )?;
            Ok(())
        },
    ),
    Check::new(AREA, "initial events respect selectors", |cx| {
        secret(cx, "a")?;
        secret(cx, "b")?;
        let mut watch = cx
            .get(cx.core("secrets")?)
            .query("fieldSelector", "metadata.name=b")
            .query("sendInitialEvents", "true")
            .query("resourceVersionMatch", "NotOlderThan")
            .query("allowWatchBookmarks", "true")
            .watch()?;
        watch.expect_named("ADDED", "b")?;
        watch.expect("BOOKMARK", json!({}))?;
        Ok(())
    }),
    Check::new(
        AREA,
        "without initial events a watch begins at once with what happens",
        |cx| {
            secret(cx, "a")?;
            let mut watch = cx
                .get(cx.core("secrets")?)
                .query("sendInitialEvents", "false")
                .query("resourceVersionMatch", "NotOlderThan")
                .watch()?;
            watch.expect_silence(Duration::from_millis(300))?;
            secret(cx, "b")?;
            watch.expect_named("ADDED", "b")?;
            Ok(())
        },
    ),
    Check::new(
        AREA,
        "a watch that allows bookmarks gets one before its end",
        |cx| {
            let first = secret(cx, "a")?;
            let mut watch = cx
                .get(cx.core("secrets")?)
                .query("resourceVersion", first.resource_version())
                .query("allowWatchBookmarks", "true")
                .query("timeoutSeconds", 4)
                .watch()?;
            let bookmark = watch.expect("BOOKMARK", json!({"kind": "Secret", "apiVersion": "v1"}))?;
            let version = bookmark["object"]["metadata"]["resourceVersion"]
                .as_str()
                .and_then(|text| text.parse::<u64>().ok());
            ensure(
                version >= first.resource_version().parse().ok(),
                "a version not before the start",
                bookmark,
            )
        },
    ),
    Check::new(AREA, "a bookmark is never sent unasked", |cx| {
        let mut watch = cx.get(cx.core("secrets")?).query("timeoutSeconds", 3).watch()?;
        watch.expect_end(Duration::from_secs(8))
    }),
    Check::new(
        AREA,
        "a watch as tables sends a table with one row per event",
        |cx| {
            secret(cx, "a")?;
            let mut watch = cx
                .get(cx.core("secrets")?)
                .accept("application/json;as=Table;v=v1;g=meta.k8s.io")
                .watch()?;
            watch.expect("ADDED", json!({
            "kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": "<any>",
            "rows": [{"cells": ["a", "Opaque", 0, "<any>"], "object": {"kind": "PartialObjectMetadata"}}],
        }))?;
            secret(cx, "b")?;
            watch.expect("ADDED", json!({
                "kind": "Table", "columnDefinitions": null, "rows": [{"cells": ["b", "Opaque", 0, "<any>"]}],
            }))?;
            Ok(())
        },
    ),
    Check::new(
        AREA,
        "the bookmark of a watch as tables is a row with metadata",
        |cx| {
            let mut watch = cx
                .get(cx.core("secrets")?)
                .accept("application/json;as=Table;v=v1;g=meta.k8s.io")
                .query("sendInitialEvents", "true")
                .query("resourceVersionMatch", "NotOlderThan")
                .query("allowWatchBookmarks", "true")
                .watch()?;
            watch.expect("BOOKMARK", json!({
            "kind": "Table", "metadata": {"resourceVersion": "<number>"},
            "rows": [{"object": {"metadata": {"annotations": {"k8s.io/initial-events-end": "true"}}}}],
        }))?;
            Ok(())
        },
    ),
    Check::new(AREA, "the bookmark of a watch of metadata is metadata", |cx| {
        let mut watch = cx
            .get(cx.core("secrets")?)
            .accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
            .query("sendInitialEvents", "true")
            .query("resourceVersionMatch", "NotOlderThan")
            .query("allowWatchBookmarks", "true")
            .watch()?;
        watch.expect("BOOKMARK", json!({
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
            "metadata": {"resourceVersion": "<number>", "annotations": {"k8s.io/initial-events-end": "true"}},
        }))?;
        Ok(())
    }),
    Check::new(AREA, "a watch of metadata sends only metadata", |cx| {
        secret(cx, "a")?;
        let mut watch = cx
            .get(cx.core("secrets")?)
            .accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
            .watch()?;
        let event = watch.expect(
            "ADDED",
            json!({
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"},
            }),
        )?;
        ensure(event["object"]["type"].is_null(), "no type", event)
    }),
    Check::new(AREA, "a watch across namespaces sees every namespace", |cx| {
        let made = secret(cx, "a")?;
        let mut watch = cx
            .get("/api/v1/secrets")
            .query("resourceVersion", made.resource_version())
            .query("fieldSelector", "metadata.name=only-here")
            .watch()?;
        let other = cx.make_namespace(json!({}))?;
        cx.post(
            format!("/api/v1/namespaces/{other}/secrets"),
            json!({"metadata": {"name": "only-here"}}),
        )
        .expect(201)?;
        watch.expect("ADDED", json!({"metadata": {"namespace": other}}))?;
        Ok(())
    }),
    Check::new(AREA, "the old watch path of a collection still works", |cx| {
        secret(cx, "a")?;
        let mut watch = cx
            .get(format!("/api/v1/watch/namespaces/{}/secrets", cx.namespace()?))
            .watch()?;
        watch.expect_named("ADDED", "a")?;
        Ok(())
    }),
    Check::new(AREA, "the old watch path of one object still works", |cx| {
        secret(cx, "a")?;
        secret(cx, "b")?;
        let mut watch = cx
            .get(format!("/api/v1/watch/namespaces/{}/secrets/b", cx.namespace()?))
            .watch()?;
        watch.expect_named("ADDED", "b")?;
        Ok(())
    }),
    Check::new(
        AREA,
        "a watch from a version that is no number is refused",
        |cx| {
            cx.get(cx.core("secrets")?)
                .query("watch", "true")
                .query("resourceVersion", "abc")
                .expect(500)?
                .has(json!({
                    "message": "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": \
                     invalid syntax",
                    "reason": "<absent>",
                }))?
                .done()
        },
    ),
    Check::new(AREA, "how to match needs initial events", |cx| {
        cx.get(cx.core("secrets")?)
            .query("watch", "true")
            .query("resourceVersionMatch", "NotOlderThan")
            .invalid(&[(
                "resourceVersionMatch",
                "FieldValueForbidden",
                "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )])?
            .done()
    }),
    Check::new(AREA, "initial events need to know how to match", |cx| {
        cx.get(cx.core("secrets")?)
            .query("watch", "true")
            .query("sendInitialEvents", "true")
            .invalid(&[(
                "resourceVersionMatch",
                "FieldValueForbidden",
                "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )])?
            .done()
    }),
    Check::new(AREA, "initial events cannot be of an exact version", |cx| {
        cx.get(cx.core("secrets")?)
            .query("watch", "true")
            .query("sendInitialEvents", "true")
            .query("resourceVersionMatch", "Exact")
            .query("resourceVersion", "5")
            .invalid(&[
                (
                    "resourceVersionMatch",
                    "FieldValueForbidden",
                    "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                ),
                (
                    "resourceVersionMatch",
                    "FieldValueNotSupported",
                    "Unsupported value: \"Exact\": supported values: \"NotOlderThan\"",
                ),
            ])?
            .done()
    }),
    Check::new(AREA, "a watch with a bad selector is refused", |cx| {
        cx.get(cx.core("secrets")?)
            .query("watch", "true")
            .query("fieldSelector", "spec.foo=1")
            .refused(400, "BadRequest", "field label not supported: spec.foo")?
            .done()
    }),
    Check::new(AREA, "a watch of a version of the future stays silent", |cx| {
        let mut watch = cx
            .get(cx.core("secrets")?)
            .query("resourceVersion", 9_000_000)
            .query("timeoutSeconds", 2)
            .watch()?;
        secret(cx, "a")?;
        watch.expect_end(Duration::from_secs(10))
    }),
];
