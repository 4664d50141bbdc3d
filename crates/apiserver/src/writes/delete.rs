//! Deleting an object: at once, after a grace period, or when its finalizers and dependents are gone.

mod options;
mod plan;

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};
use store::WriteError;

pub(crate) use self::options::{DeleteOptions, Propagation};
use self::plan::{Step, plan};
use super::{Outcome, Writer, options::WriteOptions};
use crate::{
    admission::{self, Operation},
    call::Call,
    conversion,
    error::{ApiError, Result},
    kind::Kind,
    negotiate, object,
    response::{self, Answer},
};

pub(crate) const ORPHAN: &str = "orphan";
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

pub(crate) async fn delete(call: &Call, bytes: &[u8]) -> Result<Answer> {
    let delete_options = DeleteOptions::read(&call.query, negotiate::content_type(&call.headers), bytes)?;
    let mut writer = Writer::new(
        call,
        WriteOptions {
            dry_run: delete_options.dry_run,
            ..WriteOptions::default()
        },
    );
    if delete_options.propagation.is_none() && call.kind.is("batch", "Job") {
        writer.warn(["child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning".to_owned()]);
    }
    let outcome = delete_in(
        &mut writer,
        call.key_namespace(),
        &call.target.name,
        &delete_options,
    )
    .await?;
    match outcome {
        Outcome::Deleted(last) if !call.kind.returns_deleted_object() => {
            let success = success(&call.kind, &last);
            Ok(response::value(StatusCode::OK, call.representation, &success))
        }
        Outcome::Stored(_) if delete_options.legacy_background => {
            writer.answer(StatusCode::ACCEPTED, outcome)
        }
        other => writer.answer(StatusCode::OK, other),
    }
}

fn success(kind: &Kind, last: &Value) -> Value {
    let mut details = json!({ "name": object::name(last), "kind": kind.plural, "uid": object::uid(last) });
    if !kind.group.is_empty() {
        details["group"] = kind.group.as_ref().into();
    }
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}

/// Deletes the named object, or marks it for deletion.
pub(crate) async fn delete_in(
    writer: &mut Writer<'_>,
    namespace: &str,
    name: &str,
    options: &DeleteOptions,
) -> Result<Outcome> {
    let call = writer.call;
    let kind = &call.kind;
    writer.deletion = Some(options.clone());
    loop {
        let stored = call
            .api
            .store
            .get(&kind.collection, namespace, name)
            .ok_or_else(|| ApiError::not_found(kind.qualified(), name))?;
        let shown = conversion::shown_one(&call.api, kind, stored.clone()).await?;
        let old = object::parse(&shown)?;
        check_preconditions(kind, name, &old, options)?;
        drop(admission::validate(writer, Operation::Delete, None, Some(&old)).await?);
        let step = plan(kind, &old, options, writer.now);
        if options.dry_run {
            return Ok(match step {
                Step::Remove => Outcome::Deleted(old),
                Step::MarkAndRemove(last) => Outcome::Deleted(last),
                Step::Mark(new) => Outcome::DryRun(new),
                Step::Nothing => Outcome::Stored(shown),
            });
        }
        let step = in_stored_form(call, step).await?;
        match carry_out(call, stored, step).await {
            Ok(Left::Stored(stored)) => return Outcome::Stored(stored).shown(call).await,
            Ok(Left::Gone(last)) => {
                let last = conversion::shown_one(&call.api, kind, last).await?;
                let last = object::parse(&last)?;
                crate::allocation::release(&call.api, kind, &last);
                return Ok(Outcome::Deleted(last));
            }
            Err(WriteError::Conflict { .. } | WriteError::NotFound) => {}
            Err(error) => return Err(ApiError::not_stored(&error)),
        }
    }
}

/// The decision, with what it writes in the form the store keeps.
async fn in_stored_form(call: &Call, step: Step) -> Result<Step> {
    Ok(match step {
        Step::Mark(new) => Step::Mark(conversion::to_stored(&call.api, &call.kind, new).await?),
        Step::MarkAndRemove(new) => {
            Step::MarkAndRemove(conversion::to_stored(&call.api, &call.kind, new).await?)
        }
        other => other,
    })
}

/// What a deletion left behind.
enum Left {
    /// The object as it is stored now.
    Stored(Arc<store::Object>),
    /// The last state of an object that is gone.
    Gone(Arc<store::Object>),
}

/// Does what was decided, unless somebody changed the object in between.
async fn carry_out(call: &Call, stored: Arc<store::Object>, step: Step) -> Result<Left, WriteError> {
    let (store, collection) = (&call.api.store, &call.kind.collection);
    let (key, revision) = (stored.key().clone(), stored.revision());
    match step {
        Step::Nothing => Ok(Left::Stored(stored)),
        Step::Mark(new) => {
            let marked = store
                .update(collection, key, revision, object::encode(&new))
                .await?;
            Ok(Left::Stored(marked))
        }
        Step::MarkAndRemove(new) => {
            let last = store
                .retire(collection, key, revision, object::encode(&new))
                .await?;
            Ok(Left::Gone(last))
        }
        Step::Remove => Ok(Left::Gone(store.delete(collection, key, Some(revision)).await?)),
    }
}

fn check_preconditions(kind: &Kind, name: &str, old: &Value, options: &DeleteOptions) -> Result<()> {
    let qualified = crate::error::Qualified {
        group: &kind.group,
        name: &kind.kind,
    };
    if let Some(uid) = options.uid.as_deref().filter(|uid| *uid != object::uid(old)) {
        return Err(ApiError::conflict(
            qualified,
            name,
            &format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
                object::uid(old)
            ),
        ));
    }
    if let Some(version) = options
        .resource_version
        .as_deref()
        .filter(|v| *v != object::resource_version(old))
    {
        return Err(ApiError::conflict(
            qualified,
            name,
            &format!(
                "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). The object might have been modified",
                object::resource_version(old)
            ),
        ));
    }
    Ok(())
}
