//! Problems of a cluster itself: of its nodes, of the parts that run it, and of the disk of an embedded one.

use std::path::Path;

use rustix::fs::{StatVfsMountFlags, statvfs};
use serde_json::{Value, json};

/// Less free space than this is none: the store and the files of a single pod need more.
const LEAST_SPACE: u64 = 1 << 20;

/// Something that is wrong, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ailment {
    pub(crate) what: String,
    pub(crate) hint: String,
}

impl Ailment {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
        }
    }

    pub(crate) fn as_json(&self) -> Value {
        json!({ "message": self.what, "hint": self.hint })
    }
}

/// The reason why the directory of an embedded cluster cannot be written to.
pub(crate) fn of_disk(dir: &Path) -> Option<Ailment> {
    // A directory that is not there yet is made on the disk of the folder above it.
    let existing = dir.ancestors().find(|folder| folder.exists())?;
    let disk = statvfs(existing).ok()?;
    if disk.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Some(Ailment::new(
            format!("the disk of `{}` is read-only", dir.display()),
            "remount it for writing (`dmesg` shows why a kernel made it read-only), or choose another directory with `--data-dir DIR`",
        ));
    }
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    (free < LEAST_SPACE).then(|| {
        Ailment::new(
            format!("the disk of `{}` is full: {free} bytes are free", dir.display()),
            "free some space there, or choose another directory with `--data-dir DIR`; a cluster that runs goes on by itself then",
        )
    })
}

/// An embedded cluster that was started to serve the API alone.
pub(crate) fn without_pods(down: &str, up: &str) -> Ailment {
    Ailment::new(
        "the cluster has no node: it was started with `--api-only`, so no pod can start",
        format!("`{down}` and `{up}` start it with this machine as its node"),
    )
}

/// An embedded cluster whose API does not answer.
pub(crate) fn unanswered(why: &str, dir: &Path) -> Ailment {
    Ailment::new(
        format!("its API cannot be asked about its node: {why}"),
        format!("`{}` has more", dir.join("server.log").display()),
    )
}

/// Problems that the conditions of nodes report, of the nodes and of the parts that run them. `embedded` is the directory
/// of an embedded cluster.
pub(crate) fn of_nodes(nodes: &[Value], embedded: Option<&Path>) -> Vec<Ailment> {
    let log = || match embedded {
        Some(dir) => format!("`{}` has more", dir.join("server.log").display()),
        None => "`kubectl get nodes` and `kubectl describe node` show more".to_owned(),
    };
    if nodes.is_empty() {
        return vec![Ailment::new(
            "the cluster has no node, so no pod can start",
            log(),
        )];
    }
    let mut found = Vec::new();
    for node in nodes {
        let name = text(&node["metadata"]["name"]);
        let condition = |kind: &str| condition(node, kind);
        let is_true = |kind: &str| condition(kind).filter(|condition| condition["status"] == "True");
        if let Some(failing) = is_true(cluster::PART_FAILING) {
            found.push(Ailment::new(text(&failing["message"]), log()));
        }
        if let Some(network) = is_true("NetworkUnavailable") {
            if network["reason"] == cluster::NETWORK_IS_STARTING {
                continue;
            }
            // The part that dies again and again says the same.
            if found.is_empty() {
                let what = format!(
                    "pods on node `{name}` have no network: {}",
                    text(&network["message"])
                );
                let hint = match embedded {
                    Some(dir) => format!(
                        "the network is started again every few seconds; `{}` has more",
                        dir.join("network/network.log").display()
                    ),
                    None => log(),
                };
                found.push(Ailment::new(what, hint));
            }
            continue;
        }
        for (kind, what) in [
            ("DiskPressure", "disk space"),
            ("MemoryPressure", "memory"),
            ("PIDPressure", "process ids"),
        ] {
            if let Some(pressure) = is_true(kind) {
                found.push(Ailment::new(
                    format!(
                        "node `{name}` runs short of {what}: {}",
                        text(&pressure["message"])
                    ),
                    "free some on that machine, or end what uses it",
                ));
            }
        }
        if !is_ready(node) && found.is_empty() {
            let why = condition("Ready").map_or("it has not reported yet", |ready| text(&ready["message"]));
            found.push(Ailment::new(format!("node `{name}` is not ready: {why}"), log()));
        }
    }
    found
}

pub(crate) fn is_ready(node: &Value) -> bool {
    condition(node, "Ready").is_some_and(|ready| ready["status"] == "True")
}

fn condition<'a>(node: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = node["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(conditions: &[(&str, &str, &str)]) -> Value {
        let conditions = conditions
            .iter()
            .map(|(kind, status, message)| json!({"type": kind, "status": status, "message": message}));
        json!({"metadata": {"name": "desk"}, "status": {"conditions": conditions.collect::<Value>()}})
    }

    #[test]
    fn a_network_that_is_just_starting_is_no_ailment() {
        let mut starting = node(&[("NetworkUnavailable", "True", ""), ("Ready", "False", "")]);
        starting["status"]["conditions"][0]["reason"] = json!(cluster::NETWORK_IS_STARTING);
        assert_eq!(told(&[starting]), [""; 0]);
    }

    fn told(nodes: &[Value]) -> Vec<String> {
        let found = of_nodes(nodes, Some(Path::new("/data")));
        found.into_iter().map(|ailment| ailment.what).collect()
    }

    #[test]
    fn a_cluster_that_is_well_has_nothing_to_tell() {
        let well = node(&[
            ("Ready", "True", ""),
            ("DiskPressure", "False", ""),
            ("NetworkUnavailable", "False", ""),
            (cluster::PART_FAILING, "False", ""),
        ]);
        assert_eq!(told(&[well]), [""; 0]);
    }

    #[test]
    fn the_cause_is_told_and_not_what_follows_from_it() {
        assert_eq!(told(&[]), ["the cluster has no node, so no pod can start"]);
        let down = [
            ("NetworkUnavailable", "True", "the network process ended at once"),
            ("Ready", "False", "container runtime network not ready"),
        ];
        assert_eq!(
            told(&[node(&down)]),
            ["pods on node `desk` have no network: the network process ended at once"]
        );
        let again = "the network process died 3 times in the last 10 minutes";
        let failing = [down[0], down[1], (cluster::PART_FAILING, "True", again)];
        assert_eq!(told(&[node(&failing)]), [again]);
        assert_eq!(
            told(&[node(&[(
                "Ready",
                "Unknown",
                "Kubelet stopped posting node status."
            )])]),
            ["node `desk` is not ready: Kubelet stopped posting node status."]
        );
    }

    #[test]
    fn a_disk_with_space_is_well_whether_or_not_the_directory_is_there() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(of_disk(folder.path()), None);
        assert_eq!(of_disk(&folder.path().join("not/there/yet")), None);
    }
}
