//! How long somebody who was let in to a stream may stay: as long as their token holds, and they may see what the
//! stream tells.

use std::{sync::Arc, time::Duration};

use http::{HeaderValue, header};
use jiff::Timestamp;

use super::{App, Asked};
use crate::{
    identity::{Held, Identity},
    objects::Folder,
    problem::{Code, Outcome},
    roles::Right,
    tokens,
};

/// Nobody tells when a token or a right of the cluster ends; it is asked so often.
const ASK_AGAIN: Duration = Duration::from_mins(1);
/// The longest time that is waited without a look at the clock, which somebody may have set.
const LOOK_AGAIN: Duration = Duration::from_hours(1);

/// Somebody who reads a stream, and what they may have to show again.
pub(super) struct Stay {
    identity: Identity,
    authorization: Option<HeaderValue>,
    right: Option<Right>,
    namespace: String,
}

impl Stay {
    pub(super) fn of(asked: &Asked, right: Option<Right>) -> Self {
        Self {
            identity: asked.identity.clone(),
            authorization: asked.headers.get(header::AUTHORIZATION).cloned(),
            right,
            namespace: asked.namespace.clone(),
        }
    }

    /// Resolves when they may not stay any longer.
    pub(super) async fn ends(self, app: Arc<App>) {
        match &self.identity.held {
            Held::Token { id, expires_at, .. } => tokio::select! {
                () = is_revoked(&app, id) => {}
                () = is_past(*expires_at) => {}
            },
            Held::Cluster { .. } => loop {
                tokio::time::sleep(ASK_AGAIN).await;
                if self.is_let_in(&app).await.is_err_and(is_no) {
                    return;
                }
            },
        }
    }

    async fn is_let_in(&self, app: &App) -> Result<(), Code> {
        let asked = async || -> Outcome<()> {
            let identity = app.doorkeeper.identify(self.authorization.as_ref()).await?;
            match self.right {
                Some(right) => app.doorkeeper.check(&identity, right, &self.namespace).await,
                None => Ok(()),
            }
        };
        asked().await.map_err(|problem| problem.code)
    }
}

/// Whether a problem is about who asks; after any other they may come back.
fn is_no(code: Code) -> bool {
    matches!(code, Code::Unauthenticated | Code::Forbidden)
}

async fn is_revoked(app: &App, id: &str) {
    let name = tokens::secret_name(id);
    let mut changes = app.tokens.follow(&app.system_namespace, &name);
    // What happened between the check and here nobody is told of any more.
    let folder = Folder::core(&app.system_namespace, "secrets");
    match app.objects.find(&folder, &name).await {
        Ok(None) => return,
        Ok(Some(secret)) => app.tokens.wrote(&secret),
        // Whoever follows the tokens finds it, or that it is gone, when the cluster is back.
        Err(_) => {}
    }
    loop {
        changes.changed().await;
        if app.tokens.get(&app.system_namespace, &name).is_none() {
            return;
        }
    }
}

async fn is_past(moment: Option<Timestamp>) {
    let Some(moment) = moment else {
        return std::future::pending().await;
    };
    while let Some(left) = left_until(moment, Timestamp::now()) {
        tokio::time::sleep(left.min(LOOK_AGAIN)).await;
    }
}

/// How long it is until a moment; none when it has come.
fn left_until(moment: Timestamp, now: Timestamp) -> Option<Duration> {
    let left = Duration::try_from(moment.duration_since(now)).ok()?;
    (!left.is_zero()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_waited_for_until_it_has_come() {
        let at = |text: &str| -> Timestamp { text.parse().unwrap() };
        let moment = at("2026-01-01T00:00:10Z");
        let left = |now| left_until(moment, at(now));
        assert_eq!(left("2026-01-01T00:00:00Z"), Some(Duration::from_secs(10)));
        assert_eq!(left("2026-01-01T00:00:10Z"), None);
        assert_eq!(left("2026-01-01T00:00:11Z"), None);
    }

    #[test]
    fn who_cannot_be_asked_about_stays() {
        assert!(is_no(Code::Forbidden));
        assert!(!is_no(Code::Unavailable));
    }
}
