//! What server-side apply does, as recorded from Kubernetes 1.34.

mod properties;
mod scenarios;
mod server;
mod types;
