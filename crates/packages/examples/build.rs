//! Builds packages from the command line, to compare results and times with `kubectl kustomize`.

#[path = "../tests/support/disk.rs"]
mod disk;

use std::{path::PathBuf, process::ExitCode};

use packages::{Options, build};

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example is there to print"
)]
fn main() -> ExitCode {
    let folder = std::env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from("."), PathBuf::from);
    match build(&disk::Disk, &folder, &Options::default()) {
        Ok(built) => {
            for warning in &built.warnings {
                eprintln!("{warning}");
            }
            print!("{}", built.to_yaml());
            ExitCode::SUCCESS
        }
        Err(error) => {
            if let Some(place) = &error.place {
                eprint!("{place}: ");
            }
            eprintln!("error: {error}");
            if let Some(help) = &error.help {
                eprintln!("\nhint: {help}");
            }
            ExitCode::FAILURE
        }
    }
}
