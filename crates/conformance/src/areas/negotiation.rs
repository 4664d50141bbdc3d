//! Content types: what bodies may be, and what answers can be.

use serde_json::json;

use crate::{Check, failure::ensure};

const AREA: &str = "negotiation";

const BODY: &str = r#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#;

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "a body without a content type is JSON", |cx| {
        cx.request("POST", cx.core("configmaps")?)
            .untyped(BODY)
            .expect(201)?
            .has(json!({"data": {"k": "v"}}))?
            .done()
    }),
    Check::new(AREA, "a body without version and kind is of the path's", |cx| {
        cx.request("POST", cx.core("configmaps")?)
            .bytes("application/json", BODY)
            .expect(201)?
            .has(json!({"apiVersion": "v1", "kind": "ConfigMap"}))?
            .done()
    }),
    Check::new(AREA, "a content type may name its characters", |cx| {
        cx.request("POST", cx.core("configmaps")?)
            .bytes("application/json; charset=utf-8", BODY)
            .expect(201)?
            .done()
    }),
    Check::new(AREA, "a body may be YAML", |cx| {
        cx.request("POST", cx.core("configmaps")?)
            .bytes("application/yaml", "metadata:\n  name: a\ndata:\n  k: v\n")
            .expect(201)?
            .exactly("/data", json!({"k": "v"}))?
            .done()
    }),
    Check::new(AREA, "a YAML body may be JSON in truth", |cx| {
        cx.request("POST", cx.core("configmaps")?)
            .bytes("application/yaml", BODY)
            .expect(201)?
            .done()
    }),
    Check::new(AREA, "a body of another type is refused", |cx| {
        cx.request("POST", cx.core("configmaps")?)
            .bytes("text/plain", BODY)
            .refused(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json, \
                 application/yaml, application/vnd.kubernetes.protobuf",
            )?
            .done()
    }),
    Check::new(AREA, "a JSON body that is not JSON is refused", |cx| {
        cx.request("POST", cx.core("configmaps")?)
            .bytes("application/json", "{broken")
            .refused(
                400,
                "BadRequest",
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; \
                 json parse error: \
                 invalid character 'b' looking for beginning of object key string ({broken)",
            )?
            .done()
    }),
    Check::new(AREA, "an answer may be YAML", |cx| {
        cx.config_map("a")?;
        cx.get(cx.core("configmaps/a")?)
            .accept("application/yaml")
            .expect(200)?
            .has_header("content-type", "application/yaml")?
            .satisfies("YAML", |answer| {
                let text = answer.body_text();
                text.starts_with("apiVersion: v1\ndata:\n  key: value\nkind: ConfigMap\nmetadata:\n")
            })?
            .done()
    }),
    Check::new(AREA, "any answer will do", |cx| {
        cx.config_map("a")?;
        for accept in ["*/*", "text/html, */*;q=0.8"] {
            cx.get(cx.core("configmaps/a")?)
                .accept(accept)
                .expect(200)?
                .has_header("content-type", "application/json")?;
        }
        Ok(())
    }),
    Check::new(AREA, "the first type that is known is taken", |cx| {
        cx.config_map("a")?;
        cx.get(cx.core("configmaps/a")?)
            .accept("application/nonsense, application/json")
            .expect(200)?
            .has_header("content-type", "application/json")?
            .done()
    }),
    Check::new(
        AREA,
        "an unknown type of answer is refused with those that are known",
        |cx| {
            cx.get(cx.core("configmaps")?)
                .accept("application/nonsense")
                .refused(
                    406,
                    "NotAcceptable",
                    "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, {*}",
                )?
                .done()
        },
    ),
    Check::new(AREA, "an unknown view of an object is refused", |cx| {
        cx.config_map("a")?;
        cx.get(cx.core("configmaps/a")?)
            .accept("application/json;as=Nonsense;g=meta.k8s.io;v=v1")
            .refused(
                406,
                "NotAcceptable",
                "only the following media types are accepted: application/json, application/yaml{*}",
            )?
            .done()
    }),
    Check::new(AREA, "a list cannot be seen as one object's metadata", |cx| {
        cx.config_map("a")?;
        cx.get(cx.core("configmaps")?)
            .accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
            .refused(
                406,
                "NotAcceptable",
                "you requested PartialObjectMetadata, but the requested object is a list \
                 (*core.ConfigMapList)",
            )?
            .done()
    }),
    Check::new(AREA, "an answer can be printed for people", |cx| {
        cx.config_map("a")?;
        cx.get(cx.core("configmaps/a")?)
            .query("pretty", "true")
            .expect(200)?
            .satisfies("indented JSON", |answer| {
                answer.body_text().starts_with("{\n  \"kind\": \"ConfigMap\",\n")
            })?
            .done()
    }),
    Check::new(AREA, "browsers and curl get indented answers", |cx| {
        cx.config_map("a")?;
        for agent in ["curl/8.0", "Mozilla/5.0 (X11)"] {
            cx.get(cx.core("configmaps/a")?)
                .header("User-Agent", agent)
                .expect(200)?
                .satisfies("indented JSON", |answer| {
                    answer.body_text().starts_with("{\n  \"kind\"")
                })?;
        }
        cx.get(cx.core("configmaps/a")?)
            .expect(200)?
            .satisfies("compact JSON", |answer| {
                answer
                    .body_text()
                    .starts_with("{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"")
            })?
            .done()
    }),
    Check::new(AREA, "an answer says that it must not be kept", |cx| {
        cx.get("/api/v1/namespaces/default")
            .expect(200)?
            .has_header("cache-control", "no-cache, private")?
            .has_header("audit-id", "{*}-{*}-{*}-{*}-{*}")?
            .done()
    }),
    Check::new(AREA, "a large answer is compressed on request", |cx| {
        cx.create(
            "v1",
            "configmaps",
            json!({"metadata": {"name": "a"}, "data": {"k": "x".repeat(300_000)}}),
        )?;
        let answer = cx
            .get(cx.core("configmaps/a")?)
            .header("Accept-Encoding", "gzip")
            .expect(200)?;
        ensure(
            answer.header("content-encoding") == "gzip" && answer.body.len() < 50_000,
            "a small gzip body",
            answer.body.len(),
        )
    }),
    Check::new(AREA, "a small answer is not compressed", |cx| {
        cx.config_map("a")?;
        let answer = cx
            .get(cx.core("configmaps/a")?)
            .header("Accept-Encoding", "gzip")
            .expect(200)?;
        ensure(
            answer.header("content-encoding").is_empty(),
            "no compression",
            answer.header("content-encoding"),
        )
    }),
    Check::new(AREA, "HEAD is not allowed", |cx| {
        cx.config_map("a")?;
        cx.request("HEAD", cx.core("configmaps/a")?).expect(405)?.done()
    }),
    Check::new(AREA, "an error for a client of protobuf may be JSON", |cx| {
        cx.get(cx.core("configmaps/nope")?)
            .accept("application/json, application/vnd.kubernetes.protobuf")
            .refused(404, "NotFound", "configmaps \"nope\" not found")?
            .done()
    }),
];
