//! Disks that fail and machines that lose their power at every moment: what was acknowledged is there
//! afterwards, and what was found once is found again.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;

use super::platter::{Dice, Platter};
use super::{Change, Disk, Loaded, OpenError, open};
use crate::event::{Event, Kind};
use crate::name::Key;
use crate::object::{Body, Object};
use crate::options::Options;

/// The newest revision, and all objects.
type Contents = (u64, BTreeMap<String, Vec<u8>>);

/// A machine with one store, whose contents are known.
struct Machine {
    directory: TempDir,
    platter: Platter,
    disk: Option<Disk>,
    boots: u32,
    /// Tells attempts to write the same revision apart.
    attempts: u32,
    current: Contents,
    /// What may be found when the store is opened.
    possible: Vec<Contents>,
}

impl Machine {
    fn new(seed: u64) -> Self {
        let directory = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
        let path = directory.path().join("store.db");
        drop(open(&path, &Options::default()).unwrap());
        let mut machine = Self {
            platter: Platter::insert(seed, fs::read(&path).unwrap()),
            directory,
            disk: None,
            boots: 0,
            attempts: 0,
            current: (1, BTreeMap::new()),
            possible: vec![(1, BTreeMap::new())],
        };
        machine.open();
        machine
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("store.db")
    }

    fn try_open(&self) -> Result<(Disk, Loaded), OpenError> {
        let options = Options {
            boot_id: format!("run {}", self.boots),
            ..Options::default()
        };
        open(&self.path(), &options)
    }

    fn open(&mut self) {
        let (disk, loaded) = self.try_open().unwrap();
        let found = contents(&loaded);
        assert!(
            self.possible.contains(&found),
            "found {found:?} instead of {:?}",
            self.possible
        );
        if matches!(disk.footing, super::Footing::Firm) {
            self.possible = vec![found.clone()];
        }
        self.current = found;
        self.disk = Some(disk);
    }

    /// Writes an object of one of a few names and a size of its own.
    fn commit(&mut self) -> bool {
        self.attempts += 1;
        let revision = self.current.0 + 1;
        let text = format!("{},", self.attempts).repeat(1 + self.attempts as usize * 97 % 700);
        let body = Body::new(format!(r#""",{text}"#).into_bytes(), 1);
        let object = Object::stamped(Key::new("a", &format!("{}", revision % 4)), body, revision);
        let mut after = self.current.clone();
        after.0 = revision;
        after.1.insert(object.key().to_string(), object.json().to_vec());
        let change = Change {
            collection: "/pods".into(),
            event: Arc::new(Event::new(Kind::Added, object, None)),
        };
        let disk = self.disk.as_mut().unwrap();
        // No test waits for a disk to get better.
        disk.failure = None;
        if disk.settle().is_ok() {
            self.possible = vec![self.current.clone()];
        }
        let is_done = disk.commit(&[change], revision).is_ok();
        if is_done {
            self.possible.clear();
            self.current = after.clone();
        }
        self.possible.push(after);
        is_done
    }

    /// Ends the process without giving it a chance to put anything in order.
    fn kill(&mut self) {
        self.platter.fail_always();
        self.disk = None;
        self.platter.fail_no_more();
    }

    fn lose_power(&mut self) {
        self.kill();
        self.platter.lose_power(&self.path());
        self.boots += 1;
    }
}

fn contents(loaded: &Loaded) -> Contents {
    let objects = loaded.collections.values().flat_map(BTreeMap::values);
    let objects = objects.map(|object| (object.key().to_string(), object.json().to_vec()));
    (loaded.revision, objects.collect())
}

#[test]
fn no_order_of_failures_loses_what_was_acknowledged() {
    for seed in 0..150 {
        let mut dice = Dice::new(seed);
        let mut machine = Machine::new(seed);
        for _ in 0..30 {
            match dice.roll(8) {
                0 => machine.platter.fail_once(dice.roll(10)),
                1 => {
                    machine.kill();
                    machine.platter.fail_once(dice.roll(10));
                    machine.open();
                }
                2 => {
                    machine.lose_power();
                    machine.open();
                }
                3 => {
                    machine.disk = None;
                    machine.open();
                }
                _ => {
                    machine.commit();
                }
            }
        }
    }
}

#[test]
fn what_a_killed_process_left_in_memory_is_durable_once_it_was_found() {
    for seed in 0..50 {
        let mut machine = Machine::new(seed);
        assert!(machine.commit());
        // The last thing a commit does is to sync.
        machine.platter.fail_once(2);
        assert!(!machine.commit());
        machine.kill();
        machine.open();
        assert_eq!(machine.current.0, 3, "the system still has it in memory");
        machine.lose_power();
        machine.open();
        assert_eq!(machine.current.0, 3, "it was in memory only");
    }
}

#[test]
fn a_disk_that_fails_while_the_store_is_opened_is_made_sure_of_before_the_next_commit() {
    for (seed, step) in (0..50).flat_map(|seed| (0..6).map(move |step| (seed, step))) {
        let mut machine = Machine::new(seed);
        assert!(machine.commit());
        machine.platter.fail_once(2);
        assert!(!machine.commit());
        machine.kill();
        machine.platter.fail_once(step);
        machine.open();
        machine.platter.fail_no_more();
        assert!(machine.commit());
        machine.lose_power();
        machine.open();
        assert_eq!(machine.current.0, 4);
    }
}

/// A machine that lost its power when the slot of a whole commit was half written.
fn with_torn_slot(seed: u64) -> Machine {
    let mut machine = Machine::new(seed);
    machine.commit();
    machine.commit();
    machine.kill();
    // Revision 3 has the file's third slot, which has the place of the first.
    machine.platter.change(|bytes| bytes[1024 + 20] ^= 1);
    machine.lose_power();
    machine
}

#[test]
fn a_write_that_fails_after_a_commit_was_found_without_its_slot_loses_nothing() {
    for (seed, step) in (0..20).flat_map(|seed| (0..12).map(move |step| (seed, step))) {
        let mut machine = with_torn_slot(seed);
        machine.platter.fail_once(step);
        machine.open();
        assert_eq!(machine.current.0, 3);
        machine.commit();
        machine.lose_power();
        machine.open();
        machine.commit();
        assert!(machine.commit());
        machine.lose_power();
        machine.open();
    }
}

#[test]
fn a_commit_that_failed_is_taken_back_when_the_store_is_closed() {
    let mut machine = Machine::new(0);
    assert!(machine.commit());
    for step in 0..3 {
        machine.platter.fail_once(step);
        assert!(!machine.commit());
        machine.disk = None;
        machine.open();
        assert_eq!(machine.current.0, 2, "it failed at step {step}");
    }
}

#[test]
fn one_slot_on_disk_is_good_whenever_settling_is_interrupted() {
    for (seed, step) in (0..50).flat_map(|seed| (0..7).map(move |step| (seed, step))) {
        let mut machine = Machine::new(seed);
        machine.commit();
        machine.commit();
        machine.platter.fail_once(2);
        assert!(!machine.commit());
        machine.kill();
        machine.platter.fail_once(step);
        machine.open();
        machine.lose_power();
        machine.open();
    }
}
