use serde_json::{Value, json};

use super::*;

#[track_caller]
fn normalized(ty: &str, mut value: Value) -> (Value, Vec<String>) {
    let unknown = normalize(types::by_name(ty).unwrap(), &mut value).unwrap();
    (value, unknown)
}

#[track_caller]
fn check(ty: &str, value: Value, expected: &Value) {
    assert_eq!(normalized(ty, value).0, *expected);
}

#[track_caller]
fn refuses(ty: &str, mut value: Value, expected: &str) {
    let error = normalize(types::by_name(ty).unwrap(), &mut value).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

const POD: &str = "io.k8s.api.core.v1.Pod";
const DEPLOYMENT: &str = "io.k8s.api.apps.v1.Deployment";
const CRD: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition";

#[test]
fn structs_are_written_and_empty_scalars_are_not() {
    check(
        DEPLOYMENT,
        json!({"metadata": {"name": "a", "labels": {}}, "spec": {
            "replicas": 0, "paused": false, "selector": null,
            "template": {"spec": {"containers": [{"name": "c", "image": "", "args": []}]}}
        }}),
        &json!({"metadata": {"name": "a"}, "status": {}, "spec": {
            "replicas": 0, "selector": null, "strategy": {},
            "template": {"metadata": {}, "spec": {"containers": [{"name": "c", "resources": {}}]}}
        }}),
    );
}

#[test]
fn unknown_fields_are_dropped_and_named() {
    let (value, unknown) = normalized(
        POD,
        json!({"spec": {"containers": [{"name": "c", "foo": 1}], "bar": {"x": 1}}, "baz": 2}),
    );
    assert_eq!(
        unknown,
        [
            r#"unknown field "baz""#,
            r#"unknown field "spec.bar""#,
            r#"unknown field "spec.containers[0].foo""#
        ]
    );
    assert_eq!(
        value["spec"],
        json!({"containers": [{"name": "c", "resources": {}}]})
    );
}

#[test]
fn embedded_structs_are_flat() {
    check(
        "io.k8s.api.core.v1.Volume",
        json!({"name": "v", "emptyDir": {"sizeLimit": "1024Mi"}}),
        &json!({"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}),
    );
    check(
        "io.k8s.api.core.v1.Probe",
        json!({"httpGet": {"path": "/"}, "periodSeconds": 0}),
        &json!({"httpGet": {"path": "/", "port": 0}}),
    );
}

#[test]
fn numbers_and_quantities_are_canonical() {
    check(
        "io.k8s.api.core.v1.ResourceRequirements",
        json!({"limits": {"cpu": 1.5, "memory": "1000m", "x": null}, "requests": {}}),
        &json!({"limits": {"cpu": "1500m", "memory": "1", "x": "0"}}),
    );
}

#[test]
fn nonsense_quantities_are_refused() {
    let limit = |text: &str| json!({"limits": {"cpu": text}});
    let ty = "io.k8s.api.core.v1.ResourceRequirements";
    let wrong = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    for text in ["abc", "1Zi", "", "1.2.3"] {
        refuses(ty, limit(text), wrong);
    }
    for text in ["1e", "1Ki5", "1mm"] {
        refuses(ty, limit(text), "unable to parse quantity's suffix");
    }
}

#[test]
fn lists_without_omitempty_are_null_when_empty() {
    check(
        "io.k8s.api.rbac.v1.Role",
        json!({"rules": []}),
        &json!({"metadata": {}, "rules": null}),
    );
}

#[test]
fn wrong_types_are_told_in_the_words_of_go() {
    refuses(
        DEPLOYMENT,
        json!({"spec": {"replicas": "3"}}),
        "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
    );
    refuses(
        DEPLOYMENT,
        json!({"spec": {"replicas": 1.5}}),
        "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
    );
    refuses(
        POD,
        json!({"spec": {"containers": [{"ports": [{"protocol": 1}]}]}}),
        "json: cannot unmarshal number into Go struct field ContainerPort.spec.containers.ports.protocol of type v1.Protocol",
    );
    refuses(
        POD,
        json!({"metadata": {"labels": {"a": true}}}),
        "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string",
    );
    refuses(
        POD,
        json!({"spec": {"containers": {}}}),
        "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
    );
    refuses(
        POD,
        json!([]),
        "json: cannot unmarshal array into Go value of type v1.Pod",
    );
}

#[test]
fn schemas_may_be_simpler_things() {
    let wrap = |schema: Value| json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"a": schema}}}}]}});
    let (value, unknown) = normalized(
        CRD,
        wrap(
            json!({"items": {"type": "string", "bogus": 1}, "additionalProperties": true,
            "maximum": 5.0, "default": {"any": null}, "bogus": 1}),
        ),
    );
    assert_eq!(
        unknown,
        [r#"unknown field "spec.versions[0].schema.openAPIV3Schema.properties.a.bogus""#]
    );
    assert_eq!(
        value["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["a"],
        json!({"items": {"type": "string"}, "additionalProperties": true, "maximum": 5, "default": {"any": null}})
    );
    refuses(
        CRD,
        wrap(json!({"additionalProperties": "yes"})),
        "boolean or JSON schema expected",
    );
}

#[test]
fn an_empty_object_of_free_json_is_kept() {
    let (value, _) = normalized(
        "io.k8s.api.apps.v1.ControllerRevision",
        json!({"data": {}, "revision": 1}),
    );
    assert_eq!(value["data"], json!({}));
}

#[test]
fn everything_that_does_not_fit_is_found_at_once() {
    let mut value = json!({"metadata": {"name": 7}, "spec": {"hots": "a", "containers": [
        {"name": "c", "securityContext": {"runAsUser": "0", "runAsNonRoot": "no", "fsGroup": 1}},
    ]}});
    let faults = faults(types::by_name(POD).unwrap(), &mut value);
    let misfits: Vec<_> = faults
        .misfits
        .iter()
        .map(|misfit| format!("{} {} {}", misfit.path, misfit.value, misfit.wanted))
        .collect();
    assert_eq!(
        misfits,
        [
            "metadata.name 7 string",
            "spec.containers[0].securityContext.runAsNonRoot \"no\" bool",
            "spec.containers[0].securityContext.runAsUser \"0\" int64",
        ]
    );
    let unknown: Vec<_> = faults.unknown.iter().map(|field| field.path.as_str()).collect();
    assert_eq!(
        unknown,
        ["spec.containers[0].securityContext.fsGroup", "spec.hots"]
    );
}
