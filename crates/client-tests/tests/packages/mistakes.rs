//! What is wrong is shown where it is.

use crate::{Workbench, with_setters};

#[test]
fn a_mistake_in_a_package_is_shown_in_its_line() {
    let bench = Workbench::new(&[("app/kustomization.yaml", "resources: []\nnamePrefx: a-\n")]);
    let output = bench.pkg("build app");
    assert_eq!((output.code, output.stdout.as_str()), (1, ""));
    assert_eq!(
        output.stderr,
        "error: app/kustomization.yaml:2:1: a kustomization has no field `namePrefx`
  |
2 | namePrefx: a-
  | ^

hint: did you mean `namePrefix`?
"
    );
}

#[test]
fn a_file_that_is_no_yaml_is_shown_in_its_line() {
    let bench = with_setters();
    bench.write("sub/bad.yaml", "kind: A\nspec:\n  a: [1,\n  b: 2\n");
    let output = bench.pkg("set . replicas 4");
    assert_eq!(output.code, 1, "{output:?}");
    assert!(
        output.stderr.starts_with("error: sub/bad.yaml:"),
        "{}",
        output.stderr
    );
    assert!(output.stderr.contains(" | "), "{}", output.stderr);
    assert!(output.stderr.contains('^'), "{}", output.stderr);
}

#[test]
fn wrong_usage_is_told() {
    let bench = with_setters();
    for (line, words) in [
        ("", "Usage"),
        ("set .", "<NAME>"),
        ("create-subst . x --pattern y", "--field-value"),
        ("build --load-restrictor all", "LoadRestrictionsNone"),
        ("edit set gone x", "unrecognized subcommand"),
    ] {
        let output = bench.pkg(line);
        assert_eq!(output.code, 2, "{line}: {output:?}");
        assert!(output.stderr.contains(words), "{line}: {}", output.stderr);
    }
}
