//! Templates looked over and rendered by the command line alone: no cluster runs, and none is asked for.

use std::{fs, path::Path, process::Command};

use client_tests::{Output, binary, run};
use serde_json::{Value, json};

const JOB: &str = "\
apiVersion: batch/v1
kind: Job
metadata:
  name: \"{{ global.release }}\"
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: \"{{ image }}\"
          command: [sh, -c, \"echo {{ words }}\"]
";

/// Somebody's folder; neither their home nor their environment knows of a cluster.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    #[track_caller]
    fn run(&self, line: &str, input: &str) -> Output {
        let mut command = Command::new(binary());
        command
            .args(line.split(' '))
            .current_dir(self.path())
            .env("HOME", self.path())
            .env("TRAINYARD_DATA_DIR", self.path().join("nothing"))
            .env_remove("TRAINYARD_SERVICE")
            .env_remove("TRAINYARD_TOKEN")
            .env_remove("KUBECONFIG");
        run(&mut command, input)
    }

    #[track_caller]
    fn findings(&self, line: &str, code: i32) -> Vec<Value> {
        let output = self.run(&format!("{line} -o json"), "");
        assert_eq!(output.code, code, "{output:?}");
        let read: Value = serde_json::from_str(&output.stdout).unwrap();
        read.as_array().unwrap().clone()
    }
}

fn rules(findings: &[Value]) -> Vec<&str> {
    findings
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap())
        .collect()
}

#[test]
fn a_mistake_is_shown_with_its_line_and_a_caret() {
    let folder = Folder::new();
    folder.write("broken.yaml.j2", "a: 1\nb: {{ c | uper }}\nd: {% if %}\n");
    let output = folder.run("template check -f broken.yaml.j2", "");
    assert_eq!(output.code, 1, "{output:?}");
    let shown = &output.stdout;
    assert!(shown.contains("error [unreadable] broken.yaml.j2:3:"), "{shown}");
    assert!(
        shown.contains("3 | d: {% if %}\n") && shown.contains('^'),
        "{shown}"
    );
    assert!(
        shown.ends_with("1 error, 0 warnings, 0 notes in 1 template\n"),
        "{shown}"
    );
    let findings = folder.findings("template check -f broken.yaml.j2", 1);
    let found = &findings[0];
    assert_eq!(
        (&found["file"], &found["line"], &found["severity"]),
        (&json!("broken.yaml.j2"), &json!(3), &json!("error")),
        "{found}"
    );

    // From standard input it has no file, and what cannot be read is another kind of failure.
    let output = folder.run("template check -f -", "a: {{ b");
    assert_eq!(output.code, 1);
    assert!(output.stdout.contains("error [unreadable] -:1:"), "{output:?}");
    let output = folder.run("template check -f none.j2", "");
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("none.j2"), "{output:?}");
}

#[test]
fn texts_of_users_in_programs_of_shells_are_flagged() {
    let folder = Folder::new();
    folder.write("job.yaml.j2", JOB);
    let findings = folder.findings("template check -f job.yaml.j2", 0);
    assert_eq!(rules(&findings), ["shell-text"], "{findings:?}");
    assert_eq!(
        (&findings[0]["line"], &findings[0]["column"]),
        (&json!(12), &json!(35))
    );
    assert!(findings[0]["hint"].as_str().unwrap().contains("quote"));
    folder.findings("template check -f job.yaml.j2 --strict", 1);
    folder.write("job.yaml.j2", &JOB.replace("words }}", "words | quote }}"));
    assert_eq!(
        folder.findings("template check -f job.yaml.j2 --strict", 0),
        [json!(null); 0]
    );

    // A definition that says it is a number is as good.
    folder.write("job.yaml.j2", JOB);
    let definition = json!({
        "name": "echo",
        "task_template_name": "job",
        "user_values_description": "words: (Required) How many\n",
        "user_values_example": "words: 3\n",
        "system_values": "image: busybox\n",
    });
    folder.write("definition.json", &definition.to_string());
    let line = "template check -f job.yaml.j2 --definition definition.json --strict";
    assert_eq!(folder.findings(line, 0), [json!(null); 0]);
}

