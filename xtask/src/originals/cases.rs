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
    operators::{Gangs, Limits, Operator},
    run::root,
};

const STORY: &str = "story";
/// A job that has this annotation is for clusters with a scheduler of gangs.
const GANG: &str = "gang";

/// The jobs of one original, in a namespace of that name.
pub(super) struct Suite {
    pub(super) name: &'static str,
    pub(super) original: Operator,
    pub(super) gangs: Gangs,
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
pub(super) fn read(patterns: &[String], corpus: &Path) -> Result<Vec<Suite>> {
    let mut jobs = Vec::new();
    for file in files(&root().join("xtask/originals"))? {
        jobs.extend(documents(&file).with_context(|| format!("`{}`", file.display()))?);
    }
    let own = jobs.len();
    if corpus.is_dir() {
        jobs.extend(of_corpus(corpus)?);
    }
    eprintln!("{own} jobs of our own, {} of the corpus", jobs.len() - own);
    let mut suites = suites();
    let wanted = |job: &Value| {
        let id = id(job);
        patterns.is_empty() || patterns.iter().any(|pattern| glob::matches(pattern, &id))
    };
    for job in jobs {
        let is_gang = !job["metadata"]["annotations"][GANG].is_null();
        let is_mpi = job["apiVersion"] == "kubeflow.org/v2beta1";
        let takes = |suite: &&mut Suite| {
            is_gang == (suite.gangs != Gangs::Nobody) && is_mpi == (suite.original == MPI)
        };
        for suite in suites.iter_mut().filter(takes) {
            let case = case(job.clone(), suite)?;
            if wanted(&job) || wanted(&case.job) {
                suite.cases.push(case);
            }
        }
    }
    Ok(suites)
}

const MPI: Operator = Operator::Mpi(Limits::Raised);
const TRAINING: Operator = Operator::Training(Limits::Raised);

/// Without any jobs yet.
fn suites() -> Vec<Suite> {
    let suite = |name, original, gangs| Suite {
        name,
        original,
        gangs,
        resources: match original {
            MPI => "mpijobs.v2beta1.kubeflow.org",
            _ => {
                "tfjobs.v1.kubeflow.org,pytorchjobs.v1.kubeflow.org,xgboostjobs.v1.kubeflow.org,\
                 paddlejobs.v1.kubeflow.org,jaxjobs.v1.kubeflow.org,mpijobs.v1.kubeflow.org"
            }
        },
        cases: Vec::new(),
    };
    vec![
        suite("mpi", MPI, Gangs::Nobody),
        suite("training", TRAINING, Gangs::Nobody),
        suite("mpi-volcano", MPI, Gangs::Volcano),
        suite("training-volcano", TRAINING, Gangs::Volcano),
        suite("mpi-plugins", MPI, Gangs::Plugins),
        suite("training-plugins", TRAINING, Gangs::Plugins),
    ]
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

fn case(mut job: Value, suite: &Suite) -> Result<Case> {
    let meta = &mut job["metadata"];
    meta["namespace"] = json!(suite.name);
    if let Some(scheduler) = suite.gangs.scheduler() {
        let name = meta["name"].as_str().unwrap_or_default();
        meta["name"] = json!(format!("{name}-{scheduler}"));
    }
    let mut take = |annotation: &str| meta["annotations"].as_object_mut()?.remove(annotation);
    let text = take(STORY);
    take(GANG);
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
