//! `trainyard pipeline show` and `watch`: what has become of a workflow, and what becomes of it.

use std::{
    collections::BTreeMap,
    io::{IsTerminal as _, Write as _},
    process::ExitCode,
    time::Duration,
};

use anyhow::Result;
use futures_util::StreamExt as _;
use jiff::Timestamp;
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};
use workflows::{node::Phase, status::Status};

use super::{
    find, folder, name_of, phase_of,
    tree::{Style, tree},
    verdict,
};
use crate::{
    Answer, Output, Surroundings, advised,
    jobs::{
        api::{ApiError, escaped},
        carry_out,
        place::{self, Cluster, Place},
        terminal::has_colours,
    },
};

/// How long a cluster may be out of reach, as it is while it is started again.
const PATIENCE: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(250);
/// How often times in a tree go on.
const TICK: Duration = Duration::from_secs(1);
/// More lines than this are not drawn anew at every change.
const ROOM: usize = 40;

/// Show what has become of a workflow
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Exit codes: 0 shown, 2 it could not be done"))]
pub(crate) struct ShowArguments {
    /// The workflow; `@latest` is the one that was made last
    name: String,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

/// Watch a workflow until it has ended
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Exit codes: 0 it has succeeded, 1 it has failed; 2 it could not be watched"))]
pub(crate) struct WatchArguments {
    /// The workflow; `@latest` is the one that was made last
    name: String,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

/// How a workflow is shown while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Drawn again in its place at every change.
    Live { colours: bool },
    /// A line for every change.
    Lines,
    /// Not at all, and as an object at its end.
    Json,
}

impl Shown {
    pub(crate) fn for_output(surroundings: &Surroundings) -> Self {
        if std::io::stdout().is_terminal() {
            Self::Live {
                colours: has_colours(surroundings),
            }
        } else {
            Self::Lines
        }
    }
}

pub(super) fn show(arguments: &ShowArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |cluster| {
        let workflow = find(&cluster, &arguments.name).await?;
        match arguments.answer.output {
            Output::Json => println!("{workflow:#}"),
            Output::Text => {
                let style = Style {
                    colours: has_colours(surroundings),
                    room: None,
                };
                for line in tree(&workflow, Timestamp::now(), style) {
                    println!("{line}");
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

pub(super) fn watch(arguments: &WatchArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |cluster| {
        let workflow = find(&cluster, &arguments.name).await?;
        let shown = match arguments.answer.output {
            Output::Json => Shown::Json,
            Output::Text => Shown::for_output(surroundings),
        };
        let ended = follow(&cluster, workflow, shown).await?;
        Ok(verdict(&ended))
    })
}

/// Shows a workflow until it has ended; the workflow as it is then.
pub(super) async fn follow(cluster: &Cluster, mut workflow: Value, shown: Shown) -> Result<Value> {
    let mut screen = Screen::new(shown);
    let (mut cluster, mut lost_since) = (cluster.clone(), None::<Instant>);
    loop {
        screen.draw(&workflow);
        if phase_of(&workflow).is_completed() {
            screen.end(&workflow);
            return Ok(workflow);
        }
        match session(&cluster, &mut workflow, &mut screen).await {
            Ok(Ended::Finished | Ended::Again) => lost_since = None,
            Ok(Ended::Gone) => {
                return Err(advised(
                    format!(
                        "workflow `{}` was removed before it had ended",
                        name_of(&workflow)
                    ),
                    "nothing is left of it",
                ));
            }
            Err(error) => {
                let since = *lost_since.get_or_insert_with(Instant::now);
                if !error.is_passing() || since.elapsed() > PATIENCE {
                    return Err(error.into());
                }
                sleep(PAUSE).await;
                // A server that was started again may be found elsewhere.
                if let Ok(renewed) = cluster.renewed().await {
                    cluster = renewed;
                }
            }
        }
    }
}

enum Ended {
    Finished,
    Again,
    Gone,
}

/// Lists, and then hears of changes until the workflow or the watch has ended.
async fn session(cluster: &Cluster, workflow: &mut Value, screen: &mut Screen) -> Result<Ended, ApiError> {
    let uid = workflow["metadata"]["uid"].clone();
    let list = format!(
        "{}?fieldSelector=metadata.name%3D{}",
        folder("workflows", &cluster.namespace),
        escaped(name_of(workflow))
    );
    let mut found = cluster.api.get(&list).await?;
    let version = found["metadata"]["resourceVersion"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    match found["items"].get_mut(0) {
        Some(item) if item["metadata"]["uid"] == uid => *workflow = item.take(),
        _ => return Ok(Ended::Gone),
    }
    screen.draw(workflow);
    if phase_of(workflow).is_completed() {
        return Ok(Ended::Finished);
    }
    let mut events = Box::pin(cluster.api.watch(&list, &version).await?);
    loop {
        let event = match timeout(TICK, events.next()).await {
            Err(_) => {
                screen.tick(workflow);
                continue;
            }
            Ok(None) => return Ok(Ended::Again),
            Ok(Some(event)) => event?,
        };
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                if object["metadata"]["uid"] != uid {
                    return Ok(Ended::Gone);
                }
                *workflow = object;
            }
            WatchEvent::Deleted(_) => return Ok(Ended::Gone),
            WatchEvent::Bookmark(_) => continue,
            WatchEvent::Error(status) => return Err(ApiError::refused(&status)),
        }
        screen.draw(workflow);
        if phase_of(workflow).is_completed() {
            return Ok(Ended::Finished);
        }
    }
}

/// What is on the terminal.
struct Screen {
    shown: Shown,
    /// Lines that were drawn last.
    height: usize,
    last: Vec<String>,
    told: BTreeMap<String, Phase>,
}

impl Screen {
    fn new(shown: Shown) -> Self {
        Self {
            shown,
            height: 0,
            last: Vec::new(),
            told: BTreeMap::new(),
        }
    }

    fn draw(&mut self, workflow: &Value) {
        match self.shown {
            Shown::Live { colours } => {
                let room = Some(ROOM);
                self.redraw(tree(workflow, Timestamp::now(), Style { colours, room }));
            }
            Shown::Lines => self.tell(workflow),
            Shown::Json => {}
        }
    }

    /// Times go on though nothing happens.
    fn tick(&mut self, workflow: &Value) {
        if matches!(self.shown, Shown::Live { .. }) {
            self.draw(workflow);
        }
    }

    fn redraw(&mut self, lines: Vec<String>) {
        if lines == self.last {
            return;
        }
        let mut text = String::new();
        if self.height > 0 {
            text.push_str(&format!("\x1b[{}A", self.height));
        }
        for line in &lines {
            text.push_str("\r\x1b[K");
            text.push_str(line);
            text.push('\n');
        }
        // What was longer before.
        text.push_str("\x1b[J");
        self.height = lines.len();
        self.last = lines;
        let mut stdout = std::io::stdout().lock();
        let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    }

    /// Says which steps have come to another phase.
    fn tell(&mut self, workflow: &Value) {
        let Ok(status) = Status::read(workflow) else {
            return;
        };
        let mut nodes: Vec<_> = status.nodes.values().collect();
        nodes.sort_by_key(|node| (node.finished_at.or(node.started_at), node.name.clone()));
        for node in nodes {
            if matches!(node.phase, Phase::Unknown | Phase::Pending) {
                continue;
            }
            if self.told.insert(node.id.clone(), node.phase) == Some(node.phase) {
                continue;
            }
            let message = node.message.replace('\n', " ");
            let words = format!("{}  {}  {message}", node.name, node.phase.text());
            println!("{}", words.trim_end());
        }
    }

    fn end(&self, workflow: &Value) {
        match self.shown {
            Shown::Json => println!("{workflow:#}"),
            Shown::Lines => {
                let message = workflow["status"]["message"].as_str().unwrap_or_default();
                let words = format!(
                    "workflow {}  {}  {}",
                    name_of(workflow),
                    phase_of(workflow).text(),
                    message.replace('\n', " ")
                );
                println!("{}", words.trim_end());
            }
            Shown::Live { .. } => {}
        }
    }
}
