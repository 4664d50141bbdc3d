//! What those are told who wait behind somebody that has waited longer.

use super::holders::holders;
use crate::{amounts::shown, cluster::Cluster, unit::Unit};

/// `waits behind n/g, which needs 8 nvidia.com/gpu for 2 pods and has waited longer; 4 of 8 are free,
/// n/old holds 4`.
pub(crate) fn behind(cluster: &Cluster, ahead: &Unit, device: &str) -> String {
    let open = || {
        let nodes = cluster.nodes();
        nodes.filter(|node| node.allocatable.get(device) > 0 && !node.is_cordoned)
    };
    let all: i64 = open().map(|node| node.allocatable.get(device)).sum();
    let free: i64 = open().map(|node| node.free(device).max(0)).sum();
    let needed: i64 = ahead
        .members
        .iter()
        .map(|member| member.requests.get(device))
        .sum();
    let pods = match ahead.members.len() {
        1 => String::new(),
        count => format!(" for {count} pods"),
    };
    let mut message = format!(
        "waits behind {}/{}, which needs {} {device}{pods} and has waited longer; {} of {} are free",
        ahead.namespace,
        ahead.name,
        shown(device, needed),
        shown(device, free),
        shown(device, all),
    );
    if let Some(asker) = ahead.members.first() {
        let holders = holders(open().flat_map(|node| &node.pods), device, asker);
        if !holders.is_empty() {
            message.push_str(", ");
            message.push_str(&holders);
        }
    }
    message
}
