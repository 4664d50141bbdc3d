//! Custom resource definitions: which names they get, when they are served, and how they end.

use std::sync::Arc;

use crate::api::Api;

pub fn load(_api: &Arc<Api>) {}

pub async fn run(api: Arc<Api>) {
    api.stopping().await;
}
