//! `pkg edit`.

use crate::Workbench;

fn kustomization() -> Workbench {
    Workbench::new(&[
        (
            "kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n\n# What is applied.\nresources:\n    - 'a.yaml'   # first\n",
        ),
        ("a.yaml", "kind: A\n"),
        ("jobs/b.yaml", "kind: B\n"),
        ("jobs/c.yaml", "kind: C\n"),
    ])
}

#[test]
fn a_kustomization_keeps_what_is_not_edited() {
    let bench = kustomization();
    let before = bench.read("kustomization.yaml");
    for line in [
        "edit set namespace team-a",
        "edit set image trainer=registry.example/trainer:1.9",
        "edit set namesuffix -- -prod",
        "edit add label stage:test",
        "edit add configmap settings --from-literal epochs=10",
        "edit add resource 'jobs/*.yaml'",
    ] {
        assert_eq!(bench.pkg(line).success(), "", "{line}");
    }
    let after = bench.read("kustomization.yaml");
    assert!(after.starts_with(&before), "{after}");
    for line in [
        "    - jobs/b.yaml",
        "    - jobs/c.yaml",
        "namespace: team-a",
        "nameSuffix: -prod",
        "newTag: \"1.9\"",
        "stage: test",
        "epochs=10",
    ] {
        assert!(after.contains(line), "{line}: {after}");
    }
    bench.pkg("edit remove resource 'jobs/*'").success();
    bench.pkg("edit remove label stage").success();
    bench.pkg("edit remove configmap settings").success();
    let after = bench.read("kustomization.yaml");
    assert!(!after.contains("jobs/") && !after.contains("stage"), "{after}");
}

#[test]
fn a_failed_edit_leaves_the_file_as_it_was() {
    let bench = kustomization();
    let before = bench.files();
    for (line, words) in [
        ("edit set namespace Team_A", "is not a valid namespace name"),
        ("edit set namespace", "must specify exactly one namespace value"),
        ("edit add resource gone.yaml", "gone.yaml has no match"),
        ("edit set replicas x=y", "invalid format of replica"),
        ("edit remove label stage", "commonLabels is not defined"),
    ] {
        let output = bench.pkg(line);
        assert_eq!(output.code, 1, "{line}: {output:?}");
        assert!(output.stderr.contains(words), "{line}: {}", output.stderr);
        assert_eq!(bench.files(), before, "{line}");
    }
    let elsewhere = bench.pkg_in("jobs", "edit set namespace team-a");
    assert_eq!(elsewhere.code, 1);
    assert!(
        elsewhere
            .stderr
            .contains("Missing kustomization file 'kustomization.yaml'."),
        "{}",
        elsewhere.stderr
    );
}

#[test]
fn what_kustomize_puts_up_with_is_no_failure() {
    let bench = kustomization();
    for (line, words) in [
        ("edit add transformer gone.yaml", "gone.yaml has no match"),
        ("edit add generator 'gone/*.yaml'", "gone/*.yaml has no match"),
        ("edit remove buildmetadata managedByLabel", ""),
        (
            "edit add annotation a=b",
            "\"a=b\" is not a valid key of an annotation",
        ),
    ] {
        let output = bench.pkg(line);
        assert_eq!(output.code, 0, "{line}: {output:?}");
        assert!(output.stderr.contains(words), "{line}: {}", output.stderr);
    }
    let after = bench.read("kustomization.yaml");
    assert!(after.ends_with("commonAnnotations:\n  a=b: \"\"\n"), "{after}");
    assert!(!after.contains("gone"), "{after}");
    let refused = bench.pkg("edit set annotation a=b");
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused.stderr.contains("invalid annotation key: \"a=b\""),
        "{}",
        refused.stderr
    );
}
