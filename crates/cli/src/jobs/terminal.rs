//! What a terminal gets beside words: colours, and a line that changes in place. Without one, everything
//! is plain lines.

use std::{
    collections::HashSet,
    io::{IsTerminal as _, Write as _},
    ops::ControlFlow,
    time::{Duration, Instant},
};

use serde_json::json;

use super::output::{Line, Source};
use crate::{Surroundings, printing};

/// One after the other for replicas.
const REPLICAS: [&str; 6] = ["36", "33", "35", "32", "34", "31"];

/// How much longer than this something takes is told while it does.
pub(crate) const QUIET: Duration = Duration::from_secs(1);

/// Whether colours are wanted: on a terminal, unless the user has said no.
pub(crate) fn has_colours(surroundings: &Surroundings) -> bool {
    let set = |name: &str| {
        surroundings
            .environment
            .get(name)
            .filter(|value| !value.is_empty())
    };
    let is_dumb = set("TERM").is_none_or(|value| value == "dumb");
    std::io::stdout().is_terminal() && set("NO_COLOR").is_none() && !is_dumb
}

fn painted(text: &str, colour: &str) -> String {
    format!("\x1b[{colour}m{text}\x1b[0m")
}

/// How lines are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As they are.
    Plain,
    /// With the name of its replica before each.
    Named,
    /// Each an object of JSON.
    Json,
}

/// Prints what replicas print.
pub(crate) struct Printer {
    form: Form,
    colours: bool,
    /// The other stream, where standard output is for something else.
    to_stderr: bool,
    names: Vec<String>,
}

impl Printer {
    pub(crate) fn new(form: Form, colours: bool) -> Self {
        Self {
            form,
            colours,
            to_stderr: false,
            names: Vec::new(),
        }
    }

    pub(crate) fn on_stderr(self) -> Self {
        Self {
            to_stderr: true,
            colours: false,
            ..self
        }
    }

    /// Ends when nobody reads it any more, or it cannot be written.
    pub(crate) fn print(&mut self, source: &Source, line: &Line) -> ControlFlow<()> {
        let mut bytes = match self.form {
            Form::Plain => line.text.clone(),
            Form::Named => [self.prefix(&source.replica).as_bytes(), &line.text].concat(),
            Form::Json => as_json(source, line).into_bytes(),
        };
        // The line of another replica must not continue this one.
        if self.form != Form::Plain && !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        let written = if self.to_stderr {
            std::io::stderr().write_all(&bytes)
        } else {
            let mut stdout = std::io::stdout().lock();
            stdout.write_all(&bytes).and_then(|()| stdout.flush())
        };
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                printing::unwritten(error);
                ControlFlow::Break(())
            }
        }
    }

    fn prefix(&mut self, replica: &str) -> String {
        let place = self.names.iter().position(|name| name == replica);
        let place = place.unwrap_or_else(|| {
            self.names.push(replica.to_owned());
            self.names.len() - 1
        });
        let name = format!("[{replica}]");
        if self.colours {
            format!("{} ", painted(&name, REPLICAS[place % REPLICAS.len()]))
        } else {
            format!("{name} ")
        }
    }
}

fn as_json(source: &Source, line: &Line) -> String {
    let text = line.text.strip_suffix(b"\n").unwrap_or(&line.text);
    json!({
        "replica": source.replica,
        "pod": source.pod,
        "container": source.container,
        "time": line.time.map(|time| time.to_string()),
        "line": String::from_utf8_lossy(text),
    })
    .to_string()
}

/// What is waited for, on standard error: nothing in the first second, then each change.
pub(crate) struct Waiting {
    since: Instant,
    told: String,
    is_terminal: bool,
    has_line: bool,
    /// Lines that stand there already, where none can be replaced: two that alternate are not told without end.
    lines: HashSet<String>,
}

impl Waiting {
    pub(crate) fn new() -> Self {
        Self {
            since: Instant::now(),
            told: String::new(),
            is_terminal: std::io::stderr().is_terminal(),
            has_line: false,
            lines: HashSet::new(),
        }
    }

    pub(crate) fn tell(&mut self, what: &str) {
        if what == self.told || self.since.elapsed() < QUIET {
            return;
        }
        self.tell_at_once(what);
    }

    pub(crate) fn tell_at_once(&mut self, what: &str) {
        if what == self.told {
            return;
        }
        what.clone_into(&mut self.told);
        if !self.is_terminal && !self.lines.insert(what.to_owned()) {
            return;
        }
        let mut stderr = std::io::stderr().lock();
        // Nobody may be looking, which is no reason to stop.
        let _ = if self.is_terminal {
            self.has_line = true;
            write!(stderr, "\r\x1b[K{what}").and_then(|()| stderr.flush())
        } else {
            writeln!(stderr, "{what}")
        };
    }

    /// Makes room for what comes.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.has_line) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
        self.told.clear();
        self.lines.clear();
    }
}
