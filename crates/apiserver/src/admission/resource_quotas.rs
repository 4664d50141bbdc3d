//! Resource quotas: a write that would use more than the namespace may is refused, and one that is
//! let through is counted at once, so that two at the same time cannot both take the last place.

use std::hash::BuildHasher;

use kinds::quota::{self, Change, Charge};
use serde_json::Value;
use store::{Collection, WriteError};
use tokio::sync::Mutex;

use super::Operation;
use crate::{
    call::Call,
    error::{ApiError, Result},
    object,
    writes::Writer,
};

/// Keeps the writes of one namespace from being counted at the same time. A few locks serve all
/// namespaces: two that share one only wait for each other's counting.
pub(crate) struct Turns {
    hasher: std::hash::RandomState,
    locks: [Mutex<()>; 16],
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self {
            hasher: std::hash::RandomState::new(),
            locks: std::array::from_fn(|_| Mutex::new(())),
        }
    }

    fn of(&self, namespace: &str) -> &Mutex<()> {
        &self.locks[self.hasher.hash_one(namespace) as usize % self.locks.len()]
    }
}

pub(crate) async fn charge(
    writer: &Writer<'_>,
    operation: Operation,
    object: &Value,
    old: Option<&Value>,
) -> Result<()> {
    let call = writer.call;
    let operation = match (operation, old) {
        (Operation::Delete, _) => return Ok(()),
        (Operation::Create, _) | (_, None) => quota::Operation::Create,
        (_, Some(old)) => quota::Operation::Update { old },
    };
    let change = Change {
        group: &call.kind.group,
        plural: &call.kind.plural,
        subresource: &call.target.subresource,
        operation,
        object,
        now: writer.now,
    };
    if call.key_namespace().is_empty() || !quota::is_counted(&change) {
        return Ok(());
    }
    let collection = Collection::new("", "resourcequotas");
    if call
        .api
        .store
        .list(&collection, call.namespace(), None, Some(1))
        .items
        .is_empty()
    {
        return Ok(());
    }
    let _turn = call.api.quota_turns.of(call.key_namespace()).lock().await;
    loop {
        let stored = call
            .api
            .store
            .list(&collection, call.namespace(), None, None)
            .items;
        let quotas: Vec<Value> = stored
            .iter()
            .map(|stored| serde_json::from_slice(stored.json()).unwrap_or_default())
            .collect();
        let charges = quota::check(&quotas, &change).map_err(|error| {
            ApiError::forbidden(call.kind.qualified(), object::name(object), &error.to_string())
        })?;
        if writer.options.dry_run || charges.is_empty() {
            return Ok(());
        }
        if record(call, &collection, &stored, &quotas, charges).await? {
            return Ok(());
        }
    }
}

/// Stores what the quotas count now; false when one of them changed meanwhile.
async fn record(
    call: &Call,
    collection: &Collection,
    stored: &[std::sync::Arc<store::Object>],
    quotas: &[Value],
    charges: Vec<Charge<'_>>,
) -> Result<bool> {
    for charge in charges {
        let found = stored
            .iter()
            .zip(quotas)
            .find(|(stored, _)| stored.name() == charge.quota_name);
        let Some((stored, quota)) = found else { continue };
        let mut quota = quota.clone();
        kinds::read::object_mut(&mut quota, "status")
            .insert("used".to_owned(), Value::Object(charge.new_used));
        let body = object::encode(&quota);
        match call
            .api
            .store
            .update(collection, stored.key().clone(), stored.revision(), body)
            .await
        {
            Ok(_) => {}
            Err(WriteError::Conflict { .. } | WriteError::NotFound) => return Ok(false),
            Err(error) => return Err(ApiError::internal(error)),
        }
    }
    Ok(true)
}
