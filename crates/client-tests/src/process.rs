//! Running a program to its end.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

/// What a finished program left.
#[derive(Clone, Debug)]
pub struct Output {
    pub stdout: String,
    pub stderr: String,
    /// The exit code; -1 when a signal ended it.
    pub code: i32,
}

impl Output {
    /// The output of a program that must have succeeded.
    #[track_caller]
    pub fn success(self) -> String {
        assert!(
            self.code == 0,
            "exit code {}\n{}{}",
            self.code,
            self.stdout,
            self.stderr
        );
        self.stdout
    }
}

/// Runs a command with `input` on its standard input.
#[track_caller]
pub fn run(command: &mut Command, input: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input has closed it; that is its own business.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child
        .wait_with_output()
        .expect("a started program can be waited for");
    Output {
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
        code: output.status.code().unwrap_or(-1),
    }
}

/// Bytes as text, whatever they are.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
