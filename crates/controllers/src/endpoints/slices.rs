//! EndpointSlices of services that select pods.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use k8s_openapi::api::{
    core::v1::{Node, Pod, Service},
    discovery::v1::{Endpoint, EndpointConditions, EndpointHints, EndpointPort, ForNode, ForZone},
};
use reconcile::{Key, Next, Queue, run};
use tokio::task::JoinSet;

use super::{
    HEADLESS, MANAGED_BY, SERVICE_NAME, WORKERS, backends,
    pack::{Annotations, Frame, Group, pack, port_key},
    trigger::Triggers,
};
use crate::{Result, ownership, pods::health, world::World};

const NAME: &str = "endpointslice-controller";
const MANAGER: &str = "endpointslice-controller.k8s.io";
const MOST_ENDPOINTS: usize = 100;
const ZONE: &str = "topology.kubernetes.io/zone";

/// How soon to look for a node that a pod names and nobody knows yet.
const NODE_RETRY: Duration = Duration::from_secs(1);

pub(crate) fn start(world: &Arc<World>, tasks: &mut JoinSet<()>) {
    let queue = Queue::new();
    super::follow_services(world, &queue);
    super::follow_slices(world, &queue, MANAGER);
    let controller = Arc::new(Controller {
        world: world.clone(),
        triggers: Mutex::default(),
    });
    let world = world.clone();
    tasks.spawn(async move {
        world.pods.synced().await;
        world.nodes.synced().await;
        world.services.synced().await;
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
    triggers: Mutex<Triggers>,
}

impl Controller {
    async fn reconcile(&self, key: Key) -> Result<Next> {
        let Some(service) = self.world.services.get(&key) else {
            self.triggers
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .forget(&key);
            return Ok(Next::Wait);
        };
        if !super::has_selector(&service) {
            return Ok(Next::Wait);
        }
        let pods = super::selected(&self.world, &service);
        let trigger = self
            .triggers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .since_last_look(&key, &service, &pods);
        let node = |name: &str| self.world.nodes.get(&Key::new("", name));
        let (groups, is_complete) = groups(&service, &pods, node);
        let existing = super::slices_of(&self.world, &key, MANAGER);
        let changes = pack(groups, &existing, &frame(&service, trigger));
        super::apply(&self.world, &*service, changes).await?;
        Ok(if is_complete {
            Next::Wait
        } else {
            Next::After(NODE_RETRY)
        })
    }
}

fn frame(service: &Service, trigger: Option<String>) -> Frame {
    let mut labels = service.metadata.labels.clone().unwrap_or_default();
    labels.remove(HEADLESS);
    if !backends::has_address(service) {
        labels.insert(HEADLESS.into(), String::new());
    }
    labels.insert(
        SERVICE_NAME.into(),
        service.metadata.name.clone().unwrap_or_default(),
    );
    labels.insert(MANAGED_BY.into(), MANAGER.into());
    Frame {
        owner: ownership::reference(service),
        namespace: service.metadata.namespace.clone(),
        labels,
        annotations: Annotations::Trigger(trigger),
        limit: MOST_ENDPOINTS,
    }
}

/// The endpoints by address family and ports, and whether every pod's node is known.
fn groups(
    service: &Service,
    pods: &[Arc<Pod>],
    node: impl Fn(&str) -> Option<Arc<Node>>,
) -> (Vec<Group>, bool) {
    let mut is_complete = true;
    let mut groups = Vec::new();
    for address_type in address_types(service) {
        let mut by_ports: BTreeMap<_, Group> = BTreeMap::new();
        for pod in pods.iter().filter(|pod| backends::is_reachable(pod)) {
            let place = backends::node(pod).and_then(&node);
            if place.is_none() && !backends::publishes_unready(service) {
                is_complete = false;
                continue;
            }
            let Some(endpoint) = endpoint(service, pod, place.as_deref(), address_type) else {
                continue;
            };
            let ports = ports(service, pod);
            let group = by_ports.entry(port_key(&ports)).or_insert_with(|| Group {
                address_type: address_type.into(),
                ports,
                endpoints: Vec::new(),
            });
            group.endpoints.push(endpoint);
        }
        // A service without endpoints has one empty slice, so that everybody knows it has none.
        if by_ports.is_empty() {
            groups.push(Group {
                address_type: address_type.into(),
                ports: Vec::new(),
                endpoints: Vec::new(),
            });
        }
        groups.extend(by_ports.into_values());
    }
    (groups, is_complete)
}

fn address_types(service: &Service) -> Vec<&'static str> {
    let spec = service.spec.as_ref();
    let families = spec.and_then(|spec| spec.ip_families.as_ref());
    let has = |family: &str| families.is_none_or(|families| families.iter().any(|known| known == family));
    ["IPv4", "IPv6"]
        .into_iter()
        .filter(|family| has(family))
        .collect()
}

fn ports(service: &Service, pod: &Pod) -> Vec<EndpointPort> {
    let ports = backends::ports(service, pod).into_iter();
    ports
        .map(|(port, number)| EndpointPort {
            name: Some(port.name.clone().unwrap_or_default()),
            port: Some(number),
            protocol: Some(port.protocol.clone().unwrap_or_else(|| "TCP".into())),
            app_protocol: port.app_protocol.clone(),
        })
        .collect()
}

fn endpoint(service: &Service, pod: &Pod, node: Option<&Node>, address_type: &str) -> Option<Endpoint> {
    let addresses = backends::addresses(pod)
        .into_iter()
        .filter(|address| address.is_ipv6() == (address_type == "IPv6"));
    let addresses: Vec<String> = addresses.map(|address| address.to_string()).collect();
    if addresses.is_empty() {
        return None;
    }
    let serving = health::is_ready(pod);
    let terminating = health::is_terminating(pod);
    let ready = backends::publishes_unready(service) || (serving && !terminating);
    let labels = node.and_then(|node| node.metadata.labels.as_ref());
    let zone = labels
        .and_then(|labels| labels.get(ZONE))
        .filter(|zone| !zone.is_empty());
    let node_name = backends::node(pod).map(ToOwned::to_owned);
    Some(Endpoint {
        addresses,
        conditions: Some(EndpointConditions {
            ready: Some(ready),
            serving: Some(serving),
            terminating: Some(terminating),
        }),
        hints: hints(service, ready, zone, node_name.as_ref()),
        hostname: backends::hostname(pod, service),
        node_name,
        target_ref: Some(backends::reference(pod)),
        zone: zone.cloned(),
        deprecated_topology: None,
    })
}

/// Who should use the endpoint, if the service asks for traffic to stay close.
fn hints(
    service: &Service,
    is_ready: bool,
    zone: Option<&String>,
    node: Option<&String>,
) -> Option<EndpointHints> {
    let wish = service.spec.as_ref()?.traffic_distribution.as_deref()?;
    if !is_ready || !matches!(wish, "PreferClose" | "PreferSameZone" | "PreferSameNode") {
        return None;
    }
    let node = node.filter(|_| wish == "PreferSameNode");
    if zone.is_none() && node.is_none() {
        return None;
    }
    Some(EndpointHints {
        for_zones: zone.map(|name| vec![ForZone { name: name.clone() }]),
        for_nodes: node.map(|name| vec![ForNode { name: name.clone() }]),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn service(spec: Value) -> Service {
        serde_json::from_value(json!({
            "metadata": {"name": "web", "namespace": "n", "uid": "s", "labels": {"app": "web"}},
            "spec": spec,
        }))
        .unwrap()
    }

    fn plain() -> Value {
        json!({"clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"],
            "ports": [{"port": 80, "targetPort": "http", "protocol": "TCP"}]})
    }

    fn pod(name: &str, port: i32, ready: bool) -> Arc<Pod> {
        let status = if ready { "True" } else { "False" };
        let pod = json!({
            "metadata": {"name": name, "namespace": "n", "uid": name},
            "spec": {"nodeName": "node", "containers": [
                {"name": "c", "ports": [{"name": "http", "containerPort": port, "protocol": "TCP"}]}]},
            "status": {"phase": "Running", "podIPs": [{"ip": "10.1.0.1"}, {"ip": "fd00::1"}],
                "conditions": [{"type": "Ready", "status": status}]},
        });
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    fn node(name: &str) -> Option<Arc<Node>> {
        let node = json!({"metadata": {"name": "node", "labels": {ZONE: "z"}}});
        (name == "node").then(|| Arc::new(serde_json::from_value(node).unwrap()))
    }

    #[test]
    fn an_endpoint_tells_where_a_pod_is_and_how_it_fares() {
        let (groups, is_complete) = groups(&service(plain()), &[pod("a", 8080, true)], node);
        assert!(is_complete);
        assert_eq!(
            json!(groups[0].endpoints),
            json!([{
                "addresses": ["10.1.0.1"], "nodeName": "node", "zone": "z",
                "conditions": {"ready": true, "serving": true, "terminating": false},
                "targetRef": {"kind": "Pod", "namespace": "n", "name": "a", "uid": "a"},
            }])
        );
        assert_eq!(
            json!(groups[0].ports),
            json!([{"name": "", "port": 8080, "protocol": "TCP"}])
        );
    }

    #[test]
    fn pods_with_other_numbers_for_a_named_port_get_slices_of_their_own() {
        let pods = [pod("a", 8080, true), pod("b", 9090, false), pod("c", 8080, true)];
        let (groups, _) = groups(&service(plain()), &pods, node);
        let sizes: Vec<_> = groups.iter().map(|group| group.endpoints.len()).collect();
        assert_eq!(sizes, [2, 1]);
    }

    #[test]
    fn a_terminating_pod_serves_but_is_not_ready() {
        let mut leaving = (*pod("a", 1, true)).clone();
        leaving.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        let pods = [Arc::new(leaving)];
        let conditions = |spec| json!(groups(&service(spec), &pods, node).0[0].endpoints[0].conditions);
        assert_eq!(
            conditions(plain()),
            json!({"ready": false, "serving": true, "terminating": true})
        );
        let mut all = plain();
        all["publishNotReadyAddresses"] = json!(true);
        assert_eq!(conditions(all)["ready"], true);
    }

    #[test]
    fn a_service_without_pods_has_an_empty_group_for_each_family() {
        let mut dual = plain();
        dual["ipFamilies"] = json!(["IPv4", "IPv6"]);
        let (groups, _) = groups(&service(dual), &[], node);
        let types: Vec<_> = groups.iter().map(|group| group.address_type.as_str()).collect();
        assert_eq!(types, ["IPv4", "IPv6"]);
        assert!(groups.iter().all(|group| group.ports.is_empty()));
    }

    #[test]
    fn a_pod_on_an_unknown_node_waits_for_it() {
        let (groups, is_complete) = groups(&service(plain()), &[pod("a", 1, true)], |_| None);
        assert!(!is_complete && groups[0].endpoints.is_empty());
    }

    #[test]
    fn traffic_that_should_stay_close_gets_hints() {
        let mut close = plain();
        close["trafficDistribution"] = json!("PreferSameNode");
        let pods = [pod("a", 1, true), pod("b", 1, false)];
        let (groups, _) = groups(&service(close), &pods, node);
        assert_eq!(
            json!(groups[0].endpoints[0].hints),
            json!({"forNodes": [{"name": "node"}], "forZones": [{"name": "z"}]})
        );
        assert_eq!(groups[0].endpoints[1].hints, None);
    }

    #[test]
    fn a_headless_service_says_so() {
        let mut headless = plain();
        headless["clusterIP"] = json!("None");
        let labels = frame(&service(headless), None).labels;
        assert_eq!(
            json!(labels),
            json!({"app": "web", SERVICE_NAME: "web", HEADLESS: "",
                MANAGED_BY: "endpointslice-controller.k8s.io"})
        );
    }
}
