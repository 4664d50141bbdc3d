//! A line that says how far it is, for whatever takes longer than a second.

use std::{
    io::{IsTerminal as _, Write as _},
    sync::Mutex,
    time::{Duration, Instant},
};

use images::{Progress, Step};

use super::shown;

const QUIET: Duration = Duration::from_secs(1);

/// What is on the last line of the terminal. Where there is no terminal, a line is written only now and
/// then.
pub(super) struct Shown {
    state: Mutex<State>,
    is_terminal: bool,
}

struct State {
    next: Instant,
    has_written: bool,
}

impl Shown {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                next: Instant::now() + QUIET,
                has_written: false,
            }),
            is_terminal: std::io::stderr().is_terminal(),
        }
    }

    pub(super) fn show(&self, progress: Progress<'_>) {
        let Ok(mut state) = self.state.lock() else { return };
        let now = Instant::now();
        if now < state.next {
            return;
        }
        state.has_written = true;
        let line = line(progress);
        let mut stderr = std::io::stderr().lock();
        // Nobody may be looking, which is no reason to stop.
        let _ = if self.is_terminal {
            state.next = now + Duration::from_millis(200);
            write!(stderr, "\r\x1b[K{line}").and_then(|()| stderr.flush())
        } else {
            state.next = now + Duration::from_secs(10);
            writeln!(stderr, "{line}")
        };
    }

    /// Makes room for the answer.
    pub(super) fn clear(&self) {
        let Ok(state) = self.state.lock() else { return };
        if self.is_terminal && state.has_written {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn line(progress: Progress<'_>) -> String {
    let verb = match progress.step {
        Step::Reading => "reading",
        Step::Downloading => "downloading",
        Step::Unpacking => "unpacking",
    };
    let what: String = match progress.what.split_once(':') {
        Some((_, hex)) => hex.chars().take(12).collect(),
        None => progress.what.to_owned(),
    };
    let done = shown(progress.done);
    match progress.done * 100 / progress.total.max(1) {
        _ if progress.total == 0 => format!("{verb} {what}: {done}"),
        percent => format!("{verb} {what}: {percent} % of {}", shown(progress.total)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_one_line() {
        let progress = Progress {
            step: Step::Unpacking,
            what: "sha256:0123456789abcdef",
            done: 1_500_000,
            total: 6_000_000,
        };
        assert_eq!(line(progress), "unpacking 0123456789ab: 25 % of 6.0 MB");
    }
}
