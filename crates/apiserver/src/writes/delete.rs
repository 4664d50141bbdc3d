//! Deleting an object: at once, after a grace period, or when its finalizers and dependents are gone.

use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use manifests::field::{FieldError, Path};
use serde_json::{Value, json};
use store::WriteError;

use super::{Outcome, Writer, options, timestamp};
use crate::{
    admission::{self, Operation},
    body,
    call::Call,
    conversion,
    error::{ApiError, Result},
    kind::Kind,
    negotiate, object,
    query::Query,
    response::{self, Answer},
};

pub(crate) const ORPHAN: &str = "orphan";
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// What happens to the objects that name this one as their owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Orphan,
    Background,
    Foreground,
}

/// How an object is to be deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeleteOptions {
    pub grace: Option<i64>,
    pub propagation: Option<Propagation>,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
    pub dry_run: bool,
    /// `orphanDependents: false`, the old spelling, is answered with 202.
    pub legacy_background: bool,
}

impl DeleteOptions {
    /// Options come in the body or, from some clients, as query parameters.
    pub(crate) fn read(query: &Query, content_type: &str, bytes: &[u8]) -> Result<Self> {
        let mut body = body::decode_options(content_type, bytes, "DeleteOptions")?;
        if body.as_object().is_some_and(serde_json::Map::is_empty) {
            body = options_from_query(query)?;
        }
        Self::from_value(&body)
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self> {
        let mut errors = Vec::new();
        let dry_run = options::dry_run(
            kinds::read::list(value, "dryRun")
                .iter()
                .filter_map(Value::as_str),
            &mut errors,
        );
        let path = Path::new("propagationPolicy");
        let orphan = value.get("orphanDependents").and_then(Value::as_bool);
        let propagation = match value.get("propagationPolicy").and_then(Value::as_str) {
            None => orphan.map(|orphan| {
                if orphan {
                    Propagation::Orphan
                } else {
                    Propagation::Background
                }
            }),
            Some(_) if orphan.is_some() => {
                errors.push(FieldError::invalid(
                    &path,
                    &value["propagationPolicy"],
                    "orphanDependents and deletionPropagation cannot be both set",
                ));
                None
            }
            Some("Orphan") => Some(Propagation::Orphan),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some(other) => {
                errors.push(FieldError::not_supported(
                    &path,
                    &json!(other),
                    &["Foreground", "Background", "Orphan", "nil"],
                ));
                None
            }
        };
        if !errors.is_empty() {
            return Err(ApiError::invalid("meta.k8s.io", "DeleteOptions", "", &errors));
        }
        let precondition = |name: &str| {
            value
                .pointer(&format!("/preconditions/{name}"))
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        Ok(Self {
            grace: value
                .get("gracePeriodSeconds")
                .and_then(Value::as_i64)
                .map(|grace| if grace < 0 { 1 } else { grace }),
            propagation,
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
            dry_run,
            legacy_background: orphan == Some(false),
        })
    }
}

impl DeleteOptions {
    /// The options as an object, as admission is told them.
    pub(crate) fn to_value(&self) -> Value {
        let mut options = json!({});
        if let Some(grace) = self.grace {
            options["gracePeriodSeconds"] = grace.into();
        }
        match self.propagation {
            Some(Propagation::Background) if self.legacy_background => {
                options["orphanDependents"] = false.into();
            }
            Some(propagation) => options["propagationPolicy"] = propagation.name().into(),
            None => {}
        }
        for (field, text) in [("uid", &self.uid), ("resourceVersion", &self.resource_version)] {
            if let Some(text) = text {
                options["preconditions"][field] = text.as_str().into();
            }
        }
        if self.dry_run {
            options["dryRun"] = json!(["All"]);
        }
        options
    }
}

impl Propagation {
    fn name(self) -> &'static str {
        match self {
            Self::Orphan => "Orphan",
            Self::Background => "Background",
            Self::Foreground => "Foreground",
        }
    }
}

fn options_from_query(query: &Query) -> Result<Value> {
    let mut options = json!({});
    if let Some(grace) = query.int("gracePeriodSeconds")? {
        options["gracePeriodSeconds"] = grace.into();
    }
    if let Some(policy) = query.text("propagationPolicy") {
        options["propagationPolicy"] = policy.into();
    }
    if let Some(orphan) = query.optional_flag("orphanDependents") {
        options["orphanDependents"] = orphan.into();
    }
    let dry_run: Vec<&str> = query.all("dryRun").collect();
    if !dry_run.is_empty() {
        options["dryRun"] = json!(dry_run);
    }
    Ok(options)
}

pub(crate) async fn delete(call: &Call, bytes: &[u8]) -> Result<Answer> {
    let delete_options = DeleteOptions::read(&call.query, negotiate::content_type(&call.headers), bytes)?;
    let mut writer = Writer::new(
        call,
        options::WriteOptions {
            dry_run: delete_options.dry_run,
            ..options::WriteOptions::default()
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
            let mut answer =
                response::value(StatusCode::OK, call.representation, &success(&call.kind, &last));
            response::add_warnings(&mut answer, &writer.warnings);
            Ok(answer)
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
        let old = kind.read(&shown);
        check_preconditions(kind, name, &old, options)?;
        drop(admission::validate(writer, Operation::Delete, None, Some(&old)).await?);
        let step = plan(kind, &old, options, writer.now);
        if options.dry_run {
            return Ok(match step {
                Step::Remove => Outcome::Deleted(old),
                Step::Mark(new) => Outcome::DryRun(new),
                Step::Nothing => Outcome::Stored(shown),
            });
        }
        let written = match step {
            Step::Nothing => return Ok(Outcome::Stored(shown)),
            Step::Mark(new) => {
                let body = object::encode(&conversion::to_stored(&call.api, kind, new).await?);
                call.api
                    .store
                    .update(&kind.collection, stored.key().clone(), stored.revision(), body)
                    .await
                    .map(Outcome::Stored)
            }
            Step::Remove => call
                .api
                .store
                .delete(&kind.collection, stored.key().clone(), Some(stored.revision()))
                .await
                .map(|last| Outcome::Deleted(last_state(old, &last))),
        };
        match written {
            Ok(outcome) => {
                if let Outcome::Deleted(last) = &outcome {
                    crate::allocation::release(&call.api, kind, last);
                }
                return outcome.shown(call).await;
            }
            Err(WriteError::Conflict { .. } | WriteError::NotFound) => {}
            Err(error) => return Err(ApiError::internal(error)),
        }
    }
}

/// What was deleted, at the revision of the deletion.
fn last_state(mut old: Value, deleted: &store::Object) -> Value {
    let revision = deleted.revision().to_string();
    object::set_meta(&mut old, "resourceVersion", Some(revision.into()));
    old
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

/// What a deletion does to the object now.
enum Step {
    Nothing,
    Mark(Value),
    Remove,
}

/// Decides without doing: what is left of the object after this request.
fn plan(kind: &Kind, old: &Value, options: &DeleteOptions, now: Timestamp) -> Step {
    let deleting = object::is_deleting(old);
    let mut new = old.clone();
    set_propagation_finalizers(kind, &mut new, options.propagation);
    let grace = grace_seconds(kind, old, options);
    if !deleting {
        crate::controllers::definitions::mark_terminating(kind, &mut new);
    }
    if deleting {
        return plan_again(kind, old, new, options, now);
    }
    let held = object::has_finalizers(&new) || crate::namespaces::awaits_finalizers(kind, &new);
    if grace == 0 && !held {
        return Step::Remove;
    }
    let at = now + SignedDuration::from_secs(grace);
    object::set_meta(&mut new, "deletionTimestamp", Some(timestamp(at).into()));
    object::set_meta(&mut new, "deletionGracePeriodSeconds", Some(grace.into()));
    let generation = object::generation(old);
    if generation > 0 {
        object::set_meta(&mut new, "generation", Some((generation + 1).into()));
    }
    crate::namespaces::mark_terminating(kind, &mut new);
    Step::Mark(new)
}

/// A repeated deletion may only shorten the grace period, or change what happens to dependents.
fn plan_again(kind: &Kind, old: &Value, mut new: Value, options: &DeleteOptions, now: Timestamp) -> Step {
    let pending = old
        .pointer("/metadata/deletionGracePeriodSeconds")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    let held = object::has_finalizers(&new) || crate::namespaces::awaits_finalizers(kind, &new);
    let shorter = options.grace.filter(|grace| *grace < pending);
    if pending == 0 || shorter == Some(0) {
        if !held {
            return Step::Remove;
        }
        if pending != 0 {
            object::set_meta(&mut new, "deletionGracePeriodSeconds", Some(0.into()));
            object::set_meta(&mut new, "deletionTimestamp", Some(timestamp(now).into()));
        }
    } else if let Some(grace) = shorter {
        object::set_meta(&mut new, "deletionGracePeriodSeconds", Some(grace.max(1).into()));
        let at = now + SignedDuration::from_secs(grace);
        object::set_meta(&mut new, "deletionTimestamp", Some(timestamp(at).into()));
    }
    if new == *old {
        Step::Nothing
    } else {
        Step::Mark(new)
    }
}

/// Only pods that a node may be running are stopped gracefully.
fn grace_seconds(kind: &Kind, object: &Value, options: &DeleteOptions) -> i64 {
    if !kind.is("", "Pod") {
        return 0;
    }
    let phase = object
        .pointer("/status/phase")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let node = object
        .pointer("/spec/nodeName")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if node.is_empty() || matches!(phase, "Succeeded" | "Failed") {
        return 0;
    }
    let own = object
        .pointer("/spec/terminationGracePeriodSeconds")
        .and_then(Value::as_i64);
    options
        .grace
        .or(own.map(|grace| if grace < 0 { 1 } else { grace }))
        .unwrap_or(30)
}

/// The finalizers by which the garbage collector learns what to do with dependents.
fn set_propagation_finalizers(kind: &Kind, object: &mut Value, propagation: Option<Propagation>) {
    let present = |name: &str| object::finalizers(object).any(|finalizer| finalizer == name);
    let orphans_by_default = kind.is("batch", "Job") || kind.is("", "ReplicationController");
    let (orphan, foreground) = match propagation {
        Some(Propagation::Orphan) => (true, false),
        Some(Propagation::Foreground) => (false, true),
        Some(Propagation::Background) => (false, false),
        // What an earlier request or the creator asked for stands.
        None if present(ORPHAN) || present(FOREGROUND) => (present(ORPHAN), present(FOREGROUND)),
        None => (orphans_by_default, false),
    };
    let mut finalizers: Vec<Value> = object::finalizers(object)
        .filter(|finalizer| !matches!(*finalizer, ORPHAN | FOREGROUND))
        .map(Value::from)
        .collect();
    if orphan {
        finalizers.push(ORPHAN.into());
    }
    if foreground {
        finalizers.push(FOREGROUND.into());
    }
    let value = (!finalizers.is_empty()).then_some(Value::Array(finalizers));
    object::set_meta(object, "finalizers", value);
}
