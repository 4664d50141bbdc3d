//! `render` against what the operator really makes.

use client_tests::{Release, Server, Shell, User, binary, kubectl, needed};
use serde_json::Value;

use crate::{example, until};

/// Whether everything of `expected` is in `actual`, which has defaults besides. Lists may be longer.
fn is_part(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => expected.iter().all(|(key, value)| {
            // The API does not store what is empty.
            let is_empty = value == "";
            actual.get(key).map_or(is_empty, |actual| is_part(value, actual))
        }),
        (Value::Array(expected), Value::Array(actual)) => {
            expected.len() <= actual.len() && expected.iter().zip(actual).all(|(a, b)| is_part(a, b))
        }
        _ => expected == actual,
    }
}

#[test]
fn what_is_rendered_is_what_the_operator_makes() {
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let server = Server::start_with_pods(User::Us);
    let shell = Shell::new(&server, &[("trainyard", binary()), ("kubectl", &kubectl)]);
    for (file, resource) in [
        ("pytorch.yaml", "pytorchjob/digits"),
        ("mpi.yaml", "mpijob/hosts"),
        ("tensorflow.yaml", "tfjob/retried"),
    ] {
        // Workers go when their launcher is done, so it takes its time.
        let file = example(file);
        until(
            &shell,
            &format!("sed 's/\\[mpirun.*/[sleep, \"1000\"]/' {file} | kubectl apply -f -"),
            resource.rsplit('/').next().unwrap(),
        );
        let job: Value = serde_json::from_str(&shell.ok(&format!("kubectl get {resource} -o json"))).unwrap();
        let rendered = shell.ok(&format!(
            "kubectl get {resource} -o json | trainyard render -f - -o json"
        ));
        let rendered: Value = serde_json::from_str(&rendered).unwrap();
        let children = rendered["items"].as_array().unwrap();
        assert!(children.len() > 3, "{rendered:#}");
        for child in children {
            let (kind, name) = (
                child["kind"].as_str().unwrap(),
                child["metadata"]["name"].as_str().unwrap(),
            );
            assert_eq!(
                child["metadata"]["ownerReferences"][0]["uid"],
                job["metadata"]["uid"]
            );
            until(&shell, &format!("kubectl get {kind} {name}"), name);
            let made: Value =
                serde_json::from_str(&shell.ok(&format!("kubectl get {kind} {name} -o json"))).unwrap();
            let mut expected = child.clone();
            // Who runs is told as time goes by.
            if let Some(Value::Object(data)) = expected.get_mut("data") {
                data.remove("discover_hosts.sh");
            }
            assert!(is_part(&expected, &made), "{kind} {name}\n{expected:#}\n{made:#}");
        }
    }
}

#[test]
fn manifests_are_rendered_without_a_cluster_or_refused_with_the_field() {
    let server = Server::start();
    let shell = Shell::new(&server, &[("trainyard", binary())]);
    let file = example("tensorflow.yaml");
    let good = shell.run(&format!(
        "KUBECONFIG= trainyard render -f {file} -f {}",
        example("mpi.yaml")
    ));
    assert_eq!(good.code, 0, "{good:?}");
    assert!(
        good.stderr
            .contains("PersistentVolumeClaim \"retried\" is no training job"),
        "{}",
        good.stderr
    );
    assert!(
        good.stdout.contains("TF_CONFIG") && good.stdout.contains("hosts-worker-1"),
        "{}",
        good.stdout
    );
    let bad = shell.run(&format!(
        "sed 's/ExitCode/Sometimes/' {file} | trainyard render -f -"
    ));
    assert_eq!((bad.code, bad.stdout.as_str()), (1, ""));
    assert!(
        bad.stderr
            .contains("standard input: document 1 (line 3), TFJob \"retried\": spec.tfReplicaSpecs"),
        "{}",
        bad.stderr
    );
    assert_eq!(shell.run("echo 'a: [' | trainyard render -f -").code, 2);
    assert_eq!(shell.run("trainyard render -f nothing.yaml").code, 2);
}
