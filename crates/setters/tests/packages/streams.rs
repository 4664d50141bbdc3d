//! Texts from standard input: what kustomize v3.8.5 prints of the same, but for the quotes of annotations and for items
//! of lists, which its `grep` loses.

use setters::{Annotate, Count, Format, Grep, Outcome, Package, Tree};

const DOCUMENTS: &str = "\
# above
kind: Deployment
apiVersion: apps/v1
metadata:
  name: trainer
spec:
  template:
    spec:
      containers:
      - name: main
        image: trainer:1
---
apiVersion: v1
kind: Service
metadata:
  name: front
  annotations:
    config.kubernetes.io/path: web/service.yaml
";

const LIST: &str = "\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Service
  metadata:
    name: front
- kind: ConfigMap
  apiVersion: v1
  data:
    text: |
      one

      two
  metadata:
    name: settings
";

fn stream(text: &str) -> Package {
    Package::stream(text.as_bytes().to_vec()).expect("the text is a package")
}

#[track_caller]
fn check(outcome: &Outcome, expected: &str) {
    assert_eq!(outcome.problem, None);
    assert!(outcome.edits.is_empty(), "nothing is written");
    assert_eq!(outcome.output, expected);
}

fn grep(query: &str) -> Grep {
    Grep {
        query: query.to_owned(),
        invert: false,
        annotate: true,
        recurse: true,
    }
}

#[test]
fn objects_are_counted_without_a_word_of_a_package() {
    let count = |text| Count::default().run(&stream(text));
    check(&count(DOCUMENTS), "Deployment: 1\nService: 1\n");
    check(&count(LIST), "ConfigMap: 1\nService: 1\n");
    check(&count(""), "");
    let total = Count {
        by_kind: false,
        ..Count::default()
    };
    check(&total.run(&stream(DOCUMENTS)), "2\n");
}

#[test]
fn objects_are_found_with_their_place_in_the_stream() {
    let found = grep("kind=Dep").run(&stream(DOCUMENTS));
    let expected = DOCUMENTS.split_once("---\n").unwrap().0.replace(
        "  name: trainer\n",
        "  name: trainer\n  annotations:\n    config.kubernetes.io/index: \"0\"\n",
    );
    check(&found, &expected);
}

#[test]
fn items_of_a_list_are_found_as_documents() {
    let found = grep("kind=Config").run(&stream(LIST));
    let expected = "\
kind: ConfigMap
apiVersion: v1
data:
  text: |
    one

    two
metadata:
  name: settings
";
    check(&found, expected);
}

#[test]
fn a_tree_has_the_files_that_objects_say_they_are_from() {
    let tree = Tree {
        show: vec!["image".to_owned()],
        ..Tree::default()
    };
    let expected = "\
.
├── [.]  Deployment trainer
│   └── spec.template.spec.containers
│       └── 0
│           └── image: trainer:1
└── web
    └── [service.yaml]  Service front
";
    check(&tree.run(&stream(DOCUMENTS)), expected);
    check(&tree.run(&stream("")), "");
}

#[test]
fn annotated_objects_are_printed_and_nothing_else() {
    let annotate = Annotate {
        annotations: vec!["team=vision".to_owned()],
        ..Annotate::default()
    };
    let expected = LIST
        .replace(
            "    name: front\n",
            "    name: front\n    annotations:\n      team: vision\n",
        )
        .replace(
            "    name: settings\n",
            "    name: settings\n    annotations:\n      team: vision\n",
        );
    check(&annotate.run(&stream(LIST)), &expected);
}

#[test]
fn formatted_objects_are_printed_all_of_them() {
    let expected = DOCUMENTS.replace(
        "kind: Deployment\napiVersion: apps/v1\n",
        "apiVersion: apps/v1\nkind: Deployment\n",
    );
    check(&Format::default().run(&stream(DOCUMENTS)), &expected);
    let expected = "\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Service
  metadata:
    name: front
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: settings
  data:
    text: |
      one

      two
";
    check(&Format::default().run(&stream(LIST)), expected);
}

#[test]
fn what_is_wrong_is_pointed_at() {
    let outcome = Count::default().run(&stream("a: [\n"));
    let problem = outcome.problem.unwrap().to_string();
    assert!(problem.starts_with("standard input:"), "{problem}");
}
