//! What a container does right after its start and right before its end.

use std::time::Duration;

use containers::{Exec, client::Sandbox};
use k8s_openapi::api::core::v1::LifecycleHandler;

/// Runs a hook to its end; an error says in words what went wrong.
pub(super) async fn run(sandbox: &Sandbox, container: &str, hook: &LifecycleHandler) -> Result<(), String> {
    if let Some(sleep) = &hook.sleep {
        tokio::time::sleep(Duration::from_secs(sleep.seconds.unsigned_abs())).await;
        return Ok(());
    }
    if let Some(exec) = &hook.exec {
        return execute(sandbox, container, exec.command.clone().unwrap_or_default()).await;
    }
    Err("invalid handler".to_owned())
}

async fn execute(sandbox: &Sandbox, container: &str, argv: Vec<String>) -> Result<(), String> {
    let shown = argv.join(" ");
    let exec = Exec {
        container: container.to_owned(),
        argv,
        ..Exec::default()
    };
    let mut execution = sandbox.exec(&exec).await.map_err(|error| error.to_string())?;
    let exit = execution.wait().await.map_err(|error| error.to_string())?;
    match exit.code {
        0 => Ok(()),
        code => Err(format!("command '{shown}' exited with {code}")),
    }
}
