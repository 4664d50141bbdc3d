//! What `log`, `exec` and `attach` ask of a pod before anything flows: options within bounds, a
//! container the pod has, and a run of it that has written something.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use crate::{
    checks::{self, Errors},
    read::{get, has, int, list, text},
};

/// Why no container was found, in the words of the real server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoContainer {
    #[error("a container name must be specified for pod {pod}")]
    None { pod: String },
    #[error("a container name must be specified for pod {pod}, choose one of: [{}]", .names.join(" "))]
    Several { pod: String, names: Vec<String> },
    #[error("container {container} is not valid for pod {pod}")]
    Unknown { pod: String, container: String },
}

/// The container meant by a name; no name means the only one.
pub fn container<'a>(pod: &'a Value, wanted: &str) -> Result<&'a str, NoContainer> {
    let owner = || text(get(pod, "metadata"), "name").to_owned();
    let spec = get(pod, "spec");
    let all = ["initContainers", "containers", "ephemeralContainers"]
        .into_iter()
        .flat_map(|field| list(spec, field))
        .map(|container| text(container, "name"));
    if !wanted.is_empty() {
        return all
            .into_iter()
            .find(|name| *name == wanted)
            .ok_or_else(|| NoContainer::Unknown {
                pod: owner(),
                container: wanted.to_owned(),
            });
    }
    match list(spec, "containers") {
        [] => Err(NoContainer::None { pod: owner() }),
        [only] => Ok(text(only, "name")),
        _ => Err(NoContainer::Several {
            pod: owner(),
            names: all.map(str::to_owned).collect(),
        }),
    }
}

/// Why a container has no logs, in the words of the real node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoLogs {
    #[error("container {container:?} in pod {pod:?} is not available")]
    Unavailable { pod: String, container: String },
    #[error("previous terminated container {container:?} in pod {pod:?} not found")]
    NoPrevious { pod: String, container: String },
    #[error("container {container:?} in pod {pod:?} is terminated")]
    Terminated { pod: String, container: String },
    #[error("container {container:?} in pod {pod:?} is waiting to start: {why}")]
    Waiting {
        pod: String,
        container: String,
        why: String,
    },
    #[error("container {container:?} in pod {pod:?} is waiting to start - no logs yet")]
    NotStarted { pod: String, container: String },
}

/// The `containerID` of the run whose logs are shown, by the pod's status.
pub fn log_source<'a>(pod: &'a Value, container: &str, previous: bool) -> Result<&'a str, NoLogs> {
    let name = || text(get(pod, "metadata"), "name").to_owned();
    let container_name = || container.to_owned();
    let status = get(pod, "status");
    let found = [
        "containerStatuses",
        "initContainerStatuses",
        "ephemeralContainerStatuses",
    ]
    .into_iter()
    .flat_map(|field| list(status, field))
    .find(|status| text(status, "name") == container)
    .ok_or_else(|| NoLogs::Unavailable {
        pod: name(),
        container: container_name(),
    })?;
    let state = get(found, "state");
    let last = get(get(found, "lastState"), "terminated");
    let before = Some(text(last, "containerID")).filter(|id| !id.is_empty());
    if previous {
        return before.ok_or_else(|| NoLogs::NoPrevious {
            pod: name(),
            container: container_name(),
        });
    }
    if has(state, "running") {
        return Ok(text(found, "containerID"));
    }
    let ended = Some(text(get(state, "terminated"), "containerID")).filter(|id| !id.is_empty());
    // If the run that is due has not begun, the one before it has the logs.
    if let Some(id) = ended.or(before) {
        return Ok(id);
    }
    if has(state, "terminated") || last.is_object() {
        return Err(NoLogs::Terminated {
            pod: name(),
            container: container_name(),
        });
    }
    if !has(state, "waiting") {
        return Err(NoLogs::NotStarted {
            pod: name(),
            container: container_name(),
        });
    }
    Err(NoLogs::Waiting {
        pod: name(),
        container: container_name(),
        why: match text(get(state, "waiting"), "reason") {
            "ErrImagePull" => "image can't be pulled",
            "ImagePullBackOff" => "trying and failing to pull image",
            reason => reason,
        }
        .to_owned(),
    })
}

/// What is wrong with `PodLogOptions`.
pub fn validate_log_options(options: &Value, errors: &mut Errors) {
    checks::not_negative(options, "tailLines", &Path::root(), errors);
    positive(options, "limitBytes", errors);
    if has(options, "sinceSeconds") && has(options, "sinceTime") {
        let detail = "at most one of `sinceTime` or `sinceSeconds` may be specified";
        // The options as a whole, as the real server writes them.
        errors.push(FieldError::forbidden(&Path::new("[]"), detail));
    } else {
        positive(options, "sinceSeconds", errors);
    }
    if has(options, "stream") {
        errors.push(FieldError::forbidden(
            &Path::new("stream"),
            "may not be specified",
        ));
    }
}

