use std::net::Ipv4Addr;

use proptest::{collection::vec, option, prelude::*};

use super::*;
use crate::table::{Endpoint, Port};

fn endpoint(last: u8, ready: bool, port: u16) -> Endpoint {
    Endpoint {
        address: Ipv4Addr::new(10, 244, 0, last),
        host: false,
        ready,
        hostname: None,
        ports: BTreeMap::from([(String::new(), port)]),
    }
}

fn service(endpoints: Vec<Endpoint>, node_port: Option<u16>) -> Service {
    Service {
        namespace: "default".to_owned(),
        name: "web".to_owned(),
        addresses: vec![Ipv4Addr::new(10, 96, 0, 7)],
        ports: vec![Port {
            name: String::new(),
            protocol: Protocol::Tcp,
            port: 80,
            node_port,
        }],
        endpoints,
        ..Service::default()
    }
}

fn of(service: Service) -> Relays {
    of_table(&Table {
        number: 1,
        services: vec![service],
        host_ports: Vec::new(),
    })
    .relays
}

fn of_table(table: &Table) -> Wanted {
    relays(table, &["0.0.0.0".parse().unwrap()])
}

fn host_port(pod: &str, address: Option<&str>, port: u16) -> HostPort {
    HostPort {
        pod: pod.to_owned(),
        address: address.map(|address| address.parse().unwrap()),
        port,
        protocol: Protocol::Tcp,
        to: "10.244.0.9:80".parse().unwrap(),
    }
}

#[test]
fn only_ready_endpoints_get_connections() {
    let relays = of(service(
        vec![endpoint(2, true, 8080), endpoint(3, false, 8080)],
        None,
    ));
    let (place, backends) = relays.first_key_value().unwrap();
    assert_eq!(
        (place.side, place.address.to_string().as_str(), place.port),
        (Side::Node, "10.96.0.7", 80)
    );
    assert_eq!(backends.all.len(), 1);
    assert_eq!(backends.all[0].address.to_string(), "10.244.0.2:8080");
}

#[test]
fn a_port_that_nobody_serves_is_not_listened_at() {
    assert!(of(service(vec![endpoint(3, false, 8080)], Some(30_080))).is_empty());
}

#[test]
fn a_node_port_listens_on_the_host() {
    let relays = of(service(vec![endpoint(2, true, 8080)], Some(30_080)));
    let host: Vec<u16> = relays
        .keys()
        .filter(|place| place.side == Side::Host)
        .map(|place| place.port)
        .collect();
    assert_eq!(host, [30_080]);
}

#[test]
fn a_port_of_a_pod_listens_at_the_address_it_names_or_at_those_of_node_ports() {
    let wanted = of_table(&Table {
        host_ports: vec![
            host_port("one", None, 8080),
            host_port("two", Some("127.0.0.1"), 8081),
        ],
        ..Table::default()
    });
    let places: Vec<(Side, String)> = wanted
        .relays
        .keys()
        .map(|place| (place.side, place.socket().to_string()))
        .collect();
    assert_eq!(
        places,
        [
            (Side::Host, "0.0.0.0:8080".to_owned()),
            (Side::Host, "127.0.0.1:8081".to_owned())
        ]
    );
    let backend = &wanted.relays.values().next().unwrap().all[0];
    assert_eq!(
        (backend.side, backend.address.to_string()),
        (Side::Node, "10.244.0.9:80".to_owned())
    );
}

#[test]
fn a_port_of_a_pod_that_is_a_services_node_port_is_told_whose_it_is() {
    let wanted = of_table(&Table {
        services: vec![service(vec![endpoint(2, true, 8080)], Some(30_080))],
        host_ports: vec![host_port("one", None, 30_080)],
        ..Table::default()
    });
    let [problem] = wanted.contested.as_slice() else {
        panic!("{:?}", wanted.contested);
    };
    assert_eq!(problem.claimant, Claimant::Pod("one".to_owned()));
    assert_eq!(
        problem.to_string(),
        "cannot listen at 0.0.0.0:30080 (TCP): service default/web has it"
    );
}

#[test]
fn the_order_of_endpoints_makes_no_difference() {
    let one = of(service(vec![endpoint(2, true, 80), endpoint(3, true, 80)], None));
    let other = of(service(vec![endpoint(3, true, 80), endpoint(2, true, 80)], None));
    assert_eq!(difference(&one, &other), Difference::default());
}

prop_compose! {
    fn any_relays()(
        services in vec((0..6_u8, vec((2..6_u8, any::<bool>(), 80..82_u16), 0..4), option::of(30_000..30_003_u16)), 0..5)
    ) -> Relays {
        let services = services.into_iter().map(|(last, endpoints, node_port)| {
            let endpoints = endpoints.into_iter().map(|(last, ready, port)| endpoint(last, ready, port)).collect();
            Service { addresses: vec![Ipv4Addr::new(10, 96, 0, last)], ..service(endpoints, node_port) }
        });
        let table = Table { number: 1, services: services.collect(), host_ports: Vec::new() };
        of_table(&table).relays
    }
}

proptest! {
    #[test]
    fn carrying_out_the_difference_gives_the_new_relays(old in any_relays(), new in any_relays()) {
        let difference = difference(&old, &new);
        let mut changed = old.clone();
        for place in &difference.close {
            prop_assert!(changed.remove(place).is_some());
        }
        for (place, backends) in difference.change {
            prop_assert!(changed.insert(place, backends).is_some());
        }
        for (place, backends) in difference.open {
            prop_assert!(changed.insert(place, backends).is_none());
        }
        prop_assert_eq!(changed, new);
    }

    #[test]
    fn nothing_is_done_when_nothing_changed(relays in any_relays()) {
        prop_assert_eq!(difference(&relays, &relays), Difference::default());
    }

    #[test]
    fn every_relay_has_a_backend(relays in any_relays()) {
        prop_assert!(relays.values().all(|backends| !backends.all.is_empty()));
    }
}
