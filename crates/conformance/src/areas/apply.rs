//! Server-side apply: who owns which field, and what follows from that.

use serde_json::{Value, json};

use crate::{Check, Context, Outcome, answer::Answer, failure::ensure};

pub(super) mod lists;

const AREA: &str = "apply";

/// A config map as it is applied.
fn config_map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

/// Applies a config map `a` by a manager.
fn apply(cx: &Context<'_>, manager: &str, data: Value) -> Outcome<Answer> {
    cx.apply(cx.core("configmaps/a")?, manager, config_map(data))
        .send()
}

/// A deployment as it is applied, with these containers.
fn deployment(containers: Value) -> Value {
    let template = json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": containers}});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": template},
    })
}

fn apply_deployment(cx: &Context<'_>, manager: &str, body: Value) -> Outcome<Answer> {
    cx.apply(cx.in_group("apps/v1", "deployments/a")?, manager, body)
        .send()
}

/// The fields a manager owns.
fn owned(answer: &Answer, manager: &str) -> Value {
    let entries = answer
        .at("/metadata/managedFields")
        .as_array()
        .into_iter()
        .flatten();
    entries
        .filter(|entry| entry["manager"] == manager)
        .map(|entry| entry["fieldsV1"].clone())
        .next()
        .unwrap_or_default()
}

