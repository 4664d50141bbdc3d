//! Ports that are named or numbered alike, on purpose or not.

use std::collections::HashMap;

use manifests::field::{Path, quoted};
use serde_json::Value;

use super::visit_containers;
use crate::read::{int, list, text};

/// A port and where it is written.
struct Entry<'a> {
    path: Path,
    host_ip: &'a str,
    host_port: i64,
}

impl Entry<'_> {
    /// How this port gets into the way of another with the same number inside.
    fn relation_to(&self, other: &Self) -> Option<&'static str> {
        if self.host_ip == other.host_ip && self.host_port == other.host_port {
            Some("duplicate")
        } else if self.host_port == 0 || other.host_port == 0 {
            Some("overlapping")
        } else {
            let one_is_open = self.host_ip.is_empty() != other.host_ip.is_empty();
            (self.host_port == other.host_port && one_is_open).then_some("dangerously ambiguous")
        }
    }
}

/// Warns about the ports of all containers; `path` is that of the spec.
pub(super) fn collect(spec: &Value, path: &Path, warnings: &mut Vec<String>) {
    let mut taken: HashMap<(i64, &str), Vec<Entry<'_>>> = HashMap::new();
    visit_containers(spec, path, |container, path| {
        for (i, port) in list(container, "ports").iter().enumerate() {
            let path = path().child("ports").index(i);
            let (inside, protocol) = (
                int(port, "containerPort").unwrap_or_default(),
                text(port, "protocol"),
            );
            let host_port = int(port, "hostPort").unwrap_or_default();
            let here = Entry {
                path,
                host_ip: text(port, "hostIP"),
                host_port,
            };
            let Entry { path, host_ip, .. } = &here;
            if !host_ip.is_empty() && host_port == 0 {
                let name = text(port, "name");
                warnings.push(format!(
                    "{path}: hostIP set without hostPort: {{Name:{name} HostPort:0 ContainerPort:{inside} Protocol:{protocol} HostIP:{host_ip}}}"
                ));
            }
            let others = taken.entry((inside, protocol)).or_default();
            for other in others.iter() {
                if let Some(relation) = here.relation_to(other) {
                    warnings.push(format!("{path}: {relation} port definition with {}", other.path));
                }
            }
            others.push(here);
        }
    });
    collect_names(spec, path, warnings);
}

fn collect_names(spec: &Value, path: &Path, warnings: &mut Vec<String>) {
    let mut named: HashMap<&str, Path> = HashMap::new();
    visit_containers(spec, path, |container, path| {
        for (i, port) in list(container, "ports").iter().enumerate() {
            let name = text(port, "name");
            if name.is_empty() {
                continue;
            }
            let path = path().child("ports").index(i);
            match named.get(name) {
                Some(first) => warnings.push(format!(
                    "{path}: duplicate port name {} with {first}, services and probes that select ports by name will use {first}",
                    quoted(name)
                )),
                None => {
                    named.insert(name, path);
                }
            }
        }
    });
}
