//! Creating an object.

use http::StatusCode;
use serde_json::Value;
use store::{Key, WriteError};

use super::{Outcome, Writer, options::WriteOptions, typed};
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

/// How often a generated name that is taken is generated again.
const NAME_ATTEMPTS: usize = 8;

pub(crate) async fn create(call: &Call, bytes: &[u8]) -> Result<Answer> {
    let options = WriteOptions::read(&call.query, "CreateOptions")?;
    let mut writer = Writer::new(call, options);
    let object = writer.read_object(bytes)?;
    let outcome = create_object(&mut writer, object, Recorded::NotYet).await?;
    writer.answer(StatusCode::CREATED, outcome)
}

/// Whether the ownership of the object's fields still has to be recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recorded {
    Already,
    NotYet,
}

/// Creates a decoded, defaulted object. Updates and applies that may create come here too.
pub(crate) async fn create_object(
    writer: &mut Writer<'_>,
    mut object: Value,
    recorded: Recorded,
) -> Result<Outcome> {
    let call = writer.call;
    if recorded == Recorded::NotYet && !object::resource_version(&object).is_empty() {
        return Err(ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "",
            "resourceVersion should not be set on objects to be created",
        ));
    }
    typed::wipe_system_metadata(&mut object);
    typed::settle_namespace(&call.kind, call.key_namespace(), &mut object)?;
    if recorded == Recorded::NotYet {
        ownership::record_write(writer, None, &mut object, "");
    }
    // Admission may still name the object; only then is a name generated.
    admission::mutate(writer, Operation::Create, &mut object, None).await?;
    typed::settle_namespace(&call.kind, call.key_namespace(), &mut object)?;
    if !object::name(&object).is_empty() {
        return create_named(writer, object).await;
    }
    let template = object;
    for attempt in 1.. {
        let mut object = template.clone();
        set_generated_name(&mut object);
        match create_named(writer, object).await {
            Err(error) if error.reason == "AlreadyExists" && attempt < NAME_ATTEMPTS => {}
            other => return other,
        }
    }
    unreachable!("the loop above returns")
}

async fn create_named(writer: &mut Writer<'_>, mut object: Value) -> Result<Outcome> {
    let call = writer.call;
    typed::stamp_new(&mut object, &writer.timestamp());
    let taken = allocation::allocate(&call.api, &call.kind, &mut object, None)?;
    prepare(writer, &mut object);
    validate(writer, &object)?;
    let turn = admission::validate(writer, Operation::Create, Some(&object), None).await?;
    if writer.options.dry_run {
        check_absent(call, &object)?;
        let shown = conversion::as_if_stored(&call.api, &call.kind, object).await?;
        return Ok(Outcome::DryRun(shown));
    }
    let name = object::name(&object).to_owned();
    let namespace = object::namespace(&object).to_owned();
    let body = object::encode(&conversion::to_stored(&call.api, &call.kind, object).await?);
    let written = call
        .api
        .store
        .create(&call.kind.collection, Key::new(&namespace, &name), body)
        .await;
    drop(turn);
    match written {
        Ok(stored) => {
            taken.keep();
            Outcome::Stored(stored).shown(call).await
        }
        Err(WriteError::AlreadyExists { .. }) => Err(ApiError::already_exists(call.kind.qualified(), &name)),
        Err(error) => Err(ApiError::not_stored(&error)),
    }
}

fn check_absent(call: &Call, object: &Value) -> Result<()> {
    let name = object::name(object);
    match call
        .api
        .store
        .get(&call.kind.collection, object::namespace(object), name)
    {
        Some(_) => Err(ApiError::already_exists(call.kind.qualified(), name)),
        None => Ok(()),
    }
}

/// What the kind itself resets or sets on a new object.
fn prepare(writer: &mut Writer<'_>, object: &mut Value) {
    let kind = &writer.call.kind;
    kind.prepare_for_create(object);
    stamps::on_create(writer, object);
    writer.call.kind.complete_new(object);
    let kind = &writer.call.kind;
    if kind.tracks_generation() {
        object::set_meta(object, "generation", Some(1.into()));
    }
}

fn validate(writer: &mut Writer<'_>, object: &Value) -> Result<()> {
    let kind = &writer.call.kind;
    let (errors, warnings) = kind.validate_create(object);
    if !errors.is_empty() {
        return Err(kind.invalid(object, &errors));
    }
    writer.warn(warnings);
    Ok(())
}

/// `generateName` plus five characters that make no words.
fn set_generated_name(object: &mut Value) {
    const MAX_BASE: usize = 63 - 5;
    let base = object::meta_text(object, "generateName");
    if base.is_empty() {
        return;
    }
    let base: String = base.chars().take(MAX_BASE).collect();
    let name = format!("{base}{}", random_suffix());
    object::set_meta(object, "name", Some(name.into()));
}

/// Five characters without vowels and look-alikes.
pub(crate) fn random_suffix() -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let random = uuid::Uuid::new_v4();
    random
        .as_bytes()
        .iter()
        .take(5)
        .map(|byte| char::from(ALPHABET[*byte as usize % ALPHABET.len()]))
        .collect()
}
