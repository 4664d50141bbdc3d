use serde_json::{Value, json};

use super::*;

fn made(services: Value, slices: Value) -> Table {
    with_pods(services, slices, json!([]))
}

fn with_pods(services: Value, slices: Value, pods: Value) -> Table {
    let pods: Vec<Pod> = serde_json::from_value(pods).unwrap();
    let services: Vec<Service> = serde_json::from_value(services).unwrap();
    let slices: Vec<EndpointSlice> = serde_json::from_value(slices).unwrap();
    table(&Cluster {
        services: &services.into_iter().map(Arc::new).collect::<Vec<_>>(),
        slices: &slices.into_iter().map(Arc::new).collect::<Vec<_>>(),
        pods: &pods.into_iter().map(Arc::new).collect::<Vec<_>>(),
        pod_range: "10.244.0.0/24".parse().unwrap(),
        api: "127.0.0.1:6443".parse().unwrap(),
    })
}

fn slice(service: &str, endpoints: Value, port: u16) -> Value {
    json!({
        "metadata": {"name": format!("{service}-1"), "namespace": "n", "labels": {SERVICE_NAME: service}},
        "addressType": "IPv4", "endpoints": endpoints, "ports": [{"name": "web", "port": port, "protocol": "TCP"}],
    })
}

#[test]
fn a_service_has_its_addresses_ports_and_endpoints() {
    let table = made(
        json!([{"metadata": {"name": "s", "namespace": "n"}, "spec": {
            "clusterIPs": ["10.96.0.7"], "type": "NodePort", "sessionAffinity": "ClientIP",
            "ports": [{"name": "web", "port": 80, "targetPort": "http", "nodePort": 30080}],
        }}]),
        json!([slice(
            "s",
            json!([
                {"addresses": ["10.244.0.5"], "conditions": {"ready": true}, "hostname": "s-0"},
                {"addresses": ["10.244.0.6"], "conditions": {"ready": false}},
            ]),
            8080
        )]),
    );
    let service = &table.services[0];
    assert_eq!(service.addresses, ["10.96.0.7".parse::<Ipv4Addr>().unwrap()]);
    assert_eq!(service.ports[0].node_port, Some(30080));
    assert_eq!(
        service.affinity,
        Some(Affinity {
            timeout_seconds: 10_800
        })
    );
    let ready: Vec<bool> = service.endpoints.iter().map(|endpoint| endpoint.ready).collect();
    assert_eq!(ready, [true, false]);
    assert_eq!(service.endpoints[0].hostname.as_deref(), Some("s-0"));
    assert_eq!(service.endpoints[0].ports["web"], 8080);
}

#[test]
fn an_address_outside_the_pods_range_is_one_of_the_host() {
    let table = made(
        json!([{"metadata": {"name": "store", "namespace": "n"}, "spec": {"clusterIPs": ["10.96.0.9"]}}]),
        json!([slice("store", json!([{"addresses": ["192.0.2.9"]}]), 6443)]),
    );
    let endpoint = &table.services[0].endpoints[0];
    assert!(endpoint.host && endpoint.ready);
}

#[test]
fn the_api_is_found_where_it_listens_whatever_its_endpoints_say() {
    let table = made(
        json!([{"metadata": {"name": "kubernetes", "namespace": "default"}, "spec": {
            "clusterIPs": ["10.96.0.1"], "ports": [{"name": "https", "port": 443}],
        }}]),
        json!([]),
    );
    let endpoint = &table.services[0].endpoints[0];
    assert!(endpoint.host && endpoint.ready);
    assert_eq!(endpoint.address, Ipv4Addr::LOCALHOST);
    assert_eq!(endpoint.ports["https"], 6443);
}

#[test]
fn a_headless_service_has_no_address_and_an_external_one_only_a_name() {
    let table = made(
        json!([
            {"metadata": {"name": "h", "namespace": "n"}, "spec": {
                "clusterIP": "None", "clusterIPs": ["None"], "publishNotReadyAddresses": true,
            }},
            {"metadata": {"name": "e", "namespace": "n"}, "spec": {"type": "ExternalName", "externalName": "example.com"}},
        ]),
        json!([]),
    );
    assert!(table.services[0].addresses.is_empty() && table.services[0].publish_not_ready);
    assert_eq!(table.services[1].external_name.as_deref(), Some("example.com"));
}

#[test]
fn an_address_in_two_slices_is_one_endpoint_with_the_ports_of_both() {
    let mut other = slice("s", json!([{"addresses": ["10.244.0.5"]}]), 9090);
    other["ports"][0]["name"] = "metrics".into();
    let table = made(
        json!([{"metadata": {"name": "s", "namespace": "n"}, "spec": {}}]),
        json!([slice("s", json!([{"addresses": ["10.244.0.5"]}]), 8080), other]),
    );
    assert_eq!(table.services[0].endpoints.len(), 1);
    assert_eq!(table.services[0].endpoints[0].ports.len(), 2);
}

fn listening(uid: &str, status: Value, ports: Value) -> Value {
    json!({
        "metadata": {"name": uid, "uid": uid}, "status": status,
        "spec": {"containers": [{"name": "c", "ports": ports}]},
    })
}

fn host_ports_of(pods: Value) -> Vec<String> {
    let table = with_pods(json!([]), json!([]), pods);
    let shown = |port: &network::HostPort| {
        let address = port.address.map(|address| address.to_string());
        let address = address.as_deref().unwrap_or("*");
        format!(
            "{} {} {address}:{} > {}",
            port.pod, port.protocol, port.port, port.to
        )
    };
    table.host_ports.iter().map(shown).collect()
}

#[test]
fn a_port_of_the_host_leads_to_its_pod_from_its_first_address_to_its_end() {
    let ports = json!([
        {"containerPort": 80, "hostPort": 8080},
        {"containerPort": 53, "hostPort": 5353, "protocol": "UDP", "hostIP": "127.0.0.1"},
        {"containerPort": 90},
    ]);
    let with = |status: Value| host_ports_of(json!([listening("p", status, ports.clone())]));
    assert_eq!(
        with(json!({"phase": "Pending", "podIP": "10.244.0.5"})),
        [
            "p TCP *:8080 > 10.244.0.5:80",
            "p UDP 127.0.0.1:5353 > 10.244.0.5:53"
        ]
    );
    assert!(
        with(json!({"phase": "Pending"})).is_empty(),
        "it is not there yet"
    );
    let over = with(json!({"phase": "Succeeded", "podIP": "10.244.0.5"}));
    assert!(over.is_empty(), "it is over");
}

#[test]
fn a_pod_on_the_hosts_network_has_its_ports_without_us() {
    let ports = json!([{"containerPort": 8080, "hostPort": 8080}]);
    let status = json!({"phase": "Running", "podIP": "192.0.2.1"});
    assert!(host_ports_of(json!([listening("p", status, ports)])).is_empty());
}