/// What a body that is no configuration is told.
fn refuses(cx: &Context<'_>, body: &str, message: &str) -> Outcome {
    cx.request("PATCH", cx.core("configmaps/a")?)
        .query("fieldManager", "one")
        .bytes("application/apply-patch+yaml", body)
        .refused(400, "BadRequest", message)?
        .done()
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "a body that is no configuration is refused", |cx| {
        let unmarshal = |given: &str| {
            format!(
                "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot \
                 unmarshal {given} into Go value of type map[string]interface {{}}"
            )
        };
        refuses(cx, "[]", &unmarshal("array"))?;
        refuses(cx, "\"x\"", &unmarshal("string"))?;
        refuses(cx, "null", "invalid object type: /, Kind=")?;
        refuses(cx, "", "invalid object type: /, Kind=")?;
        refuses(
            cx,
            r#"{"apiVersion": "v1", "kind": "ConfigMap"}"#,
            "the name of the object (a based on URL) was undeterminable: name must be provided",
        )
    }),
    Check::new(AREA, "every value must have the form of its type", |cx| {
        let failed = |subject: &str, problems: &str| {
            json!({
                "code": 500,
                "message": format!("failed to create typed patch object ({subject}): {problems}"),
            })
        };
        let subject = "/a; /v1, Kind=ConfigMap";
        apply(cx, "one", json!({"k": 1}))?.has(failed(
            subject,
            ".data.k: expected string, got &value.valueUnstructured{Value:1}",
        ))?;
        apply(cx, "one", json!([1]))?.has(failed(subject, ".data: expected map, got &{[1]}"))?;
        let subject = "/a; apps/v1, Kind=Deployment";
        apply_deployment(cx, "one", deployment(json!({"name": "c"})))?.has(failed(
            subject,
            ".spec.template.spec.containers: expected list, got &{map[name:c]}",
        ))?;
        let mut body = deployment(json!([{"name": "c", "image": "i", "bogus": 1}]));
        body["spec"]["replicas"] = json!("x");
        apply_deployment(cx, "one", body)?
            .satisfies("both problems, in any order", |answer| {
                let message = answer.text("/message");
                message.contains("): errors:\n  ")
                    && message.contains("\n  .spec.replicas: expected numeric (int or float), got string")
                    && message.contains(
                        "\n  .spec.template.spec.containers[name=\"c\"].bogus: field not declared in schema",
                    )
            })?
            .done()
    }),
    Check::new(
        AREA,
        "an apply to another object of the same name is refused",
        |cx| {
            let mut body = config_map(json!({}));
            body["metadata"]["uid"] = json!("other");
            cx.apply(cx.core("configmaps/a")?, "one", body.clone()).refused(
                409,
                "Conflict",
                "Operation cannot be fulfilled on configmaps \"a\": uid mismatch: the provided object \
                     specified uid other, and no existing object was found",
            )?;
            apply(cx, "one", json!({"k": "v"}))?.expect(201)?;
            cx.apply(cx.core("configmaps/a")?, "one", body)
                .refused(
                    422,
                    "Invalid",
                    "ConfigMap \"a\" is invalid: metadata.uid: Invalid value: \"other\": field is immutable",
                )?
                .done()
        },
    ),
    Check::new(
        AREA,
        "an apply of a new object creates it and records its owner",
        |cx| {
            apply(cx, "one", json!({"k": "v"}))?
                .expect(201)?
                .exactly(
                    "/metadata/managedFields",
                    json!([{
                        "manager": "one", "operation": "Apply", "apiVersion": "v1", "time": "<time>",
                        "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:k": {}}},
                    }]),
                )?
                .exactly("/data", json!({"k": "v"}))?
                .done()
        },
    ),
    Check::new(AREA, "the same apply again changes nothing", |cx| {
        let first = apply(cx, "one", json!({"k": "v"}))?.expect(201)?;
        apply(cx, "one", json!({"k": "v"}))?
            .expect(200)?
            .exactly("", first.json)?
            .done()
    }),
    Check::new(AREA, "an apply changes what it owns", |cx| {
        apply(cx, "one", json!({"k": "v"}))?.expect(201)?;
        apply(cx, "one", json!({"k": "w"}))?
            .expect(200)?
            .exactly("/data", json!({"k": "w"}))?
            .done()
    }),
    Check::new(AREA, "an apply removes what it owned and no longer names", |cx| {
        apply(cx, "one", json!({"a": "1", "b": "2"}))?.expect(201)?;
        let answer = apply(cx, "one", json!({"b": "2"}))?
            .expect(200)?
            .exactly("/data", json!({"b": "2"}))?;
        ensure(
            owned(&answer, "one") == json!({"f:data": {"f:b": {}}}),
            "only b is owned",
            answer.json,
        )
    }),
    Check::new(AREA, "an apply leaves what others own", |cx| {
        apply(cx, "one", json!({"a": "1"}))?.expect(201)?;
        apply(cx, "two", json!({"b": "2"}))?
            .expect(200)?
            .exactly("/data", json!({"a": "1", "b": "2"}))?
            .done()
    }),
    Check::new(
        AREA,
        "an apply against another owner's value is a conflict",
        |cx| {
            apply(cx, "one", json!({"k": "v"}))?.expect(201)?;
            apply(cx, "two", json!({"k": "w"}))?
                .fails_with(
                    409,
                    "Conflict",
                    "Apply failed with 1 conflict: conflict with \"one\": .data.k",
                )?
                .exactly(
                    "/details",
                    json!({"causes": [
                        {
                            "reason": "FieldManagerConflict", "message": "conflict with \"one\"",
                            "field": ".data.k",
                        },
                    ]}),
                )?
                .done()
        },
    ),
    Check::new(AREA, "several conflicts are counted and listed by owner", |cx| {
        apply(cx, "one", json!({"k": "v", "l": "v"}))?.expect(201)?;
        apply(cx, "two", json!({"k": "w", "l": "w"}))?
            .fails_with(
                409,
                "Conflict",
                "Apply failed with 2 conflicts: conflicts with \"one\":\n- .data.k\n- .data.l",
            )?
            .done()
    }),
    Check::new(
        AREA,
        "a conflict with an updater names its version and time",
        |cx| {
            cx.config_map("a")?;
            apply(cx, "two", json!({"key": "other"}))?
                .fails_with(
                    409,
                    "Conflict",
                    "Apply failed with 1 conflict: conflict with \"conformance\" using v1: .data.key",
                )?
                .done()
        },
    ),
    Check::new(AREA, "a forced apply takes the field over", |cx| {
        apply(cx, "one", json!({"k": "v", "own": "1"}))?.expect(201)?;
        let answer = cx
            .apply(cx.core("configmaps/a")?, "two", config_map(json!({"k": "w"})))
            .query("force", "true")
            .expect(200)?
            .exactly("/data", json!({"k": "w", "own": "1"}))?;
        ensure(
            owned(&answer, "one") == json!({"f:data": {"f:own": {}}}),
            "`one` lost k",
            &answer.json,
        )?;
        ensure(
            owned(&answer, "two") == json!({"f:data": {"f:k": {}}}),
            "`two` has k",
            &answer.json,
        )
    }),
    Check::new(AREA, "two may own a field on whose value they agree", |cx| {
        apply(cx, "one", json!({"k": "v"}))?.expect(201)?;
        let answer = apply(cx, "two", json!({"k": "v"}))?.expect(200)?;
        ensure(
            owned(&answer, "one") == owned(&answer, "two"),
            "both own k",
            &answer.json,
        )
    }),
    Check::new(AREA, "a field with two owners stays when one gives it up", |cx| {
        apply(cx, "one", json!({"k": "v"}))?.expect(201)?;
        apply(cx, "two", json!({"k": "v"}))?.expect(200)?;
        let answer = apply(cx, "one", json!({}))?
            .expect(200)?
            .exactly("/data", json!({"k": "v"}))?;
        ensure(
            owned(&answer, "one").is_null() || owned(&answer, "one") == json!({"f:data": {}}),
            "`one` gave k up",
            &answer.json,
        )
    }),
    Check::new(AREA, "an update takes a field from its applier", |cx| {
        apply(cx, "one", json!({"k": "v", "l": "v"}))?.expect(201)?;
        let answer = cx
            .merge_patch(cx.core("configmaps/a")?, json!({"data": {"k": "w"}}))
            .query("fieldManager", "editor")
            .expect(200)?;
        ensure(
            owned(&answer, "one") == json!({"f:data": {"f:l": {}}}),
            "`one` lost k",
            &answer.json,
        )?;
        ensure(
            owned(&answer, "editor") == json!({"f:data": {"f:k": {}}}),
            "`editor` has k",
            &answer.json,
        )
    }),
    Check::new(
        AREA,
        "an update that removes a field removes its ownership",
        |cx| {
            apply(cx, "one", json!({"k": "v", "l": "v"}))?.expect(201)?;
            let answer = cx
                .merge_patch(cx.core("configmaps/a")?, json!({"data": {"k": null}}))
                .expect(200)?;
            ensure(
                owned(&answer, "one") == json!({"f:data": {"f:l": {}}}),
                "`one` lost k",
                &answer.json,
            )
        },
    ),
    Check::new(AREA, "an apply needs a manager", |cx| {
        cx.request("PATCH", cx.core("configmaps/a")?)
            .bytes("application/apply-patch+yaml", config_map(json!({})).to_string())
            .invalid(&[(
                "fieldManager",
                "FieldValueRequired",
                "Required value: is required for apply patch",
            )])?
            .has(json!({"details": {"group": "meta.k8s.io", "kind": "PatchOptions"}}))?
            .done()
    }),
    Check::new(AREA, "a manager's name has at most 128 characters", |cx| {
        cx.apply(cx.core("configmaps/a")?, &"m".repeat(129), config_map(json!({})))
            .invalid(&[(
                "fieldManager",
                "FieldValueTooLong",
                "Too long: may not be more than 128 bytes",
            )])?
            .done()
    }),
    Check::new(AREA, "a manager's name has no control characters", |cx| {
        cx.apply(cx.core("configmaps/a")?, "a\tb", config_map(json!({})))
            .invalid(&[(
                "fieldManager",
                "FieldValueInvalid",
                "Invalid value: \"a\\tb\": invalid character U+0009 (at position 1)",
            )])?
            .done()
    }),
    Check::new(AREA, "an apply needs a kind", |cx| {
        cx.apply(
            cx.core("configmaps/a")?,
            "one",
            json!({"apiVersion": "v1", "metadata": {"name": "a"}}),
        )
        .expect(400)?
        .has(json!({"message": "invalid object type: /v1, Kind=", "reason": "BadRequest"}))?
        .done()
    }),
    Check::new(AREA, "an apply of another kind is refused", |cx| {
        cx.apply(
            cx.core("configmaps/a")?,
            "one",
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}),
        )
        .expect(400)?
        .has(json!({"reason": "BadRequest"}))?
        .done()
    }),
    Check::new(AREA, "an apply with managed fields is refused", |cx| {
        let mut body = config_map(json!({}));
        body["metadata"]["managedFields"] = json!([{"manager": "x"}]);
        cx.apply(cx.core("configmaps/a")?, "one", body)
            .refused(400, "BadRequest", "metadata.managedFields must be nil")?
            .done()
    }),
    Check::new(AREA, "an apply reads YAML", |cx| {
        let body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  # a comment\n  k: v\n";
        cx.request("PATCH", cx.core("configmaps/a")?)
            .query("fieldManager", "one")
            .bytes("application/apply-patch+yaml", body)
            .expect(201)?
            .exactly("/data", json!({"k": "v"}))?
            .done()
    }),
    Check::new(AREA, "an apply of broken YAML is refused", |cx| {
        cx.request("PATCH", cx.core("configmaps/a")?)
            .query("fieldManager", "one")
            .bytes("application/apply-patch+yaml", "a: b: c")
            .refused(
                400,
                "BadRequest",
                "error decoding YAML: error converting YAML to JSON: yaml: mapping \
                values are not allowed in this context",
            )?
            .done()
    }),
    Check::new(AREA, "an apply under another name is refused", |cx| {
        cx.apply(cx.core("configmaps/b")?, "one", config_map(json!({})))
            .expect(400)?
            .has(json!({"message": "the name of the object (a) does not match the name on the URL (b)"}))?
            .done()
    }),
    Check::new(
        AREA,
        "an apply with a version that is not the last is a conflict",
        |cx| {
            let first = apply(cx, "one", json!({"k": "v"}))?.expect(201)?;
            apply(cx, "one", json!({"k": "w"}))?.expect(200)?;
            let mut body = config_map(json!({"k": "x"}));
            body["metadata"]["resourceVersion"] = json!(first.resource_version());
            cx.apply(cx.core("configmaps/a")?, "one", body)
                .refused(
                    409,
                    "Conflict",
                    "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please \
                 apply your \
                 changes to the latest version and try again",
                )?
                .done()
        },
    ),
    Check::new(AREA, "an apply of a new object ignores the version", |cx| {
        let mut body = config_map(json!({"k": "x"}));
        body["metadata"]["resourceVersion"] = json!("5");
        cx.apply(cx.core("configmaps/a")?, "one", body)
            .expect(201)?
            .done()
    }),
    Check::new(AREA, "defaults are not owned by the applier", |cx| {
        let answer = apply_deployment(cx, "one", deployment(json!([{"name": "c", "image": "i"}])))?
            .expect(201)?
            .has(json!({"spec": {"progressDeadlineSeconds": 600}}))?;
        let expected = json!({"f:spec": {
            "f:replicas": {}, "f:selector": {},
            "f:template": {
                "f:metadata": {"f:labels": {"f:app": {}}},
                "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:image": {}, "f:name": {}}}},
            },
        }});
        ensure(
            owned(&answer, "one") == expected,
            &expected.to_string(),
            owned(&answer, "one"),
        )
    }),
    Check::new(
        AREA,
        "a field that is no longer applied goes back to its default",
        |cx| {
            let mut body = deployment(json!([{"name": "c", "image": "i"}]));
            body["spec"]["minReadySeconds"] = json!(7);
            body["spec"]["progressDeadlineSeconds"] = json!(100);
            apply_deployment(cx, "one", body)?.expect(201)?;
            apply_deployment(cx, "one", deployment(json!([{"name": "c", "image": "i"}])))?
                .expect(200)?
                .has(json!({"spec": {"minReadySeconds": "<absent>", "progressDeadlineSeconds": 600}}))?
                .done()
        },
    ),
    Check::new(AREA, "status is applied under its own subresource", |cx| {
        apply_deployment(cx, "one", deployment(json!([{"name": "c", "image": "i"}])))?.expect(201)?;
        let body = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "status": {"collisionCount": 3, "observedGeneration": 1},
        });
        cx.apply(
            cx.in_group("apps/v1", "deployments/a/status")?,
            "status-writer",
            body,
        )
        .expect(200)?
        .has(json!({
            "status": {"collisionCount": 3},
            "metadata": {"managedFields": ["<includes>", {
                "manager": "status-writer", "operation": "Apply", "subresource": "status",
                "fieldsV1": {"f:status": {"f:collisionCount": {}}},
            }]},
        }))?
        .done()
    }),
    Check::new(AREA, "an apply of the main resource does not own status", |cx| {
        let mut body = deployment(json!([{"name": "c", "image": "i"}]));
        body["status"] = json!({"replicas": 9});
        let answer = apply_deployment(cx, "one", body)?
            .expect(201)?
            .has(json!({"status": {"replicas": "<absent>"}}))?;
        ensure(
            owned(&answer, "one")["f:status"].is_null(),
            "no status",
            owned(&answer, "one"),
        )
    }),
    Check::new(AREA, "labels and annotations are owned one by one", |cx| {
        let metadata = json!({"name": "a", "labels": {"l": "1"}, "annotations": {"example.com/a": "1"}});
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        let answer = cx.apply(cx.core("configmaps/a")?, "one", body).expect(201)?;
        let expected =
            json!({"f:metadata": {"f:annotations": {"f:example.com/a": {}}, "f:labels": {"f:l": {}}}});
        ensure(
            owned(&answer, "one") == expected,
            &expected.to_string(),
            owned(&answer, "one"),
        )
    }),
    Check::new(AREA, "managed fields can be cleared by an empty entry", |cx| {
        apply(cx, "one", json!({"k": "v"}))?.expect(201)?;
        cx.merge_patch(
            cx.core("configmaps/a")?,
            json!({"metadata": {"managedFields": [{}]}}),
        )
        .expect(200)?
        .has(json!({"metadata": {"managedFields": "<absent>"}}))?
        .done()
    }),
    Check::new(AREA, "managed fields can be replaced by a JSON patch", |cx| {
        apply(cx, "one", json!({"k": "v"}))?.expect(201)?;
        let entry = json!([{
            "manager": "renamed", "operation": "Apply", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:k": {}}},
        }]);
        let answer = cx
            .json_patch(
                cx.core("configmaps/a")?,
                json!([{"op": "replace", "path": "/metadata/managedFields", "value": entry}]),
            )
            .expect(200)?;
        ensure(
            owned(&answer, "renamed") == json!({"f:data": {"f:k": {}}}),
            "the new owner",
            &answer.json,
        )
    }),
    Check::new(AREA, "without a manager's name the user agent is taken", |cx| {
        cx.post(
            cx.core("configmaps")?,
            json!({"metadata": {"name": "a"}, "data": {"k": "v"}}),
        )
        .header("User-Agent", "some-client/1.2 (linux)")
        .expect(201)?
        .has(json!({"metadata": {"managedFields": [{"manager": "some-client", "operation": "Update"}]}}))?
        .done()
    }),
    Check::new(AREA, "an update's ownership includes the map it made", |cx| {
        cx.config_map("a")?
            .exactly(
                "/metadata/managedFields/0/fieldsV1",
                json!({"f:data": {".": {}, "f:key": {}}}),
            )?
            .done()
    }),
    Check::new(
        AREA,
        "an applied null is an empty value, which stays owned",
        |cx| {
            apply(cx, "one", json!({"k": "v", "l": "w"}))?.expect(201)?;
            let answer = apply(cx, "one", json!({"k": "v", "l": null}))?.expect(200)?;
            ensure(
                owned(&answer, "one") == json!({"f:data": {"f:k": {}, "f:l": {}}}),
                "both are owned",
                &answer.json,
            )?;
            answer.exactly("/data", json!({"k": "v", "l": ""}))?.done()
        },
    ),
];
