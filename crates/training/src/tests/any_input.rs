//! Any object gets an answer.

use proptest::prelude::*;
use resources::kinds;
use serde_json::{Value, json};

use crate::{Observed, Settings, check, plan, render};

/// Small documents over the names that jobs give a meaning to.
fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..70_000i64).prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    scalar.prop_recursive(8, 40, 5, |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => prop::collection::btree_map(word(), inner, 0..6)
                .prop_map(|object| Value::Object(object.into_iter().collect())),
        ]
    })
}

fn word() -> impl Strategy<Value = String> {
    let words = [
        "runPolicy",
        "suspend",
        "backoffLimit",
        "tfReplicaSpecs",
        "pytorchReplicaSpecs",
        "mpiReplicaSpecs",
        "replicaSpecs",
        "jaxReplicaSpecs",
        "mxReplicaType",
        "Worker",
        "Master",
        "Launcher",
        "WORKER",
        "replicas",
        "template",
        "metadata",
        "labels",
        "spec",
        "containers",
        "name",
        "image",
        "env",
        "ports",
        "elasticPolicy",
        "restartPolicy",
        "Always",
        "jobMode",
        "local",
        "mpi",
        "tensorflow",
        "conditions",
        "restarts",
        "count",
    ];
    prop::sample::select(words.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn nothing_panics(kind in prop::sample::select(kinds::ALL.to_vec()), spec in value(), replicas in value(), status in value()) {
        let mut object = json!({
            "apiVersion": format!("{}/{}", kind.group, kind.versions[0]),
            "kind": kind.kind,
            "metadata": {"name": "j", "uid": "u", "generation": 1},
            "spec": spec,
            "status": status,
        });
        if let Value::Object(spec) = &mut object["spec"] {
            spec.insert(kind.replicas_field.to_owned(), replicas);
        }
        let errors = check(&object);
        prop_assert_eq!(render(&object, &Settings::default()).is_err(), !errors.is_empty());
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let plan = plan(&object, &Observed::default(), &Settings::default(), now);
        prop_assert!(errors.is_empty() || plan.make.is_empty());
    }
}
