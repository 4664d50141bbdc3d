//! Pods as users run them: the real program, its API, and real processes. Everything is done twice, as
//! root and as an ordinary user, where the tests run as root.

mod cluster;
mod ending;
mod leftovers;
mod restarts;
mod running;
mod survival;
