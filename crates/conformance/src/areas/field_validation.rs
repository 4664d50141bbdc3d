//! Unknown and duplicate fields: ignored, warned about or refused.

use serde_json::json;

use crate::{Check, Context, Outcome, answer::Answer};

const AREA: &str = "field validation";

/// An unknown field, an unknown nested field and a duplicate one.
const FAULTY: &str = r#"{"metadata":{"name":"a","lables":{}},"data":{"k":"1","k":"2"},"dta":{}}"#;

fn create(cx: &Context<'_>, mode: &str, body: &str) -> Outcome<Answer> {
    let request = cx
        .request("POST", cx.core("configmaps")?)
        .bytes("application/json", body);
    if mode.is_empty() {
        request.send()
    } else {
        request.query("fieldValidation", mode).send()
    }
}

pub(super) const CHECKS: &[Check] =
    &[
        Check::new(AREA, "strict refuses and names every fault", |cx| {
            create(cx, "Strict", FAULTY)?
                .fails_with(
                    400,
                    "BadRequest",
                    "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: \
                 unknown field \
                 \"metadata.lables\", duplicate field \"data.k\", unknown field \"dta\"",
                )?
                .done()
        }),
        Check::new(AREA, "warn takes the object and warns of every fault", |cx| {
            create(cx, "Warn", FAULTY)?
                .expect(201)?
                .warns(&[
                    "unknown field \"metadata.lables\"",
                    "duplicate field \"data.k\"",
                    "unknown field \"dta\"",
                ])?
                .exactly("/data", json!({"k": "2"}))?
                .done()
        }),
        Check::new(AREA, "ignore takes the object silently", |cx| {
            create(cx, "Ignore", FAULTY)?
                .expect(201)?
                .warns(&[])?
                .exactly("/data", json!({"k": "2"}))?
                .done()
        }),
        Check::new(AREA, "the default is to warn", |cx| {
            create(cx, "", r#"{"metadata":{"name":"a"},"dta":{}}"#)?
                .expect(201)?
                .warns(&["unknown field \"dta\""])?
                .done()
        }),
        Check::new(AREA, "an unknown mode is refused", |cx| {
            create(cx, "Maybe", "{}")?
                .has_faults(&[(
                    "fieldValidation",
                    "FieldValueNotSupported",
                    "Unsupported value: \"Maybe\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"",
                )])?
                .done()
        }),
        Check::new(AREA, "strict names unknown fields inside lists", |cx| {
            let body = json!({
                "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i", "imag": "x"}]},
            });
            cx.post(cx.core("pods")?, body)
                .query("fieldValidation", "Strict")
                .refused(
                    400,
                    "BadRequest",
                    "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown field \
                 \"spec.containers[0].imag\"",
                )?
                .done()
        }),
        Check::new(AREA, "the case of a field's name matters", |cx| {
            create(cx, "Strict", r#"{"metadata":{"name":"a"},"Data":{"k":"v"}}"#)?
                .fails_with(
                    400,
                    "BadRequest",
                    "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: \
                 unknown field \
                 \"Data\"",
                )?
                .done()
        }),
        Check::new(AREA, "strict holds for replacements", |cx| {
            cx.config_map("a")?;
            cx.put(
                cx.core("configmaps/a")?,
                json!({"metadata": {"name": "a"}, "dta": {}}),
            )
            .query("fieldValidation", "Strict")
            .refused(
                400,
                "BadRequest",
                "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: \
                 unknown field \"dta\"",
            )?
            .done()
        }),
        Check::new(AREA, "strict holds for merge patches", |cx| {
            cx.config_map("a")?;
            cx.merge_patch(cx.core("configmaps/a")?, json!({"dta": {}}))
                .query("fieldValidation", "Strict")
                .invalid(&[(
                    "patch",
                    "FieldValueInvalid",
                    "Invalid value: \"{*}\": strict decoding error: unknown field \"dta\"",
                )])?
                .done()
        }),
        Check::new(AREA, "strict holds for JSON patches", |cx| {
            cx.config_map("a")?;
            cx.json_patch(
                cx.core("configmaps/a")?,
                json!([{"op": "add", "path": "/data/x", "value": "1", "color": "red"}]),
            )
            .query("fieldValidation", "Strict")
            .invalid(&[(
                "patch",
                "FieldValueInvalid",
                "Invalid value: \"{*}\": strict decoding error: json patch unknown field \"[0].color\"",
            )])?
            .done()
        }),
        Check::new(AREA, "strict holds for strategic merges", |cx| {
            cx.config_map("a")?;
            cx.strategic_patch(cx.core("configmaps/a")?, json!({"dta": {}}))
                .query("fieldValidation", "Strict")
                .invalid(&[(
                    "patch",
                    "FieldValueInvalid",
                    "Invalid value: \"map[dta:map[]]\": strict decoding error: unknown field \"dta\"",
                )])?
                .done()
        }),
        Check::new(
            AREA,
            "an apply of an unknown field is refused whatever the mode",
            |cx| {
                let body =
                    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "dta": {}});
                cx.apply(cx.core("configmaps/a")?, "me", body)
            .query("fieldValidation", "Ignore")
            .expect(500)?
            .has(json!({"message": "failed to create typed patch object ({*}/a; /v1, Kind=ConfigMap): .dta: \
                field not \
                declared in schema"}))?
            .done()
            },
        ),
        Check::new(AREA, "a YAML body is checked like any other", |cx| {
            cx.request("POST", cx.core("configmaps")?)
            .query("fieldValidation", "Strict")
            .bytes("application/yaml", "metadata:\n  name: a\ndata:\n  k: '1'\n  k: '2'\ndta: {}\n")
            .refused(
                400,
                "BadRequest",
                "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: yaml: \
                 unmarshal \
                 errors:\n  line 5: key \"k\" already set in map, unknown field \"dta\"",
            )?
            .done()
        }),
        Check::new(AREA, "delete options are checked too", |cx| {
            cx.config_map("a")?;
            cx.delete(cx.core("configmaps/a")?)
                .json(&json!({"nonsense": 1}))
                .expect(200)?
                .done()
        }),
    ];
