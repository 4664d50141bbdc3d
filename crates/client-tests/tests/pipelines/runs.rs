//! What workflows do: steps, graphs, results, parameters, artifacts, attempts, handlers, objects.

use client_tests::{Receiver, team::Team};

use crate::{node, parameter, until_ended};

/// Steps one after the other and beside each other: a script's result, a parameter from a file, a loop, a condition.
pub(crate) fn steps(team: &Team<'_>) {
    team.ok("create -f - <<'END'
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: steps}
spec:
  entrypoint: main
  arguments: {parameters: [{name: greeting, value: hello}]}
  templates:
  - name: main
    steps:
    - - {name: number, template: number}
    - - name: double
        template: double
        arguments: {parameters: [{name: value, value: '{{steps.number.outputs.result}}'}]}
      - name: each
        template: say
        arguments: {parameters: [{name: text, value: '{{workflow.parameters.greeting}} {{item}}'}]}
        withItems: [ada, bob]
    - - name: large
        template: say
        when: '{{steps.double.outputs.parameters.twice}} > 40'
        arguments: {parameters: [{name: text, value: 'large {{=asInt(steps.double.outputs.parameters.twice) + 1}}'}]}
      - name: small
        template: say
        when: '{{steps.double.outputs.parameters.twice}} <= 40'
        arguments: {parameters: [{name: text, value: small}]}
  - name: number
    script: {image: host, command: [sh], source: 'echo 21'}
  - name: double
    inputs: {parameters: [{name: value}]}
    container: {image: host, command: [sh, -c], args: ['echo $(( {{inputs.parameters.value}} * 2 )) > /tmp/twice']}
    outputs: {parameters: [{name: twice, valueFrom: {path: /tmp/twice}}]}
  - name: say
    inputs: {parameters: [{name: text}]}
    container: {image: host, command: [echo], args: ['{{inputs.parameters.text}}']}
END");
    let workflow = until_ended(team, "steps", "Succeeded");
    assert_eq!(node(&workflow, "steps[0].number")["outputs"]["result"], "21");
    assert_eq!(*parameter(node(&workflow, "steps[1].double"), "twice"), "42");
    assert_eq!(node(&workflow, "steps[2].small")["phase"], "Skipped");
    assert_eq!(workflow["status"]["progress"], "5/5");
    // The container that users know is called main, and prints what it prints.
    let large = node(&workflow, "steps[2].large");
    let pod = format!("steps-say-{}", id_of(large));
    assert_eq!(team.ok(&format!("logs {pod} main")).trim(), "large 43");
    let shown = team.ok("get wf steps");
    assert!(shown.contains("STATUS") && shown.contains("Succeeded"), "{shown}");
}

/// The number at the end of a node's id.
fn id_of(node: &serde_json::Value) -> &str {
    node["id"].as_str().unwrap().rsplit('-').next().unwrap()
}

