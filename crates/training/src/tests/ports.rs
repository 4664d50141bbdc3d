//! The Service of a replica is one that the API server takes, whatever ports the user's container has.

use serde_json::{Value, json};

use super::tensorflow;
use crate::{check, render, simulation::World};

fn with_ports(ports: &str) -> World {
    World::new(&tensorflow("Worker", "").replace("image: i", &format!("image: i, ports: [{ports}]")))
}

#[track_caller]
fn gives(ports: &str, expected: &Value) {
    let world = with_ports(ports);
    let children = render(&world.job, &world.settings).unwrap();
    let service = children.iter().find(|child| child["kind"] == "Service").unwrap();
    assert_eq!(&service["spec"]["ports"], expected, "{ports}");
}

#[test]
fn a_port_without_a_name_gets_one_and_none_is_there_twice() {
    gives(
        "{containerPort: 2222}",
        &json!([{"name": "tfjob-port", "port": 2222}]),
    );
    gives(
        "{containerPort: 6006}",
        &json!([{"name": "port-6006", "port": 6006}, {"name": "tfjob-port", "port": 2222}]),
    );
    gives(
        "{name: tfjob-port, containerPort: 2222}, {containerPort: 53, protocol: UDP}, {containerPort: 53}",
        &json!([
            {"name": "tfjob-port", "port": 2222},
            {"name": "port-53-udp", "port": 53, "protocol": "UDP"},
            {"name": "port-53", "port": 53},
        ]),
    );
    gives(
        "{name: board, containerPort: 6006}, {name: metrics, containerPort: 6006}",
        &json!([{"name": "board", "port": 6006}, {"name": "tfjob-port", "port": 2222}]),
    );
    gives(
        "{name: port-80, containerPort: 81}, {containerPort: 80}",
        &json!([{"name": "port-80", "port": 81}, {"name": "port-80-tcp", "port": 80}, {"name": "tfjob-port", "port": 2222}]),
    );
}

#[test]
fn a_port_that_is_none_is_told_before_anything_is_made() {
    let mut world = with_ports("{containerPort: 70000}");
    let errors = check(&world.job);
    assert_eq!(
        errors[0].field,
        "spec.tfReplicaSpecs[Worker].template.spec.containers[0].ports[0].containerPort"
    );
    world.settle();
    assert!(world.names().is_empty() && world.observed.others.is_empty());
}
