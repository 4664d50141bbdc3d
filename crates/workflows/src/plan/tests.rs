//! Workflows played to their end on a cluster that only seems to run pods.

mod again;
mod cluster;
mod graphs;
mod heirs;
mod limits;
mod locks;
mod others;
mod random;
mod stories;

use cluster::Cluster;
