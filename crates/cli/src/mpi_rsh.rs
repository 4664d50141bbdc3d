//! `trainyard mpi-rsh`: the remote shell of MPI launchers, for pods. `mpirun` and its like start their
//! daemons on other hosts with a program that is called as `rsh HOST COMMAND`; here a host is a pod, and
//! the way to it is the Kubernetes API, with the rights of the pod this runs in. No server, keys or user
//! are needed in the other pod.

mod account;
mod channels;
mod connection;
mod session;

use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::{Surroundings, report};
use account::Account;
use channels::Outcome;

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

    /// The pod, by its name or by a host name that begins with it
    #[arg(value_name = "HOST", value_parser = pod_of)]
    pod: String,

    /// For `/bin/sh`, as with any remote shell
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<String>,
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
    let account = Account::of_this_pod(surroundings)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let outcome = runtime.block_on(async {
        let connection = connection::open(&account, &path(&account, arguments)).await?;
        session::run(connection).await
    });
    // Somebody may still be waiting for input that nobody will write.
    runtime.shutdown_background();
    match outcome.with_context(|| format!("cannot run a command in pod `{}`", arguments.pod))? {
        Outcome::Exited(code) => Ok(code),
        Outcome::Failed(why) => {
            Err(anyhow::Error::msg(why)
                .context(format!("the command in pod `{}` was cut off", arguments.pod)))
        }
    }
}

fn path(account: &Account, arguments: &Arguments) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for stream in ["stdin", "stdout", "stderr"] {
        query.append_pair(stream, "true");
    }
    if let Some(container) = &arguments.container {
        query.append_pair("container", container);
    }
    for word in ["/bin/sh", "-c", &arguments.command.join(" ")] {
        query.append_pair("command", word);
    }
    format!(
        "/api/v1/namespaces/{}/pods/{}/exec?{}",
        account.namespace,
        arguments.pod,
        query.finish()
    )
}

/// The pod of a host: launchers know it by its name, or by that and the domain it is in.
fn pod_of(host: &str) -> Result<String, String> {
    let pod = host.split('.').next().unwrap_or_default();
    let is_label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if pod.is_empty() || !pod.bytes().all(is_label) {
        return Err("no pod has such a name".to_owned());
    }
    Ok(pod.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_pods_by_their_first_label() {
        assert_eq!(pod_of("worker-0").unwrap(), "worker-0");
        assert_eq!(pod_of("worker-0.job.default.svc").unwrap(), "worker-0");
        for wrong in ["", ".job", "a/b", "Worker"] {
            assert!(pod_of(wrong).is_err(), "{wrong}");
        }
    }
}
