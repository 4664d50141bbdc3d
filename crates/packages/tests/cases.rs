//! Packages of our own: what they come to, and what is said of those that do not build. The folders of
//! `testdata` hold what `kubectl kustomize` made of their `top`.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "support/disk.rs"]
mod disk;

use std::{fs, path::Path};

use disk::Disk;
use packages::{LoadRestrictor, MemoryFiles, Options, build, trace};

#[test]
fn packages_build_as_recorded() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    for case in fs::read_dir(&testdata)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        let built = build(&Disk, &case.join("top"), &Options::default()).unwrap();
        let expected = fs::read_to_string(case.join("expected.yaml")).unwrap();
        assert_eq!(built.to_yaml(), expected, "{}", case.display());
    }
}

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers: []\n";

/// A package of a kustomization and a pod.
fn package(kustomization: &str) -> MemoryFiles {
    MemoryFiles::default()
        .with("/p/kustomization.yaml", kustomization)
        .with("/p/pod.yaml", POD)
}

/// What is said of a package that does not build.
fn complaint(files: &MemoryFiles) -> String {
    let error = build(files, Path::new("/p"), &Options::default()).expect_err("it cannot be built");
    let place = error.place.map(|place| format!("{place}: ")).unwrap_or_default();
    let help = error
        .help
        .map(|help| format!("\nhint: {help}"))
        .unwrap_or_default();
    format!("{place}{}{help}", error.message)
}

#[track_caller]
fn refused(kustomization: &str, expected: &str) {
    assert_eq!(complaint(&package(kustomization)), expected);
}

#[test]
fn files_in_utf_16_are_read_as_the_text_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = |name: &str, units: Vec<u8>| fs::write(folder.join(name), units).unwrap();
    let little = |text: &str| {
        text.encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>()
    };
    write("kustomization.yaml", b"resources: [pod.yaml]\n".to_vec());
    let pod = format!("\u{feff}{POD}  nodeName: d\u{e9}pot-\u{1f600}\n");
    write("pod.yaml", little(&pod));
    let built = || build(&Disk, folder, &Options::default());
    assert!(
        built()
            .unwrap()
            .to_yaml()
            .contains("nodeName: \"d\u{e9}pot-\\U0001F600\""),
        "{}",
        built().unwrap().to_yaml()
    );
    write(
        "pod.yaml",
        pod.encode_utf16().flat_map(u16::to_be_bytes).collect(),
    );
    assert_eq!(
        built().unwrap().objects[0]["spec"]["nodeName"],
        "d\u{e9}pot-\u{1f600}"
    );
    write("pod.yaml", [little(&pod), vec![b'x']].concat());
    let error = built().unwrap_err();
    assert_eq!(error.message, "the file is UTF-16 with something missing");
    assert_eq!(error.help.as_deref(), Some("save it as UTF-8"));
}

#[test]
fn an_image_name_that_is_no_expression_is_told() {
    let images = "resources: [pod.yaml]\nimages:\n- name: \"web(\"\n  newTag: \"2\"\n";
    // Without an image nothing is compared with it.
    build(&package(images), Path::new("/p"), &Options::default()).unwrap();
    let with_image = package(images).with(
        "/p/pod.yaml",
        &POD.replace("containers: []", "containers: [{name: a, image: web}]"),
    );
    assert_eq!(
        complaint(&with_image),
        "/p/kustomization.yaml:3:3: the image name `web(` is not a regular expression: unclosed group\n\
         hint: names of images are expressions: write a backslash before a sign that means itself"
    );
}

#[test]
fn a_selector_that_is_no_expression_is_told() {
    let patch = "  patch: '- {op: add, path: /a, value: b}'\n";
    refused(
        &format!("resources: [pod.yaml]\npatches:\n- target: {{name: \"w**\"}}\n{patch}"),
        "/p/kustomization.yaml:3:11: `w**` is not a regular expression: `*` repeats what is repeated already\n\
         hint: use `.*` for anything, and a backslash before a sign that means itself",
    );
}

#[test]
fn a_patch_in_brackets_is_json() {
    refused(
        "resources: [pod.yaml]\npatches:\n- target: {kind: Pod}\n  patch: '[{op: add, path: /a, value: b}]'\n",
        "/p/kustomization.yaml:4:10: it is not a JSON patch: key must be a string at line 1 column 3\n\
         hint: a JSON patch is a list of operations: `- {op: replace, path: /spec/replicas, value: 3}`; \
         one that begins with `[` is JSON, with every name in quotes",
    );
}

