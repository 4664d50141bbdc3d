//! Looking at everything that may be a cause.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use anyhow::Result;
use futures_util::{StreamExt as _, future::join_all, stream};
use jiff::Timestamp;
use resources::tasks::names::labels;
use serde_json::Value;

use super::{
    causes::{Machine, Observed},
    of_queue,
    subject::{BATCH_JOB, Other, POD, Subject, TASK, WORKFLOW},
};
use crate::{
    advised, ailments,
    instance::Instance,
    jobs::{
        api::{Api, ApiError, escaped},
        find::{self, Absent},
        job::text,
        place::Cluster,
        queue::{self, Standing},
        replicas::{of_job, owner},
    },
};

pub(super) const PODS: &str = "pods";
pub(super) const CLAIMS: &str = "persistentvolumeclaims";
pub(super) const QUOTAS: &str = "resourcequotas";

/// So many pods are asked for their last line.
const MOST_LINES: usize = 8;

pub(super) async fn observe(cluster: &Cluster, reference: &str) -> Result<Observed> {
    let subject = subject(cluster, reference).await?;
    let api = &cluster.api;
    let namespace = escaped(subject.namespace());
    let core = |plural: &'static str| (plural, format!("/api/v1/namespaces/{namespace}/{plural}"));
    let places = [
        core(PODS),
        core(CLAIMS),
        core(QUOTAS),
        core("events"),
        ("jobs", format!("/apis/batch/v1/namespaces/{namespace}/jobs")),
        (
            "replicasets",
            format!("/apis/apps/v1/namespaces/{namespace}/replicasets"),
        ),
    ];
    let ([pods, claims, quotas, events, batch_jobs, replica_sets], mut unseen) =
        lists(api, cluster.lanes(), places).await?;
    let between: Vec<Value> = batch_jobs
        .into_iter()
        .chain(replica_sets)
        .filter(|object| owner(object) == Some(text(&subject.object()["metadata"]["uid"])))
        .collect();
    let pods = own_pods(&subject, pods, &between);
    let nodes = readable(api.list("/api/v1/nodes").await)?;
    let classes = readable(api.list("/apis/storage.k8s.io/v1/storageclasses").await)?;
    let name = |class: &Value| text(&class["metadata"]["name"]).to_owned();
    let classes = classes.map(|classes| classes.iter().map(name).collect());
    let last_lines = last_lines(api, &pods).await;
    let workload = workload(api, &subject, &mut unseen).await?;
    Ok(Observed {
        subject,
        pods,
        between,
        claims,
        quotas,
        events,
        nodes,
        classes,
        machine: cluster.embedded.as_ref().map(machine),
        workload,
        last_lines,
        unseen,
        now: Timestamp::now(),
    })
}

/// What not everybody may look at and only adds to the answer.
fn readable(answer: Result<Option<Vec<Value>>, ApiError>) -> Result<Option<Vec<Value>>, ApiError> {
    match answer {
        Err(error) if error.is_forbidden() => Ok(None),
        other => other,
    }
}

fn machine(instance: &Instance) -> Machine {
    let dir = instance.dir();
    Machine {
        runs_pods: instance.tier.is_some(),
        disk: ailments::of_disk(dir),
        dir: dir.to_owned(),
    }
}

