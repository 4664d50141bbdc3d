//! The endpoints of the Service `kubernetes`: where this server is. They say so again when somebody
//! removes or changes them, and after a start at another address.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket},
    sync::Arc,
};

use serde_json::{Value, json};
use store::Collection;

use super::feed::{Change, Feed};
use crate::{api::Api, bootstrap, error::Result, internal, object, writes::update::Part};

const NAME: &str = "trainyard";
const NAMESPACE: &str = "default";
const SERVICE: &str = "kubernetes";

/// A kind of object that tells endpoints, and what it has to say.
struct Told {
    group: &'static str,
    plural: &'static str,
    path: &'static str,
    object: Value,
}

pub(crate) async fn run(api: Arc<Api>, listen: SocketAddr) {
    let Some(address) = advertised(listen.ip()) else {
        return;
    };
    let [endpoints, slice] = told(address, listen.port());
    let mut endpoints_feed = Feed::new(&api.store, &Collection::new(endpoints.group, endpoints.plural));
    let mut slices_feed = Feed::new(&api.store, &Collection::new(slice.group, slice.plural));
    for told in [&endpoints, &slice] {
        say(&api, told).await;
    }
    loop {
        let (told, change) = tokio::select! {
            change = endpoints_feed.next() => (&endpoints, change),
            change = slices_feed.next() => (&slice, change),
        };
        match change {
            None => return,
            Some(Change::Present(stored) | Change::Gone(stored)) => {
                if (stored.namespace(), stored.name()) == (NAMESPACE, SERVICE) {
                    say(&api, told).await;
                }
            }
        }
    }
}

/// The address others know this machine by. Endpoints cannot be loopback addresses.
fn advertised(listen: IpAddr) -> Option<Ipv4Addr> {
    let usable = |address: &Ipv4Addr| !address.is_loopback() && !address.is_unspecified();
    if let IpAddr::V4(listen) = listen
        && usable(&listen)
    {
        return Some(listen);
    }
    // Asks for a way there; nothing is sent.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    match socket.local_addr().ok()?.ip() {
        IpAddr::V4(address) => Some(address).filter(usable),
        IpAddr::V6(_) => None,
    }
}

fn told(address: Ipv4Addr, port: u16) -> [Told; 2] {
    let (address, port) = (
        address.to_string(),
        json!({ "name": "https", "port": port, "protocol": "TCP" }),
    );
    [
        Told {
            group: "",
            plural: "endpoints",
            path: "/api/v1/namespaces/default/endpoints",
            object: json!({
                "metadata": {
                    "name": SERVICE, "namespace": NAMESPACE,
                    "labels": { "endpointslice.kubernetes.io/skip-mirror": "true" },
                },
                "subsets": [{ "addresses": [{ "ip": address }], "ports": [port] }],
            }),
        },
        Told {
            group: "discovery.k8s.io",
            plural: "endpointslices",
            path: "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            object: json!({
                "metadata": {
                    "name": SERVICE, "namespace": NAMESPACE,
                    "labels": { "kubernetes.io/service-name": SERVICE },
                },
                "addressType": "IPv4",
                "endpoints": [{ "addresses": [address], "conditions": { "ready": true } }],
                "ports": [port],
            }),
        },
    ]
}

async fn say(api: &Arc<Api>, told: &Told) {
    if let Err(error) = try_to_say(api, told).await {
        tracing::warn!(error = %error.message, "cannot tell where the API is");
    }
}

async fn try_to_say(api: &Arc<Api>, told: &Told) -> Result<()> {
    bootstrap::ensure(api, told.path, &told.object).await?;
    let collection = Collection::new(told.group, told.plural);
    let Some(stored) = api.store.get(&collection, NAMESPACE, SERVICE) else {
        return Ok(());
    };
    let found = object::parse(&stored)?;
    if says(&found, &told.object) {
        return Ok(());
    }
    let snapshot = api.registry.snapshot();
    let Some(kind) = snapshot.get(told.group, "v1", told.plural) else {
        return Ok(());
    };
    internal::change(api, kind, NAME, Part::Main, NAMESPACE, SERVICE, |old| {
        let mut new = old.clone();
        for (field, value) in wanted(&told.object) {
            new[field] = value.clone();
        }
        new
    })
    .await?;
    Ok(())
}

fn wanted(object: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let fields = object.as_object().into_iter().flatten();
    fields
        .filter(|(field, _)| *field != "metadata")
        .map(|(field, value)| (field.as_str(), value))
}

fn says(found: &Value, object: &Value) -> bool {
    wanted(object).all(|(field, value)| found.get(field) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_others_reach_is_told_as_it_is() {
        let address = Ipv4Addr::new(203, 0, 113, 7);
        assert_eq!(advertised(address.into()), Some(address));
        assert_ne!(advertised(Ipv4Addr::LOCALHOST.into()), Some(Ipv4Addr::LOCALHOST));
    }

    #[test]
    fn what_else_an_object_has_does_not_matter() {
        let [endpoints, _] = told(Ipv4Addr::new(203, 0, 113, 7), 6443);
        let mut found = endpoints.object.clone();
        found["metadata"]["uid"] = "1".into();
        assert!(says(&found, &endpoints.object));
        found["subsets"] = json!([]);
        assert!(!says(&found, &endpoints.object));
    }
}
