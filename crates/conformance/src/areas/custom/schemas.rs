//! Schemas at work: pruning, defaulting and validating.

use serde_json::{Value, json};

use super::{Widgets, widgets, with_properties, with_spec};
use crate::{Check, Context, Outcome, answer::Answer};

const AREA: &str = "custom schemas";

/// The faults of a spec against a schema of its properties.
fn faults(cx: &Context<'_>, properties: Value, spec: Value, faults: &[(&str, &str, &str)]) -> Outcome {
    widgets(cx, with_properties(properties))?
        .post(cx, json!({"spec": spec}))
        .invalid(faults)?
        .done()
}

/// The spec the server makes of one.
fn becomes(cx: &Context<'_>, schema: Value, spec: Value, expected: Value) -> Outcome {
    widgets(cx, with_spec(schema))?
        .create(cx, json!({"spec": spec}))?
        .exactly("/spec", expected)?
        .done()
}

fn create(cx: &Context<'_>, widgets: &Widgets, spec: Value) -> Outcome<Answer> {
    widgets.post(cx, json!({"spec": spec})).send()
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "unknown fields are dropped with a warning", |cx| {
        let widgets = widgets(cx, with_properties(json!({"size": {"type": "integer"}})))?;
        widgets
            .create(cx, json!({"spec": {"size": 1, "weight": 2}, "extra": {"x": 1}}))?
            .warns(&["unknown field \"extra\"", "unknown field \"spec.weight\""])?
            .exactly("/spec", json!({"size": 1}))?
            .has(json!({"extra": "<absent>"}))?
            .done()
    }),
    Check::new(
        AREA,
        "strict validation refuses unknown and duplicate fields",
        |cx| {
            let widgets = widgets(cx, with_properties(json!({"size": {"type": "integer"}})))?;
            let body = format!(
                r#"{{"apiVersion":"{}","kind":"Widget","metadata":{{"name":"a"}},"spec":{{"size":1,"size":2,"weight":1}}}}"#,
                widgets.api_version()
            );
            cx.request("POST", &widgets.path)
                .query("fieldValidation", "Strict")
                .bytes("application/json", body)
                .refused(
                    400,
                    "BadRequest",
                    "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: duplicate \
                     field \"spec.size\", unknown field \"spec.weight\"",
                )?
                .done()
        },
    ),
    Check::new(AREA, "a part may keep unknown fields", |cx| {
        let schema = json!({
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"known": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        });
        becomes(
            cx,
            schema,
            json!({"free": {"a": [1, {"b": null}]}, "known": {"x": 1, "y": 2}}),
            json!({"free": {"a": [1, {"b": null}]}, "known": {"x": 1}}),
        )
    }),
    Check::new(AREA, "maps of any key keep their values' schema", |cx| {
        let schema = json!({
            "type": "object",
            "additionalProperties": {"type": "object", "properties": {"x": {"type": "integer"}}},
        });
        becomes(
            cx,
            schema,
            json!({"any": {"x": 1, "y": 2}}),
            json!({"any": {"x": 1}}),
        )
    }),
    Check::new(AREA, "defaults are filled in, also inside", |cx| {
        let schema = json!({
            "type": "object", "default": {},
            "properties": {
                "size": {"type": "integer", "default": 3},
                "nested": {"type": "object", "default": {"deep": {}}, "properties": {
                    "deep": {"type": "object", "properties": {"x": {"type": "string", "default": "y"}}},
                }},
                "list": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"on": {"type": "boolean", "default": true}}},
                },
            },
        });
        becomes(
            cx,
            schema,
            json!({"list": [{}, {"on": false}]}),
            json!({"size": 3, "nested": {"deep": {"x": "y"}}, "list": [{"on": true}, {"on": false}]}),
        )
    }),
    Check::new(AREA, "a whole spec may be a default", |cx| {
        let schema = with_spec(
            json!({"type": "object", "default": {"size": 1}, "properties": {"size": {"type": "integer"}}}),
        );
        widgets(cx, schema)?
            .create(cx, json!({}))?
            .exactly("/spec", json!({"size": 1}))?
            .done()
    }),
    Check::new(AREA, "a null that may not be is replaced by the default", |cx| {
        let schema = json!({"type": "object", "properties": {
            "size": {"type": "integer", "default": 3},
            "free": {"type": "string", "nullable": true, "default": "x"},
        }});
        becomes(
            cx,
            schema,
            json!({"size": null, "free": null}),
            json!({"size": 3, "free": null}),
        )
    }),
    Check::new(AREA, "a null that may not be is dropped", |cx| {
        let schema = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
        becomes(cx, schema, json!({"size": null}), json!({}))
    }),
    Check::new(
        AREA,
        "a new default shows in old objects when they are read",
        |cx| {
            let widgets = widgets(cx, with_properties(json!({"size": {"type": "integer"}})))?;
            widgets.create(cx, json!({"spec": {}}))?;
            let schema = with_properties(json!({"size": {"type": "integer", "default": 9}}));
            let versions = json!([
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}},
            ]);
            cx.merge_patch(&widgets.definition, json!({"spec": {"versions": versions}}))
                .expect(200)?;
            cx.eventually(|| {
                cx.get(widgets.one())
                    .expect(200)?
                    .exactly("/spec", json!({"size": 9}))
            })?
            .done()
        },
    ),
    Check::new(AREA, "a field of the wrong type is refused", |cx| {
        faults(
            cx,
            json!({"size": {"type": "integer"}}),
            json!({"size": "large"}),
            &[(
                "spec.size",
                "FieldValueTypeInvalid",
                "Invalid value: \"string\": spec.size in body must be of type integer: \"string\"",
            )],
        )
    }),
    Check::new(AREA, "a required field is required", |cx| {
        let schema =
            json!({"type": "object", "required": ["size"], "properties": {"size": {"type": "integer"}}});
        widgets(cx, with_spec(schema))?
            .post(cx, json!({"spec": {}}))
            .invalid(&[("spec.size", "FieldValueRequired", "Required value")])?
            .done()
    }),
    Check::new(AREA, "a number has bounds", |cx| {
        let widgets = widgets(
            cx,
            with_properties(json!({
                "n": {"type": "integer", "minimum": 1, "maximum": 10},
                "x": {"type": "number", "minimum": 0, "exclusiveMinimum": true},
                "y": {"type": "integer", "multipleOf": 5},
            })),
        )?;
        create(cx, &widgets, json!({"n": 0}))?.has_faults(&[(
            "spec.n",
            "FieldValueInvalid",
            "Invalid value: 0: spec.n in body should be greater than or equal to 1",
        )])?;
        create(cx, &widgets, json!({"n": 11}))?.has_faults(&[(
            "spec.n",
            "FieldValueInvalid",
            "Invalid value: 11: spec.n in body should be less than or equal to 10",
        )])?;
        create(cx, &widgets, json!({"x": 0}))?.has_faults(&[(
            "spec.x",
            "FieldValueInvalid",
            "Invalid value: 0: spec.x in body should be greater than 0",
        )])?;
        create(cx, &widgets, json!({"y": 7}))?
            .has_faults(&[(
                "spec.y",
                "FieldValueInvalid",
                "Invalid value: 7: spec.y in body should be a multiple of 5",
            )])?
            .done()
    }),
    Check::new(AREA, "a text has a length and a pattern", |cx| {
        let widgets = widgets(
            cx,
            with_properties(json!({
                "s": {"type": "string", "minLength": 2, "maxLength": 3},
                "p": {"type": "string", "pattern": "^a+$"},
            })),
        )?;
        create(cx, &widgets, json!({"s": "x"}))?.has_faults(&[(
            "spec.s",
            "FieldValueInvalid",
            "Invalid value: \"x\": spec.s in body should be at least 2 chars long",
        )])?;
        create(cx, &widgets, json!({"s": "xxxx"}))?.has_faults(&[(
            "spec.s",
            "FieldValueTooLong",
            "Too long: may not be more than 3 bytes",
        )])?;
        create(cx, &widgets, json!({"p": "b"}))?
            .has_faults(&[(
                "spec.p",
                "FieldValueInvalid",
                "Invalid value: \"b\": spec.p in body should match '^a+$'",
            )])?
            .done()
    }),
    Check::new(AREA, "a value is one of several", |cx| {
        faults(
            cx,
            json!({"color": {"type": "string", "enum": ["red", "blue"]}}),
            json!({"color": "green"}),
            &[(
                "spec.color",
                "FieldValueNotSupported",
                "Unsupported value: \"green\": supported values: \"red\", \"blue\"",
            )],
        )
    }),
    Check::new(AREA, "a list has a length and items of one kind", |cx| {
        let widgets = widgets(
            cx,
            with_properties(json!({
                "l": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
            })),
        )?;
        create(cx, &widgets, json!({"l": []}))?.has_faults(&[(
            "spec.l",
            "FieldValueInvalid",
            "Invalid value: 0: spec.l in body should have at least 1 items",
        )])?;
        create(cx, &widgets, json!({"l": ["a", "b", "c"]}))?.has_faults(&[(
            "spec.l",
            "FieldValueTooMany",
            "Too many: 3: must have at most 2 items",
        )])?;
        create(cx, &widgets, json!({"l": [1]}))?
            .has_faults(&[(
                "spec.l[0]",
                "FieldValueTypeInvalid",
                "Invalid value: \"integer\": spec.l[0] in body must be of type string: \"integer\"",
            )])?
            .done()
    }),
    Check::new(AREA, "a map has a number of keys", |cx| {
        let widgets = widgets(
            cx,
            with_properties(json!({
                "m": {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "string"}},
            })),
        )?;
        create(cx, &widgets, json!({"m": {"a": "1", "b": "2"}}))?.has_faults(&[(
            "spec.m",
            "FieldValueTooMany",
            "Too many: 2: must have at most 1 item",
        )])?;
        create(cx, &widgets, json!({"m": {"a": 1}}))?
            .has_faults(&[(
                "spec.m.a",
                "FieldValueTypeInvalid",
                "Invalid value: \"integer\": spec.m.a in body must be of type string: \"integer\"",
            )])?
            .done()
    }),
    Check::new(AREA, "a number or a text may be either", |cx| {
        let widgets = widgets(
            cx,
            with_properties(json!({"port": {"x-kubernetes-int-or-string": true}})),
        )?;
        create(cx, &widgets, json!({"port": 80}))?.expect(201)?;
        cx.merge_patch(widgets.one(), json!({"spec": {"port": "web"}}))
            .expect(200)?;
        cx.merge_patch(widgets.one(), json!({"spec": {"port": true}}))
            .invalid(&[(
                "spec.port",
                "FieldValueTypeInvalid",
                "Invalid value: \"boolean\": spec.port in body must be of type integer,string: \"boolean\"",
            )])?
            .done()
    }),
    Check::new(AREA, "exactly one of several may be given", |cx| {
        let schema = json!({
            "type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        });
        let widgets = widgets(cx, with_spec(schema))?;
        create(cx, &widgets, json!({"a": "1", "b": "2"}))?.has_faults(&[(
            "<nil>",
            "FieldValueInvalid",
            "Invalid value: \"\": \"spec\" must validate one \
                and only one schema (oneOf). Found 2 valid alternatives",
        )])?;
        create(cx, &widgets, json!({"a": "1"}))?.expect(201)?.done()
    }),
    Check::new(AREA, "some things may not be", |cx| {
        let schema = json!({
            "type": "object", "properties": {"a": {"type": "string"}}, "not": {"required": ["a"]},
        });
        widgets(cx, with_spec(schema))?
            .post(cx, json!({"spec": {"a": "1"}}))
            .invalid(&[(
                "<nil>",
                "FieldValueInvalid",
                "Invalid value: \"\": \"spec\" must not validate the schema (not)",
            )])?
            .done()
    }),
    Check::new(AREA, "a format is checked where it is known", |cx| {
        let widgets = widgets(
            cx,
            with_properties(json!({
                "t": {"type": "string", "format": "date-time"}, "i": {"type": "string", "format": "ipv4"},
                "u": {"type": "string", "format": "uuid"}, "f": {"type": "string", "format": "unheard-of"},
            })),
        )?;
        for (key, value, format) in [
            ("t", "yesterday", "date-time"),
            ("i", "1.2.3", "ipv4"),
            ("u", "x", "uuid"),
        ] {
            create(cx, &widgets, json!({key: value}))?.has_faults(&[(
                &format!("spec.{key}"),
                "FieldValueTypeInvalid",
                &format!(
                    "Invalid value: \"{value}\": spec.{key} in body must be of type {format}: \"{value}\""
                ),
            )])?;
        }
        create(cx, &widgets, json!({"f": "anything"}))?
            .expect(201)?
            .done()
    }),
    Check::new(AREA, "several faults are told at once", |cx| {
        let schema = json!({
            "type": "object", "required": ["a"],
            "properties": {"a": {"type": "string"}, "n": {"type": "integer", "minimum": 1}},
        });
        widgets(cx, with_spec(schema))?
            .post(cx, json!({"spec": {"n": 0}}))
            .expect(422)?
            .has(json!({"details": {"causes": ["<includes>",
                {"field": "spec.a", "reason": "FieldValueRequired"},
                {"field": "spec.n", "reason": "FieldValueInvalid"},
            ]}}))?
            .done()
    }),
    Check::new(AREA, "a list by key refuses a key twice", |cx| {
        let item = json!({
            "type": "object", "required": ["name"],
            "properties": {"name": {"type": "string"}, "v": {"type": "integer"}},
        });
        faults(
            cx,
            json!({
                "l": {
                    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": item,
                },
            }),
            json!({"l": [{"name": "x"}, {"name": "x"}]}),
            &[(
                "spec.l[1]",
                "FieldValueDuplicate",
                "Duplicate value: {\"name\":\"x\"}",
            )],
        )
    }),
    Check::new(AREA, "a set refuses a value twice", |cx| {
        faults(
            cx,
            json!({"l": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}),
            json!({"l": ["x", "x"]}),
            &[("spec.l[1]", "FieldValueDuplicate", "Duplicate value: \"x\"")],
        )
    }),
    Check::new(AREA, "a list by key is merged by two appliers", |cx| {
        let item = json!({
            "type": "object", "required": ["name"],
            "properties": {"name": {"type": "string"}, "v": {"type": "integer"}},
        });
        let widgets = widgets(
            cx,
            with_properties(json!({
                "l": {
                    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": item,
                },
            })),
        )?;
        cx.apply(
            widgets.one(),
            "one",
            widgets.object(&json!({"spec": {"l": [{"name": "x", "v": 1}]}})),
        )
        .expect(201)?;
        cx.apply(widgets.one(), "two", widgets.object(&json!({"spec": {"l": [{"name": "y", "v": 2}]}})))
            .expect(200)?
            .exactly("/spec/l", json!([{"name": "x", "v": 1}, {"name": "y", "v": 2}]))?
            .has(json!({"metadata": {"managedFields": ["<includes>", {"manager": "two", "fieldsV1": {"f:spec": {"f:l": {
                "k:{\"name\":\"y\"}": {".": {}, "f:name": {}, "f:v": {}},
            }}}}]}}))?
            .done()
    }),
    Check::new(AREA, "a plain list is owned as a whole", |cx| {
        let widgets = widgets(
            cx,
            with_properties(json!({"l": {"type": "array", "items": {"type": "string"}}})),
        )?;
        cx.apply(
            widgets.one(),
            "one",
            widgets.object(&json!({"spec": {"l": ["x"]}})),
        )
        .expect(201)?;
        cx.apply(
            widgets.one(),
            "two",
            widgets.object(&json!({"spec": {"l": ["y"]}})),
        )
        .refused(
            409,
            "Conflict",
            "Apply failed with 1 conflict: conflict with \"one\": .spec.l",
        )?
        .done()
    }),
    Check::new(
        AREA,
        "an embedded object has a version, a kind and checked metadata",
        |cx| {
            let schema = json!({"o": {
                "type": "object", "x-kubernetes-embedded-resource": true,
                "x-kubernetes-preserve-unknown-fields": true,
            }});
            let widgets = widgets(cx, with_properties(schema))?;
            create(cx, &widgets, json!({"o": {"metadata": {"name": "A_"}}}))?
                .fails_with(422, "Invalid", "{*}")?
                .has(json!({
                    "details": {
                        "causes": ["<includes>", {"field": "spec.o.apiVersion"}, {"field": "spec.o.kind"}],
                    },
                }))?;
            create(cx, &widgets, json!({
                "o": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "nonsense": 1}, "data": 1},
            }))?
            .expect(201)?
            .exactly("/spec/o", json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "data": 1,
            }))?
            .done()
        },
    ),
];
