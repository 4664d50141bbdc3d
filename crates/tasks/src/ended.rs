//! Objects that are gone after they had ended: by a time limit of whoever runs them, or by hand. What became of them
//! is remembered until their task has it in its status; an object that was only seen to go would count as lost.

use std::collections::HashMap;

use parking_lot::Mutex;
use reconcile::{Cached as _, Change, Key};
use resources::tasks::TASK;

use crate::kept::SeenRun;

#[derive(Default)]
pub(crate) struct Ended(Mutex<HashMap<Key, Vec<Gone>>>);

/// The last that was seen of an object.
#[derive(Clone, Debug)]
pub(crate) struct Gone {
    pub kind: String,
    pub task_uid: String,
    pub run: SeenRun,
}

impl Ended {
    pub(crate) fn note(&self, kind: &str, change: &Change<'_, SeenRun>) {
        let (Some(before), None) = (change.before, change.after) else {
            return;
        };
        let owner = before.controller().filter(|owner| owner.kind == TASK.kind);
        let (Some(owner), true) = (owner, before.state.is_over()) else {
            return;
        };
        let gone = Gone {
            kind: kind.to_owned(),
            task_uid: owner.uid.to_owned(),
            run: (**before).clone(),
        };
        let task = Key::new(before.namespace(), owner.name);
        self.0.lock().entry(task).or_default().push(gone);
    }

    pub(crate) fn of(&self, task: &Key) -> Vec<Gone> {
        self.0.lock().get(task).cloned().unwrap_or_default()
    }

    /// The task has no use for it any more.
    pub(crate) fn forget(&self, task: &Key) {
        self.0.lock().remove(task);
    }
}
