//! Volumes whose files come from the API: config maps, secrets, the pod itself, tokens.

mod content;
mod folder;

pub use content::{File, TokenRequest, Unavailable, VolumeSources, files, tokens};
pub use folder::{WriteError, write};
