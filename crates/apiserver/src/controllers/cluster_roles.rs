//! Cluster roles that collect the rules of others by label.

use std::sync::Arc;

use manifests::labels::Selector;
use serde_json::Value;
use store::Collection;

use super::feed::Feed;
use crate::{api::Api, internal, object, writes::update::Part};

const NAME: &str = "clusterrole-aggregation-controller";

pub(crate) async fn run(api: Arc<Api>) {
    let mut roles = Feed::new(
        &api.store,
        &Collection::new("rbac.authorization.k8s.io", "clusterroles"),
    );
    while roles.next().await.is_some() {
        aggregate(&api).await;
    }
}

async fn aggregate(api: &Arc<Api>) {
    let Some(kind) = api
        .registry
        .snapshot()
        .get("rbac.authorization.k8s.io", "v1", "clusterroles")
        .cloned()
    else {
        return;
    };
    let all: Vec<Value> = api
        .store
        .list(&kind.collection, None, None, None)
        .items
        .iter()
        .filter_map(|stored| object::readable(stored))
        .collect();
    for role in all
        .iter()
        .filter(|role| kinds::read::has(role, "aggregationRule"))
    {
        let rules = collected(role, &all);
        if kinds::read::list(role, "rules") == rules {
            continue;
        }
        let changed = internal::change(api, &kind, NAME, Part::Main, "", object::name(role), |old| {
            let mut new = old.clone();
            new["rules"] = Value::Array(rules.clone());
            new
        });
        if let Err(error) = changed.await {
            tracing::debug!(role = object::name(role), error = %error.message, "cannot aggregate");
        }
    }
}

/// The rules of every role the selectors find, each once, in the order of the roles' names.
fn collected(role: &Value, all: &[Value]) -> Vec<Value> {
    let selectors: Vec<Selector> = kinds::read::list(&role["aggregationRule"], "clusterRoleSelectors")
        .iter()
        .filter_map(|selector| Selector::from_object(selector).ok())
        .collect();
    let mut rules: Vec<Value> = Vec::new();
    for other in all
        .iter()
        .filter(|other| object::name(other) != object::name(role))
    {
        let labels = other.pointer("/metadata/labels").and_then(Value::as_object);
        if selectors.iter().any(|selector| selector.matches(labels)) {
            for rule in kinds::read::list(other, "rules") {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    rules
}
