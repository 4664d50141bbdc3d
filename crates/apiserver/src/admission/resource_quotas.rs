//! Resource quotas: a write that would use more than the namespace may is refused, and one that is
//! let through is counted at once, so that two at the same time cannot both take the last place.

use std::{hash::BuildHasher as _, sync::Arc};

use kinds::quota::{self, Change, Charge};
use serde_json::Value;
use store::{Collection, WriteError};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::Operation;
use crate::{
    call::Call,
    error::{ApiError, Result},
    object,
    writes::Writer,
};

/// Keeps the writes of a namespace with quotas, from being counted to being stored, apart from each
/// other and from the controller that counts anew. A few locks serve all namespaces.
pub(crate) struct Turns {
    hasher: std::hash::RandomState,
    locks: [Arc<Mutex<()>>; 16],
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self {
            hasher: std::hash::RandomState::new(),
            locks: std::array::from_fn(|_| Arc::default()),
        }
    }

    /// Waits until no counted write of the namespace is under way.
    pub(crate) async fn take(&self, namespace: &str) -> Turn {
        let index = self.hasher.hash_one(namespace) as usize % self.locks.len();
        Turn(Some(self.locks[index].clone().lock_owned().await))
    }
}

/// Held from counting a write to storing it; empty where nothing is counted.
#[must_use]
#[derive(Default)]
pub(crate) struct Turn(#[expect(dead_code, reason = "held for its drop")] Option<OwnedMutexGuard<()>>);

pub(crate) async fn charge(
    writer: &Writer<'_>,
    operation: Operation,
    object: &Value,
    old: Option<&Value>,
) -> Result<Turn> {
    let call = writer.call;
    let operation = match (operation, old) {
        (Operation::Delete, _) => return Ok(Turn::default()),
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
        return Ok(Turn::default());
    }
    let collection = Collection::new("", "resourcequotas");
    if call
        .api
        .store
        .list(&collection, call.namespace(), None, Some(1))
        .items
        .is_empty()
    {
        return Ok(Turn::default());
    }
    let turn = call.api.quota_turns.take(call.key_namespace()).await;
    loop {
        let stored = call
            .api
            .store
            .list(&collection, call.namespace(), None, None)
            .items;
        let quotas = stored.iter().map(|stored| object::parse(stored));
        let quotas = quotas.collect::<Result<Vec<Value>>>()?;
        let charges = quota::check(&quotas, &change).map_err(|error| {
            ApiError::forbidden(call.kind.qualified(), object::name(object), &error.to_string())
        })?;
        if writer.options.dry_run || charges.is_empty() {
            return Ok(turn);
        }
        if record(call, &collection, &stored, &quotas, charges).await? {
            return Ok(turn);
        }
    }
}

/// Stores what the quotas count now; false when one of them changed meanwhile.
async fn record(
    call: &Call,
    collection: &Collection,
    stored: &[Arc<store::Object>],
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
            Err(error) => return Err(ApiError::not_stored(&error)),
        }
    }
    Ok(true)
}
