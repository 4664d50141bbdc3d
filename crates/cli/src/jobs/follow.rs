//! Following a job: its output as it comes, what it waits for, and how it ends.

use std::{collections::HashMap, ops::ControlFlow, time::Duration};

use anyhow::Result;
use tokio::{
    sync::mpsc::{Receiver, Sender, channel},
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{
    api::{Api, ApiError},
    find,
    job::{Job, State},
    output::{self, Part},
    place::Cluster,
    replicas::{Attempt, Replica, replicas},
};

/// Whose output is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Voices {
    /// That of the replica which speaks for the job.
    Leading,
    All,
    One(String),
}

/// What is heard of a job on the way.
pub(crate) enum Heard<'a> {
    /// A line that a replica has printed.
    Line { replica: &'a str, line: &'a [u8] },
    /// The job and its pods were looked at.
    Look { job: &'a Job, replicas: &'a [Replica] },
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

/// The first looks come soon after each other, as jobs are quick to start; later ones cost little.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long a cluster may be out of reach, as it is while it is upgraded.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the other replicas of a job that has succeeded get to end.
const STRAGGLERS: Duration = Duration::from_secs(30);
/// A connection that is lost while the program goes on is made anew; one that has ended with the program
/// is not, though the pod's status may be a moment behind.
const LOST_AFTER: Duration = Duration::from_secs(2);
/// How long the last lines of a job that has ended are waited for.
const LAST_LINES: Duration = Duration::from_secs(5);

/// Why listening has paused.
enum Until {
    TheTime,
    AProgramEnded,
}

struct Line {
    replica: String,
    line: Vec<u8>,
}

struct Following<'a> {
    api: &'a Api,
    part: Part,
    voices: &'a Voices,
    /// The runs that were or are listened to, and since when they are silent.
    heard_of: HashMap<Attempt, Option<Instant>>,
    streams: JoinSet<Attempt>,
    sender: Sender<Line>,
    lines: Receiver<Line>,
}

