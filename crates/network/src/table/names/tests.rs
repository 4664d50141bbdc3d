use std::collections::BTreeMap;

use super::*;
use crate::table::Port;

fn port(name: &str, port: u16) -> Port {
    Port {
        name: name.to_owned(),
        protocol: Protocol::Tcp,
        port,
        node_port: None,
    }
}

fn endpoint(last: u8, hostname: Option<&str>, ready: bool) -> Endpoint {
    Endpoint {
        address: Ipv4Addr::new(10, 244, 0, last),
        host: false,
        ready,
        hostname: hostname.map(str::to_owned),
        ports: BTreeMap::from([("rendezvous".to_owned(), 29_500)]),
    }
}

fn names() -> Names {
    let job = Service {
        namespace: "ns".to_owned(),
        name: "job".to_owned(),
        ports: vec![port("rendezvous", 80)],
        endpoints: vec![
            endpoint(2, Some("w-0"), true),
            endpoint(3, Some("w-1"), false),
            endpoint(4, None, true),
        ],
        ..Service::default()
    };
    let web = Service {
        namespace: "ns".to_owned(),
        name: "web".to_owned(),
        addresses: vec![Ipv4Addr::new(10, 96, 0, 7)],
        ports: vec![port("http", 80), port("https", 443)],
        endpoints: vec![endpoint(9, None, true)],
        ..Service::default()
    };
    let outside = Service {
        namespace: "ns".to_owned(),
        name: "outside".to_owned(),
        external_name: Some("Example.com.".to_owned()),
        ..Service::default()
    };
    let early = Service {
        name: "early".to_owned(),
        publish_not_ready: true,
        ..job.clone()
    };
    let table = Table {
        number: 1,
        services: vec![job, web, outside, early],
        ..Table::default()
    };
    Names::new(
        &table,
        "cluster.local",
        &["10.244.0.0/24".parse().unwrap(), "10.96.0.0/16".parse().unwrap()],
    )
}

fn addresses(name: &str) -> Vec<String> {
    let Found::Data(data) = names().find(name) else {
        panic!("no such name: {name}")
    };
    let addresses = data.into_iter().filter_map(|data| match data {
        Data::Address(address) => Some(address.to_string()),
        _ => None,
    });
    addresses.collect()
}

#[test]
fn a_service_with_an_address_is_that_address() {
    assert_eq!(addresses("web.ns.svc.cluster.local"), ["10.96.0.7"]);
}

#[test]
fn a_service_without_an_address_is_its_ready_endpoints() {
    assert_eq!(
        addresses("job.ns.svc.cluster.local"),
        ["10.244.0.2", "10.244.0.4"]
    );
    assert_eq!(addresses("w-0.job.ns.svc.cluster.local"), ["10.244.0.2"]);
    assert_eq!(addresses("10-244-0-4.job.ns.svc.cluster.local"), ["10.244.0.4"]);
    assert_eq!(names().find("w-1.job.ns.svc.cluster.local"), Found::NoSuchName);
}

#[test]
fn endpoints_that_are_not_ready_have_names_where_the_service_says_so() {
    assert_eq!(addresses("early.ns.svc.cluster.local").len(), 3);
    assert_eq!(addresses("w-1.early.ns.svc.cluster.local"), ["10.244.0.3"]);
}

#[test]
fn ports_are_located_at_the_service_or_at_its_endpoints() {
    let at = |port, machine: &str| Data::Location {
        port,
        machine: format!("{machine}.ns.svc.cluster.local"),
    };
    assert_eq!(
        names().find("_https._tcp.web.ns.svc.cluster.local"),
        Found::Data(vec![at(443, "web")])
    );
    assert_eq!(
        names().find("_rendezvous._tcp.job.ns.svc.cluster.local"),
        Found::Data(vec![at(29_500, "w-0.job"), at(29_500, "10-244-0-4.job")])
    );
}

#[test]
fn pods_have_names_by_their_addresses() {
    assert_eq!(addresses("10-244-0-5.ns.pod.cluster.local"), ["10.244.0.5"]);
    assert_eq!(
        names().find("10-244-0-999.ns.pod.cluster.local"),
        Found::NoSuchName
    );
    assert_eq!(names().find("10-244-0-5.pod.cluster.local"), Found::NoSuchName);
}

#[test]
fn addresses_lead_back_to_names() {
    let pointer = |name: &str| Found::Data(vec![Data::Pointer(format!("{name}.ns.svc.cluster.local"))]);
    assert_eq!(names().find("7.0.96.10.in-addr.arpa"), pointer("web"));
    assert_eq!(names().find("9.0.244.10.in-addr.arpa"), pointer("10-244-0-9.web"));
    assert_eq!(names().find("77.0.244.10.in-addr.arpa"), Found::NoSuchName);
    assert_eq!(names().find("8.8.8.8.in-addr.arpa"), Found::NotOurs);
}

#[test]
fn an_external_name_is_an_alias() {
    assert_eq!(
        names().find("outside.ns.svc.cluster.local"),
        Found::Data(vec![Data::Alias("example.com".to_owned())])
    );
}

#[test]
fn names_between_exist_without_data_and_others_do_not() {
    for name in [
        "cluster.local",
        "svc.cluster.local",
        "ns.svc.cluster.local",
        "_tcp.web.ns.svc.cluster.local",
    ] {
        assert_eq!(names().find(name), Found::Data(Vec::new()), "{name}");
    }
    assert_eq!(
        names().find("example.com.ns.svc.cluster.local"),
        Found::NoSuchName
    );
    assert_eq!(names().find("notcluster.local"), Found::NotOurs);
    assert_eq!(names().find("example.com"), Found::NotOurs);
}
