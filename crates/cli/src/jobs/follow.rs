//! Following a job: its output as it comes, what it waits for, and how it ends.

mod choir;
mod obstacles;
mod queued;
mod voice;

use std::{ops::ControlFlow, time::Duration};

use anyhow::Result;
use tokio::time::{Instant, sleep_until};

use super::{
    job::{Job, State},
    output::{Line, Source},
    place::Cluster,
    replicas::Replica,
    terminal::QUIET,
    watch::{Sight, Watch},
    why::Cause,
};
use choir::{Choir, Silence};
use obstacles::Obstacles;
use queued::Queued;

/// Whose output is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Voices {
    /// That of the replica which speaks for the job.
    Leading,
    All,
    One(String),
}

impl Voices {
    /// Whether a replica is one of them.
    pub(crate) fn include(&self, job: &Job, replica: &str) -> bool {
        match self {
            Self::Leading => replica == job.leading_replica(),
            Self::One(name) => replica == name,
            Self::All => true,
        }
    }
}

/// From where on output is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// From the first line of the first run that can be had.
    First,
    /// That of programs that run already from the beginning of their present run, or its last lines only.
    Present { tail: Option<u64> },
}

/// What is heard of a job on the way.
pub(crate) enum Heard<'a> {
    /// What a replica has printed.
    Line { source: &'a Source, line: &'a Line },
    /// The job or its pods have changed.
    Look { job: &'a Job, replicas: &'a [Replica] },
    /// What has kept pods from starting for a while; empty when nothing does.
    Obstacles { causes: &'a [Cause] },
    /// The cluster is out of reach, and is looked for.
    Lost { why: &'a str },
}

/// How following a job ended.
pub(crate) enum Ending {
    Finished {
        job: Job,
        replicas: Vec<Replica>,
    },
    /// Somebody has suspended it.
    Suspended,
    /// Somebody has removed it.
    Removed,
    /// Nobody listens any more.
    Unheard,
}

/// How long the other replicas of a job that has succeeded get to end.
const STRAGGLERS: Duration = Duration::from_secs(30);
/// How long the last lines of a job that has ended are waited for.
const LAST_LINES: Duration = Duration::from_secs(10);
/// How much later than the end of a job the end of its pods may be told.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The last that was seen of the job, and since when it is over.
struct Seen {
    job: Job,
    replicas: Vec<Replica>,
    succeeded_since: Option<Instant>,
    over_since: Option<Instant>,
}

impl Seen {
    /// Notes whether there is more to come of the job itself.
    fn judge(&mut self, now: Instant) {
        let is_over = match self.job.state() {
            State::Failed => true,
            State::Succeeded => {
                let since = *self.succeeded_since.get_or_insert(now);
                // The end is decided by one replica; others that have begun may have more to say, and that
                // they have begun may be told a moment later.
                let patience = |replica: &Replica| match replica.attempt(&self.job) {
                    Some(_) => STRAGGLERS,
                    None => LAST_WORDS,
                };
                let active = self.replicas.iter().filter(|replica| replica.is_active());
                active.map(patience).all(|patience| now >= since + patience)
            }
            _ => false,
        };
        self.over_since = if is_over {
            self.over_since.or(Some(now))
        } else {
            None
        };
    }

    /// Whether nothing more is to be waited for.
    fn is_settled(&self, silence: Silence, now: Instant) -> bool {
        let Some(since) = self.over_since else {
            return false;
        };
        let failed = |replica: &Replica| {
            replica.end(&self.job)["exitCode"]
                .as_i64()
                .is_some_and(|code| code != 0)
        };
        let is_explained = self.job.state() == State::Succeeded || self.replicas.iter().any(failed);
        match silence {
            Silence::OfAll if is_explained => true,
            Silence::OfAll | Silence::OfThoseThatEnded => now >= since + LAST_WORDS,
            Silence::None => now >= since + LAST_LINES,
        }
    }

    /// When to look again though nothing happens.
    fn deadline(&self, now: Instant) -> Option<Instant> {
        let over = self.over_since.into_iter();
        let over = over.flat_map(|since| [since + LAST_WORDS, since + LAST_LINES]);
        let succeeded = self.succeeded_since.into_iter();
        let succeeded = succeeded.flat_map(|since| [since + LAST_WORDS, since + STRAGGLERS]);
        over.chain(succeeded).filter(|deadline| *deadline > now).min()
    }
}

/// Follows a job until it ends, is suspended or is removed.
pub(crate) async fn follow(
    cluster: &Cluster,
    job: Job,
    voices: &Voices,
    beginning: Beginning,
    mut hear: impl FnMut(Heard<'_>) -> ControlFlow<()>,
) -> Result<Ending> {
    let mut watch = Watch::of(cluster, &job);
    let mut choir = Choir::new(cluster.api.clone(), voices.clone(), beginning);
    let mut seen = Seen {
        job,
        replicas: Vec::new(),
        succeeded_since: None,
        over_since: None,
    };
    // What is waited for is told after a while, though nothing happens then.
    let mut second_look = Some(Instant::now() + QUIET);
    let mut obstacles = Obstacles::new(cluster);
    let (mut in_reach, mut queued) = (Some(cluster.api.clone()), Queued::default());
    loop {
        let now = Instant::now();
        let deadlines = [
            seen.deadline(now),
            choir.deadline(),
            second_look,
            queued.deadline(),
            obstacles.deadline().filter(|_| in_reach.is_some()),
        ];
        let deadline = deadlines.into_iter().flatten().min();
        let heard = tokio::select! {
            said = choir.next() => match said? {
                Some((source, line)) => match hear(Heard::Line { source: &source, line: &line }) {
                    // A line changes nothing of what is known.
                    ControlFlow::Continue(()) => continue,
                    ControlFlow::Break(()) => ControlFlow::Break(()),
                },
                None => ControlFlow::Continue(()),
            },
            sight = watch.next() => match sight? {
                Sight::There { job, replicas, api } => {
                    in_reach = Some(api.clone());
                    obstacles.reach(&api);
                    choir.reach(api);
                    (seen.job, seen.replicas) = (job, replicas);
                    obstacles.notice(&seen.job, &seen.replicas);
                    hear(Heard::Look { job: &seen.job, replicas: &seen.replicas })
                }
                Sight::Lost { why } => {
                    in_reach = None;
                    choir.lose();
                    hear(Heard::Lost { why: &why })
                }
                Sight::Gone => {
                    choir.finish(&mut hear).await;
                    return Ok(Ending::Removed);
                }
            },
            found = obstacles.found() => match found {
                Some(causes) => hear(Heard::Obstacles { causes: &causes }),
                None => ControlFlow::Continue(()),
            },
            () = sleep_until(deadline.unwrap_or(now)), if deadline.is_some() => {
                match second_look.take_if(|time| *time <= Instant::now()) {
                    Some(_) => hear(Heard::Look { job: &seen.job, replicas: &seen.replicas }),
                    None => ControlFlow::Continue(()),
                }
            }
        };
        if heard.is_break() {
            return Ok(Ending::Unheard);
        }
        if in_reach.is_some() {
            obstacles.look(&seen.job);
        }
        choir.listen(&seen.job, &seen.replicas);
        let now = Instant::now();
        seen.judge(now);
        if seen.is_settled(choir.silence(), now) {
            choir.finish(&mut hear).await;
            let Seen { job, replicas, .. } = seen;
            return Ok(Ending::Finished { job, replicas });
        }
        let is_suspended = seen.job.state() == State::Suspended && seen.replicas.is_empty();
        match in_reach.as_ref().filter(|_| is_suspended) {
            Some(api) if queued.is_stopped(api, &seen.job, now).await => {
                choir.finish(&mut hear).await;
                return Ok(Ending::Suspended);
            }
            Some(_) => {}
            None => queued.forget(),
        }
    }
}
