//! What the black-box tests share: a server of their own, the clients they drive it with, and
//! shell sessions as test data.
//!
//! Nothing here knows the inside of Trainyard: the tests would run against any Kubernetes API, and
//! with `TRAINYARD_TESTS_AGAINST=real` they do run against the real one, where `sessions` are true
//! by definition.

#![expect(clippy::print_stdout, reason = "a test says on its output why it was skipped")]
#![expect(
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a panic is how a test fails"
)]

mod binary;
mod http;
pub mod manifests;
mod newcomer;
mod page;
mod process;
mod real;
mod receiver;
mod server;
mod session;
mod shell;
pub mod team;
mod tools;

pub use binary::binary;
pub use http::{Answer, get, get_from};
pub use newcomer::Newcomer;
pub use page::Page;
pub use process::{Output, run, text};
pub use receiver::{Call, Receiver};
pub use server::{Server, User, is_real};
pub use session::check;
pub use shell::Shell;
pub use tools::{
    Kueue, OpenMpi, Release, Tool, argo, client_go_program, environment, helm, kubectl, kueue, needed,
    on_path, openmpi, packages, prefix, python, python3, pytorch, say,
};