/// A graph whose tasks hand a folder and a file to each other.
pub(crate) fn dag_with_artifacts(team: &Team<'_>) {
    team.ok("create -f - <<'END'
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: dag}
spec:
  entrypoint: main
  templates:
  - name: main
    dag:
      tasks:
      - {name: a, template: make}
      - name: b
        template: add
        depends: a
        arguments: {artifacts: [{name: in, from: '{{tasks.a.outputs.artifacts.out}}'}]}
      - name: c
        template: read
        depends: a && b.Succeeded
        arguments:
          artifacts:
          - {name: folder, from: '{{tasks.b.outputs.artifacts.out}}'}
          - {name: note, raw: {data: from the workflow}}
      - {name: never, template: make, depends: c.Failed}
  - name: make
    container: {image: host, command: [sh, -c, 'mkdir -p /tmp/made/sub && echo one > /tmp/made/sub/x']}
    outputs: {artifacts: [{name: out, path: /tmp/made}]}
  - name: add
    inputs: {artifacts: [{name: in, path: /tmp/in}]}
    container: {image: host, command: [sh, -c, 'echo two >> /tmp/in/sub/x']}
    outputs: {artifacts: [{name: out, path: /tmp/in, archive: {none: {}}}]}
  - name: read
    inputs: {artifacts: [{name: folder, path: /tmp/folder}, {name: note, path: /tmp/note}]}
    script: {image: host, command: [sh], source: 'cat /tmp/folder/sub/x /tmp/note'}
END");
    let workflow = until_ended(team, "dag", "Succeeded");
    assert_eq!(node(&workflow, "dag.never")["phase"], "Omitted");
    let pod = format!("dag-read-{}", id_of(node(&workflow, "dag.c")));
    assert_eq!(
        team.ok(&format!("logs {pod}")).trim(),
        "one\ntwo\nfrom the workflow"
    );
    // The claim of the artifacts goes with the workflow.
    assert!(team.find("persistentvolumeclaims/dag-artifacts").is_object());
    team.ok("delete wf dag");
    team.until("persistentvolumeclaims/dag-artifacts", serde_json::Value::is_null);
    team.until("pods", |pods| client_tests::team::names(pods).is_empty());
}

/// A step fails twice and succeeds; another never does, and the handler of the end is told.
pub(crate) fn retries_and_the_handler_of_the_end(team: &Team<'_>) {
    team.ok("create -f - <<'END'
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: retries}
spec:
  entrypoint: main
  onExit: tell
  templates:
  - name: main
    steps:
    - - {name: flaky, template: flaky}
    - - {name: broken, template: broken}
  - name: flaky
    retryStrategy: {limit: 5}
    script: {image: host, command: [sh], source: 'test {{retries}} -ge 2'}
  - name: broken
    retryStrategy: {limit: '1', retryPolicy: Always}
    container: {image: host, command: [sh, -c, 'exit 7']}
  - name: tell
    container: {image: host, command: [echo], args: ['the end: {{workflow.status}}']}
END");
    let workflow = until_ended(team, "retries", "Failed");
    assert_eq!(node(&workflow, "retries[0].flaky")["phase"], "Succeeded");
    assert_eq!(node(&workflow, "retries[0].flaky(1)")["phase"], "Failed");
    assert_eq!(node(&workflow, "retries[0].flaky(2)")["phase"], "Succeeded");
    let broken = node(&workflow, "retries[1].broken");
    assert_eq!(broken["type"], "Retry");
    assert!(
        broken["message"]
            .as_str()
            .unwrap()
            .starts_with("No more retries left"),
        "{broken}"
    );
    let attempt = node(&workflow, "retries[1].broken(1)");
    assert_eq!(attempt["message"], "main: Error (exit code 7)");
    assert_eq!(attempt["outputs"]["exitCode"], "7");
    let handler = node(&workflow, "retries.onExit");
    assert_eq!(handler["phase"], "Succeeded");
    let pod = format!("retries-tell-{}", id_of(handler));
    assert_eq!(team.ok(&format!("logs {pod}")).trim(), "the end: Failed");
}

