//! What a container does right after its start and right before its end.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, LifecycleHandler};

use super::reach::Reach;
use crate::probes::{self, Reach as _, Verdict};

/// Runs a hook to its end; an error says in words what went wrong.
pub(super) async fn run(
    reach: &Reach,
    container: &Container,
    hook: &LifecycleHandler,
    limit: Duration,
) -> Result<(), String> {
    if let Some(sleep) = &hook.sleep {
        let wait = Duration::from_secs(sleep.seconds.unsigned_abs());
        tokio::time::sleep(wait.min(limit)).await;
        return Ok(());
    }
    if let Some(exec) = &hook.exec {
        let argv = exec.command.as_deref().unwrap_or_default();
        let ended = reach.exec(&container.name, argv, limit).await;
        let ended = ended.map_err(|failure| failure.to_string())?;
        return match ended.code {
            0 => Ok(()),
            code => Err(format!("command '{}' exited with {code}", argv.join(" "))),
        };
    }
    if let Some(action) = &hook.http_get {
        let get = probes::lifecycle_get(action, container)?;
        let verdict = probes::get(reach, &get, &reach.address().to_string(), limit).await;
        return match verdict {
            Verdict::Passed | Verdict::Warned(_) => Ok(()),
            Verdict::Failed(text) | Verdict::Errored(text) => Err(text),
        };
    }
    Err(format!("invalid handler: {hook:?}"))
}
