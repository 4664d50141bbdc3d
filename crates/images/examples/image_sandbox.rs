//! The sandbox as a program of its own, for the tests: `image_sandbox __sandbox DIR`.

use std::{path::Path, process::ExitCode};

fn main() -> ExitCode {
    let Some(dir) = std::env::args_os().nth(2) else {
        return ExitCode::from(2);
    };
    containers::sandbox::main(Path::new(&dir))
}
