//! Custom resources: what their schemas say and what follows from it. Pruning, defaulting,
//! validation, CEL rules, the CustomResourceDefinition itself and its OpenAPI form. Pure functions
//! over JSON values; serving and storing the objects is the API server's work.

pub mod cel;
pub mod crd;
mod default;
mod golang;
mod metadata;
pub mod openapi;
mod prune;
mod structural;
mod trail;
mod validate;

pub use default::{default, drop_nulls};
pub use prune::{coerce, prune};
pub use structural::{Place, Structural};
pub use validate::{validate, validate_status_update, validate_update};
