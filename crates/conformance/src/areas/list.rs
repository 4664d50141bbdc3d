//! Lists: pages, and which version of the collection they show.

use serde_json::json;

use crate::{Check, Context, Outcome, answer::Answer, failure::ensure};

const AREA: &str = "list";

/// Makes secrets of these names; secrets, because nobody else makes any.
fn secrets(cx: &Context<'_>, names: &[&str]) -> Outcome<String> {
    for name in names {
        cx.create("v1", "secrets", json!({"metadata": {"name": name}}))?;
    }
    cx.core("secrets")
}

/// The faults of list options.
fn bad_options(answer: Answer, causes: &[(&str, &str, &str)]) -> Outcome {
    answer
        .has_faults(causes)?
        .has(json!({"details": {"group": "meta.k8s.io", "kind": "ListOptions"}}))?
        .done()
}

pub(super) const CHECKS: &[Check] =
    &[
        Check::new(AREA, "an empty list has a resource version and no items", |cx| {
            cx.get(cx.core("secrets")?)
                .expect(200)?
                .exactly(
                    "",
                    json!({
                        "kind": "SecretList", "apiVersion": "v1", "metadata": {"resourceVersion": "<number>"},
                        "items": [],
                    }),
                )?
                .done()
        }),
        Check::new(
            AREA,
            "items come in the order of their names and do not repeat their kind",
            |cx| {
                let path = secrets(cx, &["b", "c", "a"])?;
                let item = |name: &str| {
                    json!({
                        "metadata": {"name": name}, "kind": "<absent>", "apiVersion": "<absent>",
                    })
                };
                cx.get(path)
                    .expect(200)?
                    .has(json!({"items": [item("a"), item("b"), item("c")]}))?
                    .done()
            },
        ),
        Check::new(
            AREA,
            "a list across namespaces holds each namespace's objects",
            |cx| {
                secrets(cx, &["spread"])?;
                let other = cx.make_namespace(json!({}))?;
                cx.post(
                    format!("/api/v1/namespaces/{other}/secrets"),
                    json!({"metadata": {"name": "spread"}}),
                )
                .expect(201)?;
                let item = |namespace: &str| json!({"metadata": {"name": "spread", "namespace": namespace}});
                cx.get("/api/v1/secrets")
                    .expect(200)?
                    .has(json!({"items": ["<includes>", item(cx.namespace()?), item(&other)]}))?
                    .done()
            },
        ),
        Check::new(AREA, "a list in a missing namespace is empty", |cx| {
            cx.get("/api/v1/namespaces/no-such-namespace/secrets")
                .expect(200)?
                .lists(&[])?
                .done()
        }),
        Check::new(
            AREA,
            "a page tells how many items remain and where to continue",
            |cx| {
                let path = secrets(cx, &["a", "b", "c"])?;
                cx.get(path)
            .query("limit", 1)
            .expect(200)?
            .has(json!({
                "metadata": {"continue": "<any>", "remainingItemCount": 2, "resourceVersion": "<number>"},
            }))?
            .lists(&["a"])?
            .done()
            },
        ),
        Check::new(
            AREA,
            "pages together are the whole list at one resource version",
            |cx| {
                let path = secrets(cx, &["a", "b", "c", "d", "e"])?;
                let first = cx.get(&path).query("limit", 2).expect(200)?.lists(&["a", "b"])?;
                let second = cx
                    .get(&path)
                    .query("limit", 2)
                    .query("continue", first.text("/metadata/continue"))
                    .expect(200)?;
                let second = second.lists(&["c", "d"])?.has(json!({"metadata": {
                    "resourceVersion": first.resource_version(), "remainingItemCount": 1,
                }}))?;
                cx.get(&path)
                    .query("limit", 2)
                    .query("continue", second.text("/metadata/continue"))
                    .expect(200)?
                    .lists(&["e"])?
                    .has(json!({"metadata": {
                        "resourceVersion": first.resource_version(), "continue": "<absent>",
                        "remainingItemCount": "<absent>",
                    }}))?
                    .done()
            },
        ),
        Check::new(
            AREA,
            "later pages do not see what happened after the first",
            |cx| {
                let path = secrets(cx, &["a", "c"])?;
                let first = cx.get(&path).query("limit", 1).expect(200)?.lists(&["a"])?;
                secrets(cx, &["b"])?;
                cx.delete(cx.core("secrets/c")?).expect(200)?;
                cx.get(&path)
                    .query("limit", 5)
                    .query("continue", first.text("/metadata/continue"))
                    .expect(200)?
                    .lists(&["c"])?;
                cx.get(&path).expect(200)?.lists(&["a", "b"])?.done()
            },
        ),
        Check::new(AREA, "the last page may be exactly full", |cx| {
            let path = secrets(cx, &["a", "b"])?;
            cx.get(path)
                .query("limit", 2)
                .expect(200)?
                .has(json!({"metadata": {"continue": "<absent>"}}))?
                .done()
        }),
        Check::new(
            AREA,
            "with a label selector the number of remaining items is not told",
            |cx| {
                let body = |name: &str| json!({"metadata": {"name": name, "labels": {"in": "yes"}}});
                cx.create("v1", "secrets", body("a"))?;
                cx.create("v1", "secrets", body("b"))?;
                cx.get(cx.core("secrets")?)
                    .query("limit", 1)
                    .query("labelSelector", "in=yes")
                    .expect(200)?
                    .has(json!({"metadata": {"continue": "<any>", "remainingItemCount": "<absent>"}}))?
                    .done()
            },
        ),
        Check::new(
            AREA,
            "a page with a selector is filled with matching items",
            |cx| {
                let body =
                    |name: &str, label: &str| json!({"metadata": {"name": name, "labels": {"in": label}}});
                for (name, label) in [("a", "no"), ("b", "yes"), ("c", "no"), ("d", "yes"), ("e", "yes")] {
                    cx.create("v1", "secrets", body(name, label))?;
                }
                let path = cx.core("secrets")?;
                let first = cx
                    .get(&path)
                    .query("limit", 2)
                    .query("labelSelector", "in=yes")
                    .expect(200)?
                    .lists(&["b", "d"])?;
                cx.get(&path)
                    .query("limit", 2)
                    .query("labelSelector", "in=yes")
                    .query("continue", first.text("/metadata/continue"))
                    .expect(200)?
                    .lists(&["e"])?
                    .done()
            },
        ),
        Check::new(AREA, "a broken continue token is refused", |cx| {
            cx.get(cx.core("secrets")?)
                .query("continue", "abc")
                .refused(
                    400,
                    "BadRequest",
                    "invalid continue token: continue key is not valid: invalid character 'i' looking for \
                 beginning of value",
                )?
                .done()
        }),
        Check::new(AREA, "a limit that is no number is refused", |cx| {
            cx.get(cx.core("secrets")?)
                .query("limit", "abc")
                .refused(
                    400,
                    "BadRequest",
                    "strconv.ParseInt: parsing \"abc\": invalid syntax",
                )?
                .done()
        }),
        Check::new(AREA, "a negative limit is no limit", |cx| {
            let path = secrets(cx, &["a", "b"])?;
            cx.get(path)
                .query("limit", -1)
                .expect(200)?
                .lists(&["a", "b"])?
                .done()
        }),
        Check::new(AREA, "a query may begin with an empty pair", |cx| {
            let path = secrets(cx, &["a", "b"])?;
            cx.get(format!("{path}?&limit=1"))
                .expect(200)?
                .lists(&["a"])?
                .done()
        }),
        Check::new(AREA, "an unknown query parameter is ignored", |cx| {
            let path = secrets(cx, &["a"])?;
            cx.get(path)
                .query("nonsense", "yes")
                .expect(200)?
                .lists(&["a"])?
                .done()
        }),
        Check::new(AREA, "a list at an exact old version shows the past", |cx| {
            let path = secrets(cx, &["a"])?;
            let then = cx.get(&path).expect(200)?.resource_version();
            secrets(cx, &["b"])?;
            cx.get(&path)
                .query("resourceVersion", &then)
                .query("resourceVersionMatch", "Exact")
                .expect(200)?
                .lists(&["a"])?
                .has(json!({"metadata": {"resourceVersion": then}}))?
                .done()
        }),
        Check::new(AREA, "a list not older than a version may be newer", |cx| {
            let path = secrets(cx, &["a"])?;
            let then = cx.get(&path).expect(200)?.resource_version();
            let made = cx
                .create("v1", "secrets", json!({"metadata": {"name": "b"}}))?
                .resource_version();
            let answer = cx
                .get(&path)
                .query("resourceVersion", &made)
                .query("resourceVersionMatch", "NotOlderThan")
                .expect(200)?
                .lists(&["a", "b"])?;
            let versions: Vec<u64> = [then, answer.resource_version()]
                .iter()
                .filter_map(|text| text.parse().ok())
                .collect();
            ensure(
                versions.len() == 2 && versions[0] < versions[1],
                "rising versions",
                format!("{versions:?}"),
            )
        }),
        Check::new(AREA, "a list at version zero ignores the limit", |cx| {
            let path = secrets(cx, &["a", "b", "c"])?;
            cx.eventually(|| {
                cx.get(&path)
                    .query("resourceVersion", 0)
                    .query("limit", 1)
                    .expect(200)?
                    .lists(&["a", "b", "c"])
            })?
            .done()
        }),
        Check::new(
            AREA,
            "a list at an old version with a limit shows that version",
            |cx| {
                let path = secrets(cx, &["a", "b"])?;
                let then = cx.get(&path).expect(200)?.resource_version();
                secrets(cx, &["c"])?;
                cx.get(&path)
                    .query("resourceVersion", &then)
                    .query("resourceVersionMatch", "Exact")
                    .query("limit", 1)
                    .expect(200)?
                    .has(json!({"metadata": {"resourceVersion": then, "remainingItemCount": 1}}))?
                    .lists(&["a"])?
                    .done()
            },
        ),
        Check::new(
            AREA,
            "a list at a version of the future times out and says why",
            |cx| {
                cx.get(cx.core("secrets")?)
            .query("resourceVersion", 9_000_000)
            .refused(504, "Timeout", "Timeout: Too large resource version: 9000000, current: {*}")?
            .exactly(
                "/details",
                json!({
                    "causes": [
                        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"},
                    ],
                    "retryAfterSeconds": 1,
                }),
            )?
            .done()
            },
        ),
        Check::new(
            AREA,
            "an object at a version of the future times out and says why",
            |cx| {
                secrets(cx, &["a"])?;
                cx.get(cx.core("secrets/a")?)
                    .query("resourceVersion", 9_000_000)
                    .refused(
                        504,
                        "Timeout",
                        "Timeout: Too large resource version: 9000000, current: {*}",
                    )?
                    .done()
            },
        ),
        Check::new(AREA, "a version that is no number is refused", |cx| {
            cx.get(cx.core("secrets")?)
                .query("resourceVersion", "abc")
                .refused(
                    400,
                    "BadRequest",
                    "invalid resource version: resourceVersion: Invalid value: \"abc\": strconv.ParseUint: \
                 parsing \"abc\": \
                 invalid syntax",
                )?
                .done()
        }),
        Check::new(AREA, "how to match needs a version to match", |cx| {
            let answer = cx
                .get(cx.core("secrets")?)
                .query("resourceVersionMatch", "Exact")
                .send()?;
            let message = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided";
            bad_options(
                answer,
                &[("resourceVersionMatch", "FieldValueForbidden", message)],
            )
        }),
        Check::new(AREA, "version zero cannot be matched exactly", |cx| {
            let answer = cx
                .get(cx.core("secrets")?)
                .query("resourceVersion", 0)
                .query("resourceVersionMatch", "Exact")
                .send()?;
            let message = "Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            bad_options(
                answer,
                &[("resourceVersionMatch", "FieldValueForbidden", message)],
            )
        }),
        Check::new(AREA, "an unknown way to match is refused", |cx| {
            let answer = cx
                .get(cx.core("secrets")?)
                .query("resourceVersion", 1)
                .query("resourceVersionMatch", "Foo")
                .send()?;
            let message = "Unsupported value: \"Foo\": supported values: \"Exact\", \"NotOlderThan\", \"\"";
            bad_options(
                answer,
                &[("resourceVersionMatch", "FieldValueNotSupported", message)],
            )
        }),
        Check::new(AREA, "how to match cannot be said of a continued list", |cx| {
            let path = secrets(cx, &["a", "b"])?;
            let first = cx.get(&path).query("limit", 1).expect(200)?;
            let answer = cx
                .get(&path)
                .query("continue", first.text("/metadata/continue"))
                .query("resourceVersionMatch", "NotOlderThan")
                .query("resourceVersion", 1)
                .send()?;
            let message = "Forbidden: resourceVersionMatch is forbidden when continue is provided";
            bad_options(
                answer,
                &[("resourceVersionMatch", "FieldValueForbidden", message)],
            )
        }),
        Check::new(AREA, "a continued list cannot name a version", |cx| {
            let path = secrets(cx, &["a", "b"])?;
            let first = cx.get(&path).query("limit", 1).expect(200)?;
            cx.get(&path)
                .query("continue", first.text("/metadata/continue"))
                .query("resourceVersion", 1)
                .refused(
                    400,
                    "BadRequest",
                    "specifying resource version is not allowed when using continue",
                )?
                .done()
        }),
        Check::new(AREA, "initial events are for watches only", |cx| {
            let answer = cx
                .get(cx.core("secrets")?)
                .query("sendInitialEvents", "true")
                .send()?;
            let message = "Forbidden: sendInitialEvents is forbidden for list";
            bad_options(answer, &[("sendInitialEvents", "FieldValueForbidden", message)])
        }),
        Check::new(AREA, "a list can show only metadata", |cx| {
            secrets(cx, &["a"])?;
            cx.get(cx.core("secrets")?)
                .accept("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
                .expect(200)?
                .exactly(
                    "",
                    json!({
                        "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
                        "metadata": {"resourceVersion": "<number>"},
                        "items": [
                            {
                                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                                "metadata": "<any>",
                            },
                        ],
                    }),
                )?
                .done()
        }),
        Check::new(AREA, "an object can show only its metadata", |cx| {
            secrets(cx, &["a"])?;
            cx.get(cx.core("secrets/a")?)
            .accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
            .expect(200)?
            .exactly(
                "",
                json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": "<any>"}),
            )?
            .has(json!({"metadata": {"name": "a", "uid": "<uid>"}}))?
            .done()
        }),
        Check::new(
            AREA,
            "each write raises the resource version of the collection",
            |cx| {
                let path = cx.core("secrets")?;
                let before: u64 = cx.get(&path).expect(200)?.resource_version().parse().unwrap_or(0);
                let made: u64 = cx
                    .create("v1", "secrets", json!({"metadata": {"name": "a"}}))?
                    .resource_version()
                    .parse()
                    .unwrap_or(0);
                let after: u64 = cx.get(&path).expect(200)?.resource_version().parse().unwrap_or(0);
                ensure(
                    before > 0 && before < made && made <= after,
                    "before < made <= after",
                    format!("{before} {made} {after}"),
                )
            },
        ),
    ];
