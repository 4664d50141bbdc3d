//! `apply` and `delete`, against a cluster.

use std::{fs, path::Path};

use client_tests::{Release, Server, Shell, binary, kubectl, needed};

/// What needs others comes before them on purpose.
const KUSTOMIZATION: &str =
    "namespace: lab\nresources: [wagon.yaml, settings.yaml, definition.yaml, namespace.yaml]\n";
const FILES: &[(&str, &str)] = &[
    ("kustomization.yaml", KUSTOMIZATION),
    (
        "wagon.yaml",
        "apiVersion: rail.example/v1\nkind: Wagon\nmetadata: {name: one}\nspec: {seats: 4}\n",
    ),
    (
        "settings.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {epochs: '10'}\n",
    ),
    (
        "definition.yaml",
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
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {seats: {type: integer}}}}
",
    ),
    (
        "namespace.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: lab}\n",
    ),
];

fn write(folder: &Path, files: &[(&str, &str)]) {
    fs::create_dir_all(folder).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
}

/// What a difference says, without names of files and what every dry run makes anew.
fn changes(difference: &str) -> Vec<&str> {
    let is_said = |line: &&str| {
        line.starts_with(['@', '+', '-', ' '])
            && !["+++", "---", "+  uid:", "+  creationTimestamp:"]
                .iter()
                .any(|start| line.starts_with(start))
    };
    difference.lines().filter(is_said).collect()
}

#[test]
fn a_package_is_applied_in_order_pruned_and_deleted() {
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let server = Server::start();
    let shell = Shell::new(&server, &[("trainyard", binary()), ("kubectl", &kubectl)]);
    let package = server.home().join("trainer");
    write(&package, FILES);

    let dry = shell.ok("trainyard apply -k trainer --package trainer --dry-run");
    assert!(dry.contains("namespace/lab created (dry run)\n"), "{dry}");
    let all_new = shell.run("trainyard diff -k trainer --package trainer");
    assert_eq!(all_new.code, 1, "{all_new:?}");
    assert!(all_new.stdout.contains("+  seats: 4\n"), "{}", all_new.stdout);
    let program = "program=$(command -v trainyard); PATH=/nowhere";
    let without = shell.run(&format!(
        "{program} \"$program\" diff -k trainer --package trainer"
    ));
    assert_eq!(without.code, 1, "{without:?}");
    assert_eq!(
        changes(&without.stdout),
        changes(&all_new.stdout),
        "there need be no `diff`"
    );
    assert_ne!(shell.run("kubectl get namespace lab").code, 0, "nothing was made");

    let apply = "trainyard apply -k trainer --package trainer --prune --wait";
    assert_eq!(
        shell.ok(apply),
        "namespace/lab created
customresourcedefinition.apiextensions.k8s.io/wagons.rail.example created
configmap/settings created
wagon.rail.example/one created
"
    );
    assert_eq!(
        shell.ok("trainyard diff -k trainer --package trainer"),
        "",
        "all is as it should be"
    );
    let again = shell.ok(apply);
    assert_eq!(again.matches(" unchanged\n").count(), 4, "{again}");

    write(
        &package,
        &[
            ("kustomization.yaml", &KUSTOMIZATION.replace("wagon.yaml, ", "")),
            ("settings.yaml", &FILES[2].1.replace("10", "20")),
        ],
    );
    let difference = shell.run("trainyard diff -k trainer --package trainer");
    assert_eq!(difference.code, 1, "{difference:?}");
    assert!(
        difference
            .stdout
            .contains("-  epochs: \"10\"\n+  epochs: \"20\"\n"),
        "{}",
        difference.stdout
    );
    let changed = shell.ok(apply);
    assert!(changed.contains("configmap/settings configured\n"), "{changed}");
    assert!(changed.ends_with("wagon.rail.example/one pruned\n"), "{changed}");
    let epochs = shell.ok("kubectl get configmap settings -n lab -o jsonpath='{.data.epochs}'");
    assert_eq!(epochs, "20");

    let deleted = shell.ok("trainyard delete -k trainer --wait");
    assert!(deleted.starts_with("configmap/settings deleted\n"), "{deleted}");
    assert!(deleted.ends_with("namespace/lab deleted\n"), "{deleted}");
    assert_ne!(shell.run("kubectl get namespace lab").code, 0, "it is gone");
    let again = shell.ok("trainyard delete -k trainer");
    assert!(again.contains("namespace/lab is not there\n"), "{again}");
}

#[test]
fn what_is_refused_is_told_and_the_others_are_applied() {
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let server = Server::start();
    let shell = Shell::new(&server, &[("trainyard", binary()), ("kubectl", &kubectl)]);
    let refused = shell.run(
        "printf '%s\\n---\\n' 'kind: ConfigMap
apiVersion: v1
metadata: {name: Bad_Name}' 'kind: ConfigMap
apiVersion: v1
metadata: {name: good}' 'kind: Gone
apiVersion: gone.example/v1
metadata: {name: gone}' | trainyard apply -f -",
    );
    assert_eq!(
        (refused.code, refused.stdout.as_str()),
        (1, "configmap/good created\n"),
        "{refused:?}"
    );
    assert!(
        refused
            .stderr
            .contains("error: standard input:1: ConfigMap \"Bad_Name\": "),
        "{}",
        refused.stderr
    );
    assert!(
        refused
            .stderr
            .contains("no matches for kind \"Gone\" in version \"gone.example/v1\""),
        "{}",
        refused.stderr
    );

    shell.ok("kubectl patch configmap good --type merge -p '{\"data\":{\"a\":\"1\"}}'");
    let mine = "printf 'kind: ConfigMap\\napiVersion: v1\\nmetadata: {name: good}\\ndata: {a: \"2\"}\\n' | trainyard apply -f -";
    let conflict = shell.run(mine);
    assert_eq!(conflict.code, 1, "{conflict:?}");
    assert!(
        conflict.stderr.contains("--force-conflicts"),
        "{}",
        conflict.stderr
    );
    assert_eq!(
        shell.ok(&format!("{mine} --force-conflicts")),
        "configmap/good configured\n"
    );

    for (line, words) in [
        ("apply -f https://example.com/x.yaml", "nothing is fetched"),
        ("apply -f gone.yaml", "cannot read `gone.yaml`"),
        ("apply", "--kustomize"),
        ("apply -k . --prune", "--package"),
    ] {
        let output = shell.run(&format!("trainyard {line}"));
        assert_eq!(output.code, 2, "{line}: {output:?}");
        assert!(output.stderr.contains(words), "{line}: {}", output.stderr);
    }
}

#[test]
fn what_is_applied_is_waited_for() {
    let server = Server::start_with_simulated_nodes();
    let shell = Shell::new(&server, &[("trainyard", binary())]);
    write(
        server.home(),
        &[(
            "deployment.yaml",
            "apiVersion: apps/v1
kind: Deployment
metadata: {name: trainer}
spec:
  replicas: 2
  selector: {matchLabels: {app: trainer}}
  template:
    metadata: {labels: {app: trainer}}
    spec: {containers: [{name: trainer, image: host}]}
",
        )],
    );
    shell.ok("trainyard apply -f deployment.yaml --wait --timeout 120");
    let ready = shell.ok("trainyard apply -f deployment.yaml --wait --timeout 1");
    assert_eq!(ready, "deployment.apps/trainer unchanged\n");
    shell.ok("trainyard delete -f deployment.yaml --wait");
}
