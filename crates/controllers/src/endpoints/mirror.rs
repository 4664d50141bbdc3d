//! EndpointSlices that mirror the Endpoints users write for services without a selector.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use k8s_openapi::api::{
    core::v1::{EndpointAddress, EndpointSubset, Endpoints, Service},
    discovery::v1::{Endpoint, EndpointConditions, EndpointPort},
};
use kube::{Resource as _, ResourceExt as _};
use reconcile::{Key, Next, Queue, Recorder, run};
use tokio::task::JoinSet;

use super::{
    MANAGED_BY, SERVICE_NAME, TRIGGER_TIME, WORKERS,
    pack::{Annotations, Frame, Group, pack, port_key},
};
use crate::{Result, ownership, world::World};

const NAME: &str = "endpointslice-mirroring-controller";
const MANAGER: &str = "endpointslicemirroring-controller.k8s.io";
const MOST_ADDRESSES: usize = 1000;
const SKIP: &str = "endpointslice.kubernetes.io/skip-mirror";
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

pub(crate) fn start(world: &Arc<World>, tasks: &mut JoinSet<()>) {
    let queue = Queue::new();
    let written = queue.clone();
    world.endpoints.on_change(move |change| {
        if let Some(endpoints) = change.object() {
            written.add(Key::of(&**endpoints));
        }
    });
    let added = queue.clone();
    world.services.on_change(move |change| {
        if let Some(service) = change.object() {
            added.add(Key::of(&**service));
        }
    });
    super::follow_slices(world, &queue, MANAGER);
    let controller = Arc::new(Controller {
        world: world.clone(),
        recorder: world.recorder(NAME),
    });
    let world = world.clone();
    tasks.spawn(async move {
        world.services.synced().await;
        world.endpoints.synced().await;
        world.endpoint_slices.synced().await;
        run(NAME, queue, WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.reconcile(key).await }
        })
        .await;
    });
}

struct Controller {
    world: Arc<World>,
    recorder: Recorder,
}

impl Controller {
    async fn reconcile(&self, key: Key) -> Result<Next> {
        let existing = super::slices_of(&self.world, &key, MANAGER);
        let service = self.world.services.get(&key);
        let endpoints = self.world.endpoints.get(&key);
        let Some(endpoints) = endpoints.filter(|endpoints| is_mirrored(endpoints, service.as_deref())) else {
            for slice in existing {
                super::delete(&self.world.client, &self.world.endpoint_slices, &*slice).await?;
            }
            return Ok(Next::Wait);
        };
        let mirrored = mirror(&endpoints);
        let changes = pack(mirrored.groups, &existing, &frame(&endpoints));
        let is_news = !changes.create.is_empty() || !changes.update.is_empty();
        super::apply(&self.world, &*endpoints, changes).await?;
        if is_news {
            self.tell(&endpoints, mirrored.invalid, mirrored.skipped);
        }
        Ok(Next::Wait)
    }

    fn tell(&self, endpoints: &Endpoints, invalid: usize, skipped: usize) {
        if invalid > 0 {
            let note = format!("Skipped {invalid} invalid IP addresses when mirroring to EndpointSlices");
            self.recorder
                .warning(endpoints.object_ref(&()), "InvalidIPAddress", note);
        }
        if skipped > invalid {
            let note = format!(
                "A max of {MOST_ADDRESSES} addresses can be mirrored to EndpointSlices per Endpoints subset. \
                 {skipped} addresses were skipped"
            );
            self.recorder
                .warning(endpoints.object_ref(&()), "TooManyAddressesToMirror", note);
        }
    }
}

fn is_mirrored(endpoints: &Endpoints, service: Option<&Service>) -> bool {
    let has_no_selector =
        service.is_some_and(|service| service.spec.as_ref().is_none_or(|spec| spec.selector.is_none()));
    let is_skipped = endpoints.labels().get(SKIP).is_some_and(|skip| skip == "true");
    has_no_selector && !is_skipped && !endpoints.annotations().contains_key(LEADER)
}

fn frame(endpoints: &Endpoints) -> Frame {
    let mut labels = endpoints.labels().clone();
    labels.insert(SERVICE_NAME.into(), endpoints.name_any());
    labels.insert(MANAGED_BY.into(), MANAGER.into());
    let mut annotations = endpoints.annotations().clone();
    annotations.retain(|key, _| key != TRIGGER_TIME && key != LAST_APPLIED);
    Frame {
        owner: ownership::reference(endpoints),
        namespace: endpoints.namespace(),
        labels,
        annotations: Annotations::Owners(annotations),
        limit: MOST_ADDRESSES,
    }
}

#[derive(Default)]
struct Mirrored {
    groups: Vec<Group>,
    /// Addresses that are none.
    invalid: usize,
    /// Addresses left out, for whatever reason.
    skipped: usize,
}