fn positive(options: &Value, field: &str, errors: &mut Errors) {
    if let Some(number) = int(options, field).filter(|number| *number < 1) {
        errors.push(FieldError::invalid(
            &Path::new(field),
            &json!(number),
            "must be greater than 0",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(containers: &[&str]) -> Value {
        let containers: Vec<Value> = containers.iter().map(|name| json!({"name": name})).collect();
        json!({
            "metadata": {"name": "a"},
            "spec": {
                "initContainers": [{"name": "first"}], "containers": containers,
                "ephemeralContainers": [{"name": "debug"}],
            },
        })
    }

    fn why(pod: &Value, wanted: &str) -> String {
        container(pod, wanted).unwrap_err().to_string()
    }

    #[test]
    fn the_only_container_needs_no_name() {
        assert_eq!(container(&pod(&["main"]), ""), Ok("main"));
        assert_eq!(container(&pod(&["main"]), "debug"), Ok("debug"));
        assert_eq!(
            why(&pod(&["c", "d"]), ""),
            "a container name must be specified for pod a, choose one of: [first c d debug]"
        );
        assert_eq!(why(&pod(&[]), ""), "a container name must be specified for pod a");
        assert_eq!(
            why(&pod(&["main"]), "nope"),
            "container nope is not valid for pod a"
        );
    }

    #[test]
    fn logs_come_from_the_run_that_has_some() {
        let source = |status: Value, previous: bool| {
            let mut status = status;
            status["name"] = "c".into();
            let pod = json!({"metadata": {"name": "a"}, "status": {"containerStatuses": [status]}});
            log_source(&pod, "c", previous)
                .map(str::to_owned)
                .map_err(|error| error.to_string())
        };
        let run = |id: &str| Ok(id.to_owned());
        let ended = json!({"terminated": {"containerID": "first"}});
        let waiting = |reason: &str| json!({"waiting": {"reason": reason}});
        let running = json!({"containerID": "second", "state": {"running": {}}, "lastState": ended});
        assert_eq!(source(running.clone(), false), run("second"));
        assert_eq!(source(running, true), run("first"));
        assert_eq!(source(json!({"state": ended}), false), run("first"));
        let crashed = json!({"state": waiting("CrashLoopBackOff"), "lastState": ended});
        assert_eq!(source(crashed.clone(), false), run("first"));
        assert_eq!(source(crashed, true), run("first"));
        let refusals = [
            (
                json!({"state": waiting("ContainerCreating")}),
                false,
                "is waiting to start: ContainerCreating",
            ),
            (
                json!({"state": waiting("ErrImagePull")}),
                false,
                "is waiting to start: image can't be pulled",
            ),
            (json!({}), false, "is waiting to start - no logs yet"),
            (json!({"state": {"terminated": {}}}), false, "is terminated"),
        ];
        for (status, previous, why) in refusals {
            assert_eq!(
                source(status, previous),
                Err(format!("container \"c\" in pod \"a\" {why}"))
            );
        }
        assert_eq!(
            source(json!({"state": {"running": {}}}), true),
            Err("previous terminated container \"c\" in pod \"a\" not found".to_owned())
        );
        assert_eq!(
            log_source(&json!({"metadata": {"name": "a"}}), "c", false)
                .unwrap_err()
                .to_string(),
            "container \"c\" in pod \"a\" is not available"
        );
    }

    #[test]
    fn log_options_have_bounds() {
        let complaints = |options: Value| {
            let mut errors = Vec::new();
            validate_log_options(&options, &mut errors);
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(complaints(json!({"tailLines": 0, "limitBytes": 1, "sinceSeconds": 1})).is_empty());
        assert_eq!(
            complaints(json!({"tailLines": -1, "limitBytes": 0, "sinceSeconds": 0, "stream": "All"})),
            [
                "tailLines: Invalid value: -1: must be greater than or equal to 0",
                "limitBytes: Invalid value: 0: must be greater than 0",
                "sinceSeconds: Invalid value: 0: must be greater than 0",
                "stream: Forbidden: may not be specified",
            ]
        );
        assert_eq!(
            complaints(json!({"sinceSeconds": 0, "sinceTime": "2020-01-01T00:00:00Z"})),
            ["[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"]
        );
    }
}
