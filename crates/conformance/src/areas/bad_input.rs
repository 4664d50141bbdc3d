//! What no well-behaved client sends.

use serde_json::{Value, json};

use crate::Check;

const AREA: &str = "bad input";

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "an empty body is refused", |cx| {
        cx.request("POST", cx.core("configmaps")?)
            .bytes("application/json", "")
            .refused(
                400,
                "BadRequest",
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; \
                 json \
                 parse error: unexpected end of JSON input (<empty>)",
            )?
            .done()
    }),
    Check::new(AREA, "JSON that ends too early is refused", |cx| {
        cx.request("POST", cx.core("configmaps")?)
            .bytes("application/json", r#"{"metadata":{"name":"a""#)
            .refused(
                400,
                "BadRequest",
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; \
                 json \
                 parse error: unexpected end of JSON input ({\"metadata\":{\"name\":\"a\")",
            )?
            .done()
    }),
    Check::new(AREA, "JSON that is no object is refused", |cx| {
        cx.request("POST", cx.core("configmaps")?)
            .bytes("application/json", "[]")
            .refused(
                400,
                "BadRequest",
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; \
                 json \
                 parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string \
                 \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" } (5b5d)",
            )?
            .done()
    }),
    Check::new(AREA, "JSON with something behind it is refused", |cx| {
        cx.request("POST", cx.core("configmaps")?)
            .bytes("application/json", r#"{"metadata":{"name":"a"}} extra"#)
            .refused(
                400,
                "BadRequest",
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; \
                 json \
                 parse error: invalid character 'e' after top-level value ({\"metadata\":{\"name\":\"a\"}} \
                 extr \
                 ...)",
            )?
            .done()
    }),
    Check::new(AREA, "broken YAML is refused", |cx| {
        cx.request("POST", cx.core("configmaps")?)
            .bytes("application/yaml", "a: b: c\n")
            .refused(
                400,
                "BadRequest",
                "the object provided is unrecognized (must be of type ConfigMap): yaml: mapping values are \
                 not \
                 allowed in this context (613a20623a20630a)",
            )?
            .done()
    }),
    Check::new(AREA, "YAML that cannot be JSON is refused", |cx| {
        for (text, problem) in [
            ("a: .inf", "json: unsupported value: +Inf (613a202e696e66)"),
            ("a: -.inf", "json: unsupported value: -Inf (613a202d2e696e66)"),
            ("a: .nan", "json: unsupported value: NaN (613a202e6e616e)"),
            (
                "null: a",
                "unsupported map key of type: %!s(<nil>), key: <nil>, value: \"a\" (6e756c6c3a2061)",
            ),
        ] {
            let message =
                format!("the object provided is unrecognized (must be of type ConfigMap): {problem}");
            cx.request("POST", cx.core("configmaps")?)
                .bytes("application/yaml", text)
                .refused(400, "BadRequest", &message)?;
        }
        Ok(())
    }),
    Check::new(
        AREA,
        "a version may have the slash of a group it does not have",
        |cx| {
            let made = json!({"apiVersion": "/v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
            cx.post(cx.core("configmaps")?, made)
                .expect(201)?
                .has(json!({"apiVersion": "v1", "kind": "ConfigMap"}))?;
            cx.merge_patch(cx.core("configmaps/a")?, json!({"apiVersion": "/v1"}))
                .expect(200)?;
            let group = "{\"apiVersion\":\"v1/\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"b\"}}";
            let message = format!(
                "ConfigMap in version \"\" cannot be handled as a ConfigMap: Object 'apiVersion' is missing in '{group}'"
            );
            cx.request("POST", cx.core("configmaps")?)
                .bytes("application/json", group)
                .refused(400, "BadRequest", &message)?
                .done()
        },
    ),
    Check::new(AREA, "a text where an object is due is refused", |cx| {
        cx.post(cx.core("configmaps")?, json!({"metadata": "a"}))
            .refused(
                400,
                "BadRequest",
                "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal string \
                 into \
                 Go struct field ConfigMap.metadata of type v1.ObjectMeta",
            )?
            .done()
    }),
    Check::new(AREA, "a text where a number is due is refused", |cx| {
        let body = json!({"metadata": {"name": "a"}, "spec": {"replicas": "three"}});
        cx.post(cx.in_group("apps/v1", "deployments")?, body)
            .refused(
                400,
                "BadRequest",
                "Deployment in version \"v1\" cannot be handled as a Deployment: json: cannot unmarshal \
                 string \
                 into Go struct field DeploymentSpec.spec.replicas of type int32",
            )?
            .done()
    }),
    Check::new(AREA, "a number too large for its field is refused", |cx| {
        let body = json!({"metadata": {"name": "a"}, "spec": {"replicas": 99_999_999_999_u64}});
        cx.post(cx.in_group("apps/v1", "deployments")?, body)
            .refused(
                400,
                "BadRequest",
                "Deployment in version \"v1\" cannot be handled as a Deployment: json: cannot unmarshal \
                 number \
                 99999999999 into Go struct field DeploymentSpec.spec.replicas of type int32",
            )?
            .done()
    }),
    Check::new(AREA, "a fraction where a whole number is due is refused", |cx| {
        let body = json!({"metadata": {"name": "a"}, "spec": {"replicas": 1.5}});
        cx.post(cx.in_group("apps/v1", "deployments")?, body)
            .refused(
                400,
                "BadRequest",
                "Deployment in version \"v1\" cannot be handled as a Deployment: json: cannot unmarshal \
                 number 1.5 \
                 into Go struct field DeploymentSpec.spec.replicas of type int32",
            )?
            .done()
    }),
    Check::new(AREA, "a quantity that is none is refused", |cx| {
        let resources = json!({"requests": {"cpu": "much"}});
        let body = json!({
            "metadata": {"name": "a"},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]},
        });
        cx.post(cx.core("pods")?, body)
            .refused(
                400,
                "BadRequest",
                "Pod in version \"v1\" cannot be handled as a Pod: quantities must match the regular \
                 expression \
                 '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            )?
            .done()
    }),
    Check::new(AREA, "a time that is none is refused", |cx| {
        let body = json!({"metadata": {"name": "a", "creationTimestamp": "yesterday"}});
        cx.post(cx.core("configmaps")?, body)
            .refused(
                400,
                "BadRequest",
                "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: parsing time \"yesterday\" as \
                 \"2006-01-02T15:04:05Z07:00\": cannot parse \"yesterday\" as \"2006\"",
            )?
            .done()
    }),
    Check::new(AREA, "base64 that is none is refused", |cx| {
        cx.post(
            cx.core("secrets")?,
            json!({"metadata": {"name": "a"}, "data": {"k": "%%%"}}),
        )
        .refused(
            400,
            "BadRequest",
            "Secret in version \"v1\" cannot be handled as a Secret: illegal base64 data at input byte 0",
        )?
        .done()
    }),
    Check::new(AREA, "a body over three megabytes is refused", |cx| {
        let body = format!(
            r#"{{"metadata":{{"name":"a"}},"data":{{"k":"{}"}}}}"#,
            "x".repeat(3 * 1024 * 1024)
        );
        cx.request("POST", cx.core("configmaps")?)
            .bytes("application/json", body)
            .refused(
                413,
                "RequestEntityTooLarge",
                "Request entity too large: limit is 3145728",
            )?
            .done()
    }),
    Check::new(AREA, "a config map over a megabyte is refused", |cx| {
        cx.post(
            cx.core("configmaps")?,
            json!({"metadata": {"name": "a"}, "data": {"k": "x".repeat(1024 * 1024 + 1)}}),
        )
        .invalid(&[(
            "[]",
            "FieldValueTooLong",
            "Too long: may not be more than 1048576 bytes",
        )])?
        .done()
    }),
    Check::new(AREA, "annotations over 256 kilobytes are refused", |cx| {
        let annotations = json!({"k": "x".repeat(256 * 1024)});
        cx.post(
            cx.core("configmaps")?,
            json!({"metadata": {"name": "a", "annotations": annotations}}),
        )
        .invalid(&[(
            "metadata.annotations",
            "FieldValueTooLong",
            "Too long: may not be more than 262144 bytes",
        )])?
        .done()
    }),
    Check::new(AREA, "nesting without end is refused", |cx| {
        let body = format!(
            r#"{{"metadata":{{"name":"a"}},"x":{}{}}}"#,
            "[".repeat(20_000),
            "]".repeat(20_000)
        );
        cx.request("POST", cx.core("configmaps")?)
            .bytes("application/json", body)
            .refused(
                400,
                "BadRequest",
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; \
                 json parse error: \
                 invalid character '[' exceeded max depth ({\"metadata\":{\"name\":\"a\"},\"x\":[ ...)",
            )?
            .done()
    }),
    Check::new(AREA, "text that is not UTF-8 is repaired", |cx| {
        cx.request("POST", cx.core("configmaps")?)
            .bytes(
                "application/json",
                b"{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"\xff\"}}".to_vec(),
            )
            .expect(201)?
            .exactly("/data", json!({"k": "\u{fffd}"}))?
            .done()
    }),
    Check::new(AREA, "a null for every field is an empty object", |cx| {
        cx.post(
            cx.core("configmaps")?,
            json!({"metadata": {"name": "a", "labels": null, "finalizers": null}, "data": null}),
        )
        .expect(201)?
        .has(json!({"data": "<absent>"}))?
        .done()
    }),
    Check::new(AREA, "a method nobody knows is not allowed", |cx| {
        cx.request("BREW", cx.core("configmaps")?)
            .refused(
                405,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource",
            )?
            .done()
    }),
    Check::new(AREA, "an object cannot be posted to", |cx| {
        cx.config_map("a")?;
        cx.post(cx.core("configmaps/a")?, json!({}))
            .refused(
                405,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource",
            )?
            .exactly("/details", json!({}))?
            .done()
    }),
    Check::new(AREA, "a collection cannot be replaced", |cx| {
        cx.put(cx.core("configmaps")?, json!({}))
            .refused(
                405,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource",
            )?
            .done()
    }),
    Check::new(AREA, "a collection cannot be patched", |cx| {
        cx.merge_patch(cx.core("configmaps")?, json!({}))
            .refused(
                405,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource",
            )?
            .done()
    }),
    Check::new(
        AREA,
        "a namespaced object cannot be created outside a namespace",
        |cx| {
            cx.post("/api/v1/configmaps", json!({"metadata": {"name": "a"}}))
                .refused(
                    405,
                    "MethodNotAllowed",
                    "the server does not allow this method on the requested resource",
                )?
                .done()
        },
    ),
    Check::new(AREA, "an unknown resource is not found", |cx| {
        cx.get(cx.core("nonsense")?)
            .refused(
                404,
                "NotFound",
                "the server could not find the requested resource",
            )?
            .exactly("/details", json!({}))?
            .done()
    }),
    Check::new(AREA, "a path of nothing is not found", |cx| {
        cx.get("/nonsense")
            .expect(404)?
            .satisfies("plain text", |answer| {
                answer.body_text() == "404 page not found\n"
            })?
            .done()
    }),
    Check::new(AREA, "a slash at the end of a collection is passed over", |cx| {
        cx.get(format!("{}/", cx.core("secrets")?))
            .expect(200)?
            .has(json!({"kind": "SecretList"}))?
            .done()
    }),
    Check::new(AREA, "an absurdly long selector is taken", |cx| {
        let selector = format!("a in ({})", vec!["b"; 3000].join(","));
        cx.get(cx.core("secrets")?)
            .query("labelSelector", selector)
            .expect(200)?
            .lists(&[])?
            .done()
    }),
    Check::new(AREA, "a name may not go up in the path", |cx| {
        cx.get(cx.core("configmaps/..%2fsecrets")?)
            .refused(
                404,
                "NotFound",
                "the server could not find the requested resource",
            )?
            .done()
    }),
    Check::new(AREA, "a name with a percent sign is refused", |cx| {
        cx.put(cx.core("configmaps/a%25b")?, json!({"metadata": {"name": "a%b"}}))
            .refused(
                400,
                "BadRequest",
                "Name parameter invalid: \"a%b\": may not contain '%'",
            )?
            .done()
    }),
    Check::new(
        AREA,
        "a version of an unknown group in the body is refused",
        |cx| {
            cx.post(
                cx.core("configmaps")?,
                json!({
                    "apiVersion": "nope.example.com/v1", "kind": "ConfigMap", "metadata": {"name": "a"},
                }),
            )
            .refused(
                400,
                "BadRequest",
                "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is \
                 registered \
                 for version \"nope.example.com/v1\" in scheme \"pkg/runtime/scheme.go:110\"",
            )?
            .done()
        },
    ),
    Check::new(AREA, "a version that is none is refused", |cx| {
        cx.post(
            cx.core("configmaps")?,
            json!({
                "apiVersion": "a/b/c", "kind": "ConfigMap", "metadata": {"name": "a"},
            }),
        )
        .refused(
            400,
            "BadRequest",
            "the object provided is unrecognized (must be of type ConfigMap): unexpected GroupVersion \
                 string: a/b/c \
                 ({\"apiVersion\":\"a/b/c\",\"kind\":\" ...)",
        )?
        .done()
    }),
    Check::new(AREA, "a boolean that is none is true", |cx| {
        cx.get(cx.core("secrets")?)
            .query("allowWatchBookmarks", "maybe")
            .query("watch", "true")
            .query("timeoutSeconds", 1)
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "a kind of a number is refused", |cx| {
        let body: Value = json!({"apiVersion": "v1", "kind": 5, "metadata": {"name": "a"}});
        cx.post(cx.core("configmaps")?, body)
            .refused(
                400,
                "BadRequest",
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; \
                 json parse error: \
                 json: cannot unmarshal number into Go struct field .kind of type string \
                 ({\"apiVersion\":\"v1\",\"kind\":5,\"m ...)",
            )?
            .done()
    }),
];
