//! A person who follows a job: what its replicas print, and what is waited for until they do.

use std::ops::ControlFlow;

use super::{
    follow::Heard,
    terminal::{Printer, Waiting},
};

pub(crate) struct Audience {
    printer: Printer,
    waiting: Waiting,
    has_heard: bool,
}

impl Audience {
    pub(crate) fn new(printer: Printer) -> Self {
        Self {
            printer,
            waiting: Waiting::new(),
            has_heard: false,
        }
    }

    pub(crate) fn hear(&mut self, heard: &Heard<'_>) -> ControlFlow<()> {
        match heard {
            Heard::Line { source, line } => {
                self.waiting.clear();
                self.has_heard = true;
                return self.printer.print(source, line);
            }
            Heard::Look { job, .. } => match job.waits_for().filter(|_| !self.has_heard) {
                Some(what) => self.waiting.tell(&what),
                None => self.waiting.clear(),
            },
            Heard::Lost { why } => self.waiting.tell(&format!("waiting for the cluster: {why}")),
        }
        ControlFlow::Continue(())
    }

    /// Makes room for other words.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }
}
