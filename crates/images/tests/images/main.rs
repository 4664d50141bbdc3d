//! Made-up images, imported and unpacked. As root everything runs a second time as an ordinary user.

#![expect(clippy::unwrap_used, reason = "the parts shared by tests are tests, too")]

mod made;

mod importing;
mod ordinary_user;
mod removing;
mod unpacking;
