//! Random edits of kustomization files, one after the other, by us and by kustomize v5.5.0: the same verdict, and a
//! file that means the same. Where there is no kustomize (`cargo xtask real-kubernetes kustomize`), nothing is
//! checked. `TRAINYARD_DIFFERENTIAL` says how many packages are edited, `TRAINYARD_SEED` where the seeds begin.
//! What is done otherwise on purpose (decision 12) is not asked for.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use manifests::yaml::parse_documents;
use serde_json::Value;

use crate::arguments;

const FILE: &str = "kustomization.yaml";
/// Edits of one package.
const EDITS: usize = 4;
/// Seeds that have found something, and are tried always: an image that is named twice in one edit.
const FOUND: [u64; 2] = [83, 148];

/// What packages begin with.
const STARTS: [&str; 5] = [
    "",
    "resources:\n- a.yaml\n",
    "# first\nresources: # second\n  - a.yaml\n  - base\nnamespace: team\nimages:\n  - {name: nginx, newTag: '1'}\n\
     labels:\n- pairs: {tier: web}\n  includeSelectors: true\n- pairs:\n    stage: test\n",
    "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\nnamePrefix: p-\n\
     commonLabels:\n  x: w\ncommonAnnotations:\n  m: k\nimages:\n- name: nginx\n  newTag: \"1\"\nreplicas:\n\
     - name: web\n  count: 2\nconfigMapGenerator:\n- name: cm\n  literals:\n  - a=b\nsecretGenerator:\n- name: sec\n\
     \x20 literals:\n  - a=b\n  type: Opaque\npatches:\n- path: p.yaml\n  target:\n    kind: Deployment\n\
     components:\n- comp\ntransformers:\n- t.yaml\ngenerators:\n- g.yaml\nbuildMetadata: [originAnnotations]\n",
    "bases:\n- base\npatchesStrategicMerge:\n- p.yaml\npatchesJson6902:\n- target: {version: v1, kind: Deployment, name: web}\n\
     \x20 path: j.yaml\nimageTags:\n- name: q\n  newTag: z\ncommonLabels: {a: b}\nconfigMapGenerator:\n- name: cm\n\
     \x20 env: e.env\n",
];

/// What stands beside it.
const BESIDE: [(&str, &str); 10] = [
    ("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
    ("b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"),
    (
        "p.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n",
    ),
    ("j.yaml", "[]\n"),
    (
        "t.yaml",
        "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: t}\nprefix: x\n",
    ),
    (
        "g.yaml",
        "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: g}\nname: g\n",
    ),
    ("e.env", "A=b\n"),
    ("base/kustomization.yaml", "namePrefix: z\n"),
    (
        "comp/kustomization.yaml",
        "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\n",
    ),
    (
        "other/kustomization.yaml",
        "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\n",
    ),
];

struct Author {
    random: fastrand::Rng,
}

impl Author {
    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.random.usize(..words.len())]
    }

    /// One to three of them.
    fn some(&mut self, words: &[&str], joint: &str) -> String {
        let count = [1, 1, 1, 2, 3][self.random.usize(..5)];
        let some: Vec<&str> = (0..count).map(|_| self.pick(words)).collect();
        some.join(joint)
    }

    fn maybe<'a>(&mut self, words: &[&'a str]) -> &'a str {
        if self.random.bool() { "" } else { self.pick(words) }
    }

    /// The words of an edit.
    fn edit(&mut self) -> String {
        match self.random.u8(..26) {
            0 => format!("set namespace {}", self.pick(&["team", "a-b", ""])),
            1 => format!("set nameprefix {}", self.pick(&["q-", "-- -q", "''"])),
            2 => format!("set namesuffix {}", self.pick(&["s", "-- -s"])),
            3 | 4 => {
                let images = [
                    "nginx=new:2",
                    "nginx:2",
                    "nginx=new",
                    "nginx",
                    "nginx=*:3",
                    "q=r",
                    "q:*",
                    "redis@sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3",
                    "host:5000/a/b=c:1",
                    "nginx=new@sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3",
                ];
                format!("set image {}", self.some(&images, " "))
            }
            5 => format!(
                "set replicas {}",
                self.some(&["web=5", "web=0", "db=1", "web", "web=x"], " ")
            ),
            6 => format!(
                "set {} {}",
                self.pick(&["label", "annotation"]),
                self.some(&["a:b", "x:z", "m:z", "a", "a:", "tier:db", "b:c"], ",")
            ),
            7 => format!(
                "{} buildmetadata {}",
                self.pick(&["set", "add"]),
                self.some(
                    &[
                        "originAnnotations",
                        "managedByLabel",
                        "transformerAnnotations",
                        "x"
                    ],
                    ","
                )
            ),
            8 => format!(
                "remove buildmetadata {}",
                self.some(&["originAnnotations", "managedByLabel"], ",")
            ),
            9 => format!(
                "set {} {}",
                self.pick(&["configmap cm", "configmap new", "secret sec"]),
                self.pick(&["--from-literal=a=c", "--from-literal=q=c", "--new-namespace=n"])
            ),
            10 | 11 => format!(
                "add resource {}",
                self.some(&["a.yaml", "b.yaml", "base", "*.yaml", "gone.yaml"], " ")
            ),
            12 => format!("add component {}", self.some(&["comp", "other", "gone"], " ")),
            13 => format!("add base {}", self.some(&["base", "comp", "gone"], ",")),
            14 | 15 => {
                let pairs = self.some(&["a:b", "x:z", "c:d", "tier:db", "stage:x", "y"], ",");
                let flags = ["--force", "-f", "--without-selector", "--include-templates"];
                format!("add label {pairs} {}", self.maybe(&flags))
            }
            16 => format!(
                "add annotation {} {}",
                self.some(&["a:b", "m:z", "c:d:e"], ","),
                self.maybe(&["-f"])
            ),
            17 | 18 => {
                let what = self.pick(&["configmap", "secret"]);
                let name = self.pick(&["cm", "sec", "new"]);
                let from = [
                    "--from-literal=a=b",
                    "--from-literal=c=d",
                    "--from-literal=c=d --from-literal=e=f",
                    "--from-file=b.yaml",
                    "--from-file=k=b.yaml",
                    "--from-env-file=e.env",
                    "--from-literal=a",
                    "",
                ];
                let more = ["--disableNameSuffixHash", "--namespace=n"];
                format!("add {what} {name} {} {}", self.pick(&from), self.maybe(&more))
            }
            19 => format!(
                "remove {} {}",
                self.pick(&["configmap", "secret"]),
                self.some(&["cm", "sec", "new"], ",")
            ),
            20 | 21 => {
                let verb = self.pick(&["add", "remove"]);
                let path = self.pick(&["p.yaml", "b.yaml"]);
                let target = ["--kind Deployment", "--name web", "--kind Deployment --name web"];
                format!("{verb} patch --path {path} {}", self.maybe(&target))
            }
            22 => format!(
                "{} transformer {}",
                self.pick(&["add", "remove"]),
                self.pick(&["t.yaml", "b.yaml"])
            ),
            23 => format!("add generator {}", self.pick(&["g.yaml", "b.yaml"])),
            24 => format!(
                "remove {}",
                self.pick(&[
                    "resource a.yaml",
                    "resource gone.yaml",
                    "resource *.yaml",
                    "resource base",
                    "label x",
                    "label a",
                    "label x,tier",
                    "label stage -i",
                    "annotation m",
                    "annotation a,m",
                    "annotation gone -i",
                ])
            ),
            _ => "fix".to_owned(),
        }
    }
}

