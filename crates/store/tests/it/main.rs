//! The store through its public face: real files, real kills, real damage.

mod crash;
mod damage;
mod full_disk;
mod model;
mod opening;
mod reading;
mod samples;
mod watching;
mod writing;
