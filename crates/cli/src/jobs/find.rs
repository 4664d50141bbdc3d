//! From the name a person types to the job that is meant.

use anyhow::Result;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use resources::{Kind, kinds};

use super::{
    api::{Api, ApiError, escaped},
    job::Job,
    place::Cluster,
};
use crate::advised;

/// There is no such job: an answer, and no failure.
#[derive(Debug, thiserror::Error)]
#[error("there is no {what} in namespace `{namespace}`")]
pub(crate) struct Absent {
    pub(crate) what: String,
    pub(crate) namespace: String,
}

/// Where the jobs of a kind are, or one of them.
pub(crate) fn path(kind: &Kind, version: &str, namespace: Option<&str>, name: Option<&str>) -> String {
    let mut path = format!("/apis/{}/{version}", kind.group);
    if let Some(namespace) = namespace {
        path += &format!("/namespaces/{}", escaped(namespace));
    }
    path += &format!("/{}", kind.plural);
    if let Some(name) = name {
        path += &format!("/{}", escaped(name));
    }
    path
}

/// Where a job that was found is.
pub(crate) fn path_of(job: &Job) -> String {
    path(job.kind, job.version(), Some(job.namespace()), Some(job.name()))
}

/// The list that a job which was found is the only item of, to be watched.
pub(crate) fn path_of_one(job: &Job) -> String {
    let list = path(job.kind, job.version(), Some(job.namespace()), None);
    let selector = escaped(&format!("metadata.name={}", job.name()));
    format!("{list}?fieldSelector={selector}")
}

/// The job of that name (`digits`), of any kind or of the one that is named too (`pytorchjob/digits`).
pub(crate) async fn find(cluster: &Cluster, reference: &str) -> Result<Job> {
    let (kinds, name) = meant(reference)?;
    let looks: Vec<_> = kinds.into_iter().map(|kind| get(cluster, kind, name)).collect();
    let looks: Vec<_> = stream::iter(looks).buffered(cluster.lanes()).collect().await;
    let (mut found, forbidden) = sorted(looks)?;
    match (found.pop(), found.is_empty(), forbidden) {
        (Some(job), true, _) => Ok(job),
        (Some(last), false, _) => {
            found.push(last);
            Err(ambiguous(name, &found))
        }
        (None, _, Some(forbidden)) => Err(forbidden.into()),
        (None, _, None) => Err(Absent {
            what: format!("training job `{reference}`"),
            namespace: cluster.namespace.clone(),
        }
        .into()),
    }
}

/// The jobs that were found, and a refusal to look for some. Who uses one kind may not be allowed to see the others.
fn sorted(looks: Vec<Result<Option<Job>, ApiError>>) -> Result<(Vec<Job>, Option<ApiError>), ApiError> {
    let (mut found, mut forbidden) = (Vec::new(), None);
    for look in looks {
        match look {
            Ok(job) => found.extend(job),
            Err(error) if error.is_forbidden() => forbidden = Some(error),
            Err(error) => return Err(error),
        }
    }
    Ok((found, forbidden))
}

/// Every training job of a namespace, or of all.
pub(crate) async fn all(cluster: &Cluster, namespace: Option<&str>) -> Result<Vec<Job>, ApiError> {
    let lists = stream::iter(kinds::ALL).map(|kind| list(&cluster.api, kind, namespace));
    lists.buffered(cluster.lanes()).try_concat().await
}

/// A cluster may serve an older version of a kind only.
async fn list(api: &Api, kind: &'static Kind, namespace: Option<&str>) -> Result<Vec<Job>, ApiError> {
    for version in kind.versions {
        if let Some(items) = api.list(&path(kind, version, namespace, None)).await? {
            let job = |mut object: serde_json::Value| {
                // Lists do not repeat it in their items.
                object["apiVersion"] = format!("{}/{version}", kind.group).into();
                object["kind"] = kind.kind.into();
                Job { kind, object }
            };
            return Ok(items.into_iter().map(job).collect());
        }
    }
    Ok(Vec::new())
}

