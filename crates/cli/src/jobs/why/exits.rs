//! What exit codes mean.

/// A code that says something by itself.
pub(super) struct Meaning {
    pub(super) what: String,
    pub(super) advice: &'static str,
}

/// Signals that programs are ended by, for what they are known by.
const SIGNALS: [(i64, &str); 9] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (4, "SIGILL"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (15, "SIGTERM"),
];

/// What the code of a program that has ended says, with the reason its container gives.
pub(super) fn meaning(code: i64, reason: &str) -> Option<Meaning> {
    if reason == "OOMKilled" {
        return Some(Meaning {
            what: "out of memory (OOMKilled)".to_owned(),
            advice: "give it more memory (limits.memory; `trainyard run --memory`), or let it use less: a smaller batch",
        });
    }
    let (what, advice) = match code {
        126 => (
            "its program cannot be executed".to_owned(),
            "make it executable, and for this kind of machine",
        ),
        127 => (
            "its program was not found".to_owned(),
            "check the command, and that the image has it on its PATH",
        ),
        129.. => {
            let signal = code - 128;
            let (_, name) = SIGNALS.iter().find(|(number, _)| *number == signal)?;
            let advice = match signal {
                9 => {
                    "something ended it by force: the machine ran out of memory, or its time to stop was over"
                }
                15 => "it was asked to end: by whoever stopped or removed it, or by its node",
                4 => "it was built for another processor",
                _ => "the program itself is at fault; its output says where",
            };
            (format!("ended by {name}"), advice)
        }
        _ => return None,
    };
    Some(Meaning { what, advice })
}

#[cfg(test)]
mod tests {
    use super::meaning;

    #[test]
    fn codes_say_what_ended_a_program() {
        let of = |code, reason| meaning(code, reason).map(|meaning| meaning.what);
        assert_eq!(of(137, "OOMKilled").as_deref(), Some("out of memory (OOMKilled)"));
        assert_eq!(of(137, "Error").as_deref(), Some("ended by SIGKILL"));
        assert_eq!(of(127, "Error").as_deref(), Some("its program was not found"));
        assert_eq!(of(3, "Error"), None);
        assert_eq!(of(255, "Error"), None);
    }
}
