//! `trainyard wait-for-name`: what a replica does before its program starts that needs another's name.

use std::{net::ToSocketAddrs as _, process::ExitCode, thread::sleep, time::Duration};

/// Pods that wait together must not ask together.
const PAUSE: Duration = Duration::from_millis(250);
/// After so many questions it is said what is waited for.
const PATIENCE: u32 = 20;

/// Wait until a name has an address
#[derive(Debug, clap::Args)]
#[command(hide = true, after_help = "Exit codes: 0 it has one")]
pub(crate) struct Arguments {
    /// The name of a host
    name: String,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let mut asked = 0_u32;
    while (arguments.name.as_str(), 0).to_socket_addrs().is_err() {
        asked += 1;
        if asked == PATIENCE {
            println!("waiting for `{}` to have an address", arguments.name);
        }
        sleep(PAUSE);
    }
    ExitCode::SUCCESS
}
