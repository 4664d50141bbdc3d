//! What clients look for in the documents.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use serde_json::{Value, json};

use super::*;
use crate::types;

const CORE: &str = "io.k8s.api.core.v1";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

fn nothing<'a>(_: &str, _: Option<&str>) -> Option<&'a str> {
    None
}

/// The document of a built-in group version.
fn written(group: &str, version: &str) -> Value {
    let group_versions = built_in();
    let found = group_versions
        .iter()
        .find(|it| it.group == group && it.version == version)
        .unwrap();
    serde_json::to_value(document(found, &nothing)).unwrap()
}

fn described(name: &str, dialect: Dialect) -> Value {
    schema(types::by_name(name).unwrap(), dialect, &nothing).unwrap()
}

/// A custom kind with a status and a scale.
fn crontabs(schemas: &[(String, Value); 2]) -> GroupVersionDoc<'_> {
    let kind = KindDoc {
        group: "stable.example.com",
        version: "v1",
        kind: "CronTab",
    };
    let part = |name, body| SubresourceDoc {
        name,
        verbs: &["get", "patch", "update"],
        kind,
        body,
    };
    GroupVersionDoc {
        group: kind.group,
        version: kind.version,
        resources: vec![ResourceDoc {
            kind: "CronTab",
            plural: "crontabs",
            namespaced: true,
            verbs: &[
                "create",
                "delete",
                "deletecollection",
                "get",
                "list",
                "patch",
                "update",
                "watch",
            ],
            schema: SchemaSource::Custom(schemas),
            subresources: vec![
                part("scale", Body::BuiltIn("io.k8s.api.autoscaling.v1.Scale")),
                part("status", Body::Parent),
            ],
        }],
    }
}

/// The schemas of the custom kind and of its list.
fn ready(schema: Value) -> [(String, Value); 2] {
    let name = "com.example.stable.v1.CronTab";
    let items = json!({"type": "array", "items": {"$ref": format!("#/components/schemas/{name}")}});
    let list = json!({"type": "object", "properties": {"items": items}});
    [(name.to_owned(), schema), (format!("{name}List"), list)]
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// Every reference leads to a schema, and every schema is referred to.
#[track_caller]
fn check_references(document: &Value, prefix: &str, schemas: &Value) {
    let mut found = BTreeSet::new();
    references(document, &mut found);
    let named: BTreeSet<_> = schemas
        .as_object()
        .unwrap()
        .keys()
        .map(|name| format!("{prefix}{name}"))
        .collect();
    assert_eq!(found, named);
}

#[test]
fn a_document_has_the_schemas_it_refers_to_and_no_others() {
    for group_version in built_in() {
        let document = serde_json::to_value(document(&group_version, &nothing)).unwrap();
        check_references(
            &document,
            "#/components/schemas/",
            &document["components"]["schemas"],
        );
    }
    let everything = serde_json::to_value(swagger(&built_in(), &nothing)).unwrap();
    check_references(&everything, "#/definitions/", &everything["definitions"]);
}

#[test]
fn every_kind_that_can_be_patched_takes_field_validation() {
    for group_version in built_in() {
        let document = serde_json::to_value(document(&group_version, &nothing)).unwrap();
        for resource in &group_version.resources {
            let kind = json!({
                "group": group_version.group,
                "version": group_version.version,
                "kind": resource.kind,
            });
            let mut patches = document["paths"]
                .as_object()
                .unwrap()
                .values()
                .filter_map(|item| {
                    let patch = item.get("patch")?;
                    (patch["x-kubernetes-group-version-kind"] == kind).then_some(patch)
                });
            let takes = |patch: &Value| {
                let parameters = patch["parameters"].as_array().unwrap();
                parameters.iter().any(|it| it["name"] == "fieldValidation")
            };
            assert_eq!(
                patches.clone().next().is_some(),
                resource.verbs.contains(&"patch"),
                "{kind}"
            );
            assert!(patches.all(takes), "{kind}");
        }
    }
}

#[test]
fn no_two_operations_have_the_same_id() {
    let document = serde_json::to_value(swagger(&built_in(), &nothing)).unwrap();
    let items = document["paths"].as_object().unwrap().values();
    let operations = items.flat_map(|item| item.as_object().unwrap().values());
    let ids: Vec<_> = operations
        .filter_map(|it| it.get("operationId")?.as_str())
        .collect();
    assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len());
    for id in [
        "listCoreV1PodForAllNamespaces",
        "deleteCoreV1CollectionNamespacedPod",
        "replaceRbacAuthorizationV1ClusterRole",
        "createCoreV1NamespacedPodEviction",
        "connectCoreV1GetNamespacedPodProxyWithPath",
        "getAppsV1APIResources",
        "getAppsAPIGroup",
    ] {
        assert!(ids.contains(&id), "{id}");
    }
}

