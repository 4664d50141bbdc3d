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
    relays(
        &Table {
            number: 1,
            services: vec![service],
        },
        &["0.0.0.0".parse().unwrap()],
    )
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
        let table = Table { number: 1, services: services.collect() };
        relays(&table, &["0.0.0.0".parse().unwrap()])
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
