//! Runs the conformance suite against servers and prints what came out.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program reports to the developer"
)]

use std::{process::ExitCode, time::Duration};

use clap::{Parser, ValueEnum};
use conformance::{Check, Options, Report, Server, checks, listed, run};

/// Run one suite of API checks against servers and compare
#[derive(Parser)]
#[command(name = "conformance")]
struct Arguments {
    /// A server and its administrator; without a CA file any certificate is taken. The one named
    /// `real` is the reference: no listed difference excuses it
    #[arg(long = "server", value_name = "NAME=URL,TOKEN[,CA-FILE]", required = true)]
    servers: Vec<Server>,

    /// Only this area; may be repeated
    #[arg(long = "area")]
    areas: Vec<String>,

    /// Only checks whose name contains this
    #[arg(long, default_value = "")]
    filter: String,

    /// Leave out checks that wait for controllers
    #[arg(long)]
    no_controllers: bool,

    /// Leave namespaces behind: faster, for servers that are thrown away
    #[arg(long)]
    keep_namespaces: bool,

    /// Wait until each server is ready, for at most so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    wait: u64,

    /// How many checks run at a time
    #[arg(long, default_value_t = 4)]
    threads: usize,

    /// How to print the result
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,

    /// Print the checks and do not run them
    #[arg(long)]
    list: bool,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Output {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let chosen: Vec<Check> = checks().filter(|check| arguments.wants(check)).collect();
    if chosen.is_empty() {
        eprintln!("error: no check matches");
        return ExitCode::from(2);
    }
    if arguments.list {
        for check in &chosen {
            println!("{}: {}", check.area, check.name);
        }
        return ExitCode::SUCCESS;
    }
    if let Some(server) = arguments.unready_server() {
        eprintln!("error: `{}` is not ready", server.name);
        return ExitCode::from(2);
    }
    let report = arguments.run(&chosen);
    match arguments.output {
        Output::Text => print!("{}", report.text()),
        Output::Json => println!("{:#}", report.json()),
    }
    if report.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

impl Arguments {
    fn wants(&self, check: &Check) -> bool {
        (self.areas.is_empty() || self.areas.iter().any(|area| area == check.area))
            && check.name.contains(&self.filter)
            && !(self.no_controllers && check.needs_controllers)
    }

    fn unready_server(&self) -> Option<&Server> {
        let patience = Duration::from_secs(self.wait);
        self.servers.iter().find(|server| !server.becomes_ready(patience))
    }

    fn run(&self, checks: &[Check]) -> Report {
        let options = Options {
            threads: self.threads.max(1),
            keep_namespaces: self.keep_namespaces,
        };
        let servers = self
            .servers
            .iter()
            .map(|server| (server.name.clone(), run(server, checks, options)))
            .collect();
        Report {
            servers,
            differences: listed(),
        }
    }
}