#[test]
fn explain_finds_the_kind_of_a_resource_by_its_path() {
    let apps = written("apps", "v1");
    let list = &apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"]["get"];
    let kind = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
    assert_eq!(list["x-kubernetes-action"], "list");
    assert_eq!(list["x-kubernetes-group-version-kind"], kind);
    let schema = &apps["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"];
    assert_eq!(schema["x-kubernetes-group-version-kind"], json!([kind]));
    let scale = &apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]["patch"];
    assert_eq!(scale["x-kubernetes-group-version-kind"]["group"], "autoscaling");
}

#[test]
fn fields_say_how_they_merge() {
    let container = described(&format!("{CORE}.Container"), Dialect::V3);
    assert_eq!(
        container["properties"]["ports"],
        json!({
            "type": "array",
            "items": {
                "allOf": [{"$ref": format!("#/components/schemas/{CORE}.ContainerPort")}],
                "default": {},
            },
            "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
            "x-kubernetes-list-type": "map",
            "x-kubernetes-patch-merge-key": "containerPort",
            "x-kubernetes-patch-strategy": "merge",
        })
    );
    assert_eq!(container["required"], json!(["name"]));
    let spec = described(&format!("{CORE}.PodSpec"), Dialect::V3);
    assert_eq!(
        spec["properties"]["volumes"]["x-kubernetes-patch-strategy"],
        "merge,retainKeys"
    );
    assert_eq!(
        spec["properties"]["nodeSelector"]["x-kubernetes-map-type"],
        "atomic"
    );
    let selector = described(&format!("{META}.LabelSelector"), Dialect::V3);
    assert_eq!(selector["x-kubernetes-map-type"], "atomic");
}

#[test]
fn fields_that_are_always_there_have_a_default_in_version_3_only() {
    let name = format!("{CORE}.ServicePort");
    let port = described(&name, Dialect::V3)["properties"].clone();
    assert_eq!(
        port["port"],
        json!({"type": "integer", "format": "int32", "default": 0})
    );
    let protocol = json!({
        "type": "string", "enum": ["SCTP", "TCP", "UDP"], "default": "TCP",
        "description": "Possible enum values:\n - `\"SCTP\"`\n - `\"TCP\"`\n - `\"UDP\"`",
    });
    assert_eq!(port["protocol"], protocol);
    assert_eq!(port["nodePort"], json!({"type": "integer", "format": "int32"}));
    let port = described(&name, Dialect::V2)["properties"].clone();
    assert_eq!(port["port"], json!({"type": "integer", "format": "int32"}));
    assert_eq!(
        port["targetPort"],
        json!({"$ref": "#/definitions/io.k8s.apimachinery.pkg.util.intstr.IntOrString"})
    );
}

#[test]
fn an_empty_value_may_be_one_of_an_enumeration() {
    let source = described(&format!("{CORE}.HostPathVolumeSource"), Dialect::V3);
    assert_eq!(source["properties"]["type"]["enum"][0], "");
}

