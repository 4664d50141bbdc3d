//! `pkg check`: what a cluster would refuse, told before it does.

use serde_json::Value;

use crate::{Workbench, with_setters};

const POD: &str = "apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  hostNetwork: \"true\"
  containers: [{name: a, image: host, envFrom: [{configMapRef: {name: env}}]}]
";

fn pod() -> Workbench {
    Workbench::new(&[
        ("kustomization.yaml", "resources: [pod.yaml]\n"),
        ("pod.yaml", POD),
    ])
}

#[test]
fn each_finding_is_shown_in_its_line() {
    let output = pod().pkg("check");
    assert_eq!(output.code, 1, "{output:?}");
    assert_eq!(
        output.stdout,
        "error: pod.yaml:5:16: Pod `a`: spec.hostNetwork: the text \"true\" is there, and bool is needed
  |
5 |   hostNetwork: \"true\"
  |                ^
hint: write it without quotes; a var always gives text, so set the field itself, by a patch or a setter

warning: pod.yaml:6:71: Pod `a`: spec.containers[0].envFrom[0].configMapRef.name: the ConfigMap \"env\" is not in the package
  |
6 |   containers: [{name: a, image: host, envFrom: [{configMapRef: {name: env}}]}]
  |                                                                       ^
hint: add it to the package, unless the cluster has it

1 error, 1 warning in 1 object
"
    );
}

#[test]
fn programs_get_findings_as_json() {
    let output = pod().pkg("check -o json");
    assert_eq!(output.code, 1, "{output:?}");
    let findings: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(
        findings[0],
        serde_json::json!({
            "severity": "error",
            "file": "pod.yaml",
            "line": 5,
            "column": 16,
            "object": {"apiVersion": "v1", "kind": "Pod", "namespace": null, "name": "a"},
            "field": "spec.hostNetwork",
            "message": "the text \"true\" is there, and bool is needed",
            "hint": "write it without quotes; a var always gives text, so set the field itself, by a patch or a setter",
        })
    );
    assert_eq!(findings[1]["severity"], "warning");

    let broken = Workbench::new(&[("kustomization.yaml", "resources: [gone.yaml]\n")]);
    let output = broken.pkg("check -o json");
    assert_eq!(output.code, 1, "{output:?}");
    let findings: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(findings[0]["line"], 1, "{findings}");
}

#[test]
fn warnings_are_errors_only_on_request() {
    let bench = pod();
    bench.write("pod.yaml", &POD.replace("\"true\"", "true"));
    assert_eq!(bench.pkg("check").code, 0);
    assert_eq!(bench.pkg("check --strict").code, 1);
    bench.write(
        "kustomization.yaml",
        "resources: [pod.yaml]\nconfigMapGenerator: [{name: env}]\n",
    );
    assert_eq!(
        bench.pkg("check --strict").success(),
        "0 errors, 0 warnings in 2 objects\n"
    );
}

#[test]
fn required_setters_must_be_set() {
    let bench = with_setters();
    bench.write("top/kustomization.yaml", "resources: [../base]\n");
    bench.write("base/Krmfile", crate::KRMFILE);
    bench.write("base/kustomization.yaml", "configMapGenerator: [{name: a}]\n");
    let output = bench.pkg("check top");
    assert_eq!(output.code, 1, "{output:?}");
    assert!(
        output
            .stdout
            .starts_with("error: base/Krmfile:10:11: the setter \"replicas\" is required, and not set\n"),
        "{}",
        output.stdout
    );
    assert!(
        output
            .stdout
            .contains("hint: `trainyard pkg set base replicas VALUE` sets it (how many workers there are)\n"),
        "{}",
        output.stdout
    );
    bench.pkg("set base replicas 4").success();
    bench.pkg("check top").success();
}
