//! Cases recorded from the real implementation with the real types; the few fields they use are
//! described here once more.

use serde_json::{Value, json};

use super::{StrategicMergeError, apply};
use crate::shape::{Forms, ListKind, PatchStrategy, Scalar, Shape};
use crate::testing::{check_cases, never_panics};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Struct(&'static str),
    List(&'static str, PatchStrategy<'static>),
    Map,
    Scalar,
}

const ATOMIC: PatchStrategy<'static> = PatchStrategy {
    merge: false,
    merge_key: None,
    retain_keys: false,
};

const fn by(key: &'static str) -> PatchStrategy<'static> {
    PatchStrategy {
        merge: true,
        merge_key: Some(key),
        retain_keys: false,
    }
}

fn field_of(owner: &str, field: &str) -> Option<Type> {
    Some(match (owner, field) {
        ("Pod" | "Deployment" | "Service" | "ConfigMap" | "PodTemplateSpec", "metadata") => {
            Type::Struct("ObjectMeta")
        }
        ("ObjectMeta", "labels" | "annotations")
        | ("ConfigMap", "data")
        | ("PodSpec", "nodeSelector")
        | ("ResourceRequirements", "limits" | "requests")
        | ("ServiceSpec", "selector") => Type::Map,
        ("ObjectMeta", "finalizers") => Type::List(
            "",
            PatchStrategy {
                merge: true,
                ..ATOMIC
            },
        ),
        ("ObjectMeta", "ownerReferences") => Type::List("OwnerReference", by("uid")),
        ("Pod" | "PodTemplateSpec", "spec") => Type::Struct("PodSpec"),
        ("Deployment", "spec") => Type::Struct("DeploymentSpec"),
        ("DeploymentSpec", "template") => Type::Struct("PodTemplateSpec"),
        ("DeploymentSpec", "strategy") => Type::Struct("DeploymentStrategy"),
        ("DeploymentStrategy", "rollingUpdate") => Type::Struct("RollingUpdateDeployment"),
        ("PodSpec", "containers") => Type::List("Container", by("name")),
        ("PodSpec", "volumes") => Type::List(
            "Volume",
            PatchStrategy {
                retain_keys: true,
                ..by("name")
            },
        ),
        ("PodSpec", "tolerations") => Type::List("Toleration", ATOMIC),
        ("PodSpec", "securityContext") => Type::Struct("PodSecurityContext"),
        ("Container", "env") => Type::List("EnvVar", by("name")),
        ("Container", "ports") => Type::List("ContainerPort", by("containerPort")),
        ("Container", "volumeMounts") => Type::List("VolumeMount", by("mountPath")),
        ("Container", "args" | "command") => Type::List("", ATOMIC),
        ("Container", "resources") => Type::Struct("ResourceRequirements"),
        ("Volume", "emptyDir" | "configMap" | "hostPath") => Type::Struct("VolumeSource"),
        ("Service", "spec") => Type::Struct("ServiceSpec"),
        ("ServiceSpec", "ports") => Type::List("ServicePort", by("port")),
        _ => return None,
    })
}

impl Shape for Type {
    fn field(self, name: &str) -> Option<Self> {
        match self {
            Self::Struct(owner) => field_of(owner, name),
            Self::Map => Some(Self::Scalar),
            _ => None,
        }
    }

    fn declares(self, name: &str) -> bool {
        matches!(self, Self::Struct(owner) if field_of(owner, name).is_some())
    }

    fn forms(self) -> Forms {
        match self {
            Self::Struct(_) | Self::Map => Forms::OBJECT,
            Self::List(..) => Forms::LIST,
            Self::Scalar => Forms::scalar(Scalar::Any),
        }
    }

    fn element(self) -> Option<Self> {
        match self {
            Self::List("", _) => Some(Self::Scalar),
            Self::List(item, _) => Some(Self::Struct(item)),
            _ => None,
        }
    }

    fn type_name(&self) -> Option<&str> {
        match self {
            Self::Struct(name) => Some(name),
            _ => None,
        }
    }

    fn list_kind(&self) -> ListKind<'_> {
        ListKind::Atomic
    }

    fn is_atomic_object(self) -> bool {
        false
    }

    fn patch_strategy(&self) -> PatchStrategy<'_> {
        match self {
            Self::List(_, strategy) => *strategy,
            _ => ATOMIC,
        }
    }

    fn key_default(&self, _key: &str) -> Option<Value> {
        None
    }
}

#[track_caller]
fn check(cases: &str) {
    check_cases(cases, |case| {
        let kind = match case["kind"].as_str() {
            Some("Pod") => "Pod",
            Some("Deployment") => "Deployment",
            Some("Service") => "Service",
            _ => "ConfigMap",
        };
        apply(
            case["original"].clone(),
            case["patch"].clone(),
            Type::Struct(kind),
        )
        .map_err(|error| error.to_string())
    });
}

#[test]
fn objects_merge_field_by_field() {
    check(include_str!("../../testdata/strategic_merge/objects.json"));
}

#[test]
fn lists_of_objects_merge_by_their_key() {
    check(include_str!("../../testdata/strategic_merge/keyed_lists.json"));
}

#[test]
fn lists_of_scalars_merge_as_sets() {
    check(include_str!("../../testdata/strategic_merge/scalar_lists.json"));
}

#[test]
fn an_order_given_beside_a_list_is_followed() {
    check(include_str!("../../testdata/strategic_merge/element_order.json"));
}

#[test]
fn retained_keys_clear_all_others() {
    check(include_str!("../../testdata/strategic_merge/retain_keys.json"));
}

#[test]
fn errors_know_whose_fault_they_are() {
    let code = |patch| apply(json!({}), patch, Type::Struct("Pod")).map_err(|error| error.status_code());
    assert_eq!(code(json!([])), Err(400));
    assert_eq!(code(json!({"$retainKeys": 1})), Err(400));
    assert_eq!(code(json!({"$patch": "x"})), Err(500));
    assert_eq!(
        apply(json!({}), json!("x"), Type::Struct("Pod")),
        Err(StrategicMergeError::NotAnObject("string"))
    );
}

#[test]
fn any_patch_is_applied_or_refused() {
    never_panics(|original, patch| {
        let _ = apply(original.clone(), patch.clone(), Type::Struct("Pod"));
    });
}
