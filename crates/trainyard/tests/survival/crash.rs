//! Kills the server under write load, again and again, and holds it to every answer it gave.
//!
//! `TRAINYARD_CRASHES=N` kills it more often than everyone should wait for.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http::Method;
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinSet};

use crate::{
    client::{Client, Connection, Events, Lost, Version},
    dice::Dice,
    server::{Place, Server},
};

const WRITERS: u64 = 6;
const NAMES_PER_WRITER: u64 = 4;
const PATH: &str = "/api/v1/namespaces/default/configmaps";
const SELECTED: &str = "/api/v1/namespaces/default/configmaps?labelSelector=load%3Dyes";

/// A name's last known write: its revision, and its number unless it was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    revision: u64,
    number: Option<u64>,
}

type States = BTreeMap<String, State>;

/// What one writer was told before its server went away, and what it was not.
#[derive(Default)]
struct Told {
    answered: States,
    unanswered: Option<(String, Option<u64>)>,
}

/// A value that shows if any part of it is missing or from another write.
fn content(number: u64) -> String {
    format!(
        "{number}:{}",
        format!("{number:x}.").repeat((number * 37 % 900) as usize)
    )
}

fn config_map(name: &str, number: u64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "labels": { "load": "yes" } },
        "data": { "content": content(number) },
    })
}

/// Reads an object back; a torn one does not pass.
fn state_of(object: &Value) -> (String, State) {
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    let text = object["data"]["content"].as_str().unwrap();
    let number = text.split_once(':').unwrap().0.parse().unwrap();
    assert_eq!(text, content(number), "a torn {name}");
    let state = State {
        revision: revision_of(object),
        number: Some(number),
    };
    (name, state)
}

fn revision_of(object: &Value) -> u64 {
    let revision = object["metadata"]["resourceVersion"].as_str();
    revision
        .and_then(|revision| revision.parse().ok())
        .unwrap_or_else(|| panic!("no revision in {object}"))
}

/// Creates, updates, patches, applies and deletes its own few objects until the server goes away.
struct Writer {
    connection: Connection,
    dice: Dice,
    task: u64,
    numbers: Arc<AtomicU64>,
    answers: mpsc::UnboundedSender<()>,
    known: States,
    told: Told,
}

impl Writer {
    async fn run(mut self) -> Told {
        while self.write().await.is_ok() {
            let _ = self.answers.send(());
        }
        self.told
    }

    async fn write(&mut self) -> Result<(), Lost> {
        let name = format!("{}-{}", self.task, self.dice.roll(NAMES_PER_WRITER));
        let current = self
            .known
            .get(&name)
            .copied()
            .filter(|state| state.number.is_some());
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let object = config_map(&name, number);
        let path = format!("{PATH}/{name}");
        let (method, path, content_type, body) = match (current, self.dice.roll(6)) {
            (_, 0) => {
                let path = format!("{path}?fieldManager=load&force=true");
                (Method::PATCH, path, "application/apply-patch+yaml", object)
            }
            (None, _) => (Method::POST, PATH.to_owned(), "application/json", object),
            (Some(_), 1) => (Method::DELETE, path, "", Value::Null),
            (Some(_), 2) => {
                let patch = json!({ "data": object["data"] });
                (Method::PATCH, path, "application/merge-patch+json", patch)
            }
            (Some(_), 3) => {
                let patch = json!([{ "op": "replace", "path": "/data", "value": object["data"] }]);
                (Method::PATCH, path, "application/json-patch+json", patch)
            }
            (Some(state), _) => {
                let mut object = object;
                object["metadata"]["resourceVersion"] = state.revision.to_string().into();
                (Method::PUT, path, "application/json", object)
            }
        };
        let deletes = method == Method::DELETE;
        let outcome = (!deletes).then_some(number);
        self.told.unanswered = Some((name.clone(), outcome));
        let body = if deletes { String::new() } else { body.to_string() };
        let answer = self
            .connection
            .send(method, &path, content_type, body)
            .await?
            .ok();
        let state = State {
            revision: current.map_or(0, |state| state.revision),
            number: None,
        };
        let state = if deletes { state } else { state_of(&answer).1 };
        self.told.unanswered = None;
        self.told.answered.insert(name.clone(), state);
        self.known.insert(name, state);
        Ok(())
    }
}

/// Follows all writers and remembers the newest it saw of each name: what is seen is durable too.
async fn follow(mut events: Events) -> States {
    let mut seen = States::new();
    while let Some(event) = events.next().await {
        let (name, mut state) = state_of(&event["object"]);
        if event["type"] == "DELETED" {
            state.number = None;
        }
        seen.insert(name, state);
    }
    seen
}

#[derive(Default)]
struct Crash {
    told: Vec<Told>,
    seen: States,
}

impl Crash {
    /// The newest revision anybody was told.
    fn newest(&self) -> u64 {
        let told = self.told.iter().flat_map(|told| told.answered.values());
        let told = told.chain(self.seen.values());
        told.map(|state| state.revision).max().unwrap_or(0)
    }
}