#[test]
fn a_map_in_the_place_of_a_number_is_told() {
    let pod = POD.replace("containers: []", "priority: 5\n  securityContext: {runAsUser: 1}");
    let files = package(
        "resources: [pod.yaml]\nreplacements:\n- source: {kind: Pod, fieldPath: spec.securityContext}\n  \
         targets:\n  - select: {kind: Pod}\n    fieldPaths: [spec.priority]\n",
    );
    assert_eq!(
        complaint(&files.with("/p/pod.yaml", &pod)),
        "/p/pod.yaml:6:13: a whole number was here, and a map, a list or nothing was put in its place\n\
         hint: let the `fieldPath` of the replacement lead to a single value"
    );
}

#[test]
fn what_holds_names_must_be_able_to_though_nothing_is_renamed() {
    let files = package("resources: [pod.yaml]\n");
    let pod = POD.replace("containers: []", "volumes: [data]");
    assert_eq!(
        complaint(&files.with("/p/pod.yaml", &pod)),
        "/p/pod.yaml:6:13: the field `spec/volumes/configMap/name`: `data` has no field `configMap`\n\
         hint: the path of the field must lead through maps and lists"
    );
}

#[test]
fn what_no_yaml_can_hold_is_refused_where_it_stands() {
    let with = |line: &str| {
        MemoryFiles::default()
            .with("/p/kustomization.yaml", "resources: [a.yaml]\n")
            .with(
                "/p/a.yaml",
                &format!("apiVersion: v1\nkind: A\nmetadata: {{name: a}}\nspec:\n  {line}\n"),
            )
    };
    for (text, code) in [("\\x7f", "007F"), ("\\ufffe", "FFFE"), ("\\x80", "0080")] {
        assert_eq!(
            complaint(&with(&format!("a: \"x{text}\""))),
            format!(
                "/p/a.yaml:5:6: the text has the character U+{code}, which YAML does not allow\n\
                 hint: leave it out, or keep the text in a file of a generator"
            )
        );
    }
    assert_eq!(
        complaint(&with(&format!("? {}\n  : b", "k".repeat(1023)))),
        "/p/a.yaml:5:5: a key must not be longer than 1022 characters"
    );
    let fine = with("a: \"\\x01\\e\\uFFFD\u{1F600}\"");
    build(&fine, Path::new("/p"), &Options::default()).unwrap();
}

#[test]
fn an_unknown_field_is_shown_with_the_one_that_was_meant() {
    refused(
        "resources: [pod.yaml]\nnamePrefx: a-\n",
        "/p/kustomization.yaml:2:1: a kustomization has no field `namePrefx`\nhint: did you mean `namePrefix`?",
    );
}

#[test]
fn a_value_of_the_wrong_type_is_shown_where_it_stands() {
    refused(
        "resources: pod.yaml\n",
        "/p/kustomization.yaml:1:12: `resources` must be a list, but is `pod.yaml`\n\
         hint: put a dash and a space in front of each element",
    );
    refused(
        "resources: [pod.yaml]\ncommonAnnotations:\n  a: 1\n",
        "/p/kustomization.yaml:3:6: `commonAnnotations` must be text, but is `1`\nhint: put it in quotes: \"1\"",
    );
}

#[test]
fn a_patch_for_something_else_is_told_what_there_is() {
    refused(
        "resources: [pod.yaml]\npatches:\n- patch: |-\n    kind: Pod\n    apiVersion: v1\n    metadata: {name: wbe}\n",
        "/p/kustomization.yaml:4:5: the patch is for Pod/v1 `wbe`, which is not there\nhint: did you mean `web`?",
    );
}

#[test]
fn a_transformer_is_configured_once() {
    refused(
        "resources: [pod.yaml]\ntransformers:\n- |-\n  apiVersion: builtin\n  kind: HashTransformer\n  kind: HashTransformer\n  \
         metadata: {name: a}\n",
        "/p/kustomization.yaml:4:3: the key `kind` is there twice\nhint: keep one of them",
    );
}

#[test]
fn a_base_without_a_kustomization_is_told_where_it_is_named() {
    let files = package("resources:\n- pod.yaml\n- base\n").with("/p/base/pod.yaml", POD);
    let complaint = complaint(&files);
    assert!(
        complaint.starts_with("/p/kustomization.yaml:3:3: `/p/base` has no kustomization file"),
        "{complaint}"
    );
}

#[test]
fn two_objects_with_one_name_are_both_shown() {
    refused(
        "resources: [pod.yaml, pod.yaml]\n",
        "/p/pod.yaml:1:1: Pod/v1 `web` is there already\nhint: the other one is at /p/pod.yaml:1:1; \
         remove one of them, or change one by a patch instead of adding it again",
    );
}

