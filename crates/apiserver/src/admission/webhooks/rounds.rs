//! When a mutating webhook is called a second time: it asked for that, and something changed after it
//! had been called.

use std::collections::HashSet;

use serde_json::Value;

/// What happened to one request in the rounds so far.
#[derive(Default)]
pub(crate) struct Rounds {
    is_second: bool,
    changed: bool,
    /// Webhooks that want to see later changes, since the last change.
    called: HashSet<String>,
    /// Webhooks to call in the second round.
    due: HashSet<String>,
    last_output: Option<Value>,
}

impl Rounds {
    /// Begins a round over the webhooks. What plug-ins changed between rounds counts as a change.
    pub(super) fn begin(&mut self, object: Option<&Value>) {
        if self.is_second && self.last_output.as_ref() != object {
            self.require_again();
        }
    }

    /// Whether a webhook is called in this round.
    pub(super) fn includes(&self, webhook: &str) -> bool {
        !self.is_second || self.due.contains(webhook)
    }

    /// The webhook just called changed the object.
    pub(super) fn record_change(&mut self) {
        self.changed = true;
        self.require_again();
    }

    /// A webhook was called that wants to see what later ones change.
    pub(super) fn record_call(&mut self, webhook: &str) {
        self.called.insert(webhook.to_owned());
    }

    pub(super) fn end(&mut self, object: Option<&Value>) {
        // Only a second round compares with the output of the first.
        if self.changed && !self.is_second {
            self.last_output = object.cloned();
        }
    }

    /// Goes on to the second round, if there is reason for one. There is never a third.
    pub(crate) fn again(&mut self) -> bool {
        let again = self.changed && !self.is_second;
        self.is_second = true;
        again
    }

    fn require_again(&mut self) {
        self.due.extend(self.called.drain());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nobody_is_called_again_when_nothing_changed() {
        let mut rounds = Rounds::default();
        rounds.begin(None);
        rounds.record_call("a");
        rounds.end(None);
        assert!(!rounds.again());
    }

    #[test]
    fn who_was_called_before_a_change_is_called_again() {
        let mut rounds = Rounds::default();
        let object = json!({ "x": 1 });
        rounds.begin(Some(&object));
        rounds.record_call("before");
        rounds.record_change();
        rounds.record_call("after");
        rounds.end(Some(&object));
        assert!(rounds.again());
        rounds.begin(Some(&object));
        assert!(rounds.includes("before"));
        assert!(!rounds.includes("after"));
        assert!(!rounds.again());
    }

    #[test]
    fn what_plug_ins_change_between_rounds_is_shown_to_all() {
        let mut rounds = Rounds::default();
        rounds.begin(Some(&json!({})));
        rounds.record_change();
        rounds.record_call("only");
        rounds.end(Some(&json!({ "x": 1 })));
        assert!(rounds.again());
        rounds.begin(Some(&json!({ "x": 2 })));
        assert!(rounds.includes("only"));
    }
}