/// A workflow that cannot run makes no pod.
pub(crate) fn what_is_wrong_is_said_before_anything_runs(team: &Team<'_>) {
    team.ok("create -f - <<'END'
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: wrong}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: one, template: one}
    - - {name: two, template: missing}
  - name: one
    container: {image: host, command: [\"true\"]}
END");
    let workflow = team.until("workflows/wrong", |workflow| {
        workflow["status"]["finishedAt"].is_string()
    });
    let message = workflow["status"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("invalid spec: spec.templates[0].steps[1][0]"),
        "{message}"
    );
    assert!(team.pods().is_empty());
}

/// A pod that the API does not take is an error of its step.
pub(crate) fn what_the_api_refuses_is_told(team: &Team<'_>) {
    team.ok("create -f - <<'END'
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: refused}
spec:
  entrypoint: main
  serviceAccountName: nobody-made-it
  templates:
  - name: main
    container: {image: host, command: [\"true\"]}
END");
    let workflow = until_ended(team, "refused", "Error");
    let message = node(&workflow, "refused")["message"].as_str().unwrap();
    assert!(message.contains("nobody-made-it"), "{message}");
    assert!(team.pods().is_empty());
}

/// Containers of one pod that wait for each other.
pub(crate) fn a_set_of_containers(team: &Team<'_>) {
    team.ok("create -f - <<'END'
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: set}
spec:
  entrypoint: main
  templates:
  - name: main
    volumes: [{name: shared, emptyDir: {}}]
    containerSet:
      volumeMounts: [{name: shared, mountPath: /shared}]
      containers:
      - {name: a, image: host, command: [sh, -c, 'echo a > /shared/x']}
      - {name: main, image: host, dependencies: [a], command: [sh, -c, 'cat /shared/x; echo b']}
END");
    let workflow = until_ended(team, "set", "Succeeded");
    assert_eq!(node(&workflow, "set.a")["phase"], "Succeeded");
    assert_eq!(team.ok("logs set -c main").trim(), "a\nb");
}

/// Steps that make objects do so with the rights of their own account, and wait for what becomes of them.
pub(crate) fn objects_are_made_and_waited_for(team: &Team<'_>) {
    let account = format!("{}:maker", team.namespace);
    team.ok("create serviceaccount maker");
    team.ok("create role maker --verb=create,get --resource=jobs.batch");
    team.ok(&format!(
        "create rolebinding maker --role=maker --serviceaccount={account}"
    ));
    team.ok("create -f - <<'END'
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: objects}
spec:
  entrypoint: main
  serviceAccountName: maker
  templates:
  - name: main
    steps:
    - - {name: job, template: job}
    - - name: say
        template: say
        arguments: {parameters: [{name: count, value: '{{steps.job.outputs.parameters.count}}'}]}
  - name: job
    resource:
      action: create
      setOwnerReference: true
      successCondition: status.succeeded > 0
      failureCondition: status.failed > 0
      manifest: |
        apiVersion: batch/v1
        kind: Job
        metadata: {name: made}
        spec:
          backoffLimit: 0
          template:
            spec:
              restartPolicy: Never
              containers: [{name: c, image: host, command: ['true']}]
    outputs: {parameters: [{name: count, valueFrom: {jsonPath: '{.status.succeeded}'}}]}
  - name: say
    inputs: {parameters: [{name: count}]}
    container: {image: host, command: [echo, '{{inputs.parameters.count}}']}
END");
    let workflow = until_ended(team, "objects", "Succeeded");
    assert_eq!(*parameter(node(&workflow, "objects[0].job"), "count"), "1");
    let job = team.find("jobs/made");
    assert_eq!(job["metadata"]["ownerReferences"][0]["kind"], "Workflow");
    team.ok("delete wf objects");
    team.until("jobs/made", serde_json::Value::is_null);
}

/// As kubectl has it: `pod NAME`, `cm/NAME`.
pub(crate) fn objects_are_named_by_flags(team: &Team<'_>) {
    let account = format!("{}:executor", team.namespace);
    team.ok("create serviceaccount executor");
    team.ok("create role executor --verb=get,patch,delete --resource=pods,configmaps");
    team.ok(&format!(
        "create rolebinding executor --role=executor --serviceaccount={account}"
    ));
    team.ok("create configmap named --from-literal=greeting=hello");
    team.ok("create -f - <<'END'
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: named}
spec:
  entrypoint: main
  automountServiceAccountToken: false
  executor: {serviceAccountName: executor}
  templates:
  - name: main
    steps:
    - - {name: mark, template: mark}
      - {name: read, template: read}
    - - {name: remove, template: remove}
    - - name: nameless
        template: nameless
        continueOn: {failed: true}
  - name: mark
    resource:
      action: patch
      mergeStrategy: merge
      flags: [pod, '{{pod.name}}']
      manifest: '{metadata: {annotations: {marked: \"yes\"}}}'
    outputs: {parameters: [{name: marked, valueFrom: {jsonPath: '{.metadata.annotations.marked}'}}]}
  - name: read
    resource: {action: get, flags: [cm/named]}
    outputs: {parameters: [{name: greeting, valueFrom: {jqFilter: .data.greeting}}]}
  - name: remove
    resource: {action: delete, flags: [configmap, named]}
  - name: nameless
    resource:
      action: patch
      manifest: '{apiVersion: v1, metadata: {name: x}}'
END");
    let workflow = until_ended(team, "named", "Succeeded");
    assert_eq!(*parameter(node(&workflow, "named[0].mark"), "marked"), "yes");
    assert_eq!(*parameter(node(&workflow, "named[0].read"), "greeting"), "hello");
    team.until("configmaps/named", serde_json::Value::is_null);
    // What the step was for could not be done: that is no error of ours.
    let nameless = node(&workflow, "named[2].nameless");
    assert_eq!(nameless["phase"], "Failed");
    let message = nameless["message"].as_str().unwrap();
    assert!(message.contains("no apiVersion or kind"), "{message}");
}

/// Steps that are requests: what is sent, what others get of the answer, and an answer that is a failure.
pub(crate) fn requests_are_steps(team: &Team<'_>) {
    let receiver = Receiver::answering(|call| match call.path.as_str() {
        "/told" => (201, String::new()),
        _ => (418, String::new()),
    });
    // The receiver listens to this machine alone, so the pods are on its network.
    let workflow = "apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: requests}
spec:
  entrypoint: main
  hostNetwork: true
  templates:
  - name: main
    steps:
    - - name: tell
        template: tell
        arguments: {parameters: [{name: path, value: /told}]}
      - name: refused
        template: tell
        arguments: {parameters: [{name: path, value: /refused}]}
        continueOn: {failed: true}
    - - name: say
        template: say
        arguments: {parameters: [{name: text, value: '{{steps.tell.outputs.result}} {{steps.refused.status}}'}]}
  - name: tell
    inputs: {parameters: [{name: path}]}
    http:
      url: 'URL{{inputs.parameters.path}}'
      method: POST
      headers: [{name: x-from, value: '{{workflow.name}}'}]
      body: '{\"path\": \"{{inputs.parameters.path}}\"}'
  - name: say
    inputs: {parameters: [{name: text}]}
    container: {image: host, command: [echo], args: ['{{inputs.parameters.text}}']}
"
    .replace("URL", &receiver.url(""));
    team.ok(&format!("create -f - <<'END'\n{workflow}END"));
    let workflow = until_ended(team, "requests", "Succeeded");
    let tell = node(&workflow, "requests[0].tell");
    assert_eq!(tell["type"], "HTTP");
    assert_eq!(tell["phase"], "Succeeded");
    assert_eq!(tell["outputs"]["result"], "{}");
    let refused = node(&workflow, "requests[0].refused");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("received non-2xx response code: 418"),
        "{message}"
    );
    let pod = format!("requests-say-{}", id_of(node(&workflow, "requests[1].say")));
    assert_eq!(team.ok(&format!("logs {pod} main")).trim(), "{} Failed");
    let mut calls = receiver.calls();
    calls.sort_by(|one, other| one.path.cmp(&other.path));
    let told: Vec<(&str, Option<&str>, &serde_json::Value)> = calls
        .iter()
        .map(|call| (call.path.as_str(), call.header("x-from"), &call.body["path"]))
        .collect();
    let expected = ["/refused", "/told"].map(|path| (path, Some("requests"), serde_json::json!(path)));
    let expected: Vec<_> = expected
        .iter()
        .map(|(path, from, body)| (*path, *from, body))
        .collect();
    assert_eq!(told, expected, "each request is made once");
}
