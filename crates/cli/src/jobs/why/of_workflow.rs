//! Causes of a workflow: held back, steps that wait to be resumed or for a lock, steps that failed. Its pods speak for
//! themselves.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use workflows::status::Status;

use super::causes::{Cause, Class};
use crate::jobs::job::{text, time};

/// A controller takes notice of a workflow within moments.
const UNNOTICED: SignedDuration = SignedDuration::from_secs(5);

pub(super) fn causes(
    workflow: &Value,
    has_pods: bool,
    now: Timestamp,
    command: &dyn Fn(&str) -> String,
) -> Vec<Cause> {
    let name = text(&workflow["metadata"]["name"]);
    let status = &workflow["status"];
    let phase = text(&status["phase"]);
    let show = command(&format!("pipeline show {name}"));
    let mut causes = Vec::new();
    if phase.is_empty() {
        let created = time(&workflow["metadata"]["creationTimestamp"]);
        if created.is_some_and(|created| now.duration_since(created) > UNNOTICED) {
            let cause = Cause::new(Class::Held, "no controller has taken notice of it");
            causes.push(cause.advise(
                "start one: `trainyard operator --kinds workflows`; the embedded cluster has it unless `--no-pipelines`",
            ));
        }
        return causes;
    }
    let nodes = nodes(workflow);
    if matches!(phase, "Failed" | "Error") {
        let failed: Vec<Cause> = nodes
            .iter()
            .filter(|node| is_step(node) && matches!(text(&node["phase"]), "Failed" | "Error"))
            .filter(|_| !has_pods)
            .map(failure)
            .collect();
        let retry = command(&format!("pipeline retry {name}"));
        let advice = format!("`{show}` shows its steps; `{retry}` goes on from those that succeeded");
        if failed.is_empty() {
            let message = text(&status["message"]);
            let what = if message.is_empty() {
                "a step failed".to_owned()
            } else {
                message.to_owned()
            };
            causes.push(Cause::new(Class::Failed, what).advise(advice));
        } else {
            causes.extend(failed.into_iter().map(|cause| cause.advise(advice.clone())));
        }
        return causes;
    }
    if phase == "Succeeded" {
        return causes;
    }
    if workflow["spec"]["suspend"] == true {
        let resume = command(&format!("pipeline resume {name}"));
        let cause = Cause::new(Class::Held, "it is suspended (spec.suspend)");
        causes.push(cause.advise(format!("`{resume}` lets it go on")));
    }
    for node in &nodes {
        causes.extend(waiting(node, name, command));
    }
    causes
}

/// The steps there are; none where the status cannot be read.
fn nodes(workflow: &Value) -> Vec<Value> {
    let status = Status::read(workflow).unwrap_or_default();
    let nodes = status.nodes.into_values();
    nodes.filter_map(|node| serde_json::to_value(node).ok()).collect()
}

fn is_step(node: &Value) -> bool {
    matches!(text(&node["type"]), "Pod" | "HTTP" | "Plugin")
}

fn failure(node: &Value) -> Cause {
    let message = match text(&node["message"]) {
        "" => "it failed".to_owned(),
        message => message.to_owned(),
    };
    Cause::new(Class::Failed, message).of(text(&node["displayName"]))
}

/// A step that waits for a person or for a lock.
fn waiting(node: &Value, workflow: &str, command: &dyn Fn(&str) -> String) -> Option<Cause> {
    let step = text(&node["displayName"]);
    if node["type"] == "Suspend" && node["phase"] == "Running" {
        let wanted = supplied(node);
        let values: String = wanted.iter().map(|name| format!(" -p {name}=VALUE")).collect();
        let resume = command(&format!("pipeline resume {workflow}{values}"));
        let what = if wanted.is_empty() {
            "it waits until the workflow is resumed".to_owned()
        } else {
            format!("it waits for values: {}", wanted.join(", "))
        };
        return Some(
            Cause::new(Class::Held, what)
                .of(step)
                .advise(format!("`{resume}` lets it go on")),
        );
    }
    let message = text(&node["message"]);
    (node["phase"] == "Pending" && message.starts_with("Waiting for")).then(|| {
        let show = command(&format!("pipeline show {workflow}"));
        Cause::new(Class::Held, message)
            .of(step)
            .advise(format!("let the holder end or stop it; `{show}` shows the steps"))
    })
}

/// Names of the values that a resumed step must be given.
fn supplied(node: &Value) -> Vec<&str> {
    let parameters = node["outputs"]["parameters"].as_array();
    parameters
        .into_iter()
        .flatten()
        .filter(|parameter| parameter["valueFrom"]["supplied"].is_object() && parameter["value"].is_null())
        .map(|parameter| text(&parameter["name"]))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(spec: &Value, status: &Value) -> Vec<(Vec<String>, String, Option<String>)> {
        let workflow = json!({
            "metadata": {"name": "gate", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": spec,
            "status": status,
        });
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        causes(&workflow, false, now, &|words| format!("trainyard {words}"))
            .into_iter()
            .map(|cause| (cause.who, cause.what, cause.advice))
            .collect()
    }

    fn node(kind: &str, phase: &str, more: &Value) -> Value {
        let mut node = json!({"id": "n", "name": "gate.n", "displayName": "ask", "type": kind, "phase": phase,
            "startedAt": null, "finishedAt": null});
        node.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"phase": "Running", "nodes": {"n": node}})
    }

    #[test]
    fn a_step_that_waits_for_values_names_them_in_the_command() {
        let outputs = json!({"outputs": {"parameters": [{"name": "who", "valueFrom": {"supplied": {}}}]}});
        let told = told(&json!({}), &node("Suspend", "Running", &outputs));
        assert_eq!(
            told,
            [(
                vec!["ask".to_owned()],
                "it waits for values: who".to_owned(),
                Some("`trainyard pipeline resume gate -p who=VALUE` lets it go on".to_owned())
            )]
        );
    }

    #[test]
    fn a_suspended_workflow_and_a_lock_are_told() {
        let told = told(
            &json!({"suspend": true}),
            &node(
                "Pod",
                "Pending",
                &json!({"message": "Waiting for team/Mutex/gpu lock."}),
            ),
        );
        let what: Vec<&str> = told.iter().map(|(_, what, _)| what.as_str()).collect();
        assert_eq!(
            what,
            [
                "it is suspended (spec.suspend)",
                "Waiting for team/Mutex/gpu lock."
            ]
        );
    }

    #[test]
    fn a_workflow_without_a_controller_says_so() {
        assert_eq!(
            told(&json!({}), &json!({}))[0].1,
            "no controller has taken notice of it"
        );
    }

    #[test]
    fn failed_steps_without_pods_are_told_with_their_message() {
        let mut status = node("Pod", "Failed", &json!({"message": "main: Error (exit code 3)"}));
        status["phase"] = "Failed".into();
        let told = told(&json!({}), &status);
        assert_eq!(
            (told[0].0[0].as_str(), told[0].1.as_str()),
            ("ask", "main: Error (exit code 3)")
        );
        assert!(
            told[0]
                .2
                .as_ref()
                .unwrap()
                .contains("trainyard pipeline retry gate")
        );
    }
}
