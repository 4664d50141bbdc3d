//! Setters: listed, set, created and deleted; and what else is told of a package.

use crate::{DEPLOYMENT, KRMFILE, Workbench, with_setters};

#[test]
fn setters_are_listed_as_kustomize_lists_them() {
    let bench = with_setters();
    let expected = "./
|   NAME   | VALUE | SET BY |        DESCRIPTION         | COUNT | REQUIRED |
|----------|-------|--------|----------------------------|-------|----------|
| replicas | 3     | alice  | how many workers there are | 1     | Yes      |
| tag      | 1.8   |        |                            | 1     | No       |
";
    for line in [
        "list-setters . --markdown",
        "list-setters --markdown=true",
        "cfg list-setters . --markdown",
    ] {
        assert_eq!(bench.pkg(line).success(), expected, "{line}");
    }
    let none = bench.pkg("list-setters . gone");
    assert_eq!(none.code, 1, "{none:?}");
}

#[test]
fn a_set_value_changes_its_fields_and_nothing_else() {
    let bench = with_setters();
    let set = bench.pkg("set . replicas 5 --set-by bob");
    assert_eq!(set.success(), "./\nset 1 field(s)\n");
    assert_eq!(
        bench.read("deployment.yaml"),
        DEPLOYMENT.replace("replicas: 3", "replicas: 5")
    );
    let definitions = bench.read("Krmfile");
    assert!(
        definitions.contains("value: \"5\"\n          setBy: bob\n"),
        "{definitions}"
    );

    let set = bench.pkg("cfg set . tag 1.9");
    assert_eq!(set.success(), "./\nset 1 field(s)\n");
    assert!(bench.read("deployment.yaml").contains("image: trainer:1.9 # {"));
}

#[test]
fn a_failed_set_leaves_every_file_as_it_was() {
    let bench = with_setters();
    let before = bench.files();
    for (line, words) in [
        ("set . replicas many", "replicas in body must be of type integer"),
        ("set . gone 1", "setter \"gone\" is not found"),
        (
            "set . replicas 1 --values 2",
            "value should set either from flag or arg",
        ),
        ("set elsewhere replicas 1", "cannot open `elsewhere`"),
        ("set deployment.yaml replicas 1", "name the folder of the package"),
        ("create-setter . replicas 3", "already exists"),
        ("delete-setter . tag", "image"),
    ] {
        let output = bench.pkg(line);
        assert_eq!(output.code, 1, "{line}: {output:?}");
        assert!(output.stderr.contains(words), "{line}: {}", output.stderr);
        assert_eq!(bench.files(), before, "{line}");
    }
}

#[test]
fn setters_are_created_and_deleted() {
    let bench = Workbench::new(&[("deployment.yaml", "kind: A\nspec:\n  image: trainer:1.8\n")]);
    bench.pkg("init").success();
    assert_eq!(
        bench.read("Krmfile"),
        "apiVersion: config.k8s.io/v1alpha1\nkind: Krmfile"
    );
    let created = bench.pkg("create-subst . image --field-value trainer:1.8 --pattern '${name}:${tag}'");
    assert!(
        created
            .clone()
            .success()
            .ends_with("created substitution \"image\"\n"),
        "{created:?}"
    );
    bench.pkg("set . tag 2.0").success();
    assert_eq!(
        bench.read("deployment.yaml"),
        "kind: A\nspec:\n  image: trainer:2.0 # {\"$openapi\":\"image\"}\n"
    );
    bench.pkg("delete-subst . image").success();
    bench.pkg("delete-setter . tag").success();
    assert_eq!(
        bench.read("deployment.yaml"),
        "kind: A\nspec:\n  image: trainer:2.0\n"
    );
    let created = bench.pkg("create-setter . offset --value -1 --type integer");
    assert!(
        created.clone().success().ends_with("created setter \"offset\"\n"),
        "{created:?}"
    );
}

#[test]
fn a_package_can_be_looked_through() {
    let bench = with_setters();
    assert_eq!(bench.pkg("count .").success(), "./\nDeployment: 1\n");
    assert_eq!(bench.pkg("count --kind=false .").success(), "./\n1\n");
    let found = bench.pkg("grep kind=Deployment . --annotate=false").success();
    assert!(found.contains("name:   trainer"), "{found}");
    assert_eq!(bench.pkg("grep kind=Service .").success(), "");
    let tree = bench.pkg("tree . --image --replicas").success();
    assert!(tree.contains("Deployment trainer"), "{tree}");
    assert!(tree.contains("image: trainer:1.8"), "{tree}");
    let annotated = bench.pkg("annotate . --kv team=vision --kind Deployment");
    assert_eq!(annotated.success(), "./\nadded annotations in the package\n");
    assert!(bench.read("deployment.yaml").contains("team: "));
    assert_eq!(bench.read("Krmfile"), KRMFILE);
    bench.pkg("fmt .").success();
}

#[test]
fn a_single_file_is_a_package_of_its_own() {
    let bench = with_setters();
    let annotated = bench.pkg("annotate deployment.yaml --kv team=vision");
    assert_eq!(
        annotated.success(),
        "deployment.yaml/\nadded annotations in the package\n"
    );
    assert!(bench.read("deployment.yaml").contains("team: vision\n"));
    assert_eq!(
        bench.pkg("count deployment.yaml").success(),
        "deployment.yaml/\nDeployment: 1\n"
    );
    let tree = bench.pkg("tree deployment.yaml");
    assert_eq!(
        tree.success(),
        "deployment.yaml\n└── [deployment.yaml]  Deployment trainer\n"
    );

    bench.write("sub/bad.yaml", "a: [\n");
    let bad = bench.pkg("fmt deployment.yaml sub/bad.yaml");
    assert_eq!(bad.code, 1, "{bad:?}");
    assert!(bad.stderr.contains("sub/bad.yaml:"), "{}", bad.stderr);
}

#[test]
fn standard_input_is_printed_again_and_no_file_is_touched() {
    let bench = with_setters();
    let before = bench.files();
    let piped = bench.pkg(
        "annotate --kv team=vision < deployment.yaml | \"$TRAINYARD\" pkg grep kind=Dep --annotate=false",
    );
    let expected = DEPLOYMENT.replace(
        "trainer\n\nspec",
        "trainer\n    annotations:\n      team: vision\n\nspec",
    );
    assert_eq!(piped.success(), expected);
    assert_eq!(bench.pkg("count < deployment.yaml").success(), "Deployment: 1\n");
    assert_eq!(
        bench.pkg("cfg count --kind=false").success(),
        "0\n",
        "nobody has said anything"
    );
    let bad = bench.pkg("count <<< 'a: ['");
    assert_eq!(bad.code, 1, "{bad:?}");
    assert!(bad.stderr.contains("standard input:"), "{}", bad.stderr);
    assert_eq!(bench.files(), before);
}