#[test]
fn remote_bases_and_charts_are_refused_with_a_way_out() {
    refused(
        "resources:\n- github.com/example/repository?ref=v1\n",
        "/p/kustomization.yaml:2:3: `github.com/example/repository?ref=v1` is not on this machine, and nothing is \
         fetched\nhint: put a copy of it into the package (clone it, keep what is needed) and name that folder",
    );
    refused(
        "resources: [pod.yaml]\nhelmCharts:\n- name: chart\n",
        "/p/kustomization.yaml:3:3: Helm charts are not inflated\nhint: run `helm template NAME CHART --values FILE > \
         chart.yaml` and list `chart.yaml` under `resources`",
    );
}

#[test]
fn malformed_yaml_is_shown_by_its_line() {
    let files = package("resources: [pod.yaml, bad.yaml]\n").with("/p/bad.yaml", "---\nkind: A\n  b: c\n");
    let complaint = complaint(&files);
    assert!(complaint.starts_with("/p/bad.yaml:3:"), "{complaint}");
}

#[test]
fn a_base_that_leads_back_is_a_cycle() {
    let files = package("resources: [a]\n").with("/p/a/kustomization.yaml", "resources: [..]\n");
    assert_eq!(
        complaint(&files),
        "/p/a/kustomization.yaml:1:13: cycle: `..` is or contains `/p`, which is being built\n\
         hint: a base must not lead back to what is built from it"
    );
}

#[test]
fn files_outside_the_package_need_permission() {
    let files = package("resources: [../outside.yaml]\n").with("/outside.yaml", POD);
    assert!(complaint(&files).contains("security: `../outside.yaml` is not in or below `/p`"));
    let options = Options {
        load_restrictor: LoadRestrictor::None,
    };
    assert!(build(&files, Path::new("/p"), &options).is_ok());
}

#[test]
fn deprecated_fields_work_and_are_told_of() {
    let files = package("bases: [base]\n")
        .with("/p/base/kustomization.yaml", "resources: [pod.yaml]\n")
        .with("/p/base/pod.yaml", POD);
    let built = build(&files, Path::new("/p"), &Options::default()).unwrap();
    assert_eq!(
        built.warnings,
        [
            "# Warning: 'bases' is deprecated. Please use 'resources' instead. \
          Run 'kustomize edit fix' to update your Kustomization automatically."
        ]
    );
    assert_eq!(built.objects.len(), 1);
}

#[test]
fn aliases_that_explode_are_refused() {
    let mut bomb = String::from("kind: A\nmetadata: {name: a}\nl0: &l0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let alias = format!("*l{}", level - 1);
        bomb.push_str(&format!(
            "l{level}: &l{level} [{}]\n",
            [alias.as_str(); 10].join(", ")
        ));
    }
    let files = package("resources: [bomb.yaml]\n").with("/p/bomb.yaml", &bomb);
    assert!(complaint(&files).contains("excessive aliasing"));
}

/// Where a field of the first object is written.
#[track_caller]
fn written(files: &MemoryFiles, field: &str, expected: &str) {
    let traced = trace(files, Path::new("/p"), &Options::default()).unwrap();
    let source = &traced.objects[0].source;
    assert_eq!(source.place_of(field).unwrap().to_string(), expected, "{field}");
}

#[test]
fn every_field_is_known_by_the_place_where_somebody_wrote_it() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  labels: {a.b/c: d}\nspec:\n  containers:\n  - name: web\n    image: $(IMAGE)\n";
    let patch = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n  - name: web\n    tty: true\n  - name: log\n    tty: false\n";
    let files = MemoryFiles::default()
        .with(
            "/p/kustomization.yaml",
            "resources: [pod.yaml]\nnamePrefix: a-\npatches:\n- path: patch.yaml\n- patch: |-\n    - {op: add, path: /spec/hostname, value: h}\n  target: {kind: Pod}\n",
        )
        .with("/p/pod.yaml", pod)
        .with("/p/patch.yaml", patch);
    written(&files, "spec.containers[0].image", "/p/pod.yaml:9:12");
    written(&files, "spec.containers[0].tty", "/p/patch.yaml:8:10");
    written(&files, "spec.containers[1].tty", "/p/patch.yaml:10:10");
    written(&files, "metadata.labels[a.b/c]", "/p/pod.yaml:5:19");
    written(&files, "metadata.labels.a.b/c", "/p/pod.yaml:5:19");
    // A name that was changed is where it was; what is not there is where it would be.
    written(&files, "metadata.name", "/p/pod.yaml:4:9");
    written(&files, "spec.containers[0].ports", "/p/pod.yaml:8:5");
    written(&files, "spec.hostname", "/p/kustomization.yaml:6:5");
}