/// Follows a job until it ends, is suspended or is removed.
pub(crate) async fn follow(
    cluster: &Cluster,
    mut job: Job,
    voices: &Voices,
    part: Part,
    mut hear: impl FnMut(Heard<'_>) -> ControlFlow<()>,
) -> Result<Ending> {
    let (sender, lines) = channel(256);
    let mut following = Following {
        api: &cluster.api,
        part,
        voices,
        heard_of: HashMap::new(),
        streams: JoinSet::new(),
        sender,
        lines,
    };
    let mut pause = SHORTEST_PAUSE;
    let (mut lost_since, mut succeeded_since) = (None::<Instant>, None::<Instant>);
    loop {
        match look(&cluster.api, &job).await {
            Ok(None) => return Ok(Ending::Removed),
            Ok(Some((now, replicas))) => {
                job = now;
                lost_since = None;
                let look = Heard::Look {
                    job: &job,
                    replicas: &replicas,
                };
                if hear(look).is_break() {
                    return Ok(Ending::Unheard);
                }
                following.listen(&job, &replicas);
                match job.state() {
                    State::Failed => return following.finish(job, replicas, &mut hear).await,
                    State::Succeeded => {
                        let since = *succeeded_since.get_or_insert_with(Instant::now);
                        // Its end is decided by one replica; others that have begun may have more to say.
                        let has_more =
                            |replica: &Replica| replica.is_active() && replica.attempt(&job).is_some();
                        if !replicas.iter().any(has_more) || since.elapsed() > STRAGGLERS {
                            return following.finish(job, replicas, &mut hear).await;
                        }
                    }
                    State::Suspended if replicas.is_empty() => return Ok(Ending::Suspended),
                    _ => {}
                }
            }
            Err(error @ ApiError::Unreachable { .. }) => {
                let since = *lost_since.get_or_insert_with(Instant::now);
                if since.elapsed() > PATIENCE {
                    return Err(error.into());
                }
            }
            Err(error) => return Err(error.into()),
        }
        pause = match following.hear_until(Instant::now() + pause, &mut hear).await {
            ControlFlow::Break(()) => return Ok(Ending::Unheard),
            ControlFlow::Continue(Until::AProgramEnded) => SHORTEST_PAUSE,
            ControlFlow::Continue(Until::TheTime) => (pause * 2).min(LONGEST_PAUSE),
        };
    }
}

async fn look(api: &Api, job: &Job) -> Result<Option<(Job, Vec<Replica>)>, ApiError> {
    let path = find::path_of(job);
    let (object, replicas) = tokio::try_join!(api.find(&path), replicas(api, job))?;
    let object = object.filter(|object| object["metadata"]["uid"] == job.uid());
    Ok(object.map(|object| (Job { object, ..*job }, replicas)))
}

impl Following<'_> {
    /// Opens the output of every run that has begun since the last look.
    fn listen(&mut self, job: &Job, replicas: &[Replica]) {
        let leading = job.leading_replica();
        let wanted = replicas.iter().filter(|replica| match self.voices {
            Voices::Leading => replica.name == leading,
            Voices::One(name) => replica.name == *name,
            Voices::All => true,
        });
        for replica in wanted {
            let Some(attempt) = replica.attempt(job) else {
                continue;
            };
            let is_first = self.heard_of.is_empty() || *self.voices == Voices::All;
            let since = match self.heard_of.get(&attempt) {
                None => None,
                Some(Some(silent)) if is_lost(job, replica, *silent) => Some(silent.elapsed()),
                Some(_) => continue,
            };
            let part = Part {
                // What comes after the first run is all new.
                tail: self.part.tail.filter(|_| is_first && since.is_none()),
                since,
                follow: true,
                previous: false,
            };
            self.heard_of.insert(attempt.clone(), None);
            let (api, job, replica) = (self.api.clone(), job.clone(), replica.clone());
            let sender = self.sender.clone();
            self.streams.spawn(async move {
                copy(&api, &job, &replica, part, &sender).await;
                attempt
            });
        }
    }

    async fn finish(
        &mut self,
        job: Job,
        replicas: Vec<Replica>,
        hear: &mut impl FnMut(Heard<'_>) -> ControlFlow<()>,
    ) -> Result<Ending> {
        let _ = self.hear_the_rest(hear).await;
        Ok(Ending::Finished { job, replicas })
    }

    /// Passes lines on until the time has come, or a program has ended.
    async fn hear_until(
        &mut self,
        time: Instant,
        hear: &mut impl FnMut(Heard<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<(), Until> {
        loop {
            tokio::select! {
                biased;
                Some(line) = self.lines.recv() => tell(&line, hear)?,
                Some(ended) = self.streams.join_next() => {
                    if let Ok(attempt) = ended {
                        self.heard_of.insert(attempt, Some(Instant::now()));
                    }
                    return ControlFlow::Continue(Until::AProgramEnded);
                }
                () = sleep_until(time) => return ControlFlow::Continue(Until::TheTime),
            }
        }
    }

    async fn hear_the_rest(
        &mut self,
        hear: &mut impl FnMut(Heard<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let deadline = Instant::now() + LAST_LINES;
        while !self.streams.is_empty() && Instant::now() < deadline {
            self.hear_until(deadline, hear).await?;
        }
        while let Ok(line) = self.lines.try_recv() {
            tell(&line, hear)?;
        }
        ControlFlow::Continue(())
    }
}

/// Whether the program goes on although its output has ended.
fn is_lost(job: &Job, replica: &Replica, silent: Instant) -> bool {
    let runs = replica.container_status(job)["state"]["running"].is_object();
    runs && silent.elapsed() > LOST_AFTER
}

async fn copy(api: &Api, job: &Job, replica: &Replica, part: Part, sender: &Sender<Line>) {
    let Ok(mut output) = output::open(api, job, replica, part).await else {
        return;
    };
    while let Some(line) = output::next_line(&mut output).await {
        let replica = replica.name.clone();
        if sender.send(Line { replica, line }).await.is_err() {
            return;
        }
    }
}

fn tell(line: &Line, hear: &mut impl FnMut(Heard<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
    hear(Heard::Line {
        replica: &line.replica,
        line: &line.line,
    })
}
