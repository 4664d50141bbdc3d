//! Creating objects: names, metadata the server fills in, and what it refuses.

use serde_json::json;

use crate::{Check, context::pod, failure::ensure};

const AREA: &str = "create";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        AREA,
        "a created object gets a uid, a time and a resource version",
        |cx| {
            cx.config_map("a")?
                .exactly(
                    "",
                    json!({
                        "kind": "ConfigMap", "apiVersion": "v1",
                        "metadata": {
                            "name": "a", "namespace": cx.namespace()?, "uid": "<uid>",
                            "resourceVersion": "<number>",
                            "creationTimestamp": "<time>", "managedFields": "<any>",
                        },
                        "data": {"key": "value"},
                    }),
                )?
                .done()
        },
    ),
    Check::new(AREA, "what was created is read back unchanged", |cx| {
        let made = cx.config_map("a")?;
        cx.get(cx.core("configmaps/a")?)
            .expect(200)?
            .exactly("", made.json)?
            .done()
    }),
    Check::new(AREA, "a second object of the same name is refused", |cx| {
        cx.config_map("a")?;
        cx.post(cx.core("configmaps")?, json!({"metadata": {"name": "a"}}))
            .refused(409, "AlreadyExists", "configmaps \"a\" already exists")?
            .exactly("/details", json!({"name": "a", "kind": "configmaps"}))?
            .done()
    }),
    Check::new(AREA, "generateName appends five characters", |cx| {
        let made = cx.create("v1", "configmaps", json!({"metadata": {"generateName": "made-"}}))?;
        let name = made.text("/metadata/name");
        let suffix = name.strip_prefix("made-").unwrap_or_default();
        let fits = suffix.len() == 5 && suffix.chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c));
        ensure(fits, "`made-` and five characters of the alphabet", &name)?;
        made.has(json!({"metadata": {"generateName": "made-"}}))?.done()
    }),
    Check::new(
        AREA,
        "a long generateName is cut before the characters are appended",
        |cx| {
            let prefix = "a".repeat(80);
            let made = cx.create("v1", "configmaps", json!({"metadata": {"generateName": prefix}}))?;
            let name = made.text("/metadata/name");
            ensure(
                name.len() == 63 && name.starts_with(&"a".repeat(58)),
                "58 characters and five more",
                name,
            )
        },
    ),
    Check::new(AREA, "a name wins over generateName", |cx| {
        let body = json!({"metadata": {"name": "chosen", "generateName": "made-"}});
        cx.create("v1", "configmaps", body)?
            .has(json!({"metadata": {"name": "chosen", "generateName": "made-"}}))?
            .done()
    }),
    Check::new(AREA, "an object without a name is refused", |cx| {
        cx.post(cx.core("configmaps")?, json!({"data": {}}))
            .refused(
                422,
                "Invalid",
                "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required",
            )?
            .exactly(
                "/details",
                json!({"kind": "ConfigMap", "causes": [{
                    "reason": "FieldValueRequired",
                    "message": "Required value: name or generateName is required",
                    "field": "metadata.name",
                }]}),
            )?
            .done()
    }),
    Check::new(
        AREA,
        "a name with capital letters is refused with the rule it breaks",
        |cx| {
            cx.post(cx.core("configmaps")?, json!({"metadata": {"name": "Bad_Name"}}))
                .invalid(&[(
                    "metadata.name",
                    "FieldValueInvalid",
                    "Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain must consist of lower case \
                 alphanumeric \
                 characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
                 'example.com', \
                 regex used for validation is \
                 '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                )])?
                .done()
        },
    ),
    Check::new(AREA, "a name of 254 characters is refused", |cx| {
        cx.post(
            cx.core("configmaps")?,
            json!({"metadata": {"name": "a".repeat(254)}}),
        )
        .invalid(&[(
            "metadata.name",
            "FieldValueInvalid",
            "Invalid value: \"{*}\": must be no more than 253 characters",
        )])?
        .done()
    }),
    Check::new(AREA, "a name of 253 characters is taken", |cx| {
        cx.create("v1", "configmaps", json!({"metadata": {"name": "a".repeat(253)}}))?
            .done()
    }),
    Check::new(AREA, "another namespace than the path's is refused", |cx| {
        cx.post(
            cx.core("configmaps")?,
            json!({"metadata": {"name": "a", "namespace": "elsewhere"}}),
        )
        .refused(
            400,
            "BadRequest",
            "the namespace of the provided object does not match the namespace sent on the request",
        )?
        .done()
    }),
    Check::new(
        AREA,
        "what belongs to no namespace loses the one it names",
        |cx| {
            cx.create_cluster(
                "scheduling.k8s.io/v1",
                "priorityclasses",
                json!({"metadata": {"name": cx.unique("placeless"), "namespace": "elsewhere"}, "value": 1}),
            )?
            .satisfies("no metadata.namespace", |answer| {
                answer.at("/metadata/namespace").is_null()
            })?
            .done()
        },
    ),
    Check::new(
        AREA,
        "an object in a namespace that does not exist is refused",
        |cx| {
            cx.post(
                "/api/v1/namespaces/no-such-namespace/configmaps",
                json!({"metadata": {"name": "a"}}),
            )
            .refused(404, "NotFound", "namespaces \"no-such-namespace\" not found")?
            .exactly(
                "/details",
                json!({"name": "no-such-namespace", "kind": "namespaces"}),
            )?
            .done()
        },
    ),
    Check::new(AREA, "another kind than the path's is refused", |cx| {
        cx.post(
            cx.core("configmaps")?,
            json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
            }),
        )
        .refused(
            400,
            "BadRequest",
            "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to \
                 (core.ConfigMap): \
                 unknown conversion",
        )?
        .done()
    }),
    Check::new(AREA, "another version than the path's is refused", |cx| {
        cx.post(
            cx.core("configmaps")?,
            json!({
                "apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"},
            }),
        )
        .refused(
            400,
            "BadRequest",
            "ConfigMap in version \"v2\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is \
                 registered for \
                 version \"v2\" in scheme \"pkg/runtime/scheme.go:110\"",
        )?
        .done()
    }),
    Check::new(AREA, "a resource version cannot be given", |cx| {
        cx.post(
            cx.core("configmaps")?,
            json!({"metadata": {"name": "a", "resourceVersion": "5"}}),
        )
        .expect(500)?
        .exactly(
            "",
            json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 500,
                "message": "resourceVersion should not be set on objects to be created",
            }),
        )?
        .done()
    }),
    Check::new(
        AREA,
        "a uid and a creation time of the client's are replaced",
        |cx| {
            let body = json!({"metadata": {
                "name": "a", "uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/x",
            }});
            let made = cx
                .create("v1", "configmaps", body)?
                .has(json!({"metadata": {"uid": "<uid>"}}))?;
            ensure(
                made.uid() != "mine" && !made.text("/metadata/creationTimestamp").starts_with("2001"),
                "new values",
                made.json,
            )
        },
    ),
    Check::new(AREA, "a deletion timestamp of the client's is dropped", |cx| {
        let body = json!({"metadata": {
            "name": "a", "deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5,
        }});
        cx.create("v1", "configmaps", body)?
            .has(json!({
                "metadata": {"deletionTimestamp": "<absent>", "deletionGracePeriodSeconds": "<absent>"},
            }))?
            .done()
    }),
    Check::new(AREA, "the status of a new object is the server's", |cx| {
        let mut body = pod("a");
        body["status"] = json!({"phase": "Running", "podIP": "1.2.3.4"});
        cx.create("v1", "pods", body)?
            .exactly("/status", json!({"phase": "Pending", "qosClass": "BestEffort"}))?
            .done()
    }),
    Check::new(AREA, "a kind with a spec starts at generation one", |cx| {
        let body = json!({
            "metadata": {"name": "a", "generation": 7},
            "spec": {
                "replicas": 0, "selector": {"matchLabels": {"app": "a"}},
                "template": {
                    "metadata": {"labels": {"app": "a"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            },
        });
        cx.create("apps/v1", "deployments", body)?
            .has(json!({"metadata": {"generation": 1}}))?
            .done()
    }),
    Check::new(AREA, "empty labels and annotations are left out", |cx| {
        cx.create(
            "v1",
            "configmaps",
            json!({"metadata": {"name": "a", "labels": {}, "annotations": null}, "data": {}}),
        )?
        .has(json!({"metadata": {"labels": "<absent>", "annotations": "<absent>"}, "data": "<absent>"}))?
        .done()
    }),
    Check::new(AREA, "binary data and text may not share a key", |cx| {
        let body = json!({"metadata": {"name": "a"}, "data": {"k": "v"}, "binaryData": {"k": "AAEC"}});
        cx.post(cx.core("configmaps")?, body)
            .invalid(&[(
                "data[k]",
                "FieldValueInvalid",
                "Invalid value: \"k\": duplicate of key present in binaryData",
            )])?
            .done()
    }),
    Check::new(AREA, "a secret's plain text is stored as base64", |cx| {
        cx.create(
            "v1",
            "secrets",
            json!({"metadata": {"name": "a"}, "stringData": {"password": "hunter2"}}),
        )?
        .has(json!({"type": "Opaque", "data": {"password": "aHVudGVyMg=="}, "stringData": "<absent>"}))?
        .done()
    }),
    Check::new(AREA, "a missing object is not found", |cx| {
        cx.get(cx.core("configmaps/nope")?)
            .refused(404, "NotFound", "configmaps \"nope\" not found")?
            .exactly("/details", json!({"name": "nope", "kind": "configmaps"}))?
            .done()
    }),
    Check::new(AREA, "a missing object of a group names the group", |cx| {
        cx.get(cx.in_group("apps/v1", "deployments/nope")?)
            .refused(404, "NotFound", "deployments.apps \"nope\" not found")?
            .exactly(
                "/details",
                json!({"name": "nope", "group": "apps", "kind": "deployments"}),
            )?
            .done()
    }),
    Check::new(
        AREA,
        "an object in a missing namespace is not found like any other",
        |cx| {
            cx.get("/api/v1/namespaces/no-such-namespace/configmaps/a")
                .refused(404, "NotFound", "configmaps \"a\" not found")?
                .done()
        },
    ),
    Check::new(AREA, "a number where a text is due is refused", |cx| {
        cx.post(
            cx.core("configmaps")?,
            json!({"metadata": {"name": "a"}, "data": {"port": 80}}),
        )
        .refused(
            400,
            "BadRequest",
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal number \
                 into Go \
                 struct field ConfigMap.data of type string",
        )?
        .done()
    }),
];
