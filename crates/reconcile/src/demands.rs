//! What a pod asks of a node: room for its requests, and ports of the node itself.

use k8s_openapi::api::core::v1::{Container, PodSpec};

use crate::amounts::Amounts;

/// A port of the node itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    pub address: String,
    pub protocol: String,
    pub number: i32,
}

impl Port {
    /// Two pods cannot both have it: the same number and protocol on an address of both.
    pub fn collides(&self, other: &Self) -> bool {
        let is_any = |port: &Self| port.address == "0.0.0.0";
        self.number == other.number
            && self.protocol == other.protocol
            && (self.address == other.address || is_any(self) || is_any(other))
    }
}

/// What must be free at any time: the work with its helpers, or, if that is more, the hungriest first
/// step with the helpers started before it; and one place among the node's pods.
pub fn requests(spec: &PodSpec) -> Amounts {
    let mut total = Amounts::default();
    for container in &spec.containers {
        total.add(&of_container(container));
    }
    let mut helpers = Amounts::default();
    let mut first_steps = Amounts::default();
    for container in spec.init_containers.iter().flatten() {
        let own = of_container(container);
        if container.restart_policy.as_deref() == Some("Always") {
            helpers.add(&own);
            total.add(&own);
            first_steps.raise_to(&helpers);
        } else {
            let mut together = helpers.clone();
            together.add(&own);
            first_steps.raise_to(&together);
        }
    }
    total.raise_to(&first_steps);
    // What is said of the pod as a whole counts instead.
    let of_pod = spec.resources.as_ref();
    total.replace(&Amounts::read(
        of_pod.and_then(|resources| resources.requests.as_ref()),
    ));
    total.add(&Amounts::read(spec.overhead.as_ref()));
    total.add(&Amounts::one("pods", 1));
    total
}

fn of_container(container: &Container) -> Amounts {
    let requests = container
        .resources
        .as_ref()
        .and_then(|resources| resources.requests.as_ref());
    Amounts::read(requests)
}

/// The ports of the node that a pod takes.
pub fn ports(spec: &PodSpec) -> Vec<Port> {
    let is_host = spec.host_network == Some(true);
    let containers = spec.containers.iter().chain(
        spec.init_containers
            .iter()
            .flatten()
            .filter(|container| container.restart_policy.as_deref() == Some("Always")),
    );
    let ports = containers.flat_map(|container| container.ports.iter().flatten());
    ports
        .filter_map(|port| {
            let number = port.host_port.or(is_host.then_some(port.container_port))?;
            (number > 0).then(|| Port {
                address: match port.host_ip.as_deref() {
                    None | Some("") => "0.0.0.0".to_owned(),
                    Some(address) => address.to_owned(),
                },
                protocol: port.protocol.clone().unwrap_or_else(|| "TCP".to_owned()),
                number,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn cpu(spec: Value) -> i64 {
        requests(&serde_json::from_value(spec).unwrap()).get("cpu")
    }

    fn container(cpu: &str) -> Value {
        json!({"name": "c", "resources": {"requests": {"cpu": cpu}}})
    }

    fn helper(cpu: &str) -> Value {
        json!({"name": "h", "restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}})
    }

    #[test]
    fn containers_add_up_and_first_steps_count_one_at_a_time() {
        let work = json!([container("1"), container("500m")]);
        assert_eq!(cpu(json!({"containers": work})), 1500);
        assert_eq!(
            cpu(json!({"containers": work, "initContainers": [container("1"), container("1")]})),
            1500
        );
        assert_eq!(
            cpu(json!({"containers": work, "initContainers": [container("3")]})),
            3000
        );
    }

    #[test]
    fn helpers_run_beside_the_work_and_beside_later_steps() {
        let work = json!([container("1")]);
        assert_eq!(
            cpu(json!({"containers": work, "initContainers": [helper("1")]})),
            2000
        );
        let steps = json!([helper("1"), container("4")]);
        assert_eq!(cpu(json!({"containers": work, "initContainers": steps})), 5000);
    }

    #[test]
    fn what_the_pod_asks_for_as_a_whole_counts_instead() {
        let whole = json!({"requests": {"cpu": "3"}});
        assert_eq!(
            cpu(json!({"containers": [container("1")], "resources": whole})),
            3000
        );
    }

    #[test]
    fn ports_collide_on_a_shared_address() {
        let port = |address: &str| Port {
            address: address.into(),
            protocol: "TCP".into(),
            number: 80,
        };
        assert!(port("0.0.0.0").collides(&port("10.0.0.1")));
        assert!(!port("10.0.0.2").collides(&port("10.0.0.1")));
    }
}
