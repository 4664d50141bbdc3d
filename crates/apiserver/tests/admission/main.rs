//! Admission by the cluster's own webhooks and policies, over the network: an API server and a
//! webhook in this process, both with TLS.

mod cluster;
mod hook;
mod policies;
mod webhooks;
