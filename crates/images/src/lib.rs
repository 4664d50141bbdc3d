//! OCI images on one machine.
//!
//! [`Store`] is a folder of images. [`Store::import`] fills it from files; [`Store::find`] gives an
//! [`Image`] by its [`Reference`], with the folders overlayfs mounts, top first, and the [`Config`] that
//! says what runs in it ([`argv`], [`Image::user`]). [`Store::lease`] keeps the layers of a running
//! container, whatever becomes of the image's names. Several processes may use one store at once.
//!
//! Removed files of lower layers are character devices with the numbers 0 and 0, as overlayfs wants
//! them with and without root; there are no opaque folders and no attributes of overlayfs in layers.

mod assemble;
mod compression;
mod config;
mod digest;
mod image;
mod import;
mod manifest;
mod platform;
mod progress;
mod reference;
mod store;
mod unpack;

pub use self::{
    assemble::AssembleError,
    config::{Config, Defaults, RootFs, User, UserError, UserFiles, argv},
    digest::{Digest, DigestError},
    image::{AccountError, Image},
    import::ImportError,
    manifest::ManifestError,
    platform::Platform,
    progress::{Progress, Report, Step},
    reference::{InvalidName, NameProblem, Reference},
    store::{Lease, Options, Removed, Store, StoreError},
    unpack::{EntryError, Limits, Ownership, UnpackError},
};
