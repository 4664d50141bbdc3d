//! What a failed pod means for its job, by the rules the user gave.

use k8s_openapi::api::{
    batch::v1::{PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyRule},
    core::v1::{ContainerStatus, Pod},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// Against the limit of failures, as without rules.
    Count,
    Ignore,
    FailIndex,
    /// With the reason for people to read.
    FailJob(String),
}

/// The first rule that matches decides.
pub(crate) fn reaction(policy: Option<&PodFailurePolicy>, pod: &Pod) -> Reaction {
    let mut rules = policy.into_iter().flat_map(|policy| &policy.rules).enumerate();
    rules
        .find_map(|(position, rule)| {
            let matched = matched(rule, pod)?;
            Some(match rule.action.as_str() {
                "Ignore" => Reaction::Ignore,
                "FailIndex" => Reaction::FailIndex,
                "FailJob" => {
                    Reaction::FailJob(format!("{matched} matching FailJob rule at index {position}"))
                }
                "Count" => Reaction::Count,
                _ => return None,
            })
        })
        .unwrap_or(Reaction::Count)
}

/// What it is about the pod that the rule means, if it does.
fn matched(rule: &PodFailurePolicyRule, pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let meta = &pod.metadata;
    let (namespace, name) = (
        meta.namespace.as_deref().unwrap_or_default(),
        meta.name.as_deref().unwrap_or_default(),
    );
    if let Some(requirement) = &rule.on_exit_codes {
        let of_containers = status.container_statuses.iter().flatten();
        let mut containers = of_containers.chain(status.init_container_statuses.iter().flatten());
        return containers.find_map(|container| {
            let code = exit_code(container).filter(|code| meets(requirement, container, *code))?;
            let container = &container.name;
            Some(format!(
                "Container {container} for pod {namespace}/{name} failed with exit code {code}"
            ))
        });
    }
    let patterns = rule.on_pod_conditions.as_ref()?;
    let condition = status.conditions.iter().flatten().find(|condition| {
        let mut patterns = patterns.iter();
        patterns.any(|pattern| pattern.type_ == condition.type_ && pattern.status == condition.status)
    })?;
    let condition = &condition.type_;
    Some(format!("Pod {namespace}/{name} has condition {condition}"))
}

/// A container that still runs has none, and zero is no failure.
fn exit_code(container: &ContainerStatus) -> Option<i32> {
    let code = container.state.as_ref()?.terminated.as_ref()?.exit_code;
    (code != 0).then_some(code)
}

fn meets(
    requirement: &PodFailurePolicyOnExitCodesRequirement,
    container: &ContainerStatus,
    code: i32,
) -> bool {
    let is_meant = requirement
        .container_name
        .as_ref()
        .is_none_or(|name| *name == container.name);
    let is_listed = requirement.values.contains(&code);
    is_meant
        && match requirement.operator.as_str() {
            "In" => is_listed,
            "NotIn" => !is_listed,
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(rules: Value, code: i32) -> Reaction {
        let policy: PodFailurePolicy = serde_json::from_value(json!({ "rules": rules })).unwrap();
        let state = json!({"terminated": {"exitCode": code}});
        let container = json!({
            "name": "main", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state,
        });
        let pod = serde_json::from_value(json!({
            "metadata": {"namespace": "n", "name": "p"},
            "status": {
                "containerStatuses": [container],
                "conditions": [{"type": "DisruptionTarget", "status": "True"}],
            },
        }));
        reaction(Some(&policy), &pod.unwrap())
    }

    fn on_exit(action: &str, operator: &str, values: &[i32]) -> Value {
        json!({"action": action, "onExitCodes": {"operator": operator, "values": values}})
    }

    fn on_condition(action: &str) -> Value {
        let pattern = json!({"type": "DisruptionTarget", "status": "True"});
        json!({"action": action, "onPodConditions": [pattern]})
    }

    #[test]
    fn without_a_matching_rule_a_failure_counts() {
        assert_eq!(reaction(None, &Pod::default()), Reaction::Count);
        assert_eq!(check(json!([on_exit("FailJob", "In", &[3])]), 4), Reaction::Count);
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let rules = json!([on_exit("FailIndex", "In", &[3]), on_condition("Ignore")]);
        assert_eq!(check(rules.clone(), 3), Reaction::FailIndex);
        assert_eq!(check(rules, 4), Reaction::Ignore);
    }

    #[test]
    fn not_in_never_means_success() {
        let rules = json!([on_exit("Ignore", "NotIn", &[3])]);
        assert_eq!(check(rules.clone(), 0), Reaction::Count);
        assert_eq!(check(rules, 4), Reaction::Ignore);
    }

    #[test]
    fn a_failed_job_says_which_container_or_condition_it_was() {
        let by_code = check(json!([on_exit("FailJob", "In", &[42])]), 42);
        let message = "Container main for pod n/p failed with exit code 42 matching FailJob rule at index 0";
        assert_eq!(by_code, Reaction::FailJob(message.to_owned()));
        let by_condition = check(json!([on_exit("Count", "In", &[1]), on_condition("FailJob")]), 42);
        let message = "Pod n/p has condition DisruptionTarget matching FailJob rule at index 1";
        assert_eq!(by_condition, Reaction::FailJob(message.to_owned()));
    }
}
