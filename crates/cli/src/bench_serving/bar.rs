//! How far it is, on the last line of a terminal.

use std::{
    io::{IsTerminal as _, Write as _},
    time::{Duration, Instant},
};

use serving::bench::Iteration;

const WIDTH: usize = 30;
const PAUSE: Duration = Duration::from_millis(100);

pub(super) struct Bar {
    total: usize,
    done: usize,
    rows: usize,
    correct: usize,
    is_terminal: bool,
    is_shown: bool,
    next: Instant,
}

impl Bar {
    pub(super) fn new(total: usize) -> Self {
        Self {
            total,
            done: 0,
            rows: 0,
            correct: 0,
            is_terminal: std::io::stderr().is_terminal(),
            is_shown: false,
            next: Instant::now(),
        }
    }

    pub(super) fn show(&mut self, iteration: &Iteration) {
        self.done += 1;
        self.rows += iteration.rows;
        self.correct += iteration.correct;
        let now = Instant::now();
        if !self.is_terminal || (now < self.next && self.done < self.total) {
            return;
        }
        self.next = now + PAUSE;
        self.is_shown = true;
        let mut stderr = std::io::stderr().lock();
        let line = line(self.done, self.total, self.correct, self.rows);
        // Nobody may be looking, which is no reason to stop.
        let _ = write!(stderr, "\r\x1b[K{line}").and_then(|()| stderr.flush());
    }

    /// Makes room for an answer.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn line(done: usize, total: usize, correct: usize, rows: usize) -> String {
    let filled = (done * WIDTH / total.max(1)).min(WIDTH);
    let accuracy = correct as f64 * 100.0 / rows.max(1) as f64;
    format!(
        "[{}{}] {done}/{total} requests, accuracy {accuracy:.2}%",
        "#".repeat(filled),
        "-".repeat(WIDTH - filled)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_full_at_the_end() {
        assert_eq!(
            line(20, 40, 3, 4),
            format!(
                "[{}{}] 20/40 requests, accuracy 75.00%",
                "#".repeat(15),
                "-".repeat(15)
            )
        );
        assert!(line(40, 40, 1, 1).starts_with(&format!("[{}]", "#".repeat(30))));
    }
}
