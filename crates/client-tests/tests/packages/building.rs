//! `pkg build`.

use crate::Workbench;

fn overlay() -> Workbench {
    Workbench::new(&[
        (
            "base/kustomization.yaml",
            "resources: [config.yaml]\ncommonLabels: {app: trainer}\n",
        ),
        (
            "base/config.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {epochs: '10'}\n",
        ),
        (
            "team-a/kustomization.yaml",
            "namespace: team-a\nresources: [../base, namespace.yaml]\nnamePrefix: a-\n",
        ),
        (
            "team-a/namespace.yaml",
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a}\n",
        ),
    ])
}

const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: team-a\n";
const SETTINGS: &str = r#"apiVersion: v1
data:
  epochs: "10"
kind: ConfigMap
metadata:
  labels:
    app: trainer
  name: a-settings
  namespace: team-a
"#;

#[test]
fn a_package_is_printed_with_the_warnings_of_kustomize() {
    let bench = overlay();
    let built = bench.pkg("build team-a");
    assert!(
        built
            .stderr
            .starts_with("# Warning: 'commonLabels' is deprecated."),
        "{}",
        built.stderr
    );
    assert_eq!(built.success(), format!("{NAMESPACE}---\n{SETTINGS}"));
    assert_eq!(
        bench.pkg_in("team-a", "build").success(),
        format!("{NAMESPACE}---\n{SETTINGS}")
    );
}

#[test]
fn a_package_is_written_to_a_file_or_to_a_folder() {
    let bench = overlay();
    assert_eq!(bench.pkg("build team-a -o all.yaml").success(), "");
    assert_eq!(bench.read("all.yaml"), format!("{NAMESPACE}---\n{SETTINGS}"));
    bench.write("out/other.txt", "stays");
    bench.pkg("build team-a --output out").success();
    assert_eq!(bench.read("out/v1_namespace_team-a.yaml"), NAMESPACE);
    assert_eq!(bench.read("out/v1_configmap_a-settings.yaml"), SETTINGS);
    assert_eq!(bench.read("out/other.txt"), "stays");
    assert_eq!(
        bench.pkg("build team-a -o /dev/stdout").success(),
        format!("{NAMESPACE}---\n{SETTINGS}")
    );
}

#[test]
fn files_elsewhere_are_for_those_who_ask_for_them() {
    let bench = overlay();
    bench.write(
        "team-b/kustomization.yaml",
        "resources: [../team-a/namespace.yaml]\n",
    );
    let refused = bench.pkg("build team-b");
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""));
    assert!(refused.stderr.contains("security: "), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("--load-restrictor LoadRestrictionsNone"),
        "{}",
        refused.stderr
    );
    let built = bench.pkg("build team-b --load-restrictor LoadRestrictionsNone");
    assert_eq!(built.success(), NAMESPACE);
}
