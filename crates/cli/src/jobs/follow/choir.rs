//! The output of several replicas at once: each is read by a task of its own, and all of them are heard
//! through one channel, which holds little.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
};

use tokio::{
    sync::mpsc::{Receiver, Sender, channel},
    task::JoinSet,
    time::Instant,
};

use super::{
    Beginning, Heard, Voices,
    voice::{End, Voice},
};
use crate::jobs::{
    api::{Api, ApiError},
    job::Job,
    output::{Line, Part, Position, Source},
    replicas::{Attempt, Replica},
};

/// How many lines wait for whoever prints them.
const WAITING: usize = 32;

type Said = (Source, Line);

pub(super) struct Choir {
    api: Api,
    is_reached: bool,
    voices: Voices,
    /// For what was printed before anybody listened; all of it is wanted of what comes later.
    beginning: Beginning,
    /// By the uid of their pods.
    known: HashMap<String, Voice>,
    readers: JoinSet<(String, Result<End, ApiError>, Position)>,
    sender: Sender<Said>,
    lines: Receiver<Said>,
    silence: Silence,
}

/// How much of what replicas have said is still to be heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Silence {
    /// Some that have ended have more to say.
    None,
    /// Only those that still run may have.
    OfThoseThatEnded,
    OfAll,
}

impl Choir {
    pub(super) fn new(api: Api, voices: Voices, beginning: Beginning) -> Self {
        let (sender, lines) = channel(WAITING);
        Self {
            api,
            is_reached: false,
            voices,
            beginning,
            known: HashMap::new(),
            readers: JoinSet::new(),
            sender,
            lines,
            silence: Silence::None,
        }
    }

    /// The cluster answers, at this place.
    pub(super) fn reach(&mut self, api: Api) {
        (self.api, self.is_reached) = (api, true);
    }

    /// The cluster does not answer; what its pods are now is not known.
    pub(super) fn lose(&mut self) {
        self.is_reached = false;
    }

    /// The next line, or nothing when a reader has ended. Nothing is lost if it is not waited for.
    pub(super) async fn next(&mut self) -> Result<Option<Said>, ApiError> {
        tokio::select! {
            // A reader has said everything before it ends.
            biased;
            Some(said) = self.lines.recv() => Ok(Some(said)),
            Some(ended) = self.readers.join_next() => {
                if let Ok((uid, end, position)) = ended && let Some(voice) = self.known.get_mut(&uid) {
                    voice.ended(end?, position, Instant::now());
                }
                Ok(None)
            }
        }
    }

    /// When to look again though nothing happens.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let deadlines = self.known.values().filter_map(Voice::deadline);
        deadlines.min().filter(|_| self.is_reached)
    }

    /// How much of what the replicas, as they were last seen, have said was heard.
    pub(super) fn silence(&self) -> Silence {
        self.silence
    }

    /// Reads what there is to be read of these replicas.
    pub(super) fn listen(&mut self, job: &Job, replicas: &[Replica]) {
        if !self.is_reached {
            return;
        }
        let now = Instant::now();
        let beginning = std::mem::replace(&mut self.beginning, Beginning::First);
        let mut silence = Silence::OfAll;
        let wanted = replicas
            .iter()
            .filter(|replica| self.voices.include(job, &replica.name));
        let mut there = HashSet::new();
        for replica in wanted {
            let Some(attempt) = replica.attempt(job) else {
                continue;
            };
            there.insert(attempt.pod.clone());
            let voice = self.known.entry(attempt.pod.clone());
            let voice = voice.or_insert_with(|| Voice::of(attempt.run, beginning, now));
            if let Some(part) = voice.open(job, replica, now) {
                let (api, sender) = (self.api.clone(), self.sender.clone());
                let source = Source::of(job, replica);
                self.readers.spawn(async move {
                    let (end, position) = read(&api, source, &attempt, part, &sender).await;
                    (attempt.pod, end, position)
                });
            }
            let own = match voice.is_silent(job, replica) {
                true => Silence::OfAll,
                false if replica.is_running(job) => Silence::OfThoseThatEnded,
                false => Silence::None,
            };
            silence = silence.min(own);
        }
        // What a pod has said that is gone can be had no more, but for what is being read.
        self.known
            .retain(|uid, voice| there.contains(uid) || voice.is_reading());
        if self.known.len() > there.len() {
            silence = Silence::None;
        }
        self.silence = silence;
    }

    /// Passes on what has come, and ends.
    pub(super) async fn finish(&mut self, hear: &mut impl FnMut(Heard<'_>) -> ControlFlow<()>) {
        self.readers.shutdown().await;
        while let Ok((source, line)) = self.lines.try_recv() {
            let heard = Heard::Line {
                source: &source,
                line: &line,
            };
            if hear(heard).is_break() {
                return;
            }
        }
    }
}

