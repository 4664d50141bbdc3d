//! Upstream's suite: which specs to run, running them, and what came of each.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::{
    real_kubernetes::{self, Component},
    run,
};

/// The names in a list of specs that contain `focus`.
pub(super) fn specs(list: &str, focus: Option<&str>) -> Result<Vec<String>> {
    let path = run::root().join("xtask/e2e").join(list);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let specs: Vec<String> = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .filter(|line| focus.is_none_or(|focus| line.contains(focus)))
        .map(str::to_owned)
        .collect();
    if specs.is_empty() {
        bail!("no spec has this in its name");
    }
    Ok(specs)
}

/// What came of one spec.
pub(super) struct Outcome {
    pub(super) name: String,
    pub(super) passed: bool,
    /// The first line of why not.
    pub(super) why: String,
}

/// Runs the specs against a cluster. That some of them fail is an outcome, not an error.
pub(super) fn run(specs: &[String], procs: usize, kubeconfig: &Path, work: &Path) -> Result<Vec<Outcome>> {
    let focus: Vec<String> = specs.iter().map(|spec| escape(spec)).collect();
    let report = work.join("report.json");
    let kubectl = real_kubernetes::ensure(Component::Kubectl)?;
    let mut ginkgo = Command::new(real_kubernetes::ensure(Component::Ginkgo)?);
    ginkgo
        .arg("run")
        .arg(format!("--procs={procs}"))
        .arg(format!("--focus={}", focus.join("|")))
        .arg(format!("--json-report={}", report.display()))
        .args(["--timeout=80m", "--succinct", "--no-color"])
        .arg(real_kubernetes::ensure(Component::E2eTest)?)
        .arg("--")
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .arg(format!("--kubectl-path={}", kubectl.display()))
        .args([
            "--provider=skeleton",
            "--allowed-not-ready-nodes=-1",
            "--minStartupPods=0",
        ])
        .current_dir(work)
        .stdout(fs::File::create(work.join("suite.log"))?);
    eprintln!("running {} specs, {procs} at a time", specs.len());
    let status = ginkgo.status().context("cannot start ginkgo")?;
    let text =
        fs::read(&report).with_context(|| format!("the suite left no report, and ended with {status}"))?;
    let suites: Vec<Suite> = serde_json::from_slice(&text).context("the suite's report has another form")?;
    let reports = suites.into_iter().flat_map(|suite| suite.reports);
    Ok(reports.filter_map(Report::outcome).collect())
}

#[derive(Deserialize)]
struct Suite {
    #[serde(rename = "SpecReports", default)]
    reports: Vec<Report>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Report {
    #[serde(default)]
    container_hierarchy_texts: Option<Vec<String>>,
    leaf_node_type: String,
    leaf_node_text: String,
    state: String,
    #[serde(default)]
    failure: Option<Failure>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Failure {
    #[serde(default)]
    message: String,
}

impl Report {
    /// `None` for what is no spec, or was not to be run.
    fn outcome(self) -> Option<Outcome> {
        if self.leaf_node_type != "It" || self.state == "skipped" && self.failure.is_none() {
            return None;
        }
        let mut words = self.container_hierarchy_texts.unwrap_or_default();
        words.push(self.leaf_node_text);
        let message = self.failure.map(|failure| failure.message).unwrap_or_default();
        let first = message.lines().map(str::trim).find(|line| !line.is_empty());
        Some(Outcome {
            name: words.join(" "),
            passed: self.state == "passed",
            why: first.unwrap_or(&self.state).chars().take(300).collect(),
        })
    }
}

/// A name as a regular expression that matches just it.
fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len() * 2);
    for c in name.chars() {
        if "\\.+*?()|[]{}^$".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
