//! Replacing an object, and the compare-and-swap loop every change goes through.

use http::StatusCode;
use manifests::field::{FieldError, Path};
use serde_json::Value;
use store::WriteError;

use super::{Outcome, Writer, create, options::WriteOptions, typed};
use crate::{
    admission::{self, Operation},
    allocation,
    call::Call,
    conversion,
    error::{ApiError, Result},
    object, ownership,
    response::Answer,
    stamps,
};

/// How often a change without a resourceVersion is made again after losing a race.
const ATTEMPTS: usize = 100;

/// The part of an object an endpoint may change.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Main,
    Status,
    /// The size, of which the endpoint makes a whole object.
    Scale,
    Special(Special),
}

/// A subresource with rules of its own.
#[derive(Clone, Copy)]
pub(crate) struct Special {
    pub(crate) name: &'static str,
    /// Carries over from the old object what may not be changed here.
    pub(crate) prepare: fn(&mut Value, &Value),
    /// What is wrong with the new object, given the old one.
    pub(crate) validate: fn(&Value, &Value, &mut Vec<FieldError>),
    /// Whether a change to the specification is one of its users, which the generation counts.
    pub(crate) is_counted: bool,
}

impl Special {
    /// One whose callers see to everything.
    pub(crate) const fn unchecked(name: &'static str) -> Self {
        Self {
            name,
            prepare: |_, _| {},
            validate: |_, _, _| {},
            is_counted: false,
        }
    }
}

impl Part {
    pub(crate) fn subresource(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Special(special) => special.name,
        }
    }
}

pub(crate) async fn update(call: &Call, part: Part, bytes: &[u8]) -> Result<Answer> {
    let options = WriteOptions::read(&call.query, "UpdateOptions")?;
    let mut writer = Writer::new(call, options);
    let mut object = writer.read_object(bytes)?;
    check_name(call, &object)?;
    typed::settle_namespace(&call.kind, call.key_namespace(), &mut object)?;
    if matches!(part, Part::Main) && call.kind.allows_create_on_update() && current(call).is_none() {
        let outcome = create::create_object(&mut writer, object, create::Recorded::NotYet).await?;
        return writer.answer(StatusCode::CREATED, outcome);
    }
    let outcome = change(&mut writer, part, Operation::Update, |_, _| Ok(object.clone())).await?;
    writer.answer(StatusCode::OK, outcome)
}

/// The name in the body must be the one in the path.
pub(super) fn check_name(call: &Call, object: &Value) -> Result<()> {
    let sent = object::name(object);
    if sent == call.target.name {
        return Ok(());
    }
    Err(ApiError::bad_request(if sent.is_empty() {
        format!(
            "the name of the object ({} based on URL) was undeterminable: name must be provided",
            call.target.name
        )
    } else {
        format!(
            "the name of the object ({sent}) does not match the name on the URL ({})",
            call.target.name
        )
    }))
}

fn current(call: &Call) -> Option<std::sync::Arc<store::Object>> {
    call.api
        .store
        .get(&call.kind.collection, call.key_namespace(), &call.target.name)
}

