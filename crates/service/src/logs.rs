//! What tasks have printed: of pods that run from the cluster, of those that are gone from where their logs are
//! kept. Lines have the times of the cluster, by which a reader that was cut off goes on.

mod line;
mod reading;
mod sources;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
};

pub(crate) use self::line::Line;
use self::{
    line::Position,
    reading::{Outcome, Wanted},
    sources::sources,
};
use crate::{app::App, objects::Refusal};

/// New pods are looked for so often.
const LOOK: Duration = Duration::from_secs(1);
/// Lines that wait for a reader who is slower than the task.
const WAITING: usize = 256;
/// The text of a log that is answered at once; a stream has no such end.
const LARGEST: usize = 16 * 1024 * 1024;

/// Where the logs of a task are.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) namespace: String,
    pub(crate) task: String,
    pub(crate) attempt: i64,
    /// The folder of those that are kept.
    pub(crate) kept: Option<PathBuf>,
}

/// Up to where each log was read, as readers are told it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Positions(BTreeMap<String, Position>);

impl Positions {
    pub(crate) fn note(&mut self, line: &Line) {
        let position = self.0.entry(line.source.clone()).or_default();
        position.note(&line.time);
    }

    fn of(&self, source: &str) -> Position {
        self.0.get(source).cloned().unwrap_or_default()
    }
}

/// Everything that was printed so far; the last so many lines where that is asked for. Lines of several pods are
/// in the order of their times, each with where it is from.
pub(crate) async fn text(app: &App, place: &Place, tail: Option<usize>) -> Result<String, Refusal> {
    let found = sources(app, place).await?;
    let is_one = found.len() <= 1;
    let mut lines: Vec<Line> = Vec::new();
    let mut is_longer = false;
    // What is not shown is not read either.
    let room = LARGEST / found.len().max(1);
    for source in &found {
        let (mut printed, is_cut) = reading::whole(app, place, source, tail, room).await?;
        is_longer |= is_cut;
        if let Some(tail) = tail {
            printed.drain(..printed.len().saturating_sub(tail));
        }
        lines.append(&mut printed);
    }
    if !is_one {
        // Those of one log stay in their order, whatever their times.
        lines.sort_by_key(|line| line.time);
    }
    if let Some(tail) = tail {
        lines.drain(..lines.len().saturating_sub(tail));
    }
    let mut text = String::new();
    for line in &lines {
        text.push_str(&line.shown(is_one));
        text.push('\n');
    }
    if is_longer {
        text.push_str("… the log is longer; ask for a stream, or with `tail`\n");
    }
    Ok(text)
}

/// What a stream of lines gives.
pub(crate) enum Told {
    Line(Line),
    /// Nothing will follow.
    End,
}

/// Lines while they are printed; ends with its reader.
pub(crate) struct Follower {
    pub(crate) told: mpsc::Receiver<Told>,
    reading: AbortHandle,
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// Follows the logs of a task from these positions on, until it has ended and everything is read.
pub(crate) fn follow(app: Arc<App>, place: Place, positions: Positions, tail: Option<usize>) -> Follower {
    let (teller, told) = mpsc::channel(WAITING);
    let reading = tokio::spawn(read_all(app, place, positions, tail, teller));
    Follower {
        told,
        reading: reading.abort_handle(),
    }
}

/// What came of reading one log.
struct Read {
    name: String,
    position: Position,
    outcome: Outcome,
    /// The task had ended when reading began: nothing comes after it.
    is_last: bool,
}

async fn read_all(
    app: Arc<App>,
    place: Place,
    mut positions: Positions,
    tail: Option<usize>,
    teller: mpsc::Sender<Told>,
) {
    let mut changes = app.tasks.follow(&place.namespace, &place.task);
    let mut readers: JoinSet<Read> = JoinSet::new();
    // Logs that are read; those that seem to be read to their end while the task runs, and those that are.
    let (mut open, mut paused, mut done): (Vec<String>, Vec<String>, Vec<String>) = Default::default();
    loop {
        // Asked first: what is printed until then is found below.
        let has_ended = has_ended(&app, &place).await;
        let Ok(found) = sources(&app, &place).await else {
            tokio::time::sleep(LOOK).await;
            continue;
        };
        let is_one = found.len() <= 1;
        if has_ended {
            // Once more, for what came after.
            paused.clear();
        }
        for source in found {
            if [&open, &paused, &done]
                .iter()
                .any(|names| names.contains(&source.name))
            {
                continue;
            }
            open.push(source.name.clone());
            let (app, place, teller) = (app.clone(), place.clone(), teller.clone());
            let position = positions.of(&source.name);
            readers.spawn(async move {
                let name = source.name.clone();
                let wanted = Wanted {
                    after: position,
                    tail,
                    is_only: is_one,
                    is_last: has_ended,
                };
                let (position, outcome) = reading::follow(&app, &place, source, wanted, &teller).await;
                Read {
                    name,
                    position,
                    outcome,
                    is_last: has_ended,
                }
            });
        }
        if has_ended && open.is_empty() {
            let _ = teller.send(Told::End).await;
            return;
        }
        tokio::select! {
            Some(Ok(read)) = readers.join_next() => {
                open.retain(|known| *known != read.name);
                if read.is_last {
                    done.push(read.name);
                } else if read.outcome == Outcome::End && read.position.time().is_some() {
                    positions.0.insert(read.name.clone(), read.position);
                    paused.push(read.name);
                } else {
                    positions.0.insert(read.name, read.position);
                    if !has_ended {
                        tokio::time::sleep(LOOK).await;
                    }
                }
            }
            () = changes.changed() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

/// Whether the attempt is over; a task that is gone is.
async fn has_ended(app: &App, place: &Place) -> bool {
    let folder = crate::objects::Folder::of(&resources::tasks::TASK, &place.namespace);
    let task: Option<Value> = match app.objects.find(&folder, &place.task).await {
        Ok(task) => task,
        // It cannot be asked; the reader stays.
        Err(_) => return false,
    };
    task.is_none_or(|task| {
        let at = task["status"]["attempt"].as_i64().unwrap_or_default();
        at > place.attempt || (at == place.attempt && crate::handlers::has_ended(&task))
    })
}
