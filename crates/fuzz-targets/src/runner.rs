//! Runs a target over its corpus and over inputs made of it, and says what it found.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use crate::{dice::Dice, mutate, targets::Target};

/// An input for which something does not hold.
#[derive(Debug)]
pub struct Finding {
    pub input: Vec<u8>,
}

/// How far a run has come.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    pub inputs: u64,
    /// The longest any input took, and which.
    pub slowest: (Duration, Vec<u8>),
}

/// The stack of the server's threads, on which everything that recurses must find room.
const STACK: usize = 8 << 20;

/// Tries inputs for as long as `go_on` says. The corpus comes first, whole.
pub fn fuzz(
    target: &Target,
    seed: u64,
    go_on: impl Fn(&Progress) -> bool + Send,
) -> Result<Progress, Finding> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let running = thread.spawn_scoped(scope, || run(target, seed, go_on));
        running.unwrap().join().unwrap()
    })
}

fn run(target: &Target, seed: u64, go_on: impl Fn(&Progress) -> bool) -> Result<Progress, Finding> {
    let corpus = (target.corpus)();
    let mut dice = Dice::new(seed);
    let mut progress = Progress::default();
    for input in &corpus {
        attempt(target, input, &mut progress)?;
    }
    while go_on(&progress) {
        let input = mutate::made_of(&corpus, target.words, &mut dice);
        attempt(target, &input, &mut progress)?;
    }
    Ok(progress)
}

fn attempt(target: &Target, input: &[u8], progress: &mut Progress) -> Result<(), Finding> {
    let started = Instant::now();
    catch_unwind(AssertUnwindSafe(|| (target.run)(input))).map_err(|_| Finding {
        input: input.to_vec(),
    })?;
    progress.inputs += 1;
    if started.elapsed() > progress.slowest.0 {
        progress.slowest = (started.elapsed(), input.to_vec());
    }
    Ok(())
}
