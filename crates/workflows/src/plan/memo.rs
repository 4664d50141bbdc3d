//! Results that are remembered from one workflow to the next.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Memory,
    execute::Use,
    walk::{Halt, Walk},
};
use crate::{
    duration,
    model::Template,
    node::{MemoizationStatus, Node, NodeOutputs, NodeType, Phase},
};

/// An entry of a cache, as Argo writes it.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Entry {
    #[serde(rename = "nodeID")]
    node_id: String,
    outputs: Option<NodeOutputs>,
    creation_timestamp: Option<Timestamp>,
    last_hit_timestamp: Option<Timestamp>,
}

impl Walk<'_> {
    /// Whether the node is done, because its result is known from before.
    pub(super) fn recall(&mut self, used: &Use<'_>) -> Result<bool, Halt> {
        let Some(memoize) = &used.template.memoize else {
            return Ok(false);
        };
        // What has begun goes on, whatever others have found out since.
        let has_begun = |node: &Node| {
            node.memoization_status.is_some()
                || node.phase != Phase::Pending
                || self.pods.contains_key(node.id.as_str())
        };
        if self.node(used.name).is_some_and(has_begun) || self.has_strays(used.name) {
            return Ok(false);
        }
        if memoize.key.is_empty() {
            return Err(Halt::Broken("memoize.key is empty".to_owned()));
        }
        let cache = memoize.cache.config_map.name.clone();
        let namespace = self.namespace.clone();
        let found = self.config_map(&namespace, &cache)?.unwrap_or_default();
        let entry = match found.get(&memoize.key) {
            None => None,
            Some(text) => Some(serde_json::from_str::<Entry>(text).map_err(|error| {
                Halt::Broken(format!(
                    "ConfigMap {cache} has no entry of a cache under {}: {error}",
                    memoize.key
                ))
            })?),
        };
        let mut is_hit = entry.as_ref().is_some_and(|entry| !entry.node_id.is_empty());
        if !memoize.max_age.is_empty() {
            let longest =
                duration::parse(&memoize.max_age).map_err(|error| format!("invalid maxAge: {error}"))?;
            let created = entry.as_ref().and_then(|entry| entry.creation_timestamp);
            let age = created.map_or(0, |created| self.now.as_second() - created.as_second());
            is_hit &= u64::try_from(age).unwrap_or_default() <= longest.as_secs();
        }
        let status = MemoizationStatus {
            hit: is_hit,
            key: memoize.key.clone(),
            cache_name: cache,
        };
        if self.node(used.name).is_none() {
            let kind = match used.template.kind() {
                Some(crate::model::TemplateType::Steps) => NodeType::Steps,
                Some(crate::model::TemplateType::Dag) => NodeType::Dag,
                _ if is_hit => NodeType::Pod,
                // It becomes what it is when it begins.
                _ => return Ok(false),
            };
            self.add_node(used.new_node(kind, Phase::Running));
        }
        let outputs = entry.and_then(|entry| entry.outputs);
        if let Some(node) = self.node_mut(used.name) {
            node.memoization_status = Some(status);
            if is_hit {
                node.outputs.clone_from(&outputs);
            }
        }
        if is_hit {
            self.mark(used.name, Phase::Succeeded, None);
            if let Some(outputs) = outputs {
                self.publish(&outputs);
            }
        }
        Ok(is_hit)
    }

    /// Notes what is to be remembered of a node that has succeeded.
    pub(super) fn remember(&mut self, name: &str) {
        let Some(node) = self.node(name).cloned() else {
            return;
        };
        let memo = node.memoization_status.as_ref().filter(|memo| !memo.hit);
        let Some(memo) = memo.filter(|_| node.phase == Phase::Succeeded).cloned() else {
            return;
        };
        let entry = Entry {
            node_id: node.id.clone(),
            outputs: node.outputs.clone(),
            creation_timestamp: Some(self.now),
            last_hit_timestamp: Some(self.now),
        };
        self.plan.remember.push(Memory {
            config_map: memo.cache_name,
            key: memo.key,
            entry: json!(entry),
        });
    }

    /// The same for a pod, which becomes what it is only when it begins.
    pub(super) fn remember_pod(&mut self, name: &str, template: &Template) {
        let Some(node) = self.node_mut(name) else { return };
        if node.phase != Phase::Succeeded || node.r#type != NodeType::Pod {
            return;
        }
        if let (None, Some(memoize)) = (&node.memoization_status, &template.memoize) {
            node.memoization_status = Some(MemoizationStatus {
                hit: false,
                key: memoize.key.clone(),
                cache_name: memoize.cache.config_map.name.clone(),
            });
        }
        self.remember(name);
    }
}
