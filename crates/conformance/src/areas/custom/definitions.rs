//! Definitions: what is filled in, refused, announced and cleaned up.

use serde_json::{Value, json};

use super::{DEFINITIONS, define, definition, unique_group, widgets, with_properties};
use crate::{Check, Context, Outcome, failure::ensure};

const AREA: &str = "custom definitions";

/// The faults of a definition after a change to its spec: field, reason, message.
fn refuses(cx: &Context<'_>, change: impl FnOnce(&mut Value), faults: &[(&str, &str, &str)]) -> Outcome {
    let mut body = definition("faulty.example.com", json!({"type": "object"}));
    change(&mut body);
    cx.post(DEFINITIONS, body)
        .query("dryRun", "All")
        .invalid(faults)?
        .done()
}

fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "lastTransitionTime": "<time>", "message": "<any>",
    })
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "a definition is completed and established", |cx| {
        let widgets = widgets(cx, json!({"type": "object"}))?;
        let names =
            json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"});
        cx.get(&widgets.definition)
            .expect(200)?
            .has(json!({
                "spec": {"conversion": {"strategy": "None"}, "names": names},
                "status": {
                    "acceptedNames": names, "storedVersions": ["v1"],
                    "conditions": [
                        condition("NamesAccepted", "True", "NoConflicts"),
                        condition("Established", "True", "InitialNamesAccepted"),
                    ],
                },
            }))?
            .done()
    }),
    Check::new(AREA, "a group of definitions is discovered", |cx| {
        let widgets = widgets(cx, json!({"type": "object"}))?;
        let (group, version) = (
            &widgets.group,
            json!({"groupVersion": format!("{}/v1", widgets.group), "version": "v1"}),
        );
        cx.eventually(|| {
            cx.get("/apis").expect(200)?.has(json!({"groups": ["<includes>", {
                "name": group, "versions": [version], "preferredVersion": version,
            }]}))
        })?;
        cx.get(format!("/apis/{group}"))
            .expect(200)?
            .has(json!({"kind": "APIGroup", "name": group, "versions": [version]}))?
            .done()
    }),
    Check::new(
        AREA,
        "a resource list names short names, categories and subresources",
        |cx| {
            let mut body = definition(&unique_group(cx), json!({"type": "object"}));
            body["spec"]["names"]["shortNames"] = json!(["wd"]);
            body["spec"]["names"]["categories"] = json!(["all"]);
            body["spec"]["versions"][0]["subresources"] = json!({
                "status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"},
            });
            let widgets = define(cx, body)?;
            cx.eventually(|| {
                cx.get(format!("/apis/{}/v1", widgets.group)).expect(200)?.has(json!({"resources": [
                {
                    "name": "widgets", "singularName": "widget", "namespaced": true, "kind": "Widget",
                    "verbs": [
                        "delete", "deletecollection", "get", "list", "patch", "create", "update", "watch",
                    ],
                    "shortNames": ["wd"], "categories": ["all"], "storageVersionHash": "<any>",
                },
                {
                    "name": "widgets/status", "singularName": "", "namespaced": true, "kind": "Widget",
                    "verbs": ["get", "patch", "update"],
                },
                {
                    "name": "widgets/scale", "singularName": "", "namespaced": true, "group": "autoscaling",
                    "version": "v1",
                    "kind": "Scale", "verbs": ["get", "patch", "update"],
                },
            ]}))
            })?
            .done()
        },
    ),
    Check::new(AREA, "aggregated discovery knows custom resources", |cx| {
        let widgets = widgets(cx, json!({"type": "object"}))?;
        cx.eventually(|| {
            cx.get("/apis")
                .accept("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
                .expect(200)?
                .has(json!({"items": ["<includes>", {
                    "metadata": {"name": widgets.group},
                    "versions": [{"version": "v1", "resources": [{
                        "resource": "widgets", "scope": "Namespaced", "singularResource": "widget",
                        "responseKind": {"group": widgets.group, "version": "v1", "kind": "Widget"},
                    }]}],
                }]}))
        })?
        .done()
    }),
    Check::new(
        AREA,
        "the openapi document of a custom group has its schema",
        |cx| {
            let schema = with_properties(json!({"size": {"type": "integer", "description": "How large."}}));
            let widgets = widgets(cx, schema)?;
            let path = format!("/openapi/v3/apis/{}/v1", widgets.group);
            let document = cx.eventually(|| cx.get(&path).expect(200))?;
            let schemas = document.at("/components/schemas").to_string();
            ensure(schemas.contains("How large."), "the description", &schemas)?;
            let parts: Vec<&str> = widgets.group.split('.').rev().collect();
            document
                .has(
                    json!({"components": {"schemas": {format!("{}.v1.Widget", parts.join(".")): {
                        "properties": {
                            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": "<any>",
                            "spec": {"properties": {"size": {"type": "integer"}}},
                        },
                        "x-kubernetes-group-version-kind": [
                            {"group": widgets.group, "version": "v1", "kind": "Widget"},
                        ],
                    }}}}),
                )?
                .done()
        },
    ),
    Check::new(AREA, "the group goes with its last definition", |cx| {
        let widgets = widgets(cx, json!({"type": "object"}))?;
        cx.delete(&widgets.definition).expect(200)?;
        cx.gone(&widgets.definition)?;
        cx.eventually(|| cx.get(format!("/apis/{}/v1", widgets.group)).expect(404))?;
        cx.eventually(|| cx.get(&widgets.path).expect(404))?.done()
    }),
    Check::new(AREA, "a deleted definition takes its objects along", |cx| {
        let widgets = widgets(cx, json!({"type": "object"}))?;
        let mut held = widgets.object(&json!({}));
        held["metadata"]["finalizers"] = json!(["example.com/hold"]);
        cx.post(&widgets.path, held).expect(201)?;
        cx.delete(&widgets.definition)
            .expect(200)?
            .has(json!({"metadata": {
                "deletionTimestamp": "<time>", "finalizers": ["customresourcecleanup.apiextensions.k8s.io"],
            }}))?;
        cx.eventually(|| {
            cx.get(&widgets.definition)
                .expect(200)?
                .has(json!({"status": {"conditions": ["<includes>", {
                    "type": "Terminating", "status": "True", "reason": "InstanceDeletionInProgress",
                }]}}))
        })?;
        cx.eventually(|| {
            cx.get(widgets.one())
                .expect(200)?
                .has(json!({"metadata": {"deletionTimestamp": "<time>"}}))
        })?;
        cx.post(
            &widgets.path,
            json!({
                "apiVersion": widgets.api_version(), "kind": "Widget", "metadata": {"name": "b"},
            }),
        )
        .refused(
            403,
            "Forbidden",
            &format!(
                "widgets.{} \"b\" is forbidden: create not allowed while custom resource definition is \
                     terminating",
                widgets.group
            ),
        )?;
        cx.merge_patch(widgets.one(), json!({"metadata": {"finalizers": null}}))
            .expect(200)?;
        cx.gone(&widgets.definition)?.done()
    }),
    Check::new(AREA, "a second definition of a kind is not accepted", |cx| {
        let widgets = widgets(cx, json!({"type": "object"}))?;
        let mut body = definition(&widgets.group, json!({"type": "object"}));
        body["metadata"]["name"] = json!(format!("gadgets.{}", widgets.group));
        body["spec"]["names"] = json!({"plural": "gadgets", "kind": "Widget"});
        let other = cx.create_cluster("apiextensions.k8s.io/v1", "customresourcedefinitions", body)?;
        let path = format!("{DEFINITIONS}/{}", other.text("/metadata/name"));
        cx.eventually(|| {
            cx.get(&path).expect(200)?.has(json!({"status": {"conditions": [
                {
                    "type": "NamesAccepted", "status": "False", "reason": "ListKindConflict",
                    "message": "\"WidgetList\" is already in use",
                },
                {
                    "type": "Established", "status": "False", "reason": "NotAccepted",
                    "message": "not all names are accepted",
                },
            ]}}))
        })?
        .done()
    }),
    Check::new(AREA, "a definition is named after its plural and group", |cx| {
        refuses(
            cx,
            |body| body["metadata"]["name"] = json!("gadgets.faulty.example.com"),
            &[(
                "metadata.name",
                "FieldValueInvalid",
                "Invalid value: \"gadgets.faulty.example.com\": must be spec.names.plural+\".\"+spec.group",
            )],
        )
    }),
    Check::new(AREA, "a definition has exactly one storage version", |cx| {
        refuses(
            cx,
            |body| body["spec"]["versions"][0]["storage"] = json!(false),
            &[
                (
                    "spec.versions",
                    "FieldValueInvalid",
                    "Invalid value: [{\"Name\":\"v1\",{*}}]: must have exactly one version marked as storage \
                     version",
                ),
                (
                    "status.storedVersions",
                    "FieldValueInvalid",
                    "Invalid value: null: must have at least one stored version",
                ),
            ],
        )
    }),
    Check::new(AREA, "a version has a schema", |cx| {
        refuses(
            cx,
            |body| body["spec"]["versions"][0]["schema"] = Value::Null,
            &[(
                "spec.versions[0].schema.openAPIV3Schema",
                "FieldValueRequired",
                "Required value",
            )],
        )
    }),
    Check::new(AREA, "a version's name is a label", |cx| {
        refuses(
            cx,
            |body| body["spec"]["versions"][0]["name"] = json!("V1"),
            &[
                (
                    "spec.versions[0].name",
                    "FieldValueInvalid",
                    "Invalid value: \"V1\": a DNS-1035 label must consist of lower case alphanumeric \
                     characters or '-', \
                    start with an alphabetic character, and end with an alphanumeric character (e.g. \
                    'my-name',  or 'abc-123', \
                    regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
                ),
                (
                    "spec.version",
                    "FieldValueInvalid",
                    "Invalid value: \"V1\": a DNS-1035 label must consist of lower case alphanumeric \
                     characters or '-', \
                    start with an alphabetic character, and end with an alphanumeric character (e.g. \
                    'my-name',  or 'abc-123', \
                    regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
                ),
            ],
        )
    }),
    Check::new(AREA, "a schema is structural: every part has a type", |cx| {
        refuses(
            cx,
            |body| {
                body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] = json!({"spec": {}});
            },
            &[(
                "spec.validation.openAPIV3Schema.properties[spec].type",
                "FieldValueRequired",
                "Required value: must not be empty for specified object fields",
            )],
        )
    }),
    Check::new(AREA, "a schema is of an object", |cx| {
        refuses(
            cx,
            |body| body["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({"type": "string"}),
            &[(
                "spec.validation.openAPIV3Schema.type",
                "FieldValueInvalid",
                "Invalid value: \"string\": must be object at the root",
            )],
        )
    }),
    Check::new(AREA, "a default must fit its schema", |cx| {
        refuses(
            cx,
            |body| {
                body["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
                    with_properties(json!({"n": {"type": "integer", "default": "many"}}));
            },
            &[(
                "spec.validation.openAPIV3Schema.properties[spec].properties[n].default",
                "FieldValueTypeInvalid",
                "Invalid value: \"string\":  in body must be of type integer: \"string\"",
            )],
        )
    }),
    Check::new(
        AREA,
        "a schema does not describe metadata beyond its name",
        |cx| {
            refuses(
                cx,
                |body| {
                    body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] =
                        json!({"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}});
                },
                &[(
                    "spec.validation.openAPIV3Schema.properties[metadata]",
                    "FieldValueForbidden",
                    "Forbidden: must not specify anything other than name and generateName, but metadata is \
                     implicitly specified",
                )],
            )
        },
    ),
    Check::new(AREA, "a scope is namespaced or of the cluster", |cx| {
        refuses(
            cx,
            |body| body["spec"]["scope"] = json!("Universe"),
            &[(
                "spec.scope",
                "FieldValueNotSupported",
                "Unsupported value: \"Universe\": supported values: \"Cluster\", \"Namespaced\"",
            )],
        )
    }),
    Check::new(AREA, "a kind is a name", |cx| {
        refuses(
            cx,
            |body| body["spec"]["names"]["kind"] = json!("1 Widget"),
            &[
                (
                    "spec.names.kind",
                    "FieldValueInvalid",
                    "Invalid value: \"1 Widget\": may have mixed case, but should otherwise match: a \
                     DNS-1035 label must consist of lower case alphanumeric \
                characters or '-', start with an alphabetic character, and end with an alphanumeric \
                character (e.g. 'my-name',  \
                or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
                ),
                (
                    "spec.names.listKind",
                    "FieldValueInvalid",
                    "Invalid value: \"1 WidgetList\": may have mixed case, but should otherwise match: a \
                     DNS-1035 label must consist of lower case alphanumeric \
                characters or '-', start with an alphabetic character, and end with an alphanumeric \
                character (e.g. 'my-name',  \
                or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
                ),
            ],
        )
    }),
    Check::new(AREA, "a protected group needs an approval", |cx| {
        refuses(
            cx,
            |body| {
                body["metadata"]["name"] = json!("widgets.faulty.k8s.io");
                body["spec"]["group"] = json!("faulty.k8s.io");
            },
            &[(
                "metadata.annotations[api-approved.kubernetes.io]",
                "FieldValueRequired",
                "Required value: protected groups must have approval annotation \
                 \"api-approved.kubernetes.io\", see \
                 https://github.com/kubernetes/enhancements/pull/1111",
            )],
        )
    }),
    Check::new(
        AREA,
        "a definition may not keep unknown fields everywhere",
        |cx| {
            refuses(
                cx,
                |body| body["spec"]["preserveUnknownFields"] = json!(true),
                &[(
                    "spec.preserveUnknownFields",
                    "FieldValueInvalid",
                    "Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to \
                     true in \
                 spec.versions[*].schema instead",
                )],
            )
        },
    ),
    Check::new(AREA, "a printer column has a path", |cx| {
        refuses(
            cx,
            |body| {
                body["spec"]["versions"][0]["additionalPrinterColumns"] = json!([
                    {"name": "Size", "type": "number", "jsonPath": "spec.size"},
                    {"name": "", "type": "nope", "jsonPath": ""},
                ]);
            },
            &[
                (
                    "spec.additionalPrinterColumns[0].JSONPath",
                    "FieldValueInvalid",
                    "Invalid value: \"spec.size\": must be a simple json path starting with .",
                ),
                (
                    "spec.additionalPrinterColumns[1].name",
                    "FieldValueRequired",
                    "Required value",
                ),
                (
                    "spec.additionalPrinterColumns[1].type",
                    "FieldValueInvalid",
                    "Invalid value: \"nope\": must be one of boolean,date,integer,number,string",
                ),
                (
                    "spec.additionalPrinterColumns[1].JSONPath",
                    "FieldValueRequired",
                    "Required value",
                ),
            ],
        )
    }),
    Check::new(AREA, "a selectable field must be in the schema", |cx| {
        refuses(
            cx,
            |body| body["spec"]["versions"][0]["selectableFields"] = json!([{"jsonPath": ".spec.nope"}]),
            &[(
                "spec.selectableFields[0].jsonPath",
                "FieldValueInvalid",
                "Invalid value: \".spec.nope\": is an invalid path: does not refer to a valid field",
            )],
        )
    }),
    Check::new(AREA, "a scale needs its paths", |cx| {
        refuses(
            cx,
            |body| {
                body["spec"]["versions"][0]["subresources"] =
                    json!({"scale": {"specReplicasPath": ".status.n", "statusReplicasPath": ""}});
            },
            &[
                (
                    "spec.subresources.scale.specReplicasPath",
                    "FieldValueInvalid",
                    "Invalid value: \".status.n\": should be a json path under .spec",
                ),
                (
                    "spec.subresources.scale.statusReplicasPath",
                    "FieldValueRequired",
                    "Required value",
                ),
            ],
        )
    }),
    Check::new(AREA, "the scope cannot be changed once established", |cx| {
        let widgets = widgets(cx, json!({"type": "object"}))?;
        cx.merge_patch(&widgets.definition, json!({"spec": {"scope": "Cluster"}}))
            .invalid(&[(
                "spec.scope",
                "FieldValueInvalid",
                "Invalid value: \"Cluster\": field is immutable",
            )])?
            .done()
    }),
    Check::new(AREA, "the group cannot be changed", |cx| {
        let widgets = widgets(cx, json!({"type": "object"}))?;
        cx.merge_patch(
            &widgets.definition,
            json!({"spec": {"group": "other.example.com"}}),
        )
        .expect(422)?
        .has(json!({"details": {"causes": ["<includes>", {
            "field": "spec.group", "message": "Invalid value: \"other.example.com\": field is immutable",
        }]}}))?
        .done()
    }),
    Check::new(AREA, "a changed schema holds for new writes", |cx| {
        let widgets = widgets(cx, with_properties(json!({"size": {"type": "integer"}})))?;
        widgets.create(cx, json!({"spec": {"size": 100}}))?;
        let schema = with_properties(json!({"size": {"type": "integer", "maximum": 10}}));
        let versions =
            json!([{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]);
        cx.merge_patch(&widgets.definition, json!({"spec": {"versions": versions}}))
            .expect(200)?
            .has(json!({"metadata": {"generation": 2}}))?;
        let mut other = widgets.object(&json!({"spec": {"size": 100}}));
        other["metadata"]["name"] = json!("b");
        cx.eventually(|| {
            cx.post(&widgets.path, other.clone())
                .query("dryRun", "All")
                .expect(422)
        })?;
        cx.get(widgets.one())
            .expect(200)?
            .has(json!({"spec": {"size": 100}}))?
            .done()
    }),
    Check::new(AREA, "a version can be added and is served", |cx| {
        let widgets = widgets(cx, json!({"type": "object"}))?;
        let version = |name: &str, storage: bool| {
            json!({
                "name": name, "served": true, "storage": storage,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            })
        };
        let versions = json!([version("v1", false), version("v2", true)]);
        cx.merge_patch(&widgets.definition, json!({"spec": {"versions": versions}}))
            .expect(200)?;
        let path = cx.in_group(&format!("{}/v2", widgets.group), "widgets")?;
        cx.eventually(|| cx.get(&path).expect(200))?;
        cx.get(&widgets.definition)
            .expect(200)?
            .has(json!({"status": {"storedVersions": ["v1", "v2"]}}))?
            .done()
    }),
    Check::new(AREA, "a version that is stored cannot be removed", |cx| {
        let widgets = widgets(cx, json!({"type": "object"}))?;
        let versions = json!([
            {
                "name": "v2", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            },
        ]);
        cx.merge_patch(&widgets.definition, json!({"spec": {"versions": versions}}))
            .invalid(&[(
                "status.storedVersions[0]",
                "FieldValueInvalid",
                "Invalid value: \"v1\": missing \
                from spec.versions; v1 was \
                previously a storage version, and must remain in spec.versions until a storage migration \
                ensures no data \
                remains persisted in v1 and removes v1 from status.storedVersions",
            )])?
            .done()
    }),
];