#[test]
fn includes_are_found_by_the_names_of_files_and_never_in_circles() {
    let folder = Folder::new();
    folder.write("job.yaml.j2", &format!("{{% include 'labels' %}}{JOB}"));
    let findings = folder.findings("template check -f job.yaml.j2", 1);
    assert!(
        findings[0]["detail"].as_str().unwrap().contains("`labels`"),
        "{findings:?}"
    );
    folder.write("labels.j2", "{# nothing #}");
    folder.findings("template check -f job.yaml.j2 --include labels.j2", 0);
    folder.write("labels.j2", "{% include 'job' %}");
    let findings = folder.findings("template check -f job.yaml.j2 --include labels.j2", 1);
    let circle = findings[0]["detail"].as_str().unwrap();
    assert!(circle.contains("job → labels → job"), "{circle}");
}

#[test]
fn what_only_trusted_templates_may_is_said_unless_this_one_is() {
    let folder = Folder::new();
    let text = JOB.replace("restartPolicy: Never", "hostNetwork: true");
    let text = text.replace("words }}", "words | quote }}");
    let mut template = json!({
        "apiVersion": "trainyard.dev/v1alpha1",
        "kind": "TaskTemplate",
        "metadata": {"name": "net"},
        "spec": {"template": text},
    });
    folder.write("template.json", &template.to_string());
    let findings = folder.findings("template check -f template.json", 0);
    assert_eq!(rules(&findings), ["needs-trust"], "{findings:?}");
    assert_eq!(findings[0]["file"], "net");
    folder.write("values.yaml", "image: busybox\nwords: hello\n");
    let refused = folder.run("template render -f template.json -f values.yaml", "");
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused.stderr.contains("net:") && refused.stderr.contains(" | "),
        "{refused:?}"
    );
    template["spec"]["trusted"] = json!(true);
    folder.write("template.json", &template.to_string());
    assert_eq!(
        folder.findings("template check -f template.json", 0),
        [json!(null); 0]
    );
    let rendered = folder.run("template render -f template.json -f values.yaml", "");
    assert!(rendered.stdout.contains("hostNetwork: true"), "{rendered:?}");
}

#[test]
fn files_and_templates_of_the_program_are_rendered_without_a_cluster() {
    let folder = Folder::new();
    folder.write("job.yaml.j2", JOB);
    folder.write("values.yaml", "image: busybox\nwords: hello\n");
    let rendered = folder.run(
        "template render -f job.yaml.j2 -f values.yaml --release mine -n team",
        "",
    );
    assert_eq!(rendered.code, 0, "{rendered:?}");
    for words in ["name: mine", "namespace: team", "echo hello", "image: busybox"] {
        assert!(rendered.stdout.contains(words), "{words}: {}", rendered.stdout);
    }
    // No value is shown that is wrong, but where it would have come.
    let refused = folder.run(
        "template render -f job.yaml.j2 -f -",
        "image: busybox\nwords: '; s3cret'\n",
    );
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:?}");
    assert!(
        refused.stderr.starts_with("error: job.yaml.j2:12:"),
        "{refused:?}"
    );
    assert!(!refused.stderr.contains("s3cret"), "{refused:?}");
    let missing = folder.run("template render -f job.yaml.j2 -f -", "image: busybox\n");
    assert_eq!(missing.code, 1);
    assert!(missing.stderr.contains("{{ words }}"), "{missing:?}");

    let values = "taskDef: countdown\nprocess: {train: {number: 3}}\n";
    let built_in = folder.run("template render countdown-task -f - -o json", values);
    assert_eq!(built_in.code, 0, "{built_in:?}");
    let answer: Value = serde_json::from_str(&built_in.stdout).unwrap();
    let container = &answer["manifests"][0]["spec"]["template"]["spec"]["containers"][0];
    assert!(container.to_string().contains("seq 3 "), "{container}");
    // Another one is asked for where it would be.
    let other = folder.run("template render job -f values.yaml", "");
    assert_eq!(other.code, 2, "{other:?}");
    assert!(other.stderr.contains("no cluster runs"), "{other:?}");
    for line in ["template render -f job.yaml.j2", "template render job -f a -f b"] {
        assert_eq!(folder.run(line, "").code, 2, "{line}");
    }
}

#[test]
fn a_bomb_ends_in_an_error() {
    let folder = Folder::new();
    folder.write(
        "bomb.yaml.j2",
        "{% set ns = namespace(s='aaaaaaaaaa') %}{% for _ in range(64) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}a: {{ ns.s }}\n",
    );
    folder.write("values.yaml", "a: 1\n");
    let started = std::time::Instant::now();
    let output = folder.run("template render -f bomb.yaml.j2 -f values.yaml", "");
    assert_ne!(output.code, 0, "{output:?}");
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
    assert!(output.stderr.contains("memory"), "{output:?}");
}
