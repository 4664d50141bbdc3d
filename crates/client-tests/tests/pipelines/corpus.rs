//! The examples and end-to-end manifests of Argo Workflows that can run here, each to the phase it is said to reach.
//! Shells and Pythons are this machine's own; the image `argosay` is a few lines of shell.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use client_tests::{Release, Server, Shell, User, get, is_real, kubectl, needed, team::ready};
use serde_json::{Value, json};

use crate::phase_of;

/// So many are run at a time.
const WORKERS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(150);

/// What `argosay` does.
const ARGOSAY: &str = r#"case "${1:-}" in
"") echo "hello argo" ;;
echo) if [ $# -lt 3 ]; then echo "$2"; else mkdir -p "$(dirname "$3")"; echo "$2" > "$3"; fi ;;
cat) cat "$2" ;;
sleep) sleep "$2" ;;
exit) exit "$2" ;;
sh) shift; exec sh "$@" ;;
*) echo "unknown: $*" >&2; exit 1 ;;
esac"#;

/// Manifests that are marked runnable and cannot be here, and why.
const NOT_HERE: &[(&str, &str)] = &[
    ("examples/suspend-template.yaml", "it waits for a person"),
    ("e2e/functional/suspend-template.yaml", "it waits for a person"),
    (
        "e2e/expectedfailures/oom-kill.yaml",
        "it takes all memory there is",
    ),
    (
        "e2e/expectedfailures/unschedulable.yaml",
        "no image is missing where all are this machine",
    ),
    (
        "e2e/functional/arguments-artifacts.yaml",
        "its artifact is on the internet",
    ),
    (
        "e2e/functional/template_level_host_aliases.yaml",
        "it calls a program that need not be here",
    ),
    (
        "e2e/functional/resource-template.yaml",
        "it waits for a phase that there is not",
    ),
    (
        "e2e/inline/TestDAGLevelMemoize.yaml",
        "it says `Parameter` for `parameter`, which is refused here",
    ),
    (
        "e2e/functional/sidecar-volumes.yaml",
        "its script has no source, and its shell must know `[[`",
    ),
];

/// What some of them need to be there, which others there have made or which is described in them.
const NEEDED: &str = r#"
{apiVersion: v1, kind: ConfigMap, metadata: {name: simple-parameters, labels: {workflows.argoproj.io/configmap-type: Parameter}}, data: {msg: hello}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: cmref-parameters, labels: {workflows.argoproj.io/configmap-type: Parameter}}, data: {cmref-key: old, msg: hello}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: new-cmref-parameters, labels: {workflows.argoproj.io/configmap-type: Parameter}}, data: {cmref-key: new}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: my-existing-volume}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: argo}}
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: next-template}
spec:
  entrypoint: next
  templates:
  - name: next
    inputs: {parameters: [{name: test, value: "{{ workflow.mainEntrypoint }}"}]}
    container: {image: host, command: [echo, we got here]}
"#;

struct Case {
    file: String,
    expected: String,
}

