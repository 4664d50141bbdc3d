//! Lines, and places between them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One line of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Which log it is of.
    pub(super) source: String,
    pub(super) time: Timestamp,
    pub(super) text: String,
    /// Whether the task has one log alone.
    pub(super) is_only: bool,
}

impl Line {
    /// Reads a line with its time in front; one without belongs to the line before it.
    pub(super) fn read(source: &str, line: &str, last: Timestamp, is_only: bool) -> Self {
        let split = line
            .split_once(' ')
            .and_then(|(time, text)| Some((time.parse().ok()?, text)));
        let (time, text) = split.unwrap_or((last, line));
        Self {
            source: source.to_owned(),
            time,
            // Terminals end lines with both.
            text: text.trim_end_matches('\r').to_owned(),
            is_only,
        }
    }

    pub(crate) fn shown(&self, is_only: bool) -> String {
        if is_only {
            self.text.clone()
        } else {
            format!("[{}] {}", self.source, self.text)
        }
    }

    /// As a stream shows it.
    pub(crate) fn told(&self) -> String {
        self.shown(self.is_only)
    }
}

/// A place in a log: after so many lines of this time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    #[serde(rename = "t")]
    time: Timestamp,
    #[serde(rename = "n")]
    count: u32,
}

impl Position {
    pub(super) fn time(&self) -> Option<Timestamp> {
        (self.count > 0).then_some(self.time)
    }

    pub(super) fn note(&mut self, time: &Timestamp) {
        if *time == self.time {
            self.count += 1;
        } else {
            self.time = *time;
            self.count = 1;
        }
    }
}

/// Leaves out the lines before a place.
pub(super) struct Skip {
    after: Position,
    seen: u32,
}

impl Skip {
    pub(super) fn new(after: Position) -> Self {
        Self { after, seen: 0 }
    }

    pub(super) fn is_new(&mut self, line: &Line) -> bool {
        if self.after.count == 0 || line.time > self.after.time {
            return true;
        }
        if line.time == self.after.time {
            self.seen += 1;
            return self.seen > self.after.count;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<Line> {
        let text = "2026-01-01T00:00:01Z a\n2026-01-01T00:00:01.5Z b\r\n2026-01-01T00:00:01.5Z c\nwithout a time\n2026-01-01T00:00:02.25Z d";
        let mut last = Timestamp::UNIX_EPOCH;
        text.lines()
            .map(|line| {
                let line = Line::read("pod/c", line, last, true);
                last = line.time;
                line
            })
            .collect()
    }

    #[test]
    fn a_reader_goes_on_after_any_line() {
        let all = lines();
        let texts: Vec<&str> = all.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["a", "b", "c", "without a time", "d"]);
        for cut in 0..=all.len() {
            let mut position = Position::default();
            all[..cut].iter().for_each(|line| position.note(&line.time));
            let mut skip = Skip::new(position);
            let rest: Vec<&Line> = all.iter().filter(|line| skip.is_new(line)).collect();
            assert_eq!(rest, all[cut..].iter().collect::<Vec<_>>(), "after {cut}");
        }
    }
}
