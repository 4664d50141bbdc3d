//! One log: from the file it is kept in, or from its pod.

use std::{collections::VecDeque, path::Path};

use futures_util::{AsyncBufReadExt as _, TryStreamExt as _};
use jiff::Timestamp;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncSeekExt as _, BufReader},
    sync::mpsc,
};

use super::{
    Place, Told,
    line::{Line, Position, Skip},
    sources::Source,
};
use crate::{
    app::App,
    objects::{Folder, Refusal, escaped},
};

/// How reading a log ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Everything was read.
    End,
    /// It broke off, or there is nothing yet.
    Later,
}

/// The lines of a log so far, or the last so many, as far as there is room; whether there is more of it.
pub(super) async fn whole(
    app: &App,
    place: &Place,
    source: &Source,
    tail: Option<usize>,
    room: usize,
) -> Result<(Vec<Line>, bool), Refusal> {
    let text = match (&source.kept, source.is_there) {
        (Some((path, true)), _) | (Some((path, false)), false) => match read_file(path, tail, room).await {
            Ok(text) => text,
            // It was deleted with its task.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Refusal::file(&error)),
        },
        (_, true) => {
            let mut rest = format!(
                "/log?container={}&timestamps=true&limitBytes={room}",
                escaped(&source.container)
            );
            if let Some(tail) = tail {
                rest.push_str(&format!("&tailLines={tail}"));
            }
            let folder = Folder::core(&place.namespace, "pods");
            match app.objects.text(&folder, &source.pod, &rest).await {
                Ok(text) => text,
                // The container has not begun, or the pod has just gone.
                Err(refusal) if refusal.is(400) || refusal.is(404) => String::new(),
                Err(refusal) => return Err(refusal),
            }
        }
        (None, false) => String::new(),
    };
    let is_cut = text.len() >= room;
    let mut last = Timestamp::UNIX_EPOCH;
    let lines = text.lines().map(|line| {
        let line = Line::read(&source.name, line, last, true);
        last = line.time;
        line
    });
    Ok((lines.collect(), is_cut))
}

/// The beginning of a file, or its end where the last lines are wanted.
async fn read_file(path: &Path, tail: Option<usize>, room: usize) -> std::io::Result<String> {
    let mut file = tokio::fs::File::open(path).await?;
    let beyond = file.metadata().await?.len().saturating_sub(room as u64);
    let is_end = tail.is_some() && beyond > 0;
    if is_end {
        file.seek(std::io::SeekFrom::Start(beyond)).await?;
    }
    let mut bytes = Vec::new();
    file.take(room as u64).read_to_end(&mut bytes).await?;
    // The first line of an end is one that was begun before.
    let from = if is_end {
        bytes
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1)
    } else {
        0
    };
    Ok(String::from_utf8_lossy(&bytes[from..]).into_owned())
}

/// What is wanted of a log.
pub(super) struct Wanted {
    /// What comes after this.
    pub(super) after: Position,
    pub(super) tail: Option<usize>,
    /// Whether the task has one log alone.
    pub(super) is_only: bool,
    /// Whether all of it is there, and nobody need wait for more.
    pub(super) is_last: bool,
}

/// Tells the lines of a log after a place, as long as its container runs.
pub(super) async fn follow(
    app: &App,
    place: &Place,
    source: Source,
    wanted: Wanted,
    teller: &mpsc::Sender<Told>,
) -> (Position, Outcome) {
    let Wanted {
        after,
        tail,
        is_only,
        is_last,
    } = wanted;
    let tail = tail.filter(|_| after.time().is_none());
    let mut telling = Telling {
        source: &source,
        skip: Skip::new(after.clone()),
        position: after.clone(),
        last: Timestamp::UNIX_EPOCH,
        is_only,
        teller,
    };
    let outcome = match (&source.kept, source.is_there) {
        (Some((path, true)), _) | (Some((path, _)), false) => follow_file(path, tail, &mut telling).await,
        (_, true) => {
            let rest = rest_of_log(&source, &after, tail, !is_last);
            follow_pod(app, place, &source, &rest, &mut telling).await
        }
        (None, false) => Outcome::End,
    };
    (telling.position, outcome)
}

async fn follow_file(path: &Path, tail: Option<usize>, telling: &mut Telling<'_>) -> Outcome {
    let Ok(file) = tokio::fs::File::open(path).await else {
        return Outcome::End;
    };
    let mut lines = BufReader::new(file).lines();
    let mut last = VecDeque::new();
    while let Ok(Some(line)) = lines.next_line().await {
        match tail {
            None => {
                if telling.tell(&line).await.is_err() {
                    return Outcome::End;
                }
            }
            Some(tail) => {
                last.push_back(line);
                if last.len() > tail {
                    last.pop_front();
                }
            }
        }
    }
    for line in last {
        if telling.tell(&line).await.is_err() {
            break;
        }
    }
    Outcome::End
}

/// What of a log the cluster is asked for.
fn rest_of_log(source: &Source, after: &Position, tail: Option<usize>, follows: bool) -> String {
    let mut query = format!(
        "/log?container={}&timestamps=true&follow={follows}",
        escaped(&source.container)
    );
    if let Some(time) = after.time() {
        query.push_str(&format!("&sinceTime={}", time.strftime("%Y-%m-%dT%H:%M:%SZ")));
    }
    if let Some(tail) = tail {
        query.push_str(&format!("&tailLines={tail}"));
    }
    query
}

async fn follow_pod(
    app: &App,
    place: &Place,
    source: &Source,
    query: &str,
    telling: &mut Telling<'_>,
) -> Outcome {
    let folder = Folder::core(&place.namespace, "pods");
    let Ok(log) = app.objects.stream(&folder, &source.pod, query).await else {
        return Outcome::Later;
    };
    let mut lines = std::pin::pin!(log.lines());
    loop {
        match lines.try_next().await {
            Ok(Some(line)) => {
                if telling.tell(&line).await.is_err() {
                    return Outcome::End;
                }
            }
            Ok(None) => return Outcome::End,
            // What was told is told once: whoever reads on begins after it.
            Err(_) => return Outcome::Later,
        }
    }
}

struct Telling<'a> {
    source: &'a Source,
    skip: Skip,
    /// After the last line that was told.
    position: Position,
    last: Timestamp,
    is_only: bool,
    teller: &'a mpsc::Sender<Told>,
}

/// Nobody reads any more.
struct Gone;

impl Telling<'_> {
    async fn tell(&mut self, text: &str) -> Result<(), Gone> {
        let line = Line::read(&self.source.name, text, self.last, self.is_only);
        self.last = line.time;
        if !self.skip.is_new(&line) {
            return Ok(());
        }
        self.position.note(&line.time);
        self.teller.send(Told::Line(line)).await.map_err(|_| Gone)
    }
}
