//! The CustomResourceDefinition itself: its defaults and validation, what a server needs to serve
//! its kind ([`CustomKind`]), and the conditions that say whether its names are free.

mod columns;
mod conditions;
mod conversion;
mod custom_kind;
mod defaults;
mod internal;
mod names;
mod openapi_schema;
mod prepare;
mod props;
mod structure;
mod update;
mod validate;
mod versions;

pub use self::{
    columns::{Column, Columns},
    conditions::{Names, establish, name_conditions},
    custom_kind::{CustomKind, CustomVersion, Scale, SelectableField},
    prepare::{default, prepare_for_create, prepare_for_status_update, prepare_for_update, warnings},
    update::{validate_status_update, validate_update},
    validate::validate,
};
