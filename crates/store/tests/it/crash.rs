//! Kills a process that writes under load, again and again, and holds the store to its answers.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::process::Stdio;
use std::time::Duration;

use store::{Options, Store, Write};

use crate::child;
use crate::samples::{Place, body, key, pods, value};

const TASKS: u64 = 6;
const KEYS_PER_TASK: u64 = 4;

/// A few pseudo-random bits, reproducible from a printed seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % sides
    }
}

/// A value that shows if any part of it is missing or from another write.
fn content(number: u64) -> String {
    format!(
        "{number}:{}",
        format!("{number:x}.").repeat((number * 37 % 900) as usize)
    )
}

fn number_in(content_found: &str) -> u64 {
    let number = content_found.split_once(':').unwrap().0.parse().unwrap();
    assert_eq!(content_found, content(number), "a torn value");
    number
}

/// So that a good part of the kills hits a compaction.
fn compacting_often() -> Options {
    Options {
        slack: 64 << 10,
        ..Options::default()
    }
}

#[test]
fn writes_until_it_is_killed() {
    let Some(path) = child::path() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = Store::open(&path, compacting_often()).unwrap();
        let seed = u64::from(std::process::id()) | 1 << 40;
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| tokio::spawn(keep_writing(store.clone(), task, seed + task)))
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        store.close().await;
    });
}

async fn keep_writing(store: Store, task: u64, seed: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    for _ in 0..dice.roll(3000) {
        let name = format!("{task}-{}", dice.roll(KEYS_PER_TASK));
        let number = store.revision() * TASKS + task;
        let put = || body(&content(number));
        let write = match store.get(&pods(), "default", &name) {
            None => Write::create(&pods(), key(&name), put()),
            Some(current) if dice.roll(4) == 0 => {
                Write::delete(&pods(), key(&name), Some(current.revision()))
            }
            Some(current) => Write::update(&pods(), key(&name), current.revision(), put()),
        };
        let deletes = matches!(write.change, store::Change::Delete { .. });
        let revision = store.write(write).await.unwrap().revision();
        let state = if deletes {
            "-".to_owned()
        } else {
            number.to_string()
        };
        // One call, one line: the parent takes a whole line for an answer that was given.
        std::io::stdout()
            .write_all(format!("ack {name} {revision} {state}\n").as_bytes())
            .unwrap();
    }
}

/// What is known of a key: the revision of its last write, and its number unless it was deleted.
type Known = BTreeMap<String, (u64, Option<u64>)>;

fn parse(line: &str) -> Option<(String, (u64, Option<u64>))> {
    let mut words = line.strip_prefix("ack ")?.split(' ');
    let (name, revision, state) = (words.next()?, words.next()?, words.next()?);
    Some((name.to_owned(), (revision.parse().unwrap(), state.parse().ok())))
}

/// Lets a child write for a while, kills it, and returns what it was told before.
fn write_and_kill(place: &Place, after: Duration) -> Known {
    let mut command = child::command("crash::writes_until_it_is_killed", &place.path());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let reading = std::thread::spawn(move || {
        let mut acknowledged = Known::new();
        for line in output.split(b'\n') {
            acknowledged.extend(parse(&String::from_utf8_lossy(&line.unwrap())));
        }
        acknowledged
    });
    std::thread::sleep(after);
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(
        status.success() || status.code().is_none(),
        "the child failed by itself: {status}"
    );
    reading.join().unwrap()
}

/// Compares what the store holds with what it said. Each task may have had one write under way.
fn check(store: &Store, known: &mut Known) {
    let found: Known = (store.list(&pods(), None, None, None).items.iter())
        .map(|object| {
            (
                object.name().to_owned(),
                (object.revision(), Some(number_in(&value(object)))),
            )
        })
        .collect();
    let newest = known.values().map(|(revision, _)| *revision).max().unwrap_or(0);
    assert!(
        store.revision() >= newest,
        "revision {} after {newest} was given",
        store.revision()
    );
    for task in 0..TASKS {
        let names = (0..KEYS_PER_TASK).map(|number| format!("{task}-{number}"));
        let surprises: Vec<_> = names
            .filter(|name| differs(known.get(name), found.get(name)))
            .collect();
        assert!(surprises.len() <= 1, "task {task} lost writes: {surprises:?}");
        for name in surprises {
            let (given, found) = (known.get(&name), found.get(&name));
            let newer = given.zip(found).is_none_or(|(given, found)| found.0 > given.0);
            assert!(newer, "{name} went back from {given:?} to {found:?}");
        }
    }
    *known = found;
}

fn differs(known: Option<&(u64, Option<u64>)>, found: Option<&(u64, Option<u64>)>) -> bool {
    match (known, found) {
        (Some((_, None)) | None, found) => found.is_some(),
        (known, found) => known != found,
    }
}

#[tokio::test]
async fn no_acknowledged_write_is_lost_when_the_process_is_killed() {
    let place = Place::new();
    let seed = u64::from(std::process::id()) << 16 | 1;
    let mut dice = Dice(seed);
    let (mut known, mut acknowledged, mut revision) = (Known::new(), 0, 0);
    let kills = child::count("STORE_TEST_KILLS", 60);
    for kill in 0..kills {
        let told = write_and_kill(&place, Duration::from_millis(5 + dice.roll(120)));
        acknowledged += told.len();
        known.extend(told);
        let store = place.open();
        assert!(store.revision() >= revision, "seed {seed}, kill {kill}");
        revision = store.revision();
        check(&store, &mut known);
        store.close().await;
    }
    assert!(acknowledged > 0, "the child never got to write");
}
