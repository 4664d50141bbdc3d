//! The end of a task that is deleted: stopped, told of, released.

use super::{Draft, Seen, Step, Task, targets};

pub(super) fn plan(draft: &mut Draft, task: &Task, seen: &Seen) {
    if !task.is_held() {
        return;
    }
    let running = targets(seen.runs.iter().filter(|run| run.is_ours));
    if !running.is_empty() {
        draft.say("Deleting", "what it runs is being stopped");
        draft.steps.push(Step::Stop(running));
        return;
    }
    if task.has_callbacks() && !is_told(draft) {
        draft.say("Deleted", "deleted on request");
        draft.tell("task.deleted");
        return;
    }
    if task.has_callbacks() && draft.status.announced < draft.last_sequence() {
        // The plan's end asks for it.
        return;
    }
    draft.steps.push(Step::Release {
        keep_claims: task.keeps_claims(task.status.pinned.as_ref().and_then(|pinned| pinned.claims)),
    });
}

fn is_told(draft: &Draft) -> bool {
    draft
        .status
        .events
        .last()
        .is_some_and(|event| event.kind == "task.deleted")
}
