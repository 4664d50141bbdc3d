//! Admission policies written in expressions.

use serde_json::{Value, json};

use super::custom::{widgets, with_properties};
use crate::{Check, Context, Outcome, request::Request};

const AREA: &str = "policies";
const GROUP: &str = "admissionregistration.k8s.io/v1";

/// A policy about config maps of the check's namespace, changed as the check wants, and its binding.
fn install(
    cx: &Context<'_>,
    change: impl FnOnce(&mut Value),
    change_binding: impl FnOnce(&mut Value),
) -> Outcome<String> {
    let name = cx.unique("policy");
    let mut spec = json!({
        "matchConstraints": {"resourceRules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
            "resources": ["configmaps"],
        }]},
        "validations": [{"expression": "object.metadata.name != 'bad'", "message": "no bad names"}],
    });
    change(&mut spec);
    cx.create_cluster(
        GROUP,
        "validatingadmissionpolicies",
        json!({"metadata": {"name": name}, "spec": spec}),
    )?;
    let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": cx.namespace()?}});
    let mut binding = json!({
        "policyName": name, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": selector},
    });
    change_binding(&mut binding);
    cx.create_cluster(
        GROUP,
        "validatingadmissionpolicybindings",
        json!({"metadata": {"name": name}, "spec": binding}),
    )?;
    Ok(name)
}

