//! The system calls that neither the standard library nor `nix` offer safely. All `unsafe` code of
//! the workspace is below this module, each use with the reason why it is sound.
#![expect(unsafe_code, reason = "raw system calls; see each use")]

mod code;
mod descriptors;
mod interfaces;
mod mounts;
mod overlay;
mod processes;
mod terminals;

pub(crate) use code::forget_code;
pub(crate) use descriptors::{
    close_all, close_all_above_stderr, receive_with_descriptors, send_with_descriptors, watch,
};
pub(crate) use interfaces::bring_loopback_up;
pub(crate) use mounts::restrict_below;
pub(crate) use overlay::{OverlayTrial, try_overlay};
pub(crate) use processes::{fork, install_filter, reset_signals, set_domain_name, try_unshare};
pub(crate) use terminals::{Terminal, open_terminal, set_controlling_terminal, set_window_size};
