//! Changes that were begun and never recorded: whoever comes later looks at what they were about.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    backwards,
    chunk::{Chunk, DONE, FOUND, Kind, NOT_DONE, Span, TARGET, UNKNOWN},
    store::Store,
    target::{Target, Verdict},
};
use crate::objects::Refusal;

/// Who began a change so long ago has most likely ended, one way or the other.
const RECENT: SignedDuration = SignedDuration::from_secs(10);
/// No request takes so long.
const ATTEMPTED: SignedDuration = SignedDuration::from_mins(10);

impl Store {
    /// Looks what became of changes whose end nobody has written down; whether there is reason to look again soon.
    /// That one was made may be seen at once, that it was not only when nobody makes it any more.
    pub(super) async fn look(&self, now: Timestamp) -> Result<bool, Refusal> {
        let before = |age| backwards(now.checked_sub(age).unwrap_or(Timestamp::UNIX_EPOCH));
        let (recent, long_ago) = (before(RECENT), before(ATTEMPTED));
        let begun = self.spans(Some(Kind::Begun)).await?;
        // The first of a chunk is the latest.
        let is_more = begun.iter().any(|span| span.first <= long_ago);
        let due: Vec<Span> = begun.into_iter().filter(|span| span.first > recent).collect();
        if due.is_empty() {
            return Ok(is_more);
        }
        // After those that are begun: what was recorded until then is among them.
        let all = self.spans(None).await?;
        for span in &due {
            self.look_at(span, &all, span.first > long_ago).await?;
        }
        Ok(is_more)
    }

    /// Looks at the changes of one chunk, which goes when nobody makes them any more.
    async fn look_at(&self, span: &Span, all: &[Span], is_over: bool) -> Result<(), Refusal> {
        let mut seen = Chunk::new();
        for (id, record) in self.unrecorded(span, all).await? {
            let verdict = self.verdict(&id, &record).await?;
            if is_over || matches!(verdict, Some(Verdict::Done(_))) {
                seen.insert(id, told(record, verdict));
            }
        }
        if !seen.is_empty() {
            self.write_chunk(&seen, Kind::Found).await?;
        }
        if is_over {
            self.remove(&span.name).await?;
        }
        Ok(())
    }

    /// The records of a chunk of begun changes of which no other chunk knows.
    async fn unrecorded(&self, span: &Span, all: &[Span]) -> Result<Chunk, Refusal> {
        let mut unknown = self.read(&span.name).await?.unwrap_or_default();
        for other in all {
            let is_beside = other.name == span.name || other.first > span.last || other.last < span.first;
            if !is_beside && let Some(known) = self.read(&other.name).await? {
                unknown.retain(|id, _| !known.contains_key(id));
            }
        }
        Ok(unknown)
    }

    /// None for records of programs that did not write down what they were about, and where nobody may look at it.
    async fn verdict(&self, id: &str, record: &Value) -> Result<Option<Verdict>, Refusal> {
        let Ok(target) = serde_json::from_value::<Target>(record[TARGET].clone()) else {
            return Ok(None);
        };
        match self.objects.find_at(target.path()).await {
            Ok(found) => Ok(Some(target.judge(id, found.as_ref()))),
            // Who is only asked to slow down may look later; who is refused would be at the next look, and the others
            // are not to wait for that.
            Err(refusal) if refusal.is_certain() && !refusal.is(429) => {
                tracing::warn!(?refusal, id, "it could not be looked at what a change was about");
                Ok(None)
            }
            Err(refusal) => Err(refusal),
        }
    }
}

/// The record of a change that somebody has looked at.
fn told(mut record: Value, verdict: Option<Verdict>) -> Value {
    if let Some(fields) = record.as_object_mut() {
        fields.remove(TARGET);
    }
    let (outcome, found) = match verdict {
        Some(Verdict::Done(found)) => (DONE, found),
        Some(Verdict::NotDone(found)) => (NOT_DONE, found),
        Some(Verdict::Open(found)) => (UNKNOWN, found),
        None => return record,
    };
    record["outcome"] = json!(outcome);
    record[FOUND] = json!(found);
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_tells_what_was_seen_and_not_where() {
        let begun = json!({"id": "a", "outcome": UNKNOWN, TARGET: {"path": "/x"}});
        assert_eq!(
            told(begun.clone(), Some(Verdict::NotDone("it is as it was"))),
            json!({"id": "a", "outcome": NOT_DONE, FOUND: "it is as it was"})
        );
        assert_eq!(told(begun, None), json!({"id": "a", "outcome": UNKNOWN}));
    }
}
