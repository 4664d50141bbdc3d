//! Files of workflows, and where in them something is wrong.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use manifests::yaml;
use serde_json::Value;
use workflows::{
    TemplateSource, Unknown,
    check::{self, Problem},
};

use crate::{advised, jobs::place::Cluster};

/// One object of a file.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub file: PathBuf,
    /// The line its document begins on, counted from one.
    pub begins: u64,
    pub object: Value,
}

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub file: PathBuf,
    pub line: u64,
    pub field: String,
    pub message: String,
}

impl std::fmt::Display for Complaint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{}:{}: {}: {}",
            self.file.display(),
            self.line,
            self.field,
            self.message
        )
    }
}

type Templates = BTreeMap<TemplateSource, Option<Value>>;

/// Everything that was read, with its text, for lines.
#[derive(Default)]
pub(crate) struct Sources {
    pub objects: Vec<Written>,
    texts: BTreeMap<PathBuf, String>,
}

impl Sources {
    pub(crate) fn read(files: &[PathBuf]) -> Result<Self> {
        let mut sources = Self::default();
        for file in files {
            let text = text(file)?;
            let documents = yaml::parse_documents(&text).map_err(|error| {
                let line = error.line.max(1);
                advised(
                    format!("{}:{line}: {}", file.display(), error.message),
                    "a workflow is written in YAML or JSON",
                )
            })?;
            for read in documents {
                sources.objects.push(Written {
                    file: file.clone(),
                    begins: read.line.max(1),
                    object: read.value,
                });
            }
            sources.texts.insert(file.clone(), text);
        }
        if sources.objects.is_empty() {
            return Err(advised(
                "there is nothing in the files",
                "an object of kind Workflow is meant",
            ));
        }
        Ok(sources)
    }

    pub(crate) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Written> {
        self.objects
            .iter()
            .filter(move |written| written.object["kind"] == kind)
    }

    /// The line of a field, or of the nearest there is.
    pub(crate) fn line(&self, written: &Written, field: &str) -> u64 {
        let text = self
            .texts
            .get(&written.file)
            .map(String::as_str)
            .unwrap_or_default();
        let before = written.begins - 1;
        let lines = text.split_inclusive('\n');
        let own: String = lines.skip(usize::try_from(before).unwrap_or_default()).collect();
        before + yaml::line_of(&own, &steps(field)).unwrap_or(1)
    }

    /// What is wrong with the objects. Templates that are not in the files are looked for in the cluster; where
    /// there is none, what depends on them is not checked.
    pub(crate) async fn check(&self, cluster: Option<&Cluster>) -> Result<Checked> {
        let mut templates = self.templates();
        let mut checked = Checked::default();
        for written in &self.objects {
            let problems = loop {
                let mut unknown = BTreeSet::new();
                let problems = check::object(&written.object, &templates, &mut unknown);
                let Some(problems) = problems else {
                    checked.complaints.push(self.complaint(
                        written,
                        Problem {
                            field: "kind".to_owned(),
                            message: format!(
                                "`{}` is no kind of pipelines: there are Workflow, WorkflowTemplate, ClusterWorkflowTemplate and CronWorkflow",
                                written.object["kind"].as_str().unwrap_or_default()
                            ),
                        },
                    ));
                    break Vec::new();
                };
                let mut is_news = false;
                for wanted in unknown {
                    let Unknown::Template(source) = wanted else {
                        continue;
                    };
                    let Some(cluster) = cluster else {
                        checked.unknown.insert(source);
                        continue;
                    };
                    let found = look_up(cluster, &source).await?;
                    is_news |= templates.insert(source, found).is_none();
                }
                if !is_news {
                    break problems;
                }
            };
            for problem in problems {
                checked.complaints.push(self.complaint(written, problem));
            }
        }
        Ok(checked)
    }

    fn complaint(&self, written: &Written, problem: Problem) -> Complaint {
        Complaint {
            file: written.file.clone(),
            line: self.line(written, &problem.field),
            field: problem.field,
            message: problem.message,
        }
    }

    fn templates(&self) -> Templates {
        let of = |kind: &'static str, is_cluster: bool| {
            self.of_kind(kind).filter_map(move |written| {
                let name = written.object["metadata"]["name"].as_str()?.to_owned();
                Some((TemplateSource { name, is_cluster }, Some(written.object.clone())))
            })
        };
        of("WorkflowTemplate", false)
            .chain(of("ClusterWorkflowTemplate", true))
            .collect()
    }
}

/// What came of a check.
#[derive(Default)]
pub(crate) struct Checked {
    pub complaints: Vec<Complaint>,
    /// Templates that nobody could be asked for.
    pub unknown: BTreeSet<TemplateSource>,
}

async fn look_up(cluster: &Cluster, source: &TemplateSource) -> Result<Option<Value>> {
    use resources::workflows::{GROUP, VERSION};
    let name = crate::jobs::api::escaped(&source.name);
    let path = if source.is_cluster {
        format!("/apis/{GROUP}/{VERSION}/clusterworkflowtemplates/{name}")
    } else {
        format!(
            "{}/{name}",
            super::folder("workflowtemplates", &cluster.namespace)
        )
    };
    Ok(cluster.api.find(&path).await?)
}

/// `spec.templates[0].steps[1][0].name` by its parts.
fn steps(field: &str) -> Vec<String> {
    field
        .split(['.', '[', ']'])
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

fn text(file: &Path) -> Result<String> {
    if file == Path::new("-") {
        return std::io::read_to_string(std::io::stdin()).context("cannot read standard input");
    }
    std::fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(text: &str) -> Sources {
        let file = PathBuf::from("w.yaml");
        let objects = yaml::parse_documents(text).unwrap();
        Sources {
            objects: objects
                .into_iter()
                .map(|read| Written {
                    file: file.clone(),
                    begins: read.line.max(1),
                    object: read.value,
                })
                .collect(),
            texts: [(file, text.to_owned())].into(),
        }
    }

    const TEXT: &str = "kind: WorkflowTemplate
metadata: {name: shared}
spec:
  templates:
  - name: ok
    container: {image: host, command: [\"true\"]}
---
kind: Workflow
metadata: {name: w}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - name: one
        templateRef: {name: shared, template: ok}
    - - name: two
        template: missing
";

    #[tokio::test]
    async fn what_is_wrong_is_told_with_its_line_across_documents() {
        let checked = sources(TEXT).check(None).await.unwrap();
        let told: Vec<String> = checked.complaints.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].starts_with("w.yaml:18: spec.templates[0].steps[1][0].template"),
            "{told:?}"
        );
    }

    #[tokio::test]
    async fn objects_of_other_kinds_are_no_pipelines() {
        let checked = sources("kind: Pod\n").check(None).await.unwrap();
        assert!(
            checked.complaints[0]
                .to_string()
                .contains("`Pod` is no kind of pipelines")
        );
    }
}