fn words(line: &str) -> Vec<&str> {
    let unquoted = |word| if word == "''" { "" } else { word };
    line.split_whitespace().map(unquoted).collect()
}

/// What a kustomization says, without what says nothing.
fn meaning(text: &str) -> Result<Value, String> {
    let documents = parse_documents(text).map_err(|error| format!("{error:?}: {text}"))?;
    let value = documents.into_iter().next().map_or(Value::Null, |it| it.value);
    Ok(without_nothing(value))
}

fn without_nothing(value: Value) -> Value {
    let is_nothing = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, without_nothing(value)))
            .filter(|(name, value)| !is_nothing(value) && name != "apiVersion")
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.into_iter().map(without_nothing).collect::<Vec<_>>().into(),
        other => other,
    }
}

/// Edits a package as a seed says, with both; what differs, and after what.
fn edit_with_both(kustomize: &Path, seed: u64) -> Result<(), String> {
    let mut author = Author {
        random: fastrand::Rng::with_seed(seed),
    };
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let start = author.pick(&STARTS);
    let mut files = BTreeMap::from([(FILE.to_owned(), start.as_bytes().to_vec())]);
    files.extend(BESIDE.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())));
    for (path, text) in &files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder.path())).map_err(|error| error.to_string())?;
        fs::write(path, text).map_err(|error| error.to_string())?;
    }
    let mut history = Vec::new();
    for _ in 0..EDITS {
        let line = format!("edit {}", author.edit());
        history.push(line.clone());
        let told = |what: String| format!("{start}{}\n{what}", history.join("\n"));
        let theirs = Command::new(kustomize)
            .args(words(&line))
            .current_dir(folder.path())
            .envs([("GOGC", "off"), ("GOMAXPROCS", "1")])
            .output()
            .map_err(|error| error.to_string())?;
        let ours = arguments::run(&words(&line), &files);
        if theirs.status.success() != ours.is_success {
            let words = String::from_utf8_lossy(&theirs.stderr);
            let words = words.lines().next().unwrap_or_default().to_owned();
            return Err(told(format!(
                "theirs {}: {words}; ours: {:?}",
                theirs.status, ours.problem
            )));
        }
        let expected = fs::read_to_string(folder.path().join(FILE)).map_err(|error| error.to_string())?;
        let found = String::from_utf8_lossy(&ours.files[FILE]).into_owned();
        if meaning(&expected)? != meaning(&found)? {
            return Err(told(format!("should be\n{expected}but is\n{found}")));
        }
        files = ours.files;
    }
    Ok(())
}

fn kustomize() -> Option<PathBuf> {
    let cache = match std::env::var_os("XDG_CACHE_HOME") {
        Some(cache) => PathBuf::from(cache),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".cache"),
    };
    let program = cache.join("trainyard/real-kubernetes/v1.34.4/bin/kustomize");
    program.is_file().then_some(program)
}

#[test]
fn random_edits_mean_what_they_mean_to_kustomize() {
    let Some(kustomize) = kustomize() else {
        return;
    };
    let number = |name: &str, default| {
        let value = std::env::var_os(name).and_then(|value| value.to_string_lossy().parse().ok());
        value.unwrap_or(default)
    };
    let is_gate = std::env::var_os("CI").is_some_and(|value| value == "true");
    let first = number("TRAINYARD_SEED", 0);
    let end = first + number("TRAINYARD_DIFFERENTIAL", if is_gate { 500 } else { 60 });
    let (next, failures) = (AtomicU64::new(first), Mutex::new(Vec::new()));
    let check = |seed: u64| {
        if let Err(failure) = edit_with_both(&kustomize, seed) {
            let mut failures = failures.lock().expect("no thread panics with the lock");
            failures.push(format!("== seed {seed}\n{failure}"));
        }
    };
    FOUND.into_iter().for_each(check);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return;
            }
            check(seed);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().expect("no thread panicked with the lock");
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        end - first,
        failures.join("\n")
    );
}