/// Changes an object: reads it, lets `make` say what it should become, admits and validates that, and
/// stores it if nobody was faster. A change that names a resourceVersion gets one attempt.
pub(crate) async fn change(
    writer: &mut Writer<'_>,
    part: Part,
    operation: Operation,
    mut make: impl FnMut(&mut Writer<'_>, &Value) -> Result<Value>,
) -> Result<Outcome> {
    let call = writer.call;
    let kind = &call.kind;
    for attempt in 1.. {
        let stored = current(call).ok_or_else(|| ApiError::not_found(kind.qualified(), &call.target.name))?;
        let shown = conversion::shown_one(&call.api, kind, stored.clone()).await?;
        let old = object::parse(&shown)?;
        let new = make(writer, &old)?;
        let pinned = check_preconditions(writer, &old, &new)?;
        let (mut new, taken) = complete(writer, part, operation, new, &old).await?;
        let turn = admission::validate(writer, operation, Some(&new), Some(&old)).await?;
        manifests::apply::restore_times(&old, &mut new);
        if new == old {
            return Ok(Outcome::Stored(shown));
        }
        if writer.options.dry_run {
            let new = conversion::as_if_stored(&call.api, kind, new).await?;
            return Ok(Outcome::DryRun(new));
        }
        let result = store(call, &stored, new).await?;
        drop(turn);
        match result {
            Ok(outcome) => {
                taken.keep();
                if let Outcome::Deleted(last) = &outcome {
                    allocation::release(&call.api, kind, last);
                }
                return outcome.shown(call).await;
            }
            Err(WriteError::Conflict { .. } | WriteError::NotFound) if !pinned && attempt < ATTEMPTS => {}
            Err(WriteError::Conflict { .. } | WriteError::NotFound) => {
                return Err(ApiError::stale(kind.qualified(), &call.target.name));
            }
            Err(error) => return Err(ApiError::not_stored(&error)),
        }
    }
    unreachable!("the loop above returns")
}

/// What is asked for, with everything that the server and its plug-ins add to it; valid as far as its
/// kind can tell.
async fn complete(
    writer: &mut Writer<'_>,
    part: Part,
    operation: Operation,
    mut new: Value,
    old: &Value,
) -> Result<(Value, allocation::Taken)> {
    let call = writer.call;
    let kind = &call.kind;
    keep_system_metadata(&mut new, old);
    if !ownership::already_recorded(operation, part) {
        ownership::record_write(writer, Some(old), &mut new, part.subresource());
    }
    admission::mutate(writer, operation, &mut new, Some(old)).await?;
    typed::settle_namespace(kind, call.key_namespace(), &mut new)?;
    let taken = match part {
        Part::Main => allocation::allocate(&call.api, kind, &mut new, Some(old))?,
        _ => allocation::Taken::default(),
    };
    prepare(writer, part, &mut new, old);
    stamps::on_update(writer, &mut new, old);
    kind.complete(&mut new);
    validate(writer, part, &new, old)?;
    Ok((new, taken))
}

/// Replaces what is stored, or removes it where nothing holds it any longer. The inner result is what
/// the store says.
async fn store(call: &Call, stored: &store::Object, new: Value) -> Result<Result<Outcome, WriteError>> {
    let kind = &call.kind;
    let gone = object::is_deleting(&new)
        && !object::has_finalizers(&new)
        && !awaits_grace(&new)
        && !crate::namespaces::awaits_finalizers(kind, &new);
    if gone {
        return Ok(store_deletion(call, stored, &new).await);
    }
    let body = object::encode(&conversion::to_stored(&call.api, kind, new).await?);
    let (key, revision) = (stored.key().clone(), stored.revision());
    let updated = call.api.store.update(&kind.collection, key, revision, body).await;
    Ok(updated.map(Outcome::Stored))
}

/// The last finalizer is gone: so is the object.
async fn store_deletion(call: &Call, stored: &store::Object, new: &Value) -> Result<Outcome, WriteError> {
    let deleted = call
        .api
        .store
        .delete(
            &call.kind.collection,
            stored.key().clone(),
            Some(stored.revision()),
        )
        .await?;
    let mut last = new.clone();
    object::set_meta(
        &mut last,
        "resourceVersion",
        Some(deleted.revision().to_string().into()),
    );
    Ok(Outcome::Deleted(last))
}

/// Whether a deletion still waits for its grace period (and so for the node that runs the pod).
pub(crate) fn awaits_grace(object: &Value) -> bool {
    object
        .pointer("/metadata/deletionGracePeriodSeconds")
        .and_then(Value::as_i64)
        .unwrap_or_default()
        > 0
}

/// Checks what the new object says about the old one; true when it names its resourceVersion.
fn check_preconditions(writer: &Writer<'_>, old: &Value, new: &Value) -> Result<bool> {
    let call = writer.call;
    let kind = &call.kind;
    let sent = object::resource_version(new);
    if sent.is_empty() || sent == "0" {
        if !kind.allows_unconditional_update() && matches!(call.target.verb, "update") {
            // The real server says the resource here, where it otherwise says the kind.
            return Err(ApiError::invalid(
                &kind.group,
                &kind.plural,
                &call.target.name,
                &[FieldError::invalid(
                    &Path::new("metadata").child("resourceVersion"),
                    &serde_json::json!(0),
                    "must be specified for an update",
                )],
            ));
        }
    } else if sent != object::resource_version(old) {
        return Err(ApiError::stale(kind.qualified(), &call.target.name));
    }
    let sent_uid = object::uid(new);
    // What a patch makes of the identity is left to validation.
    if call.target.verb == "update" && !sent_uid.is_empty() && sent_uid != object::uid(old) {
        return Err(ApiError::conflict(
            kind.qualified(),
            &call.target.name,
            &format!(
                "StorageError: invalid object, Code: 4, Key: /registry/{}/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {sent_uid}, UID in object meta: {}",
                kind.plural,
                call.key_namespace(),
                call.target.name,
                object::uid(old)
            ),
        ));
    }
    // Patches carry the version they were made from: only a client's own PUT insists on it.
    Ok(call.target.verb == "update" && call.target.subresource != "scale" && !sent.is_empty() && sent != "0")
}

/// Metadata that a client may leave out, and the one number it has no say in. What it sends otherwise
/// is compared by validation.
fn keep_system_metadata(new: &mut Value, old: &Value) {
    // Whatever a client says about these is passed over, not refused.
    object::copy_meta(new, old, "creationTimestamp");
    if !object::meta_text(old, "deletionTimestamp").is_empty() {
        object::copy_meta(new, old, "deletionTimestamp");
    }
    for field in [
        "uid",
        "resourceVersion",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        if object::meta_mut(new)
            .get(field)
            .is_none_or(|value| value.is_null() || value == "" || value == "0")
        {
            object::copy_meta(new, old, field);
        }
    }
    object::copy_meta(new, old, "generation");
    object::set_meta(new, "selfLink", None);
}

fn prepare(writer: &Writer<'_>, part: Part, new: &mut Value, old: &Value) {
    let kind = &writer.call.kind;
    kind.prepare_for_update(part, new, old);
    let counted = spec_changed(kind, new, old)
        // A deployment's annotations belong to its revisions.
        || (kind.is("apps", "Deployment") && new.pointer("/metadata/annotations") != old.pointer("/metadata/annotations"));
    let may_count = match part {
        Part::Status => false,
        Part::Special(special) => special.is_counted,
        Part::Main | Part::Scale => true,
    };
    if kind.tracks_generation() && may_count && counted {
        object::set_meta(new, "generation", Some((object::generation(old) + 1).into()));
    }
}

/// Whether anything but metadata and (where it is a part of its own) status differs.
fn spec_changed(kind: &crate::kind::Kind, new: &Value, old: &Value) -> bool {
    let (Some(new), Some(old)) = (new.as_object(), old.as_object()) else {
        return true;
    };
    let has_status = kind.subresource("status").is_some() || !kind.is_custom();
    let counted = |key: &str| match key {
        "metadata" | "kind" | "apiVersion" => false,
        "status" => !has_status,
        _ => true,
    };
    new.iter()
        .filter(|(key, _)| counted(key))
        .any(|(key, value)| old.get(key) != Some(value))
        || old
            .keys()
            .filter(|key| counted(key))
            .any(|key| !new.contains_key(key))
}

fn validate(writer: &mut Writer<'_>, part: Part, new: &Value, old: &Value) -> Result<()> {
    let kind = &writer.call.kind;
    let (errors, warnings) = kind.validate_update(part, new, old);
    if !errors.is_empty() {
        return Err(kind.invalid(new, &errors));
    }
    writer.warn(warnings);
    Ok(())
}