/// The objects of each place, and the names of those that may not be looked at.
async fn lists<const N: usize>(
    api: &Api,
    lanes: usize,
    places: [(&'static str, String); N],
) -> Result<([Vec<Value>; N], Vec<&'static str>), ApiError> {
    let (mut lists, mut unseen) = (std::array::from_fn(|_| Vec::new()), Vec::new());
    let answers: Vec<_> = places.iter().map(|(_, path)| api.list(path)).collect();
    let answers: Vec<_> = stream::iter(answers).buffered(lanes).collect().await;
    for ((list, answer), (name, _)) in lists.iter_mut().zip(answers).zip(&places) {
        match answer {
            Ok(found) => *list = found.unwrap_or_default(),
            Err(error) if error.is_forbidden() => unseen.push(*name),
            Err(error) => return Err(error),
        }
    }
    Ok((lists, unseen))
}

/// A name alone is a training job's, else that of a task, a workflow, a pod or a batch Job. A task names what it runs
/// after itself and says more.
async fn subject(cluster: &Cluster, reference: &str) -> Result<Subject> {
    if let Some((word, name)) = reference.split_once('/') {
        if !find::named(word).is_empty() {
            return find::find(cluster, reference).await.map(Subject::Job);
        }
        let Some(kind) = Other::named(word) else {
            return Err(advised(
                format!("`{word}` is no kind that can be asked about"),
                format!("the kinds are the training kinds, and {}", Other::all()),
            ));
        };
        return other(cluster, kind, name)
            .await?
            .ok_or_else(|| absent(cluster, reference));
    }
    let mut refusal = None;
    match find::find(cluster, reference).await {
        Err(error) if error.is::<Absent>() => {}
        Err(error) if error.downcast_ref().is_some_and(ApiError::is_forbidden) => refusal = Some(error),
        Ok(job) => {
            let is_of_task = |owner: &Value| owner["kind"] == TASK.kind && owner["name"] == reference;
            let owners = job.object["metadata"]["ownerReferences"].as_array();
            if owners.is_some_and(|owners| owners.iter().any(is_of_task))
                && let Ok(Some(task)) = other(cluster, &TASK, reference).await
            {
                return Ok(task);
            }
            return Ok(Subject::Job(job));
        }
        Err(error) => return Err(error),
    }
    for kind in [&TASK, &WORKFLOW, &POD, &BATCH_JOB] {
        match other(cluster, kind, reference).await {
            Ok(Some(subject)) => return Ok(subject),
            Ok(None) => {}
            Err(error) if error.is_forbidden() => refusal = Some(error.into()),
            Err(error) => return Err(error.into()),
        }
    }
    Err(refusal.unwrap_or_else(|| absent(cluster, reference)))
}

fn absent(cluster: &Cluster, reference: &str) -> anyhow::Error {
    let what = if reference.contains('/') {
        format!("`{reference}`")
    } else {
        format!("training job, task, workflow, pod or job `{reference}`")
    };
    Absent {
        what,
        namespace: cluster.namespace.clone(),
    }
    .into()
}

async fn other(cluster: &Cluster, kind: &'static Other, name: &str) -> Result<Option<Subject>, ApiError> {
    let object = cluster
        .api
        .find(&kind.path(&cluster.namespace, Some(name)))
        .await?;
    Ok(object.map(|object| Subject::Other { kind, object }))
}

fn own_pods(subject: &Subject, pods: Vec<Value>, between: &[Value]) -> Vec<(String, Arc<Value>)> {
    if let Subject::Job(job) = subject {
        let replicas = of_job(job, pods.into_iter().map(Arc::new), between.iter());
        return replicas
            .into_iter()
            .map(|replica| (replica.name, replica.pod))
            .collect();
    }
    let uid = |object: &Value| text(&object["metadata"]["uid"]).to_owned();
    let mut owners: BTreeSet<String> = between.iter().map(uid).collect();
    owners.insert(uid(subject.object()));
    let is_own = |pod: &Value| {
        owners.contains(&uid(pod))
            || owner(pod).is_some_and(|owner| owners.contains(owner))
            || is_of_task(subject, pod)
    };
    let own = pods
        .into_iter()
        .filter(is_own)
        .filter(|pod| is_of_now(subject, pod));
    own.map(|pod| (text(&pod["metadata"]["name"]).to_owned(), Arc::new(pod)))
        .collect()
}

/// Pods of a task may be owned by a training job or a workflow of it; all of them have its label.
fn is_of_task(subject: &Subject, pod: &Value) -> bool {
    let labels = &pod["metadata"]["labels"];
    subject.kind() == TASK.kind && labels[labels::TASK] == subject.name() && is_of_attempt(subject, labels)
}

fn is_of_attempt(subject: &Subject, labels: &Value) -> bool {
    let attempt = subject.object()["status"]["attempt"].as_i64();
    let attempt = attempt.map(|attempt| attempt.to_string());
    attempt.is_none_or(|attempt| labels[labels::ATTEMPT] == *attempt)
}

/// Steps of a workflow that failed and were tried again are past while it goes on.
fn is_of_now(subject: &Subject, pod: &Value) -> bool {
    let has_ended = matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed");
    subject.kind() != WORKFLOW.kind || subject.has_failed() || !has_ended
}

/// What Kueue has of a job that waits in one of its queues.
async fn workload(
    api: &Api,
    subject: &Subject,
    unseen: &mut Vec<&'static str>,
) -> Result<Option<Value>, ApiError> {
    let Subject::Job(job) = subject else {
        return Ok(None);
    };
    if of_queue::of(job).is_none() {
        return Ok(None);
    }
    match queue::standing(api, job).await {
        Ok(Standing::Enqueued(workload)) => Ok(Some(workload.object)),
        Ok(Standing::Unnoticed | Standing::Free) => Ok(None),
        Err(error) if error.is_forbidden() => {
            unseen.push(queue::WORKLOADS);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The last lines of programs that have failed and left no other word.
async fn last_lines(api: &Api, pods: &[(String, Arc<Value>)]) -> BTreeMap<String, String> {
    let wishes = pods.iter().filter_map(|(_, pod)| {
        let statuses = pod["status"]["containerStatuses"].as_array()?;
        statuses.iter().find_map(|container| {
            let (now, before) = (
                &container["state"]["terminated"],
                &container["lastState"]["terminated"],
            );
            let end = if now.is_object() { now } else { before };
            let is_mute =
                end["exitCode"].as_i64().is_some_and(|code| code != 0) && text(&end["message"]).is_empty();
            is_mute.then(|| (pod, text(&container["name"]), !now.is_object()))
        })
    });
    let lines = wishes
        .take(MOST_LINES)
        .map(|(pod, container, previous)| async move {
            let name = text(&pod["metadata"]["name"]);
            let path = format!(
                "/api/v1/namespaces/{}/pods/{}/log?container={}&previous={previous}&tailLines=5",
                escaped(text(&pod["metadata"]["namespace"])),
                escaped(name),
                escaped(container),
            );
            // It is an extra: a node that does not answer is no reason to say nothing.
            let output = api.text(&path).await.ok()?;
            let line = output.lines().rev().find(|line| !line.trim().is_empty())?;
            Some((name.to_owned(), line.trim().to_owned()))
        });
    join_all(lines).await.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;
    use crate::jobs::api::scripted::scripted;

    /// A cluster with one object of each kind, of which quotas may not be looked at.
    fn guarded(path: &str) -> (StatusCode, String) {
        let code = if path.ends_with(QUOTAS) {
            StatusCode::FORBIDDEN
        } else {
            StatusCode::OK
        };
        (code, "{\"items\": [{}]}".to_owned())
    }

    #[tokio::test]
    async fn what_is_forbidden_does_not_hide_the_rest() {
        let api = scripted(guarded);
        let places = [PODS, QUOTAS, CLAIMS].map(|name| (name, format!("/api/v1/{name}")));
        let (lists, unseen) = lists(&api, 1, places).await.unwrap();
        assert_eq!(lists.map(|list| list.len()), [1, 0, 1]);
        assert_eq!(unseen, [QUOTAS]);
    }
}
