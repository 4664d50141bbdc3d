//! Changes to packages of manifests: setters and substitutions, kustomization files, and questions about what is in
//! them. Every command is a value that is given a package as texts and says what to print and which texts to write.
//! Whatever is not asked to change stays as it is, byte for byte.

mod annotate;
mod count;
mod create;
mod create_setter;
mod create_substitution;
mod definitions;
mod delete;
pub mod document;
mod draft;
mod fields;
mod format;
mod grep;
mod init;
mod inline;
mod kpt;
mod kustomization;
mod list;
mod marker;
mod outcome;
mod package;
mod path;
mod problem;
mod required;
mod resources;
mod schema;
mod set;
mod table;
mod tree;

pub use annotate::Annotate;
pub use count::Count;
pub use create_setter::CreateSetter;
pub use create_substitution::CreateSubstitution;
pub use delete::{DeleteSetter, DeleteSubstitution};
pub use format::Format;
pub use grep::Grep;
pub use init::Init;
pub use kustomization::{Found, Generator, KustomizationEdit, MetadataField, Patch, PathField};
pub use list::{ListSetters, Listed, listed_setters};
pub use outcome::Outcome;
pub use package::Package;
pub use problem::Problem;
pub use required::unset_setters;
pub use set::Set;
pub use tree::Tree;
