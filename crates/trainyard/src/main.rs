//! Reads arguments, environment and signals, wires the parts together, and turns the result into an
//! exit code.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::Parser;
use tracing_subscriber::EnvFilter;

// A burst of pods has many threads for a moment, and others allocate than free. Allocators that keep a heap for each
// thread hold several times what is in use after that (docs/decisions/0017-the-allocator.md).
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let raw: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = cli::process(&raw, || start_log("warn")) {
        return code;
    }
    let arguments = cli::Arguments::parse_from(&raw);
    start_log(arguments.log_filter());
    let path = |name: &str| {
        std::env::var_os(name)
            .filter(|value: &OsString| !value.is_empty())
            .map(PathBuf::from)
    };
    let text = |name: &str| std::env::var_os(name)?.into_string().ok();
    let surroundings = cli::Surroundings {
        // Set by the script in the root of the repository, which builds this program and runs it.
        program: path("TRAINYARD_CALLED_AS").or_else(|| raw.first().map(PathBuf::from)),
        home: path("HOME"),
        data_home: path("XDG_DATA_HOME"),
        data_dir: path("TRAINYARD_DATA_DIR"),
        service_host: text("KUBERNETES_SERVICE_HOST"),
        service_port: text("KUBERNETES_SERVICE_PORT"),
        directory: std::env::current_dir().ok(),
        environment: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
    };
    cli::run(arguments, &surroundings)
}

fn start_log(default: &str) {
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_from_env("TRAINYARD_LOG").unwrap_or_else(|_| EnvFilter::new(default)))
        .with_writer(cli::LogWriter::default)
        // It would tell of them on standard error, which is what cannot be written, and panic.
        .log_internal_errors(false)
        .init();
}
