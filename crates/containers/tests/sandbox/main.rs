//! Real sandboxes with real processes, in the strongest tier this user has. As root everything runs
//! a second time as an ordinary user.

#![expect(clippy::unwrap_used, reason = "the parts shared by tests are tests, too")]
#![expect(clippy::print_stdout, reason = "what was skipped and measured is said")]

mod pod;

mod administrators;
mod adoption;
mod cleaning;
mod execution;
mod isolation;
mod limits;
mod lives;
mod ordinary_user;
mod plain_processes;
mod secrecy;
mod speed;
