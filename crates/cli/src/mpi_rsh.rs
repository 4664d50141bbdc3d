//! `trainyard mpi-rsh`: the remote shell of MPI launchers, for pods. `mpirun` and its like start their
//! daemons on other hosts with a program that is called as `rsh HOST COMMAND`; here a host is a pod, and
//! the way to it is the Kubernetes API, with the rights of the pod this runs in. No server, keys or user
//! are needed in the other pod.

mod account;
mod channels;
mod connection;
mod session;
mod ssh_style;

use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::{Surroundings, report};
use channels::Outcome;
use ssh_style::Target;

pub(crate) use account::Account;
pub(crate) use connection::get;
pub(crate) use ssh_style::pod_of;

/// What remote shells answer when it is they who failed, and not the command.
const NOT_DONE: u8 = 255;

/// Run a command in another pod, as the remote shell of an MPI launcher
#[derive(Debug, clap::Args)]
#[command(
    hide = true,
    after_help = "Examples:
  mpirun --mca plm_rsh_agent 'trainyard mpi-rsh' --host worker-0,worker-1 ./train
  trainyard mpi-rsh worker-0 hostname

It runs in a pod whose service account may get and create `pods/exec` in its namespace.

Exit codes: the command's own; 255 it could not be run, or the connection was lost"
)]
pub(crate) struct Arguments {
    /// The container to run it in, where the pod has more than one
    #[arg(short, long, value_name = "NAME")]
    container: Option<String>,

    /// The pod, by its name or by a host name that begins with it, and a command for `/bin/sh`; options
    /// of `ssh` before them change nothing
    #[arg(
        value_name = "HOST COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> ExitCode {
    match remote_exit_code(arguments, surroundings) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            report(&error);
            ExitCode::from(NOT_DONE)
        }
    }
}

fn remote_exit_code(arguments: &Arguments, surroundings: &Surroundings) -> Result<u8> {
    let target = ssh_style::read(&arguments.words)?;
    let account = Account::of_this_pod(surroundings)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let path = path(&account, arguments.container.as_deref(), &target);
    let outcome = runtime.block_on(async {
        let connection = connection::open(&account, &path).await?;
        session::run(connection).await
    });
    // Somebody may still be waiting for input that nobody will write.
    runtime.shutdown_background();
    match outcome.with_context(|| format!("cannot run a command in pod `{}`", target.pod))? {
        Outcome::Exited(code) => Ok(code),
        Outcome::Failed(why) => {
            Err(anyhow::Error::msg(why).context(format!("the command in pod `{}` was cut off", target.pod)))
        }
    }
}

fn path(account: &Account, container: Option<&str>, target: &Target) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for stream in ["stdin", "stdout", "stderr"] {
        query.append_pair(stream, "true");
    }
    if let Some(container) = container {
        query.append_pair("container", container);
    }
    for word in ["/bin/sh", "-c", &target.command] {
        query.append_pair("command", word);
    }
    format!(
        "/api/v1/namespaces/{}/pods/{}/exec?{}",
        account.namespace,
        target.pod,
        query.finish()
    )
}
