//! `apply --prune`: what no longer belongs to a package goes, and nothing else does.

use std::fs;

use client_tests::{Server, Shell, binary};

/// A server, and a package of files in its home.
struct Bench {
    server: Server,
}

impl Bench {
    fn new() -> Self {
        Self {
            server: Server::start(),
        }
    }

    /// The files of a package, which are all its resources.
    fn write(&self, package: &str, files: &[(&str, &str)]) {
        let folder = self.server.home().join(package);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let mut kustomization = "resources:\n".to_owned();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
            kustomization += &format!("- {name}\n");
        }
        fs::write(folder.join("kustomization.yaml"), kustomization).unwrap();
    }

    fn shell(&self) -> Shell<'_> {
        Shell::new(&self.server, &[("trainyard", binary())])
    }
}

fn namespace(name: &str) -> String {
    format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n")
}

fn settings(name: &str, namespace: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\ndata: {{epochs: '10'}}\n"
    )
}

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1
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
    schema: {openAPIV3Schema: {type: object}}
";

fn wagon(name: &str) -> String {
    format!("apiVersion: rail.example/v1\nkind: Wagon\nmetadata: {{name: {name}, namespace: lab}}\n")
}

#[test]
fn a_namespace_and_a_definition_in_use_are_not_pruned() {
    let bench = Bench::new();
    let shell = bench.shell();
    let (lab, one, two) = (namespace("lab"), settings("one", "lab"), wagon("two"));
    let files = [
        ("namespace.yaml", lab.as_str()),
        ("one.yaml", &one),
        ("definition.yaml", DEFINITION),
        ("two.yaml", &two),
    ];
    bench.write("trainer", &files);
    let apply = "trainyard apply -k trainer --package trainer --prune --wait";
    shell.ok(apply);

    bench.write("trainer", &[files[1], files[3]]);
    let again = shell.run(apply);
    assert_eq!(
        (again.code, again.stdout.as_str()),
        (0, "configmap/one unchanged\nwagon.rail.example/two unchanged\n"),
        "{again:?}"
    );
    for words in [
        "namespace/lab is not pruned: objects of the package are in it",
        "customresourcedefinition.apiextensions.k8s.io/wagons.rail.example is not pruned: there are objects of its kind, such as `two`",
    ] {
        assert!(again.stderr.contains(words), "{}", again.stderr);
    }

    // With what is in them, they go.
    bench.write("trainer", &[("other.yaml", &settings("other", "default"))]);
    let note = shell.run("trainyard apply -k trainer --package trainer --prune --dry-run");
    assert_eq!(note.stdout, "configmap/other created (dry run)\n", "{note:?}");
    assert!(note.stderr.contains("--all-namespaces"), "{}", note.stderr);
    let difference = shell.run("trainyard diff -k trainer --package trainer --prune --all-namespaces");
    assert_eq!(difference.code, 1, "{difference:?}");
    assert!(
        difference.stdout.contains("-  name: two\n"),
        "{}",
        difference.stdout
    );
    assert_eq!(
        shell.ok(&format!("{apply} --all-namespaces 2> /dev/null")),
        "configmap/other created
wagon.rail.example/two pruned
configmap/one pruned
customresourcedefinition.apiextensions.k8s.io/wagons.rail.example pruned
namespace/lab pruned
"
    );
}

#[test]
fn packages_of_one_name_in_two_namespaces_leave_each_other_alone() {
    let bench = Bench::new();
    let shell = bench.shell();
    for team in ["team-a", "team-b"] {
        let (space, own) = (namespace(team), settings("settings", team));
        bench.write(team, &[("namespace.yaml", &space), ("settings.yaml", &own)]);
        shell.ok(&format!(
            "trainyard apply -k {team} --package trainer --prune 2> notes"
        ));
    }
    let notes = fs::read_to_string(bench.server.home().join("notes")).unwrap();
    assert!(
        notes.contains("namespace/team-a is not pruned")
            && notes.contains("configmap/settings is not pruned"),
        "{notes}"
    );
    let unchanged = shell.ok("trainyard apply -k team-a --package trainer 2> /dev/null");
    assert_eq!(
        unchanged,
        "namespace/team-a unchanged\nconfigmap/settings unchanged\n"
    );
}

