//! The jobs that are tried: those beside this file's folder (`xtask/originals`), and those of the corpus.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use manifests::yaml;
use serde_json::{Value, json};

use super::{
    glob,
    story::{self, Step},
};
use crate::{
    operators::{Limits, Operator},
    run::root,
};

/// The suite of mpi-operator.
const MPI: &str = "mpi";
/// The suite of training-operator.
const TRAINING: &str = "training";
const STORY: &str = "story";

/// The jobs of one original, in a namespace of that name.
pub(super) struct Suite {
    pub(super) name: &'static str,
    pub(super) original: Operator,
    /// As kubectl is asked for them.
    pub(super) resources: &'static str,
    pub(super) cases: Vec<Case>,
}

pub(super) struct Case {
    pub(super) job: Value,
    pub(super) story: Vec<Step>,
}

/// Where the corpus is, if there is one.
pub(super) fn beside() -> PathBuf {
    root().join("../shared/corpus")
}

/// Those of our own and those of the corpus that are like one of the patterns; all without patterns.
pub(super) fn read(patterns: &[String], corpus: &Path) -> Result<[Suite; 2]> {
    let mut jobs = Vec::new();
    for file in files(&root().join("xtask/originals"))? {
        jobs.extend(documents(&file).with_context(|| format!("`{}`", file.display()))?);
    }
    let own = jobs.len();
    if corpus.is_dir() {
        jobs.extend(of_corpus(corpus)?);
    }
    eprintln!("{own} jobs of our own, {} of the corpus", jobs.len() - own);
    let mut suites = [
        Suite {
            name: MPI,
            original: Operator::Mpi(Limits::Raised),
            resources: "mpijobs.v2beta1.kubeflow.org",
            cases: Vec::new(),
        },
        Suite {
            name: TRAINING,
            original: Operator::Training(Limits::Raised),
            resources: "tfjobs.v1.kubeflow.org,pytorchjobs.v1.kubeflow.org,xgboostjobs.v1.kubeflow.org,\
                        paddlejobs.v1.kubeflow.org,jaxjobs.v1.kubeflow.org,mpijobs.v1.kubeflow.org",
            cases: Vec::new(),
        },
    ];
    let wanted = |job: &Value| {
        let id = id(job);
        patterns.is_empty() || patterns.iter().any(|pattern| glob::matches(pattern, &id))
    };
    for job in jobs.into_iter().filter(wanted) {
        let [mpi, training] = &mut suites;
        let suite = match job["apiVersion"].as_str() {
            Some("kubeflow.org/v2beta1") => mpi,
            _ => training,
        };
        suite.cases.push(case(job, suite.name)?);
    }
    Ok(suites)
}

/// `KIND/NAME`; the two kinds of MPIJobs have their version, too.
pub(super) fn id(job: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let version = match (
        text(&job["kind"]).as_str(),
        text(&job["apiVersion"]).rsplit('/').next(),
    ) {
        ("MPIJob", Some(version)) => format!(".{version}"),
        _ => String::new(),
    };
    format!(
        "{}{version}/{}",
        text(&job["kind"]),
        text(&job["metadata"]["name"])
    )
}

fn case(mut job: Value, namespace: &str) -> Result<Case> {
    job["metadata"]["namespace"] = json!(namespace);
    let annotations = job["metadata"]["annotations"].as_object_mut();
    let text = annotations.and_then(|annotations| annotations.remove(STORY));
    let text = text.as_ref().and_then(Value::as_str).unwrap_or_default();
    let story = story::parse(text).with_context(|| format!("the story of {}", id(&job)))?;
    Ok(Case { job, story })
}

/// What the originals of our time know. Names are given anew: many of the corpus have the same.
fn of_corpus(folder: &Path) -> Result<Vec<Value>> {
    let known = [
        ("kubeflow.org/v1", "MPIJob"),
        ("kubeflow.org/v1", "PyTorchJob"),
        ("kubeflow.org/v1", "TFJob"),
        ("kubeflow.org/v1", "XGBoostJob"),
        ("kubeflow.org/v1", "PaddleJob"),
        ("kubeflow.org/v1", "JAXJob"),
        ("kubeflow.org/v2beta1", "MPIJob"),
    ];
    let is_known = |job: &Value| {
        known
            .iter()
            .any(|(version, kind)| job["apiVersion"] == *version && job["kind"] == *kind)
    };
    let mut found: Vec<Value> = Vec::new();
    for file in files(folder)? {
        // What is no YAML (templates of charts) has none, and a job without a specification tells nothing.
        let jobs = documents(&file).unwrap_or_default().into_iter();
        for mut job in jobs.filter(|job| is_known(job) && job["spec"].is_object()) {
            job["metadata"] =
                json!({"labels": job["metadata"]["labels"], "annotations": job["metadata"]["annotations"]});
            if !found.contains(&job) {
                found.push(job);
            }
        }
    }
    for (number, job) in found.iter_mut().enumerate() {
        job["metadata"]["name"] = json!(format!("corpus-{number}"));
    }
    Ok(found)
}

fn documents(file: &Path) -> Result<Vec<Value>> {
    let documents = yaml::parse_documents(&fs::read_to_string(file)?)?;
    Ok(documents.into_iter().map(|document| document.value).collect())
}

/// The YAML files of a folder and those in it, in their order.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(self::files(&path)?);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
