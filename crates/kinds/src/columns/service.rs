//! Services and the endpoints behind them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    AGE, Column, NAME, Table,
    row::{NONE, Row, UNKNOWN, UNSET, cells, first_few, joined, joined_texts, number, or, text_or},
    selector::labels,
    string, wide,
};
use crate::read::{get, int, list, text};

/// How many endpoints or ports are written out.
const SHOWN: usize = 3;

pub(super) static SERVICE: Table = Table {
    columns: SERVICE_COLUMNS,
    cells: service_cells,
};

const SERVICE_COLUMNS: &[Column] = &[
    NAME,
    string("Type", "How the service is exposed."),
    string("Cluster-IP", "Address inside the cluster."),
    string("External-IP", "Addresses outside the cluster."),
    string("Port(s)", "Ports, with the node port after a colon."),
    AGE,
    wide(string("Selector", "Labels of the pods behind the service.")),
];

fn service_cells(row: &Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    let first_cluster_ip = list(spec, "clusterIPs").first().and_then(Value::as_str);
    cells![
        row.name(),
        text(spec, "type"),
        first_cluster_ip.unwrap_or(or(text(spec, "clusterIP"), NONE)),
        external_ip(row),
        or(&ports(spec), NONE),
        row.age(),
        labels(spec, "selector"),
    ]
}

fn external_ip(row: &Row<'_>) -> String {
    let spec = row.spec();
    let external_ips = joined_texts(list(spec, "externalIPs"));
    match text(spec, "type") {
        "ClusterIP" | "NodePort" => or(&external_ips, NONE).to_owned(),
        "LoadBalancer" => match (load_balancer(row.status()), external_ips) {
            (given, own) if own.is_empty() => or(&given, "<pending>").to_owned(),
            (given, own) if given.is_empty() => own,
            (given, own) => format!("{given},{own}"),
        },
        "ExternalName" => text(spec, "externalName").to_owned(),
        _ => UNKNOWN.to_owned(),
    }
}

/// The addresses a load balancer gave, each once and sorted.
pub(super) fn load_balancer(status: &Value) -> String {
    let addresses: BTreeSet<&str> = list(get(status, "loadBalancer"), "ingress")
        .iter()
        .map(|ingress| or(text(ingress, "ip"), text(ingress, "hostname")))
        .filter(|address| !address.is_empty())
        .collect();
    joined(addresses.into_iter(), ",")
}

fn ports(spec: &Value) -> String {
    let port = |port: &Value| match number(port, "nodePort") {
        node_port @ 1.. => format!("{}:{node_port}/{}", number(port, "port"), text(port, "protocol")),
        _ => format!("{}/{}", number(port, "port"), text(port, "protocol")),
    };
    list(spec, "ports").iter().map(port).collect::<Vec<_>>().join(",")
}

pub(super) static ENDPOINTS: Table = Table {
    columns: &[
        NAME,
        string("Endpoints", "Addresses and ports that are ready."),
        AGE,
    ],
    cells: |row| cells![row.name(), endpoints(row.object), row.age()],
};

fn endpoints(object: &Value) -> String {
    let subsets = list(object, "subsets");
    if subsets.is_empty() {
        return NONE.to_owned();
    }
    first_few(
        subsets.iter().flat_map(subset_endpoints),
        SHOWN,
        ",",
        |(ip, port)| host_port(ip, port),
    )
}

/// Every address with every port; a headless service may have no port at all.
fn subset_endpoints(subset: &Value) -> impl Iterator<Item = (&str, Option<i64>)> {
    let addresses = list(subset, "addresses");
    let ports: Vec<Option<i64>> = match list(subset, "ports") {
        [] => vec![None],
        ports => ports.iter().map(|port| Some(number(port, "port"))).collect(),
    };
    ports
        .into_iter()
        .flat_map(move |port| addresses.iter().map(move |address| (text(address, "ip"), port)))
}

fn host_port(ip: &str, port: Option<i64>) -> String {
    match port {
        None => ip.to_owned(),
        Some(port) if ip.contains(':') => format!("[{ip}]:{port}"),
        Some(port) => format!("{ip}:{port}"),
    }
}

pub(super) static ENDPOINT_SLICE: Table = Table {
    columns: &[
        NAME,
        string("AddressType", "Whether addresses are IPv4, IPv6 or names."),
        string("Ports", "Ports of every endpoint in the slice."),
        string("Endpoints", "Addresses in the slice, ready or not."),
        AGE,
    ],
    cells: |row| {
        let ports = first_few(list(row.object, "ports").iter(), SHOWN, ",", slice_port);
        let addresses = list(row.object, "endpoints")
            .iter()
            .flat_map(|endpoint| list(endpoint, "addresses"));
        let addresses = first_few(addresses.filter_map(Value::as_str), SHOWN, ",", str::to_owned);
        cells![
            row.name(),
            text(row.object, "addressType"),
            or(&ports, UNSET),
            or(&addresses, UNSET),
            row.age()
        ]
    },
};

/// A slice without a number for a port means any, known by the port's name.
fn slice_port(port: &Value) -> String {
    int(port, "port").map_or_else(|| text_or(port, "name", "*").to_owned(), |port| port.to_string())
}