#[test]
fn numbers_or_strings_are_told_as_each_dialect_can() {
    let quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity";
    let core = written("", "v1");
    assert_eq!(
        core["components"]["schemas"][quantity],
        json!({"oneOf": [{"type": "string"}, {"type": "number"}]})
    );
    let everything = serde_json::to_value(swagger(&built_in(), &nothing)).unwrap();
    assert_eq!(everything["definitions"][quantity], json!({"type": "string"}));
}

#[test]
fn descriptions_stand_beside_types_fields_and_references() {
    let docs = |ty: &str, field: Option<&str>| match (ty.rsplit('.').next()?, field) {
        ("Pod", None) => Some("runs containers"),
        ("Pod", Some("spec")) => Some("what to run"),
        ("Status", Some("kind")) => Some("what it is"),
        _ => None,
    };
    let pod = types::by_name(&format!("{CORE}.Pod")).unwrap();
    let v3 = schema(pod, Dialect::V3, &docs).unwrap();
    assert_eq!(v3["description"], "runs containers");
    assert_eq!(v3["properties"]["spec"]["description"], "what to run");
    let v2 = schema(pod, Dialect::V2, &docs).unwrap();
    assert_eq!(
        v2["properties"]["spec"],
        json!({"$ref": format!("#/definitions/{CORE}.PodSpec"), "description": "what to run"})
    );
    let list = types::by_name(&format!("{CORE}.PodList")).unwrap();
    let list = schema(list, Dialect::V3, &docs).unwrap();
    assert_eq!(list["properties"]["kind"]["description"], "what it is");
}

#[test]
fn a_custom_kind_is_published_like_a_built_in_one() {
    let schemas = ready(json!({
        "type": "object",
        "properties": {"metadata": {"$ref": format!("#/components/schemas/{META}.ObjectMeta")}},
    }));
    let group_version = crontabs(&schemas);
    let document = serde_json::to_value(document(&group_version, &nothing)).unwrap();
    check_references(
        &document,
        "#/components/schemas/",
        &document["components"]["schemas"],
    );
    let root = "/apis/stable.example.com/v1";
    let paths: Vec<_> = document["paths"].as_object().unwrap().keys().collect();
    let named = format!("{root}/namespaces/{{namespace}}/crontabs/{{name}}");
    assert_eq!(
        paths,
        [
            &format!("{root}/crontabs"),
            &format!("{root}/namespaces/{{namespace}}/crontabs"),
            &named,
            &format!("{named}/scale"),
            &format!("{named}/status"),
        ]
    );
    let patch = &document["paths"][&named]["patch"];
    assert_eq!(patch["operationId"], "patchStableExampleComV1NamespacedCronTab");
    let takes: Vec<_> = patch["requestBody"]["content"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert!(!takes.contains(&&"application/strategic-merge-patch+json".to_owned()));
}

#[test]
fn another_schema_is_another_hash() {
    let hash = |schema: Value| {
        let mut hasher = DefaultHasher::new();
        crontabs(&ready(schema)).hash(&mut hasher);
        hasher.finish()
    };
    assert_eq!(hash(json!({"type": "object"})), hash(json!({"type": "object"})));
    assert_ne!(hash(json!({"type": "object"})), hash(json!({"type": "array"})));
}

#[test]
fn groups_have_documents_of_their_own() {
    let apps = serde_json::to_value(group_document("apis/apps", &nothing).unwrap()).unwrap();
    assert_eq!(
        apps["paths"]["/apis/apps/"]["get"]["operationId"],
        "getAppsAPIGroup"
    );
    assert!(apps["components"]["schemas"][format!("{META}.APIGroup")].is_object());
    assert!(group_document("version", &nothing).is_some());
    assert!(group_document("apis/apps/v1", &nothing).is_none());
    assert!(group_document("metrics", &nothing).is_none());
}