fn mirror(endpoints: &Endpoints) -> Mirrored {
    let mut mirrored = Mirrored::default();
    let mut groups: BTreeMap<_, Group> = BTreeMap::new();
    for subset in endpoints.subsets.iter().flatten() {
        let ready = subset.addresses.iter().flatten().map(|address| (address, true));
        let others = subset.not_ready_addresses.iter().flatten();
        let mut taken = 0;
        for (address, is_ready) in ready.chain(others.map(|address| (address, false))) {
            let endpoint = endpoint(address, is_ready);
            mirrored.invalid += usize::from(endpoint.is_none());
            let Some((endpoint, address_type)) = endpoint.filter(|_| taken < MOST_ADDRESSES) else {
                mirrored.skipped += 1;
                continue;
            };
            taken += 1;
            let ports = ports(subset);
            let key = (address_type, port_key(&ports));
            let group = groups.entry(key).or_insert_with(|| Group {
                address_type: address_type.into(),
                ports,
                endpoints: Vec::new(),
            });
            group.endpoints.push(endpoint);
        }
    }
    mirrored.groups = groups.into_values().collect();
    mirrored
}

fn ports(subset: &EndpointSubset) -> Vec<EndpointPort> {
    let ports = subset.ports.iter().flatten();
    ports
        .map(|port| EndpointPort {
            name: Some(port.name.clone().unwrap_or_default()),
            port: Some(port.port),
            protocol: port.protocol.clone(),
            app_protocol: port.app_protocol.clone(),
        })
        .collect()
}

fn endpoint(address: &EndpointAddress, is_ready: bool) -> Option<(Endpoint, &'static str)> {
    let ip: IpAddr = address.ip.parse().ok()?;
    let endpoint = Endpoint {
        addresses: vec![ip.to_string()],
        conditions: Some(EndpointConditions {
            ready: Some(is_ready),
            ..EndpointConditions::default()
        }),
        hostname: address.hostname.clone().filter(|name| !name.is_empty()),
        node_name: address.node_name.clone(),
        target_ref: address.target_ref.clone(),
        ..Endpoint::default()
    };
    Some((endpoint, if ip.is_ipv6() { "IPv6" } else { "IPv4" }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn endpoints() -> Endpoints {
        serde_json::from_value(json!({
            "metadata": {"name": "db", "namespace": "n", "uid": "e",
                "labels": {"app": "db"}, "annotations": {"note": "kept", LAST_APPLIED: "{}"}},
            "subsets": [{
                "addresses": [{"ip": "10.0.0.1", "hostname": "one"}, {"ip": "fd00::1"}, {"ip": "nonsense"}],
                "notReadyAddresses": [{"ip": "10.0.0.2"}],
                "ports": [{"port": 5432, "protocol": "TCP"}],
            }],
        }))
        .unwrap()
    }

    #[test]
    fn addresses_are_mirrored_by_family_and_bad_ones_counted() {
        let mirrored = mirror(&endpoints());
        assert_eq!((mirrored.invalid, mirrored.skipped), (1, 1));
        let types: Vec<_> = mirrored
            .groups
            .iter()
            .map(|group| group.address_type.as_str())
            .collect();
        assert_eq!(types, ["IPv4", "IPv6"]);
        assert_eq!(
            json!(mirrored.groups[0].endpoints),
            json!([
                {"addresses": ["10.0.0.1"], "hostname": "one", "conditions": {"ready": true}},
                {"addresses": ["10.0.0.2"], "conditions": {"ready": false}},
            ])
        );
    }

    #[test]
    fn slices_carry_labels_and_annotations_of_the_endpoints() {
        let changes = pack(mirror(&endpoints()).groups, &[], &frame(&endpoints()));
        let meta = &changes.create[0].metadata;
        assert_eq!(
            json!([meta.labels, meta.annotations]),
            json!([
                {"app": "db", SERVICE_NAME: "db", MANAGED_BY: MANAGER},
                {"note": "kept"},
            ])
        );
    }

    #[test]
    fn only_endpoints_of_services_without_selector_are_mirrored() {
        let service = |spec| serde_json::from_value::<Service>(json!({ "spec": spec })).unwrap();
        let mut endpoints = endpoints();
        assert!(is_mirrored(&endpoints, Some(&service(json!({})))));
        assert!(!is_mirrored(
            &endpoints,
            Some(&service(json!({"selector": {"app": "db"}})))
        ));
        assert!(!is_mirrored(&endpoints, None));
        endpoints.labels_mut().insert(SKIP.into(), "true".into());
        assert!(!is_mirrored(&endpoints, Some(&service(json!({})))));
    }
}
