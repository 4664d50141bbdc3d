//! Names of tasks and workflows given to commands about training jobs: which command is meant instead.

use anyhow::Error;

use super::{api::escaped, find::Absent, place::Cluster};
use crate::advised;

/// A kind with a command of its own for what it prints.
struct Elsewhere {
    words: [&'static str; 3],
    article: &'static str,
    folder: &'static str,
}

static TASKS: Elsewhere = Elsewhere {
    words: ["task", "tasks", "tasks.trainyard.dev"],
    article: "a task",
    folder: "/apis/trainyard.dev/v1alpha1/namespaces/{}/tasks",
};

static WORKFLOWS: Elsewhere = Elsewhere {
    words: ["workflow", "workflows", "wf"],
    article: "a workflow",
    folder: "/apis/argoproj.io/v1alpha1/namespaces/{}/workflows",
};

/// The error of a search for a training job, or where to find the output of a task or workflow of that name.
pub(super) async fn explained(cluster: &Cluster, reference: &str, error: Error) -> Error {
    let (word, name) = reference
        .split_once('/')
        .map_or((None, reference), |(word, name)| (Some(word), name));
    if word.is_none() && !error.is::<Absent>() {
        return error;
    }
    for kind in [&TASKS, &WORKFLOWS] {
        let is_named = word.is_none_or(|word| kind.words.contains(&word.to_lowercase().as_str()));
        let folder = kind.folder.replace("{}", &escaped(&cluster.namespace));
        let path = format!("{folder}/{}", escaped(name));
        if is_named && matches!(cluster.api.find(&path).await, Ok(Some(_))) {
            let advice = if kind.article == TASKS.article {
                format!(
                    "`{}` prints what it printed",
                    cluster.command(&format!("task logs {name}"))
                )
            } else {
                let show = cluster.command(&format!("pipeline show {name}"));
                format!("`{show}` shows its steps, `kubectl logs POD -c main` the output of one")
            };
            return advised(
                format!("`{name}` is {}, not a training job", kind.article),
                advice,
            );
        }
    }
    error
}
