//! Webhooks as they are configured, read once and again when a configuration changes.

use std::{sync::Arc, time::Duration};

use parking_lot::RwLock;
use schemas::cel::admission::Environment;
use serde_json::Value;
use store::{Collection, Store};

use crate::{
    admission::{conditions::Conditions, matching::Criteria},
    object,
    webhook_client::Endpoint,
};

const DEFAULT_TIMEOUT: i64 = 10;

/// The versions in which a webhook can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewVersion {
    V1,
    V1Beta1,
}

pub(crate) struct Webhook {
    pub name: String,
    /// Tells webhooks apart that have the same name.
    pub id: String,
    pub criteria: Criteria,
    pub conditions: Conditions,
    pub endpoint: Endpoint,
    pub timeout: Duration,
    /// Whether a webhook that cannot be asked has agreed.
    pub fails_open: bool,
    /// Whether asking leaves no trace, as a dry run must not.
    pub allows_dry_run: bool,
    /// Whether it wants to see what later ones changed.
    pub reinvoked: bool,
    /// The first version it names that is known here.
    pub(super) review_version: Option<ReviewVersion>,
}

/// The webhooks of all configurations of one kind, in the order they are called.
pub(crate) struct Configurations {
    collection: Collection,
    compiled: RwLock<(u64, Arc<[Webhook]>)>,
}

impl Configurations {
    pub(super) fn new(plural: &str) -> Self {
        Self {
            collection: Collection::new("admissionregistration.k8s.io", plural),
            compiled: RwLock::new((0, Arc::new([]))),
        }
    }

    pub(super) fn webhooks(&self, store: &Store) -> Arc<[Webhook]> {
        let revision = store.last_change(&self.collection);
        {
            let compiled = self.compiled.read();
            if compiled.0 >= revision {
                return compiled.1.clone();
            }
        }
        let fresh: Arc<[Webhook]> = self.compile(store).into();
        let mut compiled = self.compiled.write();
        // Somebody else may have read a newer state in the meantime.
        if compiled.0 < revision {
            *compiled = (revision, fresh.clone());
        }
        fresh
    }

    /// Configurations are called by name, the webhooks of one as they are listed in it.
    fn compile(&self, store: &Store) -> Vec<Webhook> {
        let stored = store.list(&self.collection, None, None, None).items;
        let configurations = stored.iter().filter_map(|stored| object::readable(stored));
        configurations
            .flat_map(|configuration| webhooks_of(&configuration))
            .collect()
    }
}

fn webhooks_of(configuration: &Value) -> Vec<Webhook> {
    let name = object::name(configuration);
    let hooks = kinds::read::list(configuration, "webhooks").iter().enumerate();
    hooks
        .map(|(index, hook)| Webhook::read(hook, format!("{name}/{index}")))
        .collect()
}

impl Webhook {
    fn read(hook: &Value, id: String) -> Self {
        let seconds = kinds::read::int(hook, "timeoutSeconds").unwrap_or(DEFAULT_TIMEOUT);
        let environment = Environment::new().with_authorizer(true);
        Self {
            name: kinds::read::text(hook, "name").to_owned(),
            id,
            criteria: Criteria::of_webhook(hook),
            conditions: Conditions::compile(&environment, kinds::read::list(hook, "matchConditions")),
            endpoint: Endpoint::read(kinds::read::get(hook, "clientConfig")),
            timeout: Duration::from_secs(seconds.unsigned_abs()),
            fails_open: kinds::read::text(hook, "failurePolicy") == "Ignore",
            allows_dry_run: matches!(kinds::read::text(hook, "sideEffects"), "None" | "NoneOnDryRun"),
            reinvoked: kinds::read::text(hook, "reinvocationPolicy") == "IfNeeded",
            review_version: review_version(kinds::read::list(hook, "admissionReviewVersions")),
        }
    }
}

fn review_version(versions: &[Value]) -> Option<ReviewVersion> {
    versions.iter().find_map(|version| match version.as_str()? {
        "v1" => Some(ReviewVersion::V1),
        "v1beta1" => Some(ReviewVersion::V1Beta1),
        _ => None,
    })
}
