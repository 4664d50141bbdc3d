//! The sandbox as a program of its own, for the tests: `sandbox __sandbox DIR ASKED_BY`.

use std::{path::Path, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let [_, _, dir, asked_by] = arguments.as_slice() else {
        return ExitCode::from(2);
    };
    containers::sandbox::main(Path::new(dir), asked_by)
}
