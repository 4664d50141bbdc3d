//! What everything else rests on comes back when somebody removes it: `kubectl delete all --all` must not
//! take the API's own Service from the pods.

use std::{net::SocketAddr, sync::Arc};

use store::Collection;

use super::feed::Feed;
use crate::{api::Api, bootstrap};

const KINDS: [(&str, &str); 3] = [
    ("", "namespaces"),
    ("", "services"),
    ("networking.k8s.io", "servicecidrs"),
];

pub(crate) async fn run(api: Arc<Api>, listen: SocketAddr) {
    let standing = bootstrap::standing(listen.port());
    let [mut namespaces, mut services, mut networks] =
        KINDS.map(|(group, plural)| Feed::new(&api.store, &Collection::new(group, plural)));
    loop {
        let change = tokio::select! {
            change = namespaces.next() => change,
            change = services.next() => change,
            change = networks.next() => change,
        };
        if change.is_none() {
            return;
        }
        // Whatever happened: to look whether all are there costs less than to find out.
        for (path, object) in &standing {
            if let Err(error) = bootstrap::ensure(&api, path, object).await {
                tracing::warn!(error = %error.message, "cannot put back what was removed");
            }
        }
    }
}