/// Loads the server until some writes were answered, and kills it within the next moments.
async fn load_and_kill(server: Server, known: &States, dice: &mut Dice, numbers: &Arc<AtomicU64>) -> Crash {
    let watcher = server.client.connect(Version::Http2).await.unwrap();
    let path = format!("{SELECTED}&watch=true");
    let events = Events::of(watcher.open(Method::GET, &path, "", "").await.unwrap());
    let follower = tokio::spawn(follow(events));
    let (answers, mut answered) = mpsc::unbounded_channel();
    let mut writers = JoinSet::new();
    for task in 0..WRITERS {
        let version = [Version::Http1, Version::Http2][task as usize % 2];
        let writer = Writer {
            connection: server.client.connect(version).await.unwrap(),
            dice: Dice::new(dice.roll(1 << 40)),
            task,
            numbers: numbers.clone(),
            answers: answers.clone(),
            known: known.clone(),
            told: Told::default(),
        };
        writers.spawn(writer.run());
    }
    drop(answers);
    for _ in 0..dice.roll(120) {
        answered.recv().await.expect("a writer failed");
    }
    tokio::time::sleep(Duration::from_micros(dice.roll(4000))).await;
    server.kill();
    Crash {
        told: writers.join_all().await,
        seen: follower.await.unwrap(),
    }
}

/// Kills the server somewhere on its way up, most often while it reads what the last one left.
async fn kill_while_starting(place: &Place, dice: &mut Dice) {
    let mut child = place.spawn(&mut place.command());
    tokio::time::sleep(Duration::from_millis(dice.roll(200))).await;
    child.kill().unwrap();
    child.wait().unwrap();
}

/// What is stored must be what was answered last, or the one write that was under way.
fn check(known: &States, crash: &Crash, found: &States) {
    let mut expected = known.clone();
    for told in &crash.told {
        expected.extend(told.answered.clone());
    }
    let unanswered: BTreeMap<_, _> = (crash.told.iter())
        .filter_map(|told| told.unanswered.clone())
        .collect();
    for name in expected
        .keys()
        .chain(found.keys())
        .chain(unanswered.keys())
        .chain(crash.seen.keys())
    {
        let (expected, found) = (expected.get(name), found.get(name));
        let before = expected.map_or(0, |state| state.revision);
        let is_answered = match expected.filter(|state| state.number.is_some()) {
            Some(expected) => found == Some(expected),
            None => found.is_none(),
        };
        let is_unanswered = unanswered.get(name).is_some_and(|number| {
            found.map(|state| state.number) == number.map(Some) && found.is_none_or(|f| f.revision > before)
        });
        assert!(
            is_answered || is_unanswered,
            "{name}: answered {expected:?}, stored {found:?}"
        );
        if let Some(seen) = crash.seen.get(name).filter(|seen| seen.revision > before) {
            let stored = found.copied();
            let is_kept = match seen.number {
                Some(_) => stored == Some(*seen),
                None => stored.is_none_or(|stored| stored.revision > seen.revision),
            };
            assert!(is_kept, "{name}: a watch saw {seen:?}, stored {stored:?}");
        }
    }
}

/// The objects, and the revision of the whole.
async fn read(client: &Client) -> (States, u64) {
    let connection = client.connect(Version::Http1).await.unwrap();
    let list = connection.get(SELECTED).await.unwrap().ok();
    let found = list["items"].as_array().unwrap().iter().map(state_of).collect();
    (found, revision_of(&list))
}

/// A watch from before the crash is told to start again; one from now misses nothing.
async fn check_watches(client: &Client, before: Option<u64>, now: u64) {
    let connection = client.connect(Version::Http2).await.unwrap();
    let watch = async |revision: u64| {
        let probe = format!("fieldSelector=metadata.name%3Dprobe-{now}");
        let path = format!("{PATH}?watch=true&resourceVersion={revision}&{probe}");
        Events::of(connection.open(Method::GET, &path, "", "").await.unwrap())
    };
    if let Some(before) = before.filter(|before| *before < now) {
        let first = watch(before).await.next().await.unwrap();
        assert_eq!(
            (&first["type"], &first["object"]["code"]),
            (&json!("ERROR"), &json!(410)),
            "from {before} at {now}: {first}"
        );
    }
    let mut events = watch(now).await;
    let probe = json!({ "metadata": { "name": format!("probe-{now}") } });
    let created = connection.post(PATH, &probe).await.unwrap().ok();
    let mut event = events.next().await.unwrap();
    // Each namespace gets its certificates from a controller, whenever that comes to it.
    if event["object"]["metadata"]["name"] == "kube-root-ca.crt" {
        event = events.next().await.unwrap();
    }
    assert_eq!(
        (&event["type"], &event["object"]["metadata"]["resourceVersion"]),
        (&json!("ADDED"), &created["metadata"]["resourceVersion"]),
        "{event}"
    );
    assert!(revision_of(&created) > now);
}

#[tokio::test]
async fn no_answered_write_is_lost_when_the_server_is_killed() {
    let crashes = std::env::var_os("TRAINYARD_CRASHES");
    let crashes: u64 = crashes.map_or(40, |crashes| crashes.to_str().unwrap().parse().unwrap());
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let mut dice = Dice::new(seed);
    let place = Place::new();
    let numbers = Arc::new(AtomicU64::new(1));
    let (mut known, mut revision, mut answered, mut crash) = (States::new(), 1, 0, Crash::default());
    for number in 0..=crashes {
        if dice.roll(4) == 0 {
            kill_while_starting(&place, &mut dice).await;
        }
        let server = place.start();
        let (found, now) = read(&server.client).await;
        let newest = crash.newest().max(revision);
        assert!(now >= newest, "crash {number}: revision {now} after {newest}");
        check(&known, &crash, &found);
        check_watches(&server.client, (number > 0).then_some(revision), now).await;
        (known, revision) = (found, now);
        crash = load_and_kill(server, &known, &mut dice, &numbers).await;
        answered += crash.told.iter().map(|told| told.answered.len()).sum::<usize>();
    }
    println!(
        "{crashes} crashes, {answered} answered states checked, revision {revision}, {} writes",
        numbers.load(Ordering::Relaxed)
    );
    assert!(answered > 0, "the server never got to answer");
}
