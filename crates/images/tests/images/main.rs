//! Made-up images, imported and unpacked. As root everything runs a second time as an ordinary user.

#![expect(clippy::unwrap_used, reason = "the parts shared by tests are tests, too")]

mod made;
mod registry;

mod crash;
mod damage;
mod importing;
mod ordinary_user;
mod pulling;
mod removing;
mod running;
mod unpacking;
