//! Who owns which field: the bridge between writes and the managedFields rules of `manifests::apply`.

use std::sync::LazyLock;

use http::StatusCode;
use kinds::types::TypeRef;
use manifests::apply::{self, ApplyError, FieldSet, Reset, Version, Versions, Write};
use schemas::Place;
use serde_json::{Value, json};

use crate::{
    admission::Operation,
    custom::CustomVersion,
    error::{ApiError, Result},
    kind::{Definition, Kind},
    writes::{Writer, update::Part},
};

/// Whether the change recorded its own ownership: server-side apply does, and so does scaling, which
/// happens to another object.
pub(crate) fn already_recorded(operation: Operation, part: Part) -> bool {
    operation == Operation::Apply || matches!(part, Part::Scale)
}

/// Records what a create, update or patch changed. `old` is missing for a create.
pub(crate) fn record_write(writer: &Writer<'_>, old: Option<&Value>, new: &mut Value, subresource: &str) {
    let manager = writer.call.field_manager();
    let now = writer.timestamp();
    let kind = &writer.call.kind;
    match &kind.definition {
        Definition::BuiltIn(built_in) => {
            let write =
                Facts::new(kind, &manager, &now, subresource, false).write(built_in.shape, &kind.blank, &());
            apply::update(old, new, &write);
        }
        Definition::Custom(custom) => {
            let versions = ByName(custom);
            let write = Facts::new(kind, &manager, &now, subresource, false).write(
                custom.place(),
                &kind.blank,
                &versions,
            );
            apply::update(old, new, &write);
        }
    }
}

/// The object that results from applying `configuration` to `live`.
pub(crate) fn apply(
    writer: &Writer<'_>,
    live: Option<&Value>,
    configuration: &Value,
    subresource: &str,
) -> Result<Value> {
    let manager = writer.call.field_manager();
    let now = writer.timestamp();
    let kind = &writer.call.kind;
    let facts = Facts::new(kind, &manager, &now, subresource, writer.options.force);
    match &kind.definition {
        Definition::BuiltIn(built_in) => apply::apply(
            live,
            configuration,
            &facts.write(built_in.shape, &kind.blank, &()),
        ),
        Definition::Custom(custom) => apply::apply(
            live,
            configuration,
            &facts.write(custom.place(), &kind.blank, &ByName(custom)),
        ),
    }
    .map_err(|error| refused(&error))
}

/// Records in a changed scale who changed it. The record of the scale is part of its object's.
pub(crate) fn record_scaling(writer: &Writer<'_>, old: &Value, new: &mut Value) {
    with_scale_write(writer, |write| apply::update(Some(old), new, write));
}

/// The scale that results from applying `configuration` to `live`.
pub(crate) fn apply_scale(writer: &Writer<'_>, live: &Value, configuration: &Value) -> Result<Value> {
    with_scale_write(writer, |write| apply::apply(Some(live), configuration, write))
        .map_err(|error| refused(&error))
}

/// A write to a scale, which is the same type whatever it is the scale of.
fn with_scale_write<T>(writer: &Writer<'_>, then: impl FnOnce(&Write<'_, TypeRef>) -> T) -> T {
    then(&Write {
        shape: *SCALE,
        manager: &writer.call.field_manager(),
        api_version: "autoscaling/v1",
        kind: "Scale",
        subresource: "scale",
        now: &writer.timestamp(),
        force: writer.options.force,
        reset: &NOTHING,
        blank: &blank(*SCALE),
        versions: &(),
    })
}

static SCALE: LazyLock<TypeRef> = LazyLock::new(|| {
    kinds::resources::type_of("autoscaling/v1", "Scale").expect("the committed table of types has scales")
});

/// What a write is, whatever the type behind it.
#[derive(Clone, Copy)]
struct Facts<'a> {
    kind: &'a Kind,
    manager: &'a str,
    now: &'a str,
    subresource: &'a str,
    force: bool,
    reset: &'a Reset,
}

impl<'a> Facts<'a> {
    fn new(kind: &'a Kind, manager: &'a str, now: &'a str, subresource: &'a str, force: bool) -> Self {
        Self {
            kind,
            manager,
            now,
            subresource,
            force,
            reset: reset(kind, subresource),
        }
    }

    fn write<S: Copy>(self, shape: S, blank: &'a Value, versions: &'a dyn Versions<S>) -> Write<'a, S> {
        Write {
            shape,
            manager: self.manager,
            api_version: &self.kind.api_version,
            kind: &self.kind.kind,
            subresource: self.subresource,
            now: self.now,
            force: self.force,
            reset: self.reset,
            blank,
            versions,
        }
    }
}

static NOTHING: Reset = Reset::Nothing;
static STATUS: LazyLock<Reset> = LazyLock::new(|| Reset::Fields(FieldSet::of_fields(&[&["status"]])));
static SPEC: LazyLock<Reset> = LazyLock::new(|| Reset::Fields(FieldSet::of_fields(&[&["spec"]])));
static ALL_BUT_STATUS: Reset = Reset::AllBut(&[&["status"], &["metadata"]]);

/// The fields a write cannot own because its endpoint resets them.
fn reset(kind: &Kind, subresource: &str) -> &'static Reset {
    let has_status = kind.subresource("status").is_some();
    match subresource {
        "" if has_status => &STATUS,
        "status" if kind.is_custom() => &ALL_BUT_STATUS,
        "status" => &SPEC,
        _ => &NOTHING,
    }
}

/// The other versions of a custom kind, each with its own schema. What a record says of an object in
/// them is compared by name: the real server converts for it without a schema, too.
struct ByName<'a>(&'a CustomVersion);

impl<'a> Versions<Place<'a>> for ByName<'a> {
    fn version(&self, api_version: &str) -> Option<Version<'_, Place<'a>>> {
        Some(Version {
            shape: self.0.place_in(api_version)?,
            reset: &NOTHING,
        })
    }
}

fn refused(error: &ApplyError) -> ApiError {
    match error {
        ApplyError::BadRequest(message) => ApiError::bad_request(message.clone()),
        ApplyError::Conflict(conflicts) => {
            let causes: Vec<Value> = conflicts
                .iter()
                .map(|conflict| {
                    json!({ "reason": "FieldManagerConflict", "message": conflict.message(), "field": conflict.field })
                })
                .collect();
            ApiError::new(StatusCode::CONFLICT, "Conflict", error.to_string())
                .with_details(json!({ "causes": causes }))
        }
        ApplyError::Malformed(message) => {
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "", message.clone())
        }
    }
}

/// An object of a built-in type with nothing set, as the server writes it.
pub(crate) fn blank(shape: TypeRef) -> Value {
    let mut value = json!({});
    let _ = kinds::decode::normalize(shape, &mut value);
    value
}
