//! Last words: what a step has to say, in its pod's status or in an object of its own.

use std::{fs, path::Path};

use workflows::report::{EXIT_BROKEN, Order, ROOM, Report};

use crate::{Outcome, Surroundings, cluster};

/// Says what has come of a step. The code to end with, which is another where nobody could be told.
pub(crate) async fn report(order: &Order, outcome: Outcome, surroundings: &Surroundings) -> i32 {
    let Outcome { code, mut report } = outcome;
    if report == Report::default() {
        // What the command said itself stands.
        return code;
    }
    if report.message.is_empty() {
        report.message = said(&surroundings.last_words);
    }
    if let Some(words) = report.to_last_words().or_else(|| {
        let short = Report {
            message: String::new(),
            ..report.clone()
        };
        short.to_last_words()
    }) {
        return write(surroundings, &words, code);
    }
    match cluster::store_report(order, &report).await {
        Ok(()) => {
            let elsewhere = Report {
                is_elsewhere: true,
                ..Report::default()
            };
            write(surroundings, &elsewhere.to_last_words().unwrap_or_default(), code)
        }
        Err(error) => {
            let report = Report {
                error: format!(
                    "the step's outputs do not fit into the {ROOM} bytes of a pod's status, and cannot be stored as a WorkflowTaskResult: {error}"
                ),
                ..Report::default()
            };
            speak(surroundings, &report);
            if code == 0 { EXIT_BROKEN } else { code }
        }
    }
}

/// A report that is known to be short.
pub(crate) fn speak(surroundings: &Surroundings, report: &Report) {
    write(surroundings, &report.to_last_words().unwrap_or_default(), 0);
}

fn write(surroundings: &Surroundings, words: &str, code: i32) -> i32 {
    use std::io::Write as _;
    match fs::write(&surroundings.last_words, words) {
        Ok(()) => code,
        Err(error) => {
            let path = surroundings.last_words.display();
            let _ = writeln!(
                std::io::stderr(),
                "cannot write the step's report to {path}: {error}"
            );
            if code == 0 { EXIT_BROKEN } else { code }
        }
    }
}

/// What the command has said itself.
fn said(path: &Path) -> String {
    let words = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(words.get(..ROOM).unwrap_or(&words)).into_owned()
}
