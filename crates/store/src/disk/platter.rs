//! A disk for tests, which fails when it is told to, and keeps what a power failure would leave.
//!
//! It stands behind the one file that the test's thread writes. What was not synced reaches it by chance,
//! sector by sector; what a failed sync was to write and did not is never written again by itself.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::rc::Rc;

const SECTOR: usize = 512;

thread_local! {
    static INSERTED: RefCell<Option<Rc<RefCell<State>>>> = const { RefCell::new(None) };
}

struct State {
    durable: Vec<u8>,
    pending: Vec<Change>,
    dice: Dice,
    failing: Failing,
}

enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Length(usize),
}

#[derive(Clone, Copy)]
enum Failing {
    Never,
    /// One operation, after so many others.
    Once(u32),
    /// Every operation.
    Always,
}

/// A few pseudo-random bits.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub(super) fn roll(&mut self, sides: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 20) % u64::from(sides)) as u32
    }
}

/// The disk of this thread, until it is dropped.
pub(super) struct Platter(Rc<RefCell<State>>);

impl Platter {
    pub(super) fn insert(seed: u64, durable: Vec<u8>) -> Self {
        let state = Rc::new(RefCell::new(State {
            durable,
            pending: Vec::new(),
            dice: Dice::new(seed),
            failing: Failing::Never,
        }));
        INSERTED.set(Some(Rc::clone(&state)));
        Self(state)
    }

    pub(super) fn fail_once(&self, after: u32) {
        self.0.borrow_mut().failing = Failing::Once(after);
    }

    pub(super) fn fail_always(&self) {
        self.0.borrow_mut().failing = Failing::Always;
    }

    pub(super) fn fail_no_more(&self) {
        self.0.borrow_mut().failing = Failing::Never;
    }

    /// Leaves the file as it is found after a power failure.
    pub(super) fn lose_power(&self, path: &Path) {
        let mut state = self.0.borrow_mut();
        state.write_by_chance();
        fs::write(path, &state.durable).unwrap();
    }

    /// Makes something else of what is on the disk.
    pub(super) fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.0.borrow_mut().durable);
    }
}

impl Drop for Platter {
    fn drop(&mut self) {
        INSERTED.set(None);
    }
}

/// A write that fails may have been done in part, if it is longer than a sector.
pub(super) fn write(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    with(|state| {
        let fails = state.fails();
        let done = if fails {
            &bytes[..bytes.len() / 2 / SECTOR * SECTOR]
        } else {
            bytes
        };
        state.pending.push(Change::Write {
            at: at as usize,
            bytes: done.to_vec(),
        });
        if fails {
            file.write_all_at(done, at)?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    })
}

pub(super) fn set_len(length: u64) -> io::Result<()> {
    with(|state| {
        if state.fails() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.pending.push(Change::Length(length as usize));
        Ok(())
    })
}

pub(super) fn sync() -> io::Result<()> {
    with(|state| {
        if state.fails() {
            state.write_by_chance();
            return Err(io::Error::other("the disk failed"));
        }
        for change in std::mem::take(&mut state.pending) {
            state.apply(&change);
        }
        Ok(())
    })
}

fn with(act: impl FnOnce(&mut State) -> io::Result<()>) -> io::Result<()> {
    INSERTED.with_borrow(|state| {
        state
            .as_ref()
            .map_or(Ok(()), |state| act(&mut state.borrow_mut()))
    })
}

impl State {
    fn fails(&mut self) -> bool {
        match self.failing {
            Failing::Never => false,
            Failing::Always => true,
            Failing::Once(0) => {
                self.failing = Failing::Never;
                true
            }
            Failing::Once(after) => {
                self.failing = Failing::Once(after - 1);
                false
            }
        }
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Length(length) => self.durable.resize(*length, 0),
            Change::Write { at, bytes } => {
                let end = at + bytes.len();
                self.durable.resize(self.durable.len().max(end), 0);
                self.durable[*at..end].copy_from_slice(bytes);
            }
        }
    }

    fn write_by_chance(&mut self) {
        for change in std::mem::take(&mut self.pending) {
            for part in sectors(change) {
                if self.dice.roll(2) == 0 {
                    self.apply(&part);
                }
            }
        }
    }
}

/// The parts of a change that are done or not, each for itself.
fn sectors(change: Change) -> Vec<Change> {
    let Change::Write { mut at, bytes } = change else {
        return vec![change];
    };
    let mut rest = bytes.as_slice();
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let (part, others) = rest.split_at(rest.len().min(SECTOR - at % SECTOR));
        parts.push(Change::Write {
            at,
            bytes: part.to_vec(),
        });
        at += part.len();
        rest = others;
    }
    parts
}
