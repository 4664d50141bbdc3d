//! A person who follows a job: what its replicas print, and what is waited for until they do.

use std::ops::ControlFlow;

use super::{follow::Heard, patience::Patience, terminal::Printer};

pub(crate) struct Audience {
    printer: Printer,
    patience: Patience,
    has_heard: bool,
}

impl Audience {
    pub(crate) fn new(printer: Printer) -> Self {
        Self {
            printer,
            patience: Patience::new(),
            has_heard: false,
        }
    }

    pub(crate) fn hear(&mut self, heard: &Heard<'_>) -> ControlFlow<()> {
        match heard {
            Heard::Line { source, line } => {
                self.patience.clear();
                self.has_heard = true;
                return self.printer.print(source, line);
            }
            Heard::Look { job, .. } => match job.waits_for().filter(|_| !self.has_heard) {
                Some(what) => self.patience.wait(what, job),
                None => self.patience.clear(),
            },
            Heard::Obstacles { causes } => self.patience.obstacles(causes),
            Heard::Lost { why } => self.patience.lost(why),
        }
        ControlFlow::Continue(())
    }

    /// Makes room for other words.
    pub(crate) fn clear(&mut self) {
        self.patience.clear();
    }
}
