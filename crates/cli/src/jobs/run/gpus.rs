//! The number of GPUs that each node of a job asks for: a number, or all that a node of the embedded cluster has. A job
//! that asks for none on a machine with GPUs gets a note, since its program will not see them.

use std::time::Duration;

use anyhow::Result;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::{advised, jobs::place::Cluster};

/// How long a cluster that has just started may take until its node is there.
const NODE_TIMEOUT: Duration = Duration::from_secs(5);
const NODE_POLL: Duration = Duration::from_millis(50);

/// More than any machine has.
const MOST: u32 = 1024;

/// The value of `--gpus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gpus {
    Count(u32),
    All,
}

pub(super) fn parse(text: &str) -> Result<Gpus, String> {
    match (text, text.parse()) {
        ("all", _) => Ok(Gpus::All),
        (_, Ok(count)) if count <= MOST => Ok(Gpus::Count(count)),
        _ => Err(format!("a number from 0 to {MOST} or `all` is expected")),
    }
}

/// The number to ask for before the cluster is known: `all` stands for at least one.
pub(super) fn at_least(asked: Option<Gpus>) -> u32 {
    match asked {
        None => 0,
        Some(Gpus::Count(count)) => count,
        Some(Gpus::All) => 1,
    }
}

/// The number to ask for on this cluster. Prints the note where the job will see none of the GPUs there are.
pub(super) async fn settle(asked: Option<Gpus>, cluster: &Cluster) -> Result<u32> {
    if let Some(Gpus::Count(count)) = asked {
        return Ok(count);
    }
    let there = most(&nodes(cluster).await);
    if asked == Some(Gpus::All) && there == 0 {
        return Err(advised(
            "this machine has no GPU that a job can use",
            "leave `--gpus` out to run without; `nvidia-smi` shows the GPUs that the driver knows",
        ));
    }
    if let Some(note) = note(there).filter(|_| asked.is_none()) {
        eprintln!("{note}");
    }
    Ok(if asked.is_none() { 0 } else { there })
}

fn note(there: u32) -> Option<String> {
    let gpus = match there {
        0 => return None,
        1 => "a GPU".to_owned(),
        _ => format!("{there} GPUs"),
    };
    Some(format!(
        "note: this machine has {gpus}, and the job will see none: `--gpus N` or `--gpus all` asks for them"
    ))
}

/// The nodes of an embedded cluster; none where they cannot be listed, or where no node comes in time.
async fn nodes(cluster: &Cluster) -> Vec<Value> {
    let has_node = cluster
        .embedded
        .as_ref()
        .is_some_and(|instance| instance.tier.is_some());
    if !has_node {
        return Vec::new();
    }
    let deadline = Instant::now() + NODE_TIMEOUT;
    loop {
        match cluster.api.list("/api/v1/nodes").await {
            Ok(Some(nodes)) if nodes.is_empty() && Instant::now() < deadline => sleep(NODE_POLL).await,
            Ok(Some(nodes)) => return nodes,
            Ok(None) | Err(_) => return Vec::new(),
        }
    }
}

/// The largest number of GPUs that one node gives to pods.
fn most(nodes: &[Value]) -> u32 {
    let counts = nodes.iter().filter_map(|node| {
        let count = node["status"]["allocatable"]["nvidia.com/gpu"].as_str()?;
        count.parse().ok()
    });
    counts.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_or_all_can_be_asked_for() {
        assert_eq!(parse("2"), Ok(Gpus::Count(2)));
        assert_eq!(parse("all"), Ok(Gpus::All));
        for wrong in ["-1", "1025", "some", ""] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn all_are_those_of_the_node_with_the_most() {
        let node = |gpus: &str| json!({"status": {"allocatable": {"cpu": "2", "nvidia.com/gpu": gpus}}});
        assert_eq!(most(&[node("2"), node("8"), json!({})]), 8);
        assert_eq!(most(&[json!({"status": {}})]), 0);
    }

    #[test]
    fn the_note_names_the_number_of_gpus() {
        assert_eq!(note(0), None);
        assert!(note(1).is_some_and(|note| note.contains("has a GPU, and")));
        assert!(note(4).is_some_and(|note| note.contains("has 4 GPUs, and")));
    }
}
