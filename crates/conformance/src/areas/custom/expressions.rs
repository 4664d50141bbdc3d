//! Rules in the Common Expression Language.

use serde_json::{Value, json};

use super::{DEFINITIONS, Widgets, definition, widgets, with_spec};
use crate::{Check, Context, Outcome};

const AREA: &str = "custom expressions";

/// Widgets whose spec has these properties and rules.
fn ruled(cx: &Context<'_>, properties: Value, rules: Value) -> Outcome<Widgets> {
    widgets(
        cx,
        with_spec(json!({"type": "object", "properties": properties, "x-kubernetes-validations": rules})),
    )
}

/// The faults of a definition whose spec has this rule.
fn refuses(cx: &Context<'_>, rule: Value, faults: &[(&str, &str, &str)]) -> Outcome {
    let schema = with_spec(json!({
        "type": "object",
        "properties": {"n": {"type": "integer"}, "l": {"type": "array", "items": {"type": "string"}}},
        "x-kubernetes-validations": [rule],
    }));
    cx.post(DEFINITIONS, definition("faulty.example.com", schema))
        .query("dryRun", "All")
        .invalid(faults)?
        .done()
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "a rule that does not hold refuses with its message", |cx| {
        let properties = json!({"min": {"type": "integer"}, "max": {"type": "integer"}});
        let widgets = ruled(
            cx,
            properties,
            json!([{"rule": "self.min <= self.max", "message": "min is above max"}]),
        )?;
        widgets.post(cx, json!({"spec": {"min": 2, "max": 1}})).refused(
            422,
            "Invalid",
            &format!(
                "Widget.{} \"a\" is invalid: spec: Invalid value: \"object\": min is above max",
                widgets.group
            ),
        )?;
        widgets.create(cx, json!({"spec": {"min": 1, "max": 2}}))?.done()
    }),
    Check::new(AREA, "a rule without a message is quoted", |cx| {
        let widgets = ruled(
            cx,
            json!({"n": {"type": "integer"}}),
            json!([{"rule": "self.n > 0"}]),
        )?;
        widgets
            .post(cx, json!({"spec": {"n": 0}}))
            .invalid(&[(
                "spec",
                "FieldValueInvalid",
                "Invalid value: \"object\": failed rule: self.n > 0",
            )])?
            .done()
    }),
    Check::new(AREA, "a message can be computed", |cx| {
        let rule = json!({
            "rule": "self.n > 0", "messageExpression": "self.n < -2 ? 'far too small' : 'too small'",
            "message": "never seen",
        });
        let widgets = ruled(cx, json!({"n": {"type": "integer"}}), json!([rule]))?;
        widgets
            .post(cx, json!({"spec": {"n": -5}}))
            .invalid(&[(
                "spec",
                "FieldValueInvalid",
                "Invalid value: \"object\": far too small",
            )])?
            .done()
    }),
    Check::new(AREA, "a rule can name its reason and field", |cx| {
        let rule = json!({
            "rule": "self.n > 0", "message": "too small", "reason": "FieldValueForbidden", "fieldPath": ".n",
        });
        let widgets = ruled(cx, json!({"n": {"type": "integer"}}), json!([rule]))?;
        widgets
            .post(cx, json!({"spec": {"n": 0}}))
            .invalid(&[("spec.n", "FieldValueForbidden", "Forbidden: too small")])?
            .done()
    }),
    Check::new(AREA, "a rule about the old value holds for changes", |cx| {
        let properties = json!({"n": {"type": "integer", "x-kubernetes-validations": [
            {"rule": "self >= oldSelf", "message": "may only grow"},
        ]}});
        let widgets = ruled(cx, properties, json!([]))?;
        widgets.create(cx, json!({"spec": {"n": 5}}))?;
        cx.merge_patch(widgets.one(), json!({"spec": {"n": 6}}))
            .expect(200)?;
        cx.merge_patch(widgets.one(), json!({"spec": {"n": 3}}))
            .invalid(&[(
                "spec.n",
                "FieldValueInvalid",
                "Invalid value: \"integer\": may only grow",
            )])?
            .done()
    }),
    Check::new(AREA, "a field can be immutable", |cx| {
        let properties = json!({"s": {"type": "string", "x-kubernetes-validations": [
            {"rule": "self == oldSelf", "message": "is immutable"},
        ]}});
        let widgets = ruled(cx, properties, json!([]))?;
        widgets.create(cx, json!({"spec": {"s": "x"}}))?;
        cx.merge_patch(widgets.one(), json!({"metadata": {"labels": {"l": "1"}}}))
            .expect(200)?;
        cx.merge_patch(widgets.one(), json!({"spec": {"s": "y"}}))
            .expect(422)?;
        cx.merge_patch(widgets.one(), json!({"spec": {"s": null}}))
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "a rule may ask whether there was an old value", |cx| {
        let rule = json!({
            "rule": "oldSelf.hasValue() || self.n == 1", "optionalOldSelf": true, "message": "starts at one",
        });
        let widgets = ruled(cx, json!({"n": {"type": "integer"}}), json!([rule]))?;
        widgets.post(cx, json!({"spec": {"n": 2}})).expect(422)?;
        widgets.create(cx, json!({"spec": {"n": 1}}))?;
        cx.merge_patch(widgets.one(), json!({"spec": {"n": 2}}))
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "a rule reads optional fields with has", |cx| {
        let rule = json!({"rule": "!has(self.a) || has(self.b)", "message": "a needs b"});
        let widgets = ruled(
            cx,
            json!({"a": {"type": "string"}, "b": {"type": "string"}}),
            json!([rule]),
        )?;
        widgets.post(cx, json!({"spec": {"a": "1"}})).expect(422)?;
        widgets.create(cx, json!({"spec": {"a": "1", "b": "2"}}))?.done()
    }),
    Check::new(AREA, "a rule reads lists, maps and macros", |cx| {
        let properties = json!({
            "l": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 10}},
            "m": {"type": "object", "maxProperties": 10, "additionalProperties": {"type": "integer"}},
        });
        let rules = json!([
            {"rule": "self.l.all(x, x.startsWith('a'))", "message": "all begin with a"},
            {"rule": "self.l.exists_one(x, x == 'aa')", "message": "one aa"},
            {"rule": "self.m.all(k, self.m[k] > 0 && k in self.l)", "message": "keys are listed"},
            {"rule": "size(self.l) <= 3 && self.l.map(x, size(x)).sum() < 10", "message": "short"},
        ]);
        let widgets = ruled(cx, properties, rules)?;
        widgets.create(cx, json!({"spec": {"l": ["aa", "ab"], "m": {"ab": 1}}}))?;
        cx.merge_patch(widgets.one(), json!({"spec": {"l": ["aa", "b"]}}))
            .expect(422)?
            .has(json!({
                "details": {
                    "causes": [
                        "<includes>", {"message": "{*}all begin with a"}, {"message": "{*}keys are listed"},
                    ],
                },
            }))?
            .done()
    }),
    Check::new(
        AREA,
        "a rule uses texts, patterns, addresses and quantities",
        |cx| {
            let properties = json!({
                "s": {"type": "string", "maxLength": 100}, "q": {"type": "string", "maxLength": 20},
                "u": {"type": "string", "maxLength": 100},
            });
            let rules = json!([
                {
                    "rule": "self.s.matches('^[a-z]+$') && self.s.lowerAscii() == self.s",
                    "message": "lower case",
                },
                {
                    "rule": "quantity(self.q).isGreaterThan(quantity('1Gi'))",
                    "message": "more than a gibibyte",
                },
                {"rule": "isURL(self.u) && url(self.u).getScheme() == 'https'", "message": "secure"},
                {
                    "rule": "self.s.find('[0-9]+') == '' && 'a,b'.split(',').size() == 2",
                    "message": "no digits",
                },
            ]);
            let widgets = ruled(cx, properties, rules)?;
            widgets.create(
                cx,
                json!({"spec": {"s": "abc", "q": "2Gi", "u": "https://example.com/x"}}),
            )?;
            cx.merge_patch(widgets.one(), json!({"spec": {"q": "1Mi"}}))
                .expect(422)?;
            cx.merge_patch(widgets.one(), json!({"spec": {"u": "http://example.com"}}))
                .expect(422)?;
            cx.merge_patch(widgets.one(), json!({"spec": {"s": "ABC"}}))
                .expect(422)?
                .done()
        },
    ),
    Check::new(AREA, "a rule at the root sees the name", |cx| {
        let schema = json!({
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer"}}}},
            "x-kubernetes-validations": [
                {"rule": "self.metadata.name.startsWith('a')", "message": "begins with a"},
            ],
        });
        let widgets = widgets(cx, schema)?;
        widgets.create(cx, json!({}))?;
        let mut other = widgets.object(&json!({}));
        other["metadata"]["name"] = json!("b");
        cx.post(&widgets.path, other)
            .expect(422)?
            .has(json!({"message": "{*}begins with a"}))?
            .done()
    }),
    Check::new(AREA, "rules wait until the schema holds", |cx| {
        let widgets = ruled(
            cx,
            json!({"n": {"type": "integer"}}),
            json!([{"rule": "self.n > 0", "message": "positive"}]),
        )?;
        widgets
            .post(cx, json!({"spec": {"n": "x"}}))
            .expect(422)?
            .has(json!({"message": "{*}spec.n in body must be of type integer: \"string\"{*}"}))?
            .done()
    }),
    Check::new(AREA, "a rule that fails while it runs refuses", |cx| {
        let widgets = ruled(
            cx,
            json!({"n": {"type": "integer"}}),
            json!([{"rule": "10 / self.n > 1", "message": "small"}]),
        )?;
        widgets
            .post(cx, json!({"spec": {"n": 0}}))
            .expect(422)?
            .has(json!({"message": "{*}division by zero{*}"}))?
            .done()
    }),
    Check::new(AREA, "a rule is skipped where its value did not change", |cx| {
        let widgets = widgets(
            cx,
            with_spec(
                json!({"type": "object", "properties": {"n": {"type": "integer"}, "m": {"type": "integer"}}}),
            ),
        )?;
        widgets.create(cx, json!({"spec": {"n": 0, "m": 0}}))?;
        let schema = with_spec(json!({"type": "object", "properties": {
            "n": {
                "type": "integer", "x-kubernetes-validations": [{"rule": "self > 0", "message": "positive"}],
            },
            "m": {"type": "integer"},
        }}));
        let versions =
            json!([{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]);
        cx.merge_patch(&widgets.definition, json!({"spec": {"versions": versions}}))
            .expect(200)?;
        cx.eventually(|| {
            cx.merge_patch(widgets.one(), json!({"spec": {"n": -1}}))
                .query("dryRun", "All")
                .expect(422)
        })?;
        cx.merge_patch(widgets.one(), json!({"spec": {"m": 1}}))
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "a rule that does not compile is refused", |cx| {
        refuses(
            cx,
            json!({"rule": "self.nope > 0"}),
            &[(
                "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule",
                "FieldValueInvalid",
                "Invalid value: {\"Rule\":\"self.nope \\u003e 0\",{*}}: compilation failed: ERROR: \
                 <input>:1:5: undefined field \
                 'nope'\n | self.nope > 0\n | ....^",
            )],
        )
    }),
    Check::new(AREA, "a rule is a yes or a no", |cx| {
        refuses(
            cx,
            json!({"rule": "self.n"}),
            &[(
                "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule",
                "FieldValueInvalid",
                "Invalid value: {\"Rule\":\"self.n\",{*}}: cel expression must evaluate to a bool",
            )],
        )
    }),
    Check::new(AREA, "a rule is not empty", |cx| {
        refuses(
            cx,
            json!({"rule": ""}),
            &[(
                "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule",
                "FieldValueRequired",
                "Required value: rule is not specified",
            )],
        )
    }),
    Check::new(AREA, "a rule may not cost too much", |cx| {
        let field = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule";
        refuses(
            cx,
            json!({"rule": "self.l.all(x, self.l.all(y, self.l.all(z, x + y + z != 'a')))"}),
            &[
                (
                    field,
                    "FieldValueForbidden",
                    "Forbidden: estimated rule cost exceeds budget by factor of more than 100x {*}",
                ),
                (
                    field,
                    "FieldValueForbidden",
                    "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire \
                     OpenAPIv3 schema",
                ),
                (
                    "spec.validation.openAPIV3Schema",
                    "FieldValueForbidden",
                    "Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 \
                     schema exceeds budget by factor of more than 100x {*}",
                ),
            ],
        )
    }),
    Check::new(AREA, "a message of a rule is not broken over lines", |cx| {
        refuses(
            cx,
            json!({"rule": "self.n > 0", "message": "one\ntwo"}),
            &[(
                "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].message",
                "FieldValueInvalid",
                "Invalid value: \"one\\ntwo\": must not contain line breaks",
            )],
        )
    }),
];