#[test]
fn an_object_belongs_to_one_package() {
    let bench = Bench::new();
    let shell = bench.shell();
    let (shared, own) = (settings("shared", "default"), settings("own", "default"));
    bench.write("one", &[("shared.yaml", &shared)]);
    bench.write("two", &[("shared.yaml", &shared), ("own.yaml", &own)]);
    shell.ok("trainyard apply -k one --package one");

    let refused = shell.run("trainyard apply -k two --package two --prune");
    assert_eq!(
        (refused.code, refused.stdout.as_str()),
        (1, "configmap/own created\n")
    );
    assert!(
        refused
            .stderr
            .contains("two/shared.yaml:1: ConfigMap \"shared\": it belongs to package `one`"),
        "{}",
        refused.stderr
    );

    // Without a name it stays where it is, so that its package can still prune it.
    assert_eq!(shell.ok("trainyard diff -k one"), "");
    assert_eq!(shell.ok("trainyard apply -k one"), "configmap/shared unchanged\n");
    bench.write("one", &[("another.yaml", &settings("another", "default"))]);
    assert_eq!(
        shell.ok("trainyard apply -k one --package one --prune"),
        "configmap/another created\nconfigmap/shared pruned\n"
    );

    shell.ok("trainyard apply -k two --package two --force-conflicts");
    // What had another name once goes with the package too.
    bench.write("two", &[("shared.yaml", &shared)]);
    assert_eq!(
        shell.ok("trainyard delete -k two --package two --wait"),
        "configmap/shared deleted\nconfigmap/own pruned\n"
    );
}

#[test]
fn what_is_being_deleted_is_not_applied_to() {
    let bench = Bench::new();
    let shell = bench.shell();
    let held =
        settings("held", "default").replace("metadata: {", "metadata: {finalizers: [rail.example/hold], ");
    bench.write("held", &[("held.yaml", &held)]);
    shell.ok("trainyard apply -k held");
    let late = shell.run("trainyard delete -k held --wait --timeout 1");
    assert_eq!(late.code, 1, "{late:?}");
    assert!(
        late.stderr.contains("configmap/held: finalizers"),
        "{}",
        late.stderr
    );
    let refused = shell.run("trainyard apply -k held");
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:?}");
    assert!(
        refused.stderr.contains("it is being deleted"),
        "{}",
        refused.stderr
    );
}

#[test]
fn programs_read_what_became_of_each_object() {
    let bench = Bench::new();
    let shell = bench.shell();
    let (good, bad) = (settings("good", "default"), settings("Bad_Name", "default"));
    bench.write("mixed", &[("good.yaml", &good), ("bad.yaml", &bad)]);
    let told = |line: &str, code: i32| {
        let output = shell.run(line);
        assert_eq!(output.code, code, "{output:?}");
        let rows: Vec<serde_json::Value> = serde_json::from_str(&output.stdout).unwrap();
        let row = |row: &serde_json::Value| {
            let text = |field: &str| row[field].as_str().unwrap_or("-").to_owned();
            format!("{} {} {}", text("kind"), text("name"), text("result"))
        };
        rows.iter().map(row).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(
        told("trainyard apply -k mixed -o json", 1),
        "ConfigMap Bad_Name refused, ConfigMap good created"
    );
    assert_eq!(
        told("trainyard delete -f mixed/good.yaml -o json", 0),
        "ConfigMap good deleted"
    );
    assert_eq!(
        told("trainyard delete -f mixed/good.yaml -o json", 0),
        "ConfigMap good absent"
    );
    let labels = good.replace("metadata: {", "metadata: {labels: text, ");
    bench.write("wrong", &[("wrong.yaml", &good)]);
    fs::write(bench.server.home().join("wrong.yaml"), labels).unwrap();
    assert_eq!(
        told("trainyard apply -f wrong.yaml --package wrong -o json", 1),
        "ConfigMap good refused"
    );
}
