//! What is found in packages, and where.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::path::Path;

use package_check::{Severity, check};
use packages::{MemoryFiles, Options, trace};

/// Everything that is found, a line each: `error FILE:LINE:COLUMN FIELD: MESSAGE; HINT`.
fn findings(files: &MemoryFiles) -> Vec<String> {
    let traced = trace(files, Path::new("/p"), &Options::default()).unwrap();
    check(&traced.objects)
        .into_iter()
        .map(|finding| {
            let severity = match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            };
            let place = finding.place.unwrap().to_string();
            let place = place.trim_start_matches("/p/");
            let field = finding.field.unwrap_or_default();
            let hint = finding.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("{severity} {place} {field}: {}{hint}", finding.message)
        })
        .collect()
}

#[track_caller]
fn found(manifest: &str, expected: &[&str]) {
    let files = MemoryFiles::default()
        .with("/p/kustomization.yaml", "resources: [a.yaml]\n")
        .with("/p/a.yaml", manifest);
    assert_eq!(findings(&files), expected);
}

#[test]
fn good_objects_are_not_complained_of() {
    found(
        "apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: None, ports: [{port: 80}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: host}]}}}
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: digits}
spec: {pytorchReplicaSpecs: {Master: {template: {spec: {containers: [{name: pytorch, image: host}]}}}}}
",
        &[],
    );
}

#[test]
fn unknown_fields_and_wrong_types_are_all_found() {
    found(
        "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: three
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
      - name: web
        imge: host
        securityContext: {runAsUser: \"0\"}
",
        &[
            "error a.yaml:6:13 spec.replicas: the text \"three\" is there, and int32 is needed",
            "error a.yaml:13:9 spec.template.spec.containers[0].imge: there is no such field; did you mean `image`?",
            "error a.yaml:14:38 spec.template.spec.containers[0].securityContext.runAsUser: the text \"0\" is there, and int64 is needed; write it without quotes; a var always gives text, so set the field itself, by a patch or a setter",
        ],
    );
}

#[test]
fn a_number_that_a_var_made_text_is_found_where_the_var_stands() {
    let files = MemoryFiles::default()
        .with(
            "/p/kustomization.yaml",
            "resources: [pod.yaml]
patches: [{path: patch.yaml}]
configMapGenerator: [{name: env, literals: [USER_ID=0]}]
vars:
- name: USER_ID
  objref: {apiVersion: v1, kind: ConfigMap, name: env}
  fieldref: {fieldPath: data.USER_ID}
configurations: [vars.yaml]
",
        )
        .with(
            "/p/vars.yaml",
            "varReference: [{kind: Pod, path: spec/securityContext/runAsUser}]\n",
        )
        .with(
            "/p/pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: host}]}\n",
        )
        .with(
            "/p/patch.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  securityContext:\n    runAsUser: $(USER_ID)\n",
        );
    let found = findings(&files);
    assert_eq!(found.len(), 1, "{found:?}");
    let expected = "error patch.yaml:6:16 spec.securityContext.runAsUser: the text \"0\" is there, and int64 is needed; write it without quotes";
    assert!(found[0].starts_with(expected), "{found:?}");
}

#[test]
fn names_that_no_cluster_takes_are_found() {
    found(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: model_a\n",
        &[
            "error a.yaml:4:9 metadata.name: Invalid value: \"model_a\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); names are made of lower case letters, digits and `-`, and begin and end with a letter or digit",
        ],
    );
}

#[test]
fn the_pods_of_training_jobs_are_looked_at_as_pods_are() {
    found(
        "apiVersion: kubeflow.org/v1alpha2
kind: MPIJob
metadata: {name: job}
spec:
  slotsPerWorker: \"1\"
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
          - name: a
            image: host
            securityContext:
              fsGroup: 0
",
        &[
            "error a.yaml:5:19 spec.slotsPerWorker: Invalid value: \"string\": spec.slotsPerWorker in body must be of type integer: \"string\"; write it without quotes; a var always gives text, so set the field itself, by a patch or a setter",
            "error a.yaml:15:15 spec.mpiReplicaSpecs.Launcher.template.spec.containers[0].securityContext.fsGroup: there is no such field; take it out: the API server drops it, or refuses the object",
        ],
    );
}

#[test]
fn a_definition_in_the_package_says_what_its_objects_are_like() {
    found(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: wagons.rail.example}
spec:
  group: rail.example
  scope: Namespaced
  names: {kind: Wagon, plural: wagons, singular: wagon}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {seats: {type: integer, maximum: 9}}}}}}
