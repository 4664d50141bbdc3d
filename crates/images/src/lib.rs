//! OCI images on one machine.
//!
//! [`Store`] is a folder of images. [`Store::import`] fills it from files, [`Store::pull`] from
//! registries with the credentials of a [`Keyring`]; [`Store::find`] gives an
//! [`Image`] by its [`Reference`], with the folders overlayfs mounts, top first, and the [`Config`] that
//! says what runs in it ([`argv`], [`Image::user`]). [`Store::lease`] keeps the layers of a running
//! container, whatever becomes of the image's names. Several processes may use one store at once.
//!
//! [`policy`] decides whether to pull and has the kubelet's reasons and words for what comes of it. An
//! image is never replaced by anything else: without it a container waits, and says why.
//!
//! Removed files of lower layers are character devices with the numbers 0 and 0, as overlayfs wants
//! them with and without root; there are no opaque folders and no attributes of overlayfs in layers.

mod assemble;
mod compression;
mod config;
mod credentials;
mod digest;
mod image;
mod import;
mod manifest;
mod platform;
pub mod policy;
mod progress;
mod pull;
mod reference;
mod registry;
mod store;
mod unpack;

pub use self::{
    assemble::AssembleError,
    config::{Config, Defaults, RootFs, User, UserError, UserFiles, argv},
    credentials::{Credential, Keyring, SecretError},
    digest::{Digest, DigestError},
    image::{AccountError, Image},
    import::ImportError,
    manifest::ManifestError,
    platform::Platform,
    progress::{Progress, Report, Reporter, Step},
    pull::{Cause, PullError},
    reference::{InvalidName, NameProblem, Reference},
    registry::RegistryError,
    store::{Lease, Options, Removed, Store, StoreError},
    unpack::{EntryError, Limits, Ownership, UnpackError},
};