fn create<'a>(cx: &Context<'a>, name: &str, data: Value) -> Outcome<Request<'a>> {
    Ok(cx
        .post(
            cx.core("configmaps")?,
            json!({"metadata": {"name": name}, "data": data}),
        )
        .query("dryRun", "All"))
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        AREA,
        "a policy refuses what its expression does not allow",
        |cx| {
            let name = install(cx, |_| {}, |_| {})?;
            cx.eventually(|| {
                create(cx, "bad", json!({}))?.refused(
                    422,
                    "Invalid",
                    &format!(
                        "configmaps \"bad\" is forbidden: ValidatingAdmissionPolicy '{name}' with binding \
                     '{name}' denied request: no \
                     bad names"
                    ),
                )
            })?
            .has(json!({
                "details": {"name": "bad", "kind": "configmaps", "causes": [{"message": "{*}no bad names"}]},
            }))?;
            create(cx, "good", json!({}))?.expect(201)?.done()
        },
    ),
    Check::new(AREA, "a policy can choose its reason", |cx| {
        install(
            cx,
            |spec| spec["validations"][0]["reason"] = json!("Forbidden"),
            |_| {},
        )?;
        cx.eventually(|| {
            create(cx, "bad", json!({}))?
                .expect(403)?
                .has(json!({"reason": "Forbidden"}))
        })?
        .done()
    }),
    Check::new(AREA, "a policy can compute its message", |cx| {
        install(
            cx,
            |spec| spec["validations"][0]["messageExpression"] = json!("'not ' + object.metadata.name"),
            |_| {},
        )?;
        cx.eventually(|| {
            create(cx, "bad", json!({}))?.expect(422)?.has(json!({
                "message": "{*}denied request: not bad",
            }))
        })?
        .done()
    }),
    Check::new(AREA, "a policy without a message quotes its expression", |cx| {
        install(
            cx,
            |spec| spec["validations"] = json!([{"expression": "object.metadata.name != 'bad'"}]),
            |_| {},
        )?;
        cx.eventually(|| {
            create(cx, "bad", json!({}))?.expect(422)?.has(json!({
                "message": "{*}denied request: failed expression: object.metadata.name != 'bad'",
            }))
        })?
        .done()
    }),
    Check::new(AREA, "a policy may only warn", |cx| {
        let name = install(
            cx,
            |_| {},
            |binding| binding["validationActions"] = json!(["Warn"]),
        )?;
        cx.eventually(|| {
            create(cx, "bad", json!({}))?.expect(201)?.warns(&[&format!(
                "Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{name}': no bad names"
            )])
        })?
        .done()
    }),
    Check::new(AREA, "a policy reads the old object on a change", |cx| {
        install(
            cx,
            |spec| {
                spec["validations"] = json!([{
                    "expression": "oldObject == null || !has(oldObject.data.lock) || object.data.lock == \
                     oldObject.data.lock",
                    "message": "locked",
                }]);
            },
            |_| {},
        )?;
        cx.create(
            "v1",
            "configmaps",
            json!({"metadata": {"name": "a"}, "data": {"lock": "1"}}),
        )?;
        cx.eventually(|| {
            cx.merge_patch(cx.core("configmaps/a")?, json!({"data": {"lock": "2"}}))
                .query("dryRun", "All")
                .expect(422)?
                .has(json!({"message": "{*}locked"}))
        })?;
        cx.merge_patch(cx.core("configmaps/a")?, json!({"data": {"other": "2"}}))
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "a policy has variables", |cx| {
        install(
            cx,
            |spec| {
                spec["variables"] = json!([
                    {"name": "size", "expression": "has(object.data) ? object.data.size() : 0"},
                    {"name": "large", "expression": "variables.size > 1"},
                ]);
                spec["validations"] = json!([{"expression": "!variables.large", "message": "too large"}]);
            },
            |_| {},
        )?;
        cx.eventually(|| {
            create(cx, "a", json!({"x": "1", "y": "2"}))?
                .expect(422)?
                .has(json!({
                    "message": "{*}too large",
                }))
        })?;
        create(cx, "a", json!({"x": "1"}))?.expect(201)?.done()
    }),
    Check::new(AREA, "a policy has conditions", |cx| {
        install(
            cx,
            |spec| {
                spec["matchConditions"] = json!([{"name": "marked", "expression": "'check' in object.data"}]);
                spec["validations"] = json!([{"expression": "false", "message": "never"}]);
            },
            |_| {},
        )?;
        cx.eventually(|| create(cx, "a", json!({"check": "1"}))?.expect(422))?;
        create(cx, "a", json!({"other": "1"}))?.expect(201)?.done()
    }),
    Check::new(AREA, "a policy reads parameters", |cx| {
        let namespace = cx.namespace()?;
        let widgets = widgets(cx, with_properties(json!({"forbidden": {"type": "string"}})))?;
        widgets.create(cx, json!({"spec": {"forbidden": "secret-word"}}))?;
        install(
            cx,
            |spec| {
                spec["paramKind"] = json!({"apiVersion": widgets.api_version(), "kind": "Widget"});
                spec["validations"] = json!([
                    {
                        "expression": "!(params.spec.forbidden in object.data)",
                        "message": "a forbidden word",
                    },
                ]);
            },
            |binding| {
                binding["paramRef"] = json!({
                    "name": "a", "namespace": namespace, "parameterNotFoundAction": "Deny",
                });
            },
        )?;
        cx.eventually(|| {
            create(cx, "a", json!({"secret-word": "1"}))?
                .expect(422)?
                .has(json!({
                    "message": "{*}a forbidden word",
                }))
        })?;
        create(cx, "a", json!({"other": "1"}))?.expect(201)?.done()
    }),
    Check::new(AREA, "a policy reads the request and the namespace", |cx| {
        install(
            cx,
            |spec| {
                spec["validations"] = json!([{
                    "expression": "request.operation == 'CREATE' && request.namespace == \
                     namespaceObject.metadata.name && \
                        request.userInfo.username != '' && object.metadata.name != 'bad'",
                    "message": "never",
                }]);
            },
            |_| {},
        )?;
        cx.eventually(|| create(cx, "bad", json!({}))?.expect(422))?;
        create(cx, "good", json!({}))?.expect(201)?.done()
    }),
    Check::new(AREA, "a policy asks the authorizer", |cx| {
        install(
            cx,
            |spec| {
                spec["validations"] = json!([{
                    "expression": "authorizer.group('').resource('secrets').namespace(request.namespace).check('delete').allowed() \
                        && object.metadata.name != 'bad'",
                    "message": "no right",
                }]);
            },
            |_| {},
        )?;
        cx.eventually(|| create(cx, "bad", json!({}))?.expect(422))?;
        create(cx, "good", json!({}))?.expect(201)?.done()
    }),
    Check::new(AREA, "a policy that fails while it runs fails closed", |cx| {
        install(
            cx,
            |spec| {
                spec["validations"] = json!([
                    {"expression": "object.data.missing == 'x'", "message": "never"},
                ]);
            },
            |_| {},
        )?;
        cx.eventually(|| {
            create(cx, "a", json!({"other": "1"}))?.expect(422)?.has(json!({
                "message": "{*}expression 'object.data.missing == 'x'' resulted in error: no such key: \
                 missing",
            }))
        })?
        .done()
    }),
    Check::new(AREA, "a policy that fails while it runs may be ignored", |cx| {
        install(
            cx,
            |spec| {
                spec["failurePolicy"] = json!("Ignore");
                spec["validations"] = json!([
                    {"expression": "object.data.missing == 'x'"},
                    {"expression": "object.metadata.name != 'bad'"},
                ]);
            },
            |_| {},
        )?;
        cx.eventually(|| create(cx, "bad", json!({"other": "1"}))?.expect(422))?;
        create(cx, "good", json!({"other": "1"}))?.expect(201)?.done()
    }),
    Check::new(AREA, "a policy without a binding does nothing", |cx| {
        install(
            cx,
            |_| {},
            |binding| binding["policyName"] = json!("some-other-policy"),
        )?;
        create(cx, "bad", json!({}))?.expect(201)?.done()
    }),
    Check::new(AREA, "a policy about a scale reads a scale", |cx| {
        let template = json!({
            "metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
        });
        let body = json!({"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": template});
        cx.create(
            "apps/v1",
            "deployments",
            json!({"metadata": {"name": "a"}, "spec": body}),
        )?;
        install(
            cx,
            |spec| {
                spec["matchConstraints"]["resourceRules"] = json!([{
                    "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"],
                    "resources": ["deployments/scale"],
                }]);
                spec["validations"] = json!([
                    {"expression": "object.spec.replicas < 5", "message": "too many"},
                ]);
            },
            |_| {},
        )?;
        let path = cx.in_group("apps/v1", "deployments/a/scale")?;
        cx.eventually(|| {
            cx.merge_patch(
                &path,
                json!({
                    "spec": {"replicas": 9},
                }),
            )
            .query("dryRun", "All")
            .expect(422)
        })?;
        cx.merge_patch(&path, json!({"spec": {"replicas": 2}}))
            .query("dryRun", "All")
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "a policy that does not compile is refused", |cx| {
        let spec = json!({
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                "resources": ["configmaps"],
            }]},
            "validations": [{"expression": "object.metadata.name +"}],
        });
        cx.post(
            format!("/apis/{GROUP}/validatingadmissionpolicies"),
            json!({
                "metadata": {"name": cx.unique("policy")}, "spec": spec,
            }),
        )
        .expect(422)?
        .has(json!({"details": {"causes": [{
            "field": "spec.validations[0].expression", "reason": "FieldValueInvalid",
            "message": "Invalid value: \"object.metadata.name +\": compilation failed: ERROR: \
             <input>:1:23: Syntax error: {*}",
        }]}}))?
        .done()
    }),
    Check::new(
        AREA,
        "a policy has something to match and something to say",
        |cx| {
            cx.post(
                format!("/apis/{GROUP}/validatingadmissionpolicies"),
                json!({
                    "metadata": {"name": cx.unique("policy")}, "spec": {},
                }),
            )
            .invalid(&[
                ("spec.matchConstraints", "FieldValueRequired", "Required value"),
                (
                    "spec.validations",
                    "FieldValueRequired",
                    "Required value: validations or auditAnnotations must contain at least one item",
                ),
                (
                    "spec.auditAnnotations",
                    "FieldValueRequired",
                    "Required value: validations or auditAnnotations must contain at least one item",
                ),
            ])?
            .done()
        },
    ),
    Check::new(AREA, "a policy is checked against the types it matches", |cx| {
        let name = install(
            cx,
            |spec| spec["validations"] = json!([{"expression": "object.nope == 'x'", "message": "never"}]),
            |_| {},
        )?;
        cx.eventually(|| {
            cx.get(format!("/apis/{GROUP}/validatingadmissionpolicies/{name}"))
                .expect(200)?
                .has(json!({
                    "status": {"observedGeneration": 1, "typeChecking": {"expressionWarnings": [{
                        "fieldRef": "spec.validations[0].expression",
                        "warning": "/v1, Kind=ConfigMap: ERROR: {*}undefined field 'nope'{*}",
                    }]}},
                }))
        })?
        .done()
    })
    .with_controllers(),
];