pub(crate) fn all() {
    if is_real() {
        return;
    }
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let server = Server::start_with_options(User::Us, &["--images", "host"]);
    let shell = Shell::new(&server, &[("kubectl", &kubectl)]);
    ready(&shell);
    let cases = cases();
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some((number, case)) = {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    cases.get(number).map(|case| (number, case))
                } {
                    if let Err(why) = play(&server, &shell, number, case) {
                        failed.lock().unwrap().push(format!("{}: {why}", case.file));
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().unwrap();
    failed.sort();
    assert!(
        failed.is_empty(),
        "{} of {} do not reach their phase:\n{}",
        failed.len(),
        cases.len(),
        failed.join("\n")
    );
    assert!(cases.len() >= 60, "only {} cases", cases.len());
}

fn corpus() -> PathBuf {
    let folder = std::env::var_os("TRAINYARD_CORPUS").expect("TRAINYARD_CORPUS says where the corpus is");
    PathBuf::from(folder).join("argo")
}

/// Those that need nothing but a cluster.
fn cases() -> Vec<Case> {
    let index = fs::read_to_string(corpus().join("index.tsv")).unwrap();
    let only = std::env::var_os("TRAINYARD_CORPUS_ONLY").map(|only| only.to_string_lossy().into_owned());
    let rows = index
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect::<Vec<_>>());
    rows.filter(|row| row[3] == "yes" && matches!(row[4], "Succeeded" | "Failed" | "Error"))
        .filter(|row| matches!(row[8], "" | "kube-api" | "configmap" | "pvc" | "workflowtemplate"))
        .filter(|row| !NOT_HERE.iter().any(|(file, _)| *file == row[0]))
        .filter(|row| only.as_ref().is_none_or(|only| row[0].contains(only.as_str())))
        .map(|row| Case {
            file: row[0].to_owned(),
            expected: row[4].to_owned(),
        })
        .collect()
}

fn play(server: &Server, shell: &Shell<'_>, number: usize, case: &Case) -> Result<(), String> {
    let namespace = format!("case-{number}");
    shell.ok(&format!(
        "kubectl create namespace {namespace} && \
         kubectl create -n {namespace} rolebinding all --clusterrole=cluster-admin --serviceaccount={namespace}:default && \
         kubectl apply -n {namespace} -f - <<'END'\n{NEEDED}\nEND"
    ));
    let file = corpus().join(&case.file);
    let read = shell.run(&format!(
        "kubectl create --dry-run=client --validate=false -o json -f {}",
        file.display()
    ));
    if read.code != 0 {
        return Err(read.stderr);
    }
    let text = read.stdout;
    let mut name = String::new();
    for object in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
        let mut object = object.map_err(|error| error.to_string())?;
        localize(&mut object, &namespace);
        if let Some(meta) = object["metadata"].as_object_mut() {
            meta.remove("namespace");
        }
        let made = shell.run(&format!(
            "kubectl create -n {namespace} --validate=false -o json -f - <<'END'\n{object}\nEND"
        ));
        if made.code != 0 {
            return Err(made.stderr);
        }
        let made: Value = serde_json::from_str(&made.stdout).map_err(|error| error.to_string())?;
        if made["kind"] == "Workflow" {
            made["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .clone_into(&mut name);
        }
    }
    let path = format!("/apis/argoproj.io/v1alpha1/namespaces/{namespace}/workflows/{name}");
    let deadline = Instant::now() + PATIENCE;
    let workflow = loop {
        let answer = get(&server.address(), &path, Some(&server.token()));
        let workflow: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        if workflow["status"]["finishedAt"].is_string() {
            break workflow;
        }
        if Instant::now() > deadline {
            return Err(format!("it does not end: {}", told(&workflow)));
        }
        thread::sleep(Duration::from_millis(200));
    };
    let check = if phase_of(&workflow) == case.expected {
        shape(&workflow)
    } else {
        Err(format!("expected {}: {}", case.expected, told(&workflow)))
    };
    shell.ok(&format!("kubectl delete namespace {namespace} --wait=false"));
    check
}

/// The phase and every message, in short.
fn told(workflow: &Value) -> String {
    let nodes = workflow["status"]["nodes"].as_object().into_iter().flatten();
    let mut told: Vec<String> = nodes
        .map(|(_, node)| {
            format!(
                "    {} {} {}",
                node["name"].as_str().unwrap_or_default(),
                node["phase"].as_str().unwrap_or_default(),
                node["message"].as_str().unwrap_or_default()
            )
        })
        .collect();
    told.sort();
    format!(
        "{} {}\n{}",
        phase_of(workflow),
        workflow["status"]["message"].as_str().unwrap_or_default(),
        told.join("\n")
    )
}

/// What holds of every status: ids by names, known phases, times, children that are there.
fn shape(workflow: &Value) -> Result<(), String> {
    let Some(nodes) = workflow["status"]["nodes"].as_object() else {
        return Ok(());
    };
    let known = ["Succeeded", "Failed", "Error", "Skipped", "Omitted"];
    for (id, node) in nodes {
        if node["id"] != id.as_str() {
            return Err(format!("node {id} calls itself {}", node["id"]));
        }
        let phase = node["phase"].as_str().unwrap_or_default();
        if !known.contains(&phase) {
            return Err(format!(
                "node {} is {phase} though the workflow has ended",
                node["name"]
            ));
        }
        if !node["startedAt"].is_string() || !node["finishedAt"].is_string() {
            return Err(format!("node {} has no times", node["name"]));
        }
        for child in node["children"].as_array().into_iter().flatten() {
            if !child.as_str().is_some_and(|child| nodes.contains_key(child)) {
                return Err(format!(
                    "node {} has a child {child} that is not there",
                    node["name"]
                ));
            }
        }
    }
    if workflow["metadata"]["labels"]["workflows.argoproj.io/completed"] != "true" {
        return Err("it is not labelled as completed".to_owned());
    }
    Ok(())
}

/// Programs and folders as this machine has them.
fn localize(value: &mut Value, namespace: &str) {
    match value {
        Value::String(text) => *text = localized(text, namespace),
        Value::Array(items) => items.iter_mut().for_each(|item| localize(item, namespace)),
        Value::Object(fields) => {
            let image = fields
                .get("image")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned();
            if image.contains("argosay") {
                let first = fields.get("command").and_then(|command| command[0].as_str());
                if first.is_none_or(|first| first.ends_with("argosay")) {
                    fields.insert("command".to_owned(), json!(["sh", "-c", ARGOSAY, "argosay"]));
                }
            }
            if fields
                .get("command")
                .is_some_and(|command| command[0] == "python")
            {
                fields["command"][0] = json!("python3");
            }
            fields.values_mut().for_each(|field| localize(field, namespace));
        }
        _ => {}
    }
}

/// Texts with programs in them, and files that would lie where only root may write.
fn localized(text: &str, namespace: &str) -> String {
    let place = format!("/tmp/{namespace}-");
    match text {
        "/output" | "/result.txt" | "/art" => return text.replacen('/', &place, 1),
        "cat /art" => return format!("cat {place}art"),
        _ => {}
    }
    let text = text
        .replace("open(\"result.txt\"", &format!("open(\"{place}result.txt\""))
        .replace("; /argosay", "; echo hello argo");
    // A manifest of its own, inside of a text.
    let lines = text
        .lines()
        .filter(|line| !line.contains("command: [\"/argosay\"]"));
    let mut local = lines
        .map(|line| match line.split_once("image: argoproj/argosay") {
            Some((indent, _)) => {
                let indent = indent.replace('-', " ");
                format!(
                    "{}image: host\n{indent}command: [\"true\"]",
                    line.split_once("image:").map_or("", |(start, _)| start)
                )
            }
            None => line.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("\n");
    if text.ends_with('\n') {
        local.push('\n');
    }
    local
}