/// Reads the output of a pod whose last run is known to be this one.
async fn read(
    api: &Api,
    source: Source,
    attempt: &Attempt,
    part: Part,
    sender: &Sender<Said>,
) -> (Result<End, ApiError>, Position) {
    let mut lines = match source.open(api, part).await {
        Ok(lines) => lines,
        Err(error) => return (unopened(error), part.after),
    };
    // Output is had by the name of its pod. Meanwhile the program may have been started again, or another pod
    // may bear the name, and what was opened is theirs: taken for this one's, it would hide what this one said.
    // (The node of another cluster may be ahead of what that cluster has: then a little of this is left.)
    match source.attempt(api).await {
        Ok(now) if now.as_ref().is_none_or(|now| is_read_by(now, attempt, part)) => {}
        Err(error) if error.is_passing() => return (Ok(End::Broken), part.after),
        Ok(_) => return (Ok(End::Broken), part.after),
        // Whoever may not look takes what comes.
        Err(error) if error.is_forbidden() => {}
        Err(error) => return (Err(error), part.after),
    }
    loop {
        match lines.next().await {
            Ok(Some(line)) => {
                if sender.send((source.clone(), line)).await.is_err() {
                    return (Ok(End::Broken), lines.position());
                }
            }
            Ok(None) => return (Ok(End::Whole), lines.position()),
            Err(_) => return (Ok(End::Broken), lines.position()),
        }
    }
}

/// Whether a part that was asked for when a pod was like this is the same part now.
fn is_read_by(now: &Attempt, then: &Attempt, part: Part) -> bool {
    let is_same_run = (&now.pod, now.run) == (&then.pod, then.run);
    is_same_run && (!part.previous || now.is_before_another == then.is_before_another)
}

/// What it means that output cannot be opened.
fn unopened(error: ApiError) -> Result<End, ApiError> {
    match &error {
        ApiError::Unreachable { .. } => Ok(End::Broken),
        // Its program has never run, or not yet.
        ApiError::Refused { code: 400, .. } => Ok(End::Never),
        _ if error.is_passing() => Ok(End::Refused),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use resources::kinds;
    use serde_json::json;

    use super::*;
    use crate::jobs::api::scripted::scripted;

    /// A cluster with one pod, whose program was started again once.
    fn started_again(path: &str) -> (StatusCode, String) {
        let body = if path.ends_with("/log") {
            "2026-01-01T00:00:01Z again\n".to_owned()
        } else {
            pod(1).to_string()
        };
        (StatusCode::OK, body)
    }

    fn pod(restarts: i64) -> serde_json::Value {
        json!({
            "metadata": {"name": "a-master-0", "namespace": "n", "uid": "1"},
            "spec": {"containers": [{"name": "pytorch"}]},
            "status": {"containerStatuses": [
                {"name": "pytorch", "restartCount": restarts, "state": {"running": {}}},
            ]},
        })
    }

    /// What is heard by somebody who has seen so many restarts.
    async fn heard(restarts: i64) -> (End, Vec<u8>) {
        let job = Job {
            kind: &kinds::PYTORCH_JOB,
            object: json!({"metadata": {"name": "a", "namespace": "n"}}),
        };
        let replica = Replica {
            name: "master-0".to_owned(),
            pod: pod(restarts).into(),
        };
        let attempt = replica.attempt(&job).unwrap();
        let api = scripted(started_again);
        let (sender, mut lines) = channel(WAITING);
        let source = Source::of(&job, &replica);
        let (end, _) = read(&api, source, &attempt, Part::default(), &sender).await;
        let text = lines.try_recv().map(|(_, line)| line.text);
        (end.unwrap(), text.unwrap_or_default())
    }

    #[tokio::test]
    async fn what_a_later_run_says_is_not_taken_for_the_words_of_the_one_before() {
        assert_eq!(heard(0).await, (End::Broken, Vec::new()));
        assert_eq!(heard(1).await, (End::Whole, b"again\n".to_vec()));
    }
}
