//! What happens to a job after it was made: a line for each step, in an annotation of the manifest.
//!
//! `PODS STATE` says what becomes of pods, by their name without that of the job: `* Running`, `worker-1 Failed 137`,
//! `worker-0 Evicted`, `launcher Succeeded`, `* Gone`. `spec JSON` merges into the job's specification, `group PHASE`
//! is what the scheduler of a gang says of it.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) actions: Vec<Action>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    Pods { pattern: String, state: State },
    Specification(Value),
    Group(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Succeeded,
    /// With that exit code.
    Failed(i64),
    /// Failed, without an exit code.
    Evicted,
    /// Deleted by somebody.
    Gone,
}

pub(super) fn parse(text: &str) -> Result<Vec<Step>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(step).collect()
}

fn step(line: &str) -> Result<Step> {
    let actions = line.split(';').map(str::trim).map(action);
    Ok(Step {
        actions: actions.collect::<Result<_>>()?,
    })
}

fn action(text: &str) -> Result<Action> {
    if let Some(spec) = text.strip_prefix("spec ") {
        let spec = serde_json::from_str(spec).with_context(|| format!("no JSON: `{spec}`"))?;
        return Ok(Action::Specification(spec));
    }
    if let Some(phase) = text.strip_prefix("group ") {
        return Ok(Action::Group(phase.to_owned()));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let (pattern, state) = match words.as_slice() {
        [pods, "Running"] => (pods, State::Running),
        [pods, "Succeeded"] => (pods, State::Succeeded),
        [pods, "Failed", code] => (pods, State::Failed(code.parse()?)),
        [pods, "Evicted"] => (pods, State::Evicted),
        [pods, "Gone"] => (pods, State::Gone),
        _ => bail!("no step of a story: `{text}`"),
    };
    Ok(Action::Pods {
        pattern: (*pattern).to_owned(),
        state,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_has_a_step_a_line() {
        let steps = parse("* Running\nworker-1 Failed 137; worker-0 Evicted\n").unwrap();
        assert_eq!(steps.len(), 2);
        let failed = Action::Pods {
            pattern: "worker-1".to_owned(),
            state: State::Failed(137),
        };
        assert_eq!(steps[1].actions[0], failed);
        assert!(parse("* Runs").is_err());
    }
}