---
apiVersion: rail.example/v1
kind: Wagon
metadata: {name: long}
spec:
  seats: 10
  wheels: 4
---
apiVersion: rail.example/v2
kind: Wagon
metadata: {name: new}
",
        &[
            "error a.yaml:18:10 spec.seats: Invalid value: 10: spec.seats in body should be less than or equal to 9",
            "error a.yaml:19:3 spec.wheels: there is no such field; take it out: the API server drops it, or refuses the object",
            "error a.yaml:21:13 apiVersion: no matches for kind \"Wagon\" in version \"rail.example/v2\"; there is one in `rail.example/v1`",
        ],
    );
}

#[test]
fn kinds_nobody_knows_are_told_of() {
    found(
        "apiVersion: argo.example/v1\nkind: Workflow\nmetadata: {name: a}\n---\napiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: a}\n",
        &[
            "warning a.yaml:1:13 apiVersion: Workflow of argo.example/v1 is not known here, so its fields are not checked; put its CustomResourceDefinition into the package, or have the cluster look: `trainyard apply --dry-run`",
            "error a.yaml:5:13 apiVersion: no matches for kind \"Deployment\" in version \"extensions/v1beta1\"; there is one in `apps/v1`",
        ],
    );
}

#[test]
fn what_a_pod_names_should_be_in_the_package() {
    found(
        "apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {epochs: \"3\"}
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  serviceAccountName: default
  containers:
  - name: a
    image: host
    envFrom:
    - configMapRef: {name: setings}
    - secretRef: {name: token, optional: true}
    env:
    - name: EPOCHS
      valueFrom: {configMapKeyRef: {name: settings, key: epoch}}
  volumes:
  - name: data
    persistentVolumeClaim: {claimName: data}
",
        &[
            "warning a.yaml:15:28 spec.containers[0].envFrom[0].configMapRef.name: the ConfigMap \"setings\" is not in the package; did you mean `settings`?",
            "error a.yaml:19:58 spec.containers[0].env[0].valueFrom.configMapKeyRef.key: the ConfigMap \"settings\" has no key \"epoch\"; did you mean `epochs`?",
            "warning a.yaml:22:40 spec.volumes[0].persistentVolumeClaim.claimName: the PersistentVolumeClaim \"data\" is not in the package; add it to the package, unless the cluster has it",
        ],
    );
}

#[test]
fn workflows_are_checked_as_pipelines_check_them() {
    found(
        "apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: shared}
spec:
  templates:
  - name: ok
    container: {image: host, command: [\"true\"]}
---
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: w}
spec:
  entrypoint: main
  serviceAccountName: trainer
  arguments: {parameters: [{name: claim, value: share}]}
  volumes:
  - name: share
    persistentVolumeClaim: {claimName: \"{{workflow.parameters.claim}}\"}
  templates:
  - name: main
    steps:
    - - name: one
        templateRef: {name: shared, template: ok}
    - - name: two
        template: missing
    - - name: three
        template: train
  - name: train
    container:
      image: host
      command: [\"true\"]
      envFrom:
      - configMapRef: {name: gone}
",
        &[
            "warning a.yaml:14:23 spec.serviceAccountName: the ServiceAccount \"trainer\" is not in the package; add it to the package, unless the cluster has it",
            "error a.yaml:25:19 spec.templates[0].steps[1][0].template: template name 'missing' undefined",
            "warning a.yaml:33:30 spec.templates[1].container.envFrom[0].configMapRef.name: the ConfigMap \"gone\" is not in the package; add it to the package, unless the cluster has it",
        ],
    );
}
