//! Packages of manifests. [`build`] makes of a kustomization, and of what it names, the objects it stands
//! for, exactly as `kubectl kustomize` does; [`trace`] also says where all of it is written. Pure: files come
//! through [`Files`].

pub mod build;
mod files;

pub use build::{
    BuildError, Built, LoadRestrictor, Options, Place, Source, Traced, TracedObject, build, is_remote, trace,
};
pub use files::{Entry, FileError, Files, MemoryFiles};
