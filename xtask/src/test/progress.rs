//! Progress of test programs: a line for each that has ended, and one now and then for those that run.

use std::{
    fs,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::side_by_side::Ran;

/// How often the programs that run are named while none ends.
pub(super) const EVERY: Duration = Duration::from_secs(20);

/// The programs that run, and how many have ended.
pub(super) struct Progress {
    all: usize,
    state: Mutex<State>,
}

struct State {
    ended: usize,
    running: Vec<Running>,
    shown: Instant,
}

struct Running {
    name: String,
    begun: Instant,
    output: PathBuf,
}

impl Progress {
    pub(super) fn new(all: usize) -> Self {
        let state = State {
            ended: 0,
            running: Vec::new(),
            shown: Instant::now(),
        };
        Self {
            all,
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begins(&self, name: &str, output: PathBuf) {
        self.state().running.push(Running {
            name: name.to_owned(),
            begun: Instant::now(),
            output,
        });
    }

    /// Takes a program off the list and returns the line about it.
    pub(super) fn ends(&self, ran: &Ran) -> String {
        let mut state = self.state();
        state.ended += 1;
        state.shown = Instant::now();
        state.running.retain(|running| running.name != ran.name);
        let word = if ran.succeeded { "ok    " } else { "FAILED" };
        format!(
            "[{:>width$}/{}] {word} {:>6}  {}: {}",
            state.ended,
            self.all,
            duration(ran.took),
            ran.name,
            ran.counts,
            width = self.all.to_string().len(),
        )
    }

    /// The line about programs that run, where nothing was shown for a while.
    pub(super) fn waiting(&self) -> Option<String> {
        let mut state = self.state();
        if state.running.is_empty() || state.shown.elapsed() < EVERY {
            return None;
        }
        state.shown = Instant::now();
        let running: Vec<String> = state.running.iter().map(Running::line).collect();
        Some(format!("        running {}", running.join(", ")))
    }
}

impl Running {
    /// The name, the time, and what the program makes, where that is what it is at.
    fn line(&self) -> String {
        let text = fs::read(&self.output).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let making = text
            .lines()
            .next_back()
            .filter(|line| line.starts_with("making "));
        let making = making.map(|line| format!(" ({line})")).unwrap_or_default();
        format!("{} for {}{making}", self.name, duration(self.begun.elapsed()))
    }
}

/// Seconds below a minute, minutes and seconds above.
pub(super) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        return format!("{:.1}s", time.as_secs_f64());
    }
    format!("{}m{:02}s", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        assert_eq!(duration(Duration::from_millis(1_240)), "1.2s");
        assert_eq!(duration(Duration::from_secs(252)), "4m12s");
    }
}
