//! Patches: JSON patch, merge patch and strategic merge patch.

use serde_json::{Value, json};

use crate::{Check, Context, Outcome, answer::Answer, failure::ensure};

const AREA: &str = "patch";

/// A deployment with two containers, that runs nothing.
fn deployment(cx: &Context<'_>) -> Outcome<String> {
    let containers = json!([
        {"name": "one", "image": "first:1", "env": [{"name": "A", "value": "1"}], "args": ["x", "y"],
            "ports": [{"containerPort": 80}]},
        {"name": "two", "image": "second:1"},
    ]);
    let template = json!({
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": containers, "volumes": [{"name": "v", "emptyDir": {}}]},
    });
    let spec = json!({"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": template});
    cx.create(
        "apps/v1",
        "deployments",
        json!({"metadata": {"name": "a"}, "spec": spec}),
    )?;
    cx.in_group("apps/v1", "deployments/a")
}

/// The deployment after a strategic merge of its pod's spec.
fn after(cx: &Context<'_>, pod_spec: Value) -> Outcome<Answer> {
    cx.strategic_patch(deployment(cx)?, json!({"spec": {"template": {"spec": pod_spec}}}))
        .expect(200)
}

/// Applies a JSON patch to a config map with `data.key: value`.
fn json_patched(cx: &Context<'_>, patch: Value) -> Outcome<Answer> {
    cx.config_map("a")?;
    cx.json_patch(cx.core("configmaps/a")?, patch).send()
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "a JSON patch adds, replaces and removes", |cx| {
        let patch = json!([
            {"op": "add", "path": "/data/new", "value": "1"},
            {"op": "replace", "path": "/data/key", "value": "2"},
            {"op": "copy", "from": "/data/new", "path": "/data/copied"},
            {"op": "move", "from": "/data/key", "path": "/data/moved"},
            {"op": "remove", "path": "/data/new"},
        ]);
        json_patched(cx, patch)?
            .expect(200)?
            .exactly("/data", json!({"copied": "1", "moved": "2"}))?
            .done()
    }),
    Check::new(AREA, "a merge patch does not make it another kind", |cx| {
        cx.config_map("a")?;
        for (patch, problem) in [
            (
                json!({"kind": "Other"}),
                "no kind \"Other\" is registered for version \"v1\" in scheme {*}",
            ),
            (
                json!({"kind": "Namespace"}),
                "converting (v1.Namespace) to (core.ConfigMap): unknown conversion",
            ),
            (
                json!({"apiVersion": "a/b/c"}),
                "unexpected GroupVersion string: a/b/c",
            ),
        ] {
            cx.merge_patch(cx.core("configmaps/a")?, patch)
                .expect(422)?
                .has(json!({
                    "reason": "Invalid",
                    "message": format!(" \"\" is invalid: patch: Invalid value: {{*}}: {problem}"),
                }))?;
        }
        cx.merge_patch(cx.core("configmaps/a")?, json!({"kind": null}))
            .expect(200)?
            .has(json!({"kind": "ConfigMap"}))?
            .done()
    }),
    Check::new(AREA, "a strategic patch has no say in the kind", |cx| {
        cx.config_map("a")?;
        let patch = json!({"kind": "Other", "apiVersion": "other/v1"});
        cx.strategic_patch(cx.core("configmaps/a")?, patch)
            .expect(200)?
            .has(json!({"kind": "ConfigMap", "apiVersion": "v1"}))?
            .done()
    }),
    Check::new(AREA, "a JSON patch whose test holds is applied", |cx| {
        let patch = json!([
            {"op": "test", "path": "/data/key", "value": "value"},
            {"op": "add", "path": "/data/x", "value": "1"},
        ]);
        json_patched(cx, patch)?
            .expect(200)?
            .has(json!({"data": {"x": "1"}}))?
            .done()
    }),
    Check::new(AREA, "a JSON patch whose test fails is refused", |cx| {
        json_patched(cx, json!([{"op": "test", "path": "/data/key", "value": "other"}]))?
            .fails_with(
                422,
                "Invalid",
                "the server rejected our request due to an error in our request",
            )?
            .exactly("/details", json!({}))?
            .done()
    }),
    Check::new(
        AREA,
        "a JSON patch may test that a path is missing, by null",
        |cx| {
            let patch = json!([
                {"op": "test", "path": "/metadata/finalizers", "value": null},
                {"op": "add", "path": "/metadata/finalizers", "value": ["example.com/hold"]},
                {"op": "remove", "path": "/metadata/finalizers"},
            ]);
            json_patched(cx, patch)?.expect(200)?.done()
        },
    ),
    Check::new(AREA, "a JSON patch into a missing parent is refused", |cx| {
        json_patched(cx, json!([{"op": "add", "path": "/missing/child", "value": "1"}]))?
            .fails_with(
                422,
                "Invalid",
                "the server rejected our request due to an error in our request",
            )?
            .done()
    }),
    Check::new(
        AREA,
        "a JSON patch that removes what is missing is refused",
        |cx| {
            json_patched(cx, json!([{"op": "remove", "path": "/data/missing"}]))?
                .fails_with(
                    422,
                    "Invalid",
                    "the server rejected our request due to an error in our request",
                )?
                .done()
        },
    ),
    Check::new(AREA, "a JSON patch with an unknown operation is refused", |cx| {
        json_patched(cx, json!([{"op": "twist", "path": "/data/key"}]))?
            .fails_with(
                422,
                "Invalid",
                "the server rejected our request due to an error in our request",
            )?
            .done()
    }),
    Check::new(AREA, "a JSON patch that is no list is refused", |cx| {
        json_patched(cx, json!({"op": "add"}))?
            .fails_with(
                400,
                "BadRequest",
                "error decoding patch: json: cannot unmarshal object into Go value of type \
             []handlers.jsonPatchOp",
            )?
            .done()
    }),
    Check::new(AREA, "a JSON patch appends to a list with a dash", |cx| {
        let patch = json!([
            {"op": "add", "path": "/metadata/finalizers", "value": ["example.com/a"]},
            {"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/b"},
        ]);
        json_patched(cx, patch)?
            .expect(200)?
            .exactly("/metadata/finalizers", json!(["example.com/a", "example.com/b"]))?;
        let empty = json!([{"op": "replace", "path": "/metadata/finalizers", "value": []}]);
        cx.json_patch(cx.core("configmaps/a")?, empty).expect(200)?.done()
    }),
    Check::new(AREA, "a JSON patch reads escaped slashes and tildes", |cx| {
        let patch = json!([
            {"op": "add", "path": "/metadata/annotations", "value": {}},
            {"op": "add", "path": "/metadata/annotations/example.com~1name", "value": "1"},
        ]);
        json_patched(cx, patch)?
            .expect(200)?
            .exactly("/metadata/annotations", json!({"example.com/name": "1"}))?
            .done()
    }),
    Check::new(AREA, "an empty JSON patch changes nothing", |cx| {
        let made = cx.config_map("a")?;
        cx.json_patch(cx.core("configmaps/a")?, json!([]))
            .expect(200)?
            .has(json!({"metadata": {"resourceVersion": made.resource_version()}}))?
            .done()
    }),
    Check::new(
        AREA,
        "a JSON patch of more than ten thousand operations is refused",
        |cx| {
            let operations: Vec<Value> = vec![json!({"op": "add", "path": "/data/k", "value": "v"}); 10_001];
            json_patched(cx, Value::from(operations))?
                .fails_with(
                    413,
                    "RequestEntityTooLarge",
                    "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got \
                 10001",
                )?
                .done()
        },
    ),
    Check::new(AREA, "a merge patch merges maps and removes by null", |cx| {
        cx.config_map("a")?;
        cx.merge_patch(cx.core("configmaps/a")?, json!({"data": {"key": null, "x": "1"}}))
            .expect(200)?
            .exactly("/data", json!({"x": "1"}))?
            .done()
    }),
    Check::new(AREA, "a merge patch replaces lists", |cx| {
        let path = deployment(cx)?;
        let containers = json!([{"name": "three", "image": "third:1"}]);
        cx.merge_patch(
            path,
            json!({"spec": {"template": {"spec": {"containers": containers}}}}),
        )
        .expect(200)?
        .has(json!({"spec": {"template": {"spec": {"containers": [{"name": "three"}]}}}}))?
        .done()
    }),
    Check::new(AREA, "a merge patch that is no object is refused", |cx| {
        cx.config_map("a")?;
        cx.merge_patch(cx.core("configmaps/a")?, json!(["x"]))
            .refused(
                400,
                "BadRequest",
                "error decoding patch: json: cannot unmarshal array into Go value of type \
                 map[string]interface {}",
            )?
            .done()
    }),
    Check::new(AREA, "a merge patch that is not JSON is refused", |cx| {
        cx.config_map("a")?;
        cx.request("PATCH", cx.core("configmaps/a")?)
            .bytes("application/merge-patch+json", "{broken")
            .refused(
                400,
                "BadRequest",
                "error decoding patch: invalid character 'b' looking for beginning of object key string",
            )?
            .done()
    }),
    Check::new(AREA, "a patch with a stale version is a conflict", |cx| {
        let made = cx.config_map("a")?;
        cx.merge_patch(cx.core("configmaps/a")?, json!({"data": {"x": "1"}}))
            .expect(200)?;
        let patch = json!({"metadata": {"resourceVersion": made.resource_version()}, "data": {"x": "2"}});
        cx.merge_patch(cx.core("configmaps/a")?, patch)
            .refused(
                409,
                "Conflict",
                "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please \
                 apply your \
                 changes to the latest version and try again",
            )?
            .done()
    }),
    Check::new(AREA, "a patch that changes nothing keeps the version", |cx| {
        let made = cx.config_map("a")?;
        cx.merge_patch(cx.core("configmaps/a")?, json!({"data": {"key": "value"}}))
            .expect(200)?
            .has(json!({"metadata": {"resourceVersion": made.resource_version()}}))?
            .done()
    }),
    Check::new(AREA, "a patch of a missing object is not found", |cx| {
        cx.merge_patch(cx.core("configmaps/nope")?, json!({}))
            .refused(404, "NotFound", "configmaps \"nope\" not found")?
            .done()
    }),
    Check::new(AREA, "a patch cannot change the name", |cx| {
        cx.config_map("a")?;
        cx.merge_patch(cx.core("configmaps/a")?, json!({"metadata": {"name": "b"}}))
            .refused(
                400,
                "BadRequest",
                "the name of the object (b) does not match the name on the URL (a)",
            )?
            .done()
    }),
    Check::new(
        AREA,
        "a patch that leaves an invalid object is refused as one",
        |cx| {
            let path = deployment(cx)?;
            cx.merge_patch(path, json!({"spec": {"replicas": -1}}))
                .invalid(&[(
                    "spec.replicas",
                    "FieldValueInvalid",
                    "Invalid value: -1: must be greater than or equal to 0",
                )])?
                .done()
        },
    ),
    Check::new(AREA, "an unknown patch type is refused", |cx| {
        cx.config_map("a")?;
        cx.request("PATCH", cx.core("configmaps/a")?)
            .bytes("application/json", "{}")
            .refused(415, "UnsupportedMediaType", "415: Unsupported Media Type")?
            .done()
    }),
    Check::new(AREA, "a patch type may have parameters", |cx| {
        cx.config_map("a")?;
        cx.request("PATCH", cx.core("configmaps/a")?)
            .bytes(
                "application/merge-patch+json; charset=utf-8",
                r#"{"data":{"x":"1"}}"#,
            )
            .expect(200)?
            .has(json!({"data": {"x": "1"}}))?
            .done()
    }),
    Check::new(AREA, "a strategic merge finds containers by name", |cx| {
        after(cx, json!({"containers": [{"name": "two", "image": "second:2"}]}))?
            .has(json!({"spec": {"template": {"spec": {"containers": [
                {"name": "one", "image": "first:1"}, {"name": "two", "image": "second:2"},
            ]}}}}))?
            .done()
    }),
    Check::new(
        AREA,
        "a strategic merge adds a container it does not find in front",
        |cx| {
            let answer = after(cx, json!({"containers": [{"name": "three", "image": "third:1"}]}))?;
            let names: Vec<&str> = answer
                .at("/spec/template/spec/containers")
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|container| container["name"].as_str())
                .collect();
            ensure(
                names == ["three", "one", "two"],
                "three, one, two",
                format!("{names:?}"),
            )
        },
    ),
    Check::new(AREA, "a strategic merge removes a container by directive", |cx| {
        after(cx, json!({"containers": [{"name": "one", "$patch": "delete"}]}))?
            .has(json!({"spec": {"template": {"spec": {"containers": [{"name": "two"}]}}}}))?
            .done()
    }),
    Check::new(
        AREA,
        "a strategic merge replaces a whole list by directive",
        |cx| {
            after(
                cx,
                json!({"containers": [{"$patch": "replace"}, {"name": "new", "image": "new:1"}]}),
            )?
            .has(json!({"spec": {"template": {"spec": {"containers": [{"name": "new"}]}}}}))?
            .done()
        },
    ),
    Check::new(AREA, "a strategic merge replaces a map by directive", |cx| {
        let path = deployment(cx)?;
        cx.strategic_patch(&path, json!({"metadata": {"annotations": {"a": "1", "b": "2"}}}))
            .expect(200)?;
        cx.strategic_patch(
            &path,
            json!({"metadata": {"annotations": {"$patch": "replace", "c": "3"}}}),
        )
        .expect(200)?
        .exactly("/metadata/annotations", json!({"c": "3"}))?
        .done()
    }),
    Check::new(AREA, "a strategic merge orders elements by directive", |cx| {
        let patch = json!({
            "$setElementOrder/containers": [{"name": "two"}, {"name": "one"}],
            "containers": [{"name": "two", "image": "second:2"}],
        });
        after(cx, patch)?
            .has(json!({"spec": {"template": {"spec": {"containers": [{"name": "two"}, {"name": "one"}]}}}}))?
            .done()
    }),
    Check::new(
        AREA,
        "a strategic merge removes plain values by directive",
        |cx| {
            let path = cx.core("configmaps/a")?;
            let finalizers = json!(["example.com/a", "example.com/b"]);
            cx.create(
                "v1",
                "configmaps",
                json!({"metadata": {"name": "a", "finalizers": finalizers}}),
            )?;
            cx.strategic_patch(
                &path,
                json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}),
            )
            .expect(200)?
            .exactly("/metadata/finalizers", json!(["example.com/b"]))?;
            cx.merge_patch(&path, json!({"metadata": {"finalizers": null}}))
                .expect(200)?
                .done()
        },
    ),
    Check::new(AREA, "a strategic merge puts plain values in front", |cx| {
        let path = cx.core("configmaps/a")?;
        cx.create(
            "v1",
            "configmaps",
            json!({"metadata": {"name": "a", "finalizers": ["example.com/a"]}}),
        )?;
        cx.strategic_patch(&path, json!({"metadata": {"finalizers": ["example.com/b"]}}))
            .expect(200)?
            .exactly("/metadata/finalizers", json!(["example.com/b", "example.com/a"]))?;
        cx.merge_patch(&path, json!({"metadata": {"finalizers": null}}))
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "a strategic merge replaces lists without a key", |cx| {
        after(cx, json!({"containers": [{"name": "one", "args": ["z"]}]}))?
            .exactly("/spec/template/spec/containers/0/args", json!(["z"]))?
            .done()
    }),
    Check::new(
        AREA,
        "a strategic merge keeps only the named keys by directive",
        |cx| {
            let patch = json!({
                "volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}],
            });
            after(cx, patch)?
                .exactly(
                    "/spec/template/spec/volumes",
                    json!([{"name": "v", "hostPath": {"path": "/x", "type": ""}}]),
                )?
                .done()
        },
    ),
    Check::new(
        AREA,
        "a strategic merge finds ports by number, environment by name",
        |cx| {
            let one = json!({
                "name": "one", "ports": [{"containerPort": 80, "name": "web"}],
                "env": [{"name": "A", "value": "2"}],
            });
            after(cx, json!({"containers": [one]}))?
                .exactly(
                    "/spec/template/spec/containers/0/ports",
                    json!([{"name": "web", "containerPort": 80, "protocol": "TCP"}]),
                )?
                .exactly(
                    "/spec/template/spec/containers/0/env",
                    json!([{"name": "A", "value": "2"}]),
                )?
                .done()
        },
    ),
    Check::new(AREA, "a strategic merge removes a field by null", |cx| {
        after(cx, json!({"containers": [{"name": "one", "env": null}]}))?
            .has(json!({"spec": {"template": {"spec": {"containers": [{"env": "<absent>"}, {}]}}}}))?
            .done()
    }),
    Check::new(
        AREA,
        "a strategic merge with an unknown directive is refused",
        |cx| {
            let path = deployment(cx)?;
            cx.strategic_patch(
                path,
                json!({
                    "spec": {"template": {"spec": {"containers": [{"name": "one", "$patch": "twist"}]}}},
                }),
            )
            .expect(500)?
            .has(json!({
                "message": "unknown patch type: twist in map: map[$patch:twist name:one]",
                "reason": "<absent>",
            }))?
            .done()
        },
    ),
    Check::new(
        AREA,
        "a strategic merge of an element without its key is refused",
        |cx| {
            let path = deployment(cx)?;
            cx.strategic_patch(
                path,
                json!({"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}}),
            )
            .expect(500)?
            .has(json!({"message": "map: map[image:x] does not contain declared merge key: name"}))?
            .done()
        },
    ),
    Check::new(AREA, "a patch may carry unknown fields, with a warning", |cx| {
        cx.config_map("a")?;
        cx.merge_patch(
            cx.core("configmaps/a")?,
            json!({"nonsense": 1, "data": {"x": "1"}}),
        )
        .expect(200)?
        .warns(&["unknown field \"nonsense\""])?
        .has(json!({"nonsense": "<absent>", "data": {"x": "1"}}))?
        .done()
    }),
    Check::new(AREA, "a patch sets who manages the fields", |cx| {
        cx.config_map("a")?;
        cx.merge_patch(cx.core("configmaps/a")?, json!({"data": {"x": "1"}}))
            .query("fieldManager", "patcher")
            .expect(200)?
            .has(json!({"metadata": {"managedFields": ["<includes>", {
                "manager": "patcher", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                "fieldsV1": {"f:data": {"f:x": {}}},
            }]}}))?
            .done()
    }),
    Check::new(AREA, "force is for apply only", |cx| {
        cx.config_map("a")?;
        cx.merge_patch(cx.core("configmaps/a")?, json!({}))
            .query("force", "true")
            .invalid(&[(
                "force",
                "FieldValueForbidden",
                "Forbidden: may not be specified for non-apply patch",
            )])?
            .has(json!({"details": {"group": "meta.k8s.io", "kind": "PatchOptions"}}))?
            .done()
    }),
];
