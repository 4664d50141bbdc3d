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
    node::{MemoizationStatus, NodeOutputs, NodeType, Phase},
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
        if self
            .node(used.name)
            .is_some_and(|node| node.memoization_status.is_some())
        {
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
        let template = match (&node.memoization_status, node.phase) {
            (Some(memo), Phase::Succeeded) if !memo.hit => Some(memo.clone()),
            (None, Phase::Succeeded) if node.r#type == NodeType::Pod => self.memo_of_pod(&node),
            _ => None,
        };
        let Some(memo) = template else { return };
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

    fn memo_of_pod(&mut self, node: &crate::node::Node) -> Option<MemoizationStatus> {
        let template = self.template_of(node).ok()?;
        let memoize = template.memoize?;
        let status = MemoizationStatus {
            hit: false,
            key: memoize.key,
            cache_name: memoize.cache.config_map.name,
        };
        if let Some(known) = self.node_mut(&node.name) {
            known.memoization_status = Some(status.clone());
        }
        Some(status)
    }
}