async fn get(cluster: &Cluster, kind: &'static Kind, name: &str) -> Result<Option<Job>, ApiError> {
    for version in kind.versions {
        let path = path(kind, version, Some(&cluster.namespace), Some(name));
        if let Some(object) = cluster.api.find(&path).await? {
            return Ok(Some(Job { kind, object }));
        }
    }
    Ok(None)
}

/// The kinds that may be meant, and the name.
fn meant(reference: &str) -> Result<(Vec<&'static Kind>, &str)> {
    let Some((kind, name)) = reference.split_once('/') else {
        return Ok((kinds::ALL.to_vec(), reference));
    };
    let kinds = named(kind);
    if kinds.is_empty() {
        let known: Vec<&str> = kinds::ALL.iter().map(|kind| kind.kind).collect();
        return Err(advised(
            format!("`{kind}` is no training kind"),
            format!("the kinds are {}", known.join(", ")),
        ));
    }
    Ok((kinds, name))
}

/// Training kinds by what people call them: `PyTorchJob`, `pytorchjobs`, `mxjobs.kubeflow.org`.
pub(crate) fn named(word: &str) -> Vec<&'static Kind> {
    let word = word.to_lowercase();
    let is_meant = |kind: &&'static Kind| {
        let names = [kind.kind.to_lowercase(), kind.plural.to_owned()];
        let in_group = |name: &String| word == *name || word == format!("{name}.{}", kind.group);
        names.iter().any(in_group) || kind.short_names.contains(&word.as_str())
    };
    kinds::ALL.into_iter().filter(is_meant).collect()
}

fn ambiguous(name: &str, found: &[Job]) -> anyhow::Error {
    let kinds: Vec<&str> = found.iter().map(|job| job.kind.kind).collect();
    let names: Vec<String> = found
        .iter()
        .map(|job| format!("`{}/{name}`", job.kind.definition()))
        .collect();
    advised(
        format!("`{name}` is the name of several jobs: {}", kinds.join(", ")),
        format!("say which one is meant: {}", names.join(" or ")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: &[&str]) {
        let found: Vec<String> = named(word).iter().map(|kind| kind.definition()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn kinds_have_the_names_that_kubectl_knows() {
        check("PyTorchJob", &["pytorchjobs.kubeflow.org"]);
        check("tfjobs", &["tfjobs.kubeflow.org"]);
        check("mj", &["mpijobs.kubeflow.org"]);
        check(
            "mxjob",
            &[
                "mxjobs.kubeflow.org",
                "mxjobs.mxnet.mlkube.io",
                "mxjobs.mlkube.io",
            ],
        );
        check("mxjobs.kubeflow.org", &["mxjobs.kubeflow.org"]);
        check("deployment", &[]);
    }

    #[test]
    fn a_name_of_several_jobs_is_told_with_ways_to_say_which() {
        let job = |kind| Job {
            kind,
            object: serde_json::json!({"metadata": {"name": "a"}}),
        };
        let error = ambiguous("a", &[job(&kinds::TF_JOB), job(&kinds::JAX_JOB)]);
        assert_eq!(
            error.to_string(),
            "`a` is the name of several jobs: TFJob, JAXJob"
        );
    }

    #[test]
    fn kinds_that_may_not_be_looked_at_do_not_hide_a_job_of_another() {
        let refused = |code| ApiError::Refused {
            code,
            reason: String::new(),
            message: "no".to_owned(),
        };
        let job = Job {
            kind: &kinds::TF_JOB,
            object: serde_json::json!({}),
        };
        let (found, forbidden) = sorted(vec![Err(refused(403)), Ok(Some(job)), Ok(None)]).unwrap();
        assert_eq!(found.len(), 1);
        assert!(forbidden.is_some_and(|error| error.is_forbidden()));
        assert!(sorted(vec![Err(refused(500))]).is_err());
    }
}
