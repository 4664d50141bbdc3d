//! Causes of a task: what it refers to and is not there, which nodes it waits for, how it failed. Its pods speak for
//! themselves.

use serde_json::Value;

use super::causes::{Cause, Class};
use crate::jobs::job::text;

/// What the task says of its nodes tells more than its pods do.
const OF_NODES: [&str; 5] = ["NoNodes", "AtMaximum", "ScalingUp", "CannotScale", "Queued"];

pub(super) fn causes(task: &Value, has_pods: bool, command: &dyn Fn(&str) -> String) -> Vec<Cause> {
    let name = text(&task["metadata"]["name"]);
    let status = &task["status"];
    let (reason, message) = (text(&status["reason"]), text(&status["message"]));
    match text(&status["phase"]) {
        "Failed" => {
            let class = match reason {
                "ValuesInvalid" | "DefinitionInvalid" | "NotAllowed" | "RenderFailed" | "NoDefinition"
                | "Refused" | "Forbidden" | "KindMissing" => Class::Refused,
                _ => Class::Failed,
            };
            let logs = command(&format!("task logs {name}"));
            let advice = match class {
                Class::Refused => {
                    "correct the values, the definition or the template, and submit it again".to_owned()
                }
                _ => format!("read what it printed: `{logs}`"),
            };
            vec![Cause::new(class, message).advise(advice)]
        }
        "Pending" | "" => pending(&status["waiting"], reason, message, has_pods),
        _ => Vec::new(),
    }
}

fn pending(waiting: &Value, reason: &str, message: &str, has_pods: bool) -> Vec<Cause> {
    let code = text(&waiting["code"]);
    if OF_NODES.contains(&code) || (!code.is_empty() && !has_pods && code != "CreatingPods") {
        let class = if code == "Queued" {
            Class::Held
        } else {
            Class::Unplaced
        };
        let cause = Cause::new(class, text(&waiting["message"]));
        return vec![match text(&waiting["nextStep"]) {
            "" => cause,
            next => cause.advise(next),
        }];
    }
    let advice = match reason {
        "DefinitionNotFound" => "register it: `trainyard definition apply -f FILE`",
        "TemplateNotFound" => {
            "publish it: `trainyard template apply -f FILE`; `trainyard template list` has those there are"
        }
        "StorageClassNotFound" => "make the storage class, or submit the task with another one",
        "QuotaExceeded" => "wait for others to end, ask for less, or raise the quota",
        _ => return Vec::new(),
    };
    vec![Cause::new(Class::Missing, message).advise(advice)]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(status: &Value, has_pods: bool) -> Vec<(Class, String, Option<String>)> {
        let task = json!({"metadata": {"name": "t"}, "status": status});
        causes(&task, has_pods, &|words| format!("trainyard {words}"))
            .into_iter()
            .map(|cause| (cause.class, cause.what, cause.advice))
            .collect()
    }

    #[test]
    fn a_missing_definition_is_told_with_the_command_that_makes_it() {
        let status =
            json!({"phase": "Pending", "reason": "DefinitionNotFound", "message": "there is no `x`"});
        let told = told(&status, false);
        assert_eq!(told[0].0, Class::Missing);
        assert!(told[0].2.as_ref().unwrap().contains("trainyard definition apply"));
    }

    #[test]
    fn missing_nodes_are_told_before_pods_and_the_rest_is_left_to_them() {
        let waits = |code: &str| json!({"phase": "Pending", "waiting": {"code": code, "message": "m", "nextStep": "n"}});
        assert_eq!(
            told(&waits("NoNodes"), true),
            [(Class::Unplaced, "m".into(), Some("n".into()))]
        );
        assert!(told(&waits("ImageError"), true).is_empty());
        assert!(told(&waits("CreatingPods"), false).is_empty());
    }

    #[test]
    fn a_failure_points_to_the_log() {
        let status = json!({"phase": "Failed", "reason": "Failed", "message": "exit code 3"});
        assert_eq!(
            told(&status, true)[0].2.as_deref(),
            Some("read what it printed: `trainyard task logs t`")
        );
    }
}
