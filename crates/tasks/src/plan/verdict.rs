//! The phase of a task whose objects are made.

use jiff::Timestamp;
use resources::tasks::{Child, Phase};

use super::{Draft, RECHECK, Run, RunState, Seen, outcome, runs, waiting};

pub(super) fn follow(draft: &mut Draft, seen: &Seen) {
    note_start(draft, seen);
    let is_run = |child: &&Child| runs(&child.api_version, &child.kind);
    let wanted: Vec<Child> = draft.status.children.iter().filter(is_run).cloned().collect();
    let mut found: Vec<&Run> = Vec::new();
    for child in &wanted {
        let is_it = |run: &&Run| run.child == *child && run.is_ours;
        let run = seen.runs.iter().find(is_it);
        let ended = seen
            .ended
            .iter()
            .find(|run| is_it(run) && run.attempt == draft.status.attempt);
        match run
            .filter(|run| !run.is_deleting || run.state.is_over())
            .or(ended)
        {
            Some(run) => found.push(run),
            None => return gone(draft, child),
        }
    }
    if let Some(run) = found
        .iter()
        .find(|run| matches!(run.state, RunState::Failed { .. }))
    {
        return fail(draft, seen, run);
    }
    if found
        .iter()
        .all(|run| matches!(run.state, RunState::Succeeded { .. }))
    {
        return succeed(draft, seen, &found);
    }
    let attempt = draft.status.attempt;
    let mut pods = seen.pods.iter().filter(|pod| pod.attempt == attempt);
    let is_running =
        found.iter().any(|run| run.state == RunState::Runs) || pods.any(|pod| pod.phase == "Running");
    if is_running {
        draft.enter(Phase::Running, "Running", String::new());
        return;
    }
    let waiting = waiting::explain(draft, seen);
    // Between two pods of a Job nothing runs for a moment; the task does all the same.
    if draft.status.phase == Phase::Running && waiting.code == waiting::CODE_NO_POD {
        return;
    }
    draft.enter(Phase::Pending, &waiting.code, waiting.message.clone());
    if waiting::is_told_by_others(&waiting) {
        draft.wake(RECHECK);
    }
    draft.status.waiting = Some(waiting);
}

/// An object that was made is not there any more, and it was not us.
fn gone(draft: &mut Draft, child: &Child) {
    let message = format!(
        "{} {} was deleted, and nobody has seen how it ended",
        child.kind, child.name
    );
    draft.end(Phase::Failed, "Deleted", message);
}

fn note_start(draft: &mut Draft, seen: &Seen) {
    let attempt = draft.status.attempt;
    let pods = seen.pods.iter().filter(|pod| pod.attempt == attempt);
    let Some(started) = pods.filter_map(|pod| pod.started_at).min() else {
        return;
    };
    draft.status.start_time.get_or_insert(started);
    if let Some(last) = draft.status.attempts.last_mut() {
        last.started_at.get_or_insert(started);
    }
}

fn succeed(draft: &mut Draft, seen: &Seen, found: &[&Run]) {
    let ended = |run: &&Run| match &run.state {
        RunState::Succeeded { at } => *at,
        _ => None,
    };
    complete(draft, found.iter().filter_map(ended).max());
    draft.status.outputs = outcome::claims(&draft.status.children);
    let results = outcome::results(&seen.pods, draft.status.attempt);
    draft.status.outputs.extend(results);
    if let Some(last) = draft.status.attempts.last_mut()
        && !found.is_empty()
    {
        last.exit_code = Some(0);
    }
    draft.end(Phase::Succeeded, "Completed", String::new());
}

fn fail(draft: &mut Draft, seen: &Seen, run: &Run) {
    let RunState::Failed { at, reason, message } = &run.state else {
        return;
    };
    complete(draft, *at);
    let attempt = draft.status.attempt;
    let mut pods: Vec<_> = seen.pods.iter().filter(|pod| pod.attempt == attempt).collect();
    pods.sort_by(|one, other| one.name.cmp(&other.name));
    let failure = pods.iter().find_map(|pod| Some((pod, pod.failure.as_ref()?)));
    let mut words = vec![format!("{} {} failed", run.child.kind, run.child.name)];
    words.extend((!message.is_empty()).then(|| message.clone()));
    let mut why = if reason.is_empty() {
        "Failed"
    } else {
        reason.as_str()
    };
    if let Some((pod, (code, cause, said))) = failure {
        let cause = if cause.is_empty() || cause == "Error" {
            String::new()
        } else {
            format!(" ({cause})")
        };
        words.push(format!("pod {} ended with exit code {code}{cause}", pod.name));
        words.extend((!said.is_empty()).then(|| format!("it said: {said}")));
        if let Some(last) = draft.status.attempts.last_mut() {
            last.exit_code = Some(*code);
        }
        // What the container died of says more than that the Job has given up.
        if pod
            .failure
            .as_ref()
            .is_some_and(|(_, cause, _)| cause == "OOMKilled")
        {
            why = "OOMKilled";
        }
    }
    draft.end(Phase::Failed, why, words.join("; "));
}

fn complete(draft: &mut Draft, at: Option<Timestamp>) {
    draft.status.completion_time = at.or(Some(draft.now));
}
