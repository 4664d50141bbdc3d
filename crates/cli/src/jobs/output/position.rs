//! How far the output of a program was heard, so that it can be gone on with after a break: no line is
//! lost, and none comes twice. Pure.

use std::cmp::Ordering;

use jiff::Timestamp;

/// The place behind everything that was heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// When the last whole line was printed; none before the first.
    time: Option<Timestamp>,
    /// How many lines were printed at that very moment.
    lines: u64,
    /// How much was heard of the line behind them.
    open: usize,
}

impl Position {
    pub(crate) fn is_start(&self) -> bool {
        *self == Self::default()
    }

    /// From when on the output is asked for again: whole seconds, as servers count them.
    pub(crate) fn since(&self) -> Option<Timestamp> {
        self.time
            .and_then(|time| Timestamp::from_second(time.as_second()).ok())
    }

    /// Notes a part of a line, or the rest of one.
    pub(super) fn heard(&mut self, time: Option<Timestamp>, length: usize, is_whole: bool) {
        if !is_whole {
            self.open += length;
            return;
        }
        self.open = 0;
        match time {
            Some(time) if self.time == Some(time) => self.lines += 1,
            Some(time) => (self.time, self.lines) = (Some(time), 1),
            // Without a time nothing can be found again.
            None => {}
        }
    }
}

/// Output that begins before the place to go on from, on its way there.
#[derive(Debug)]
pub(super) struct Return {
    to: Option<Position>,
    passed: u64,
}

impl Return {
    pub(super) fn to(position: Position) -> Self {
        Self {
            to: Some(position),
            passed: 0,
        }
    }

    /// How much of a line that begins now was heard before; none if all of it was.
    pub(super) fn heard_of(&mut self, time: Option<Timestamp>) -> Option<usize> {
        let Some(to) = self.to else {
            return Some(0);
        };
        let order = time.zip(to.time).map(|(time, last)| time.cmp(&last));
        let is_old = order.is_some_and(|order| order.is_lt() || (order.is_eq() && self.passed < to.lines));
        if is_old {
            self.passed += u64::from(order.is_some_and(Ordering::is_eq));
            return None;
        }
        self.to = None;
        Some(to.open)
    }
}
