//! What the demo shows on the way: workers that start, and what they have learnt so far.

use std::time::Duration;

use crate::jobs::{job::Job, patience::Patience, replicas::Replica, why::Cause};

/// The time after which an obstacle of the workers counts as permanent.
const GIVE_UP: Duration = Duration::from_secs(8);

/// What was learnt in the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Learnt {
    pub(super) accuracy: f64,
    pub(super) pictures: u64,
    pub(super) seconds: f64,
}

pub(super) struct Shown {
    workers: u32,
    prints: bool,
    running: usize,
    patience: Patience,
    learnt: Option<Learnt>,
}

impl Shown {
    pub(super) fn new(workers: u32, prints: bool) -> Self {
        Self {
            workers,
            prints,
            running: 0,
            patience: Patience::new(),
            learnt: None,
        }
    }

    pub(super) fn learnt(&self) -> Option<Learnt> {
        self.learnt
    }

    pub(super) fn clear(&mut self) {
        self.patience.clear();
    }

    pub(super) fn look(&mut self, job: &Job, replicas: &[Replica]) {
        let running = replicas
            .iter()
            .filter(|replica| replica.phase() == "Running")
            .count();
        if running > self.running {
            self.running = running;
            let done = running == self.workers as usize;
            self.patience.clear();
            eprintln!(
                "{running} of {} workers run{}",
                self.workers,
                if done { "" } else { " …" }
            );
        } else if let Some(what) = job.waits_for()
            // How many run is told already.
            && !what.ends_with("pods run")
            && self.running < self.workers as usize
        {
            self.patience.wait(what, job);
        }
    }

    /// Whether there is no use in waiting any longer.
    pub(super) fn obstacles(&mut self, causes: &[Cause]) -> bool {
        self.patience.obstacles(causes);
        self.patience.obstructed_for().is_some_and(|time| time >= GIVE_UP)
    }

    pub(super) fn lost(&mut self, why: &str) {
        self.patience.lost(why);
    }

    /// One line of the trainer.
    pub(super) fn line(&mut self, line: &str) {
        let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        match word {
            "learnt" if self.prints => {
                self.patience.clear();
                println!("{}", step(rest));
            }
            "examined" => self.learnt = learnt(rest),
            _ => {}
        }
    }
}

/// The value of a name in `name=value name=value`.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = line.split_whitespace().filter_map(|pair| pair.split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

fn learnt(line: &str) -> Option<Learnt> {
    Some(Learnt {
        accuracy: value(line, "accuracy")?.parse().ok()?,
        pictures: value(line, "pictures")?.parse().ok()?,
        seconds: value(line, "seconds")?.parse().ok()?,
    })
}

/// `step  25 of 300   loss 1.9413   accuracy  45 %   ████████`
fn step(line: &str) -> String {
    const WIDTH: f64 = 30.0;
    let text = |name: &str| value(line, name).unwrap_or("?");
    let accuracy: f64 = text("accuracy").parse().unwrap_or_default();
    let bar = "█".repeat((accuracy.clamp(0.0, 1.0) * WIDTH) as usize);
    format!(
        "step {:>4} of {}   loss {:>6}   accuracy {:>3.0} %   {bar}",
        text("step"),
        text("steps"),
        text("loss"),
        accuracy * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_the_trainer_are_read() {
        assert_eq!(
            step("step=25 steps=300 loss=1.9413 accuracy=0.5000 pictures_per_second=900"),
            "step   25 of 300   loss 1.9413   accuracy  50 %   ███████████████"
        );
        let learnt = learnt("accuracy=0.9712 pictures=2000 seconds=3.20").unwrap();
        assert_eq!((learnt.accuracy, learnt.pictures), (0.9712, 2000));
    }
}
