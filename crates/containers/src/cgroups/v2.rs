//! Version 2: one hierarchy, in which each level hands its controllers down.

use std::{fs, io, path::Path};

use super::{keyed_number, number};
use crate::{spec::Limits, state::Usage};

/// Lets the children of `folder` have limits.
pub(super) fn hand_down(folder: &Path) -> io::Result<()> {
    fs::write(folder.join("cgroup.subtree_control"), "+cpu +memory +pids")
}

pub(super) fn limit(folder: &Path, limits: &Limits) -> io::Result<()> {
    let write = |file: &str, value: String| fs::write(folder.join(file), value);
    if let Some(bytes) = limits.memory_bytes {
        write("memory.max", bytes.to_string())?;
        let _ = write("memory.swap.max", "0".to_owned());
        // A container with half of its processes killed is of no use to anybody.
        let _ = write("memory.oom.group", "1".to_owned());
    }
    if let Some(shares) = limits.cpu_shares {
        write("cpu.weight", weight(shares).to_string())?;
    }
    if let Some(cpu) = limits.cpu {
        write("cpu.max", format!("{} {}", cpu.quota, cpu.period))?;
    }
    limits
        .pids
        .map_or(Ok(()), |pids| write("pids.max", pids.to_string()))
}

/// Shares from 2 to 262144 as weights from 1 to 10000, as Kubernetes converts them.
fn weight(shares: u64) -> u64 {
    1 + (shares.clamp(2, 262_144) - 2) * 9999 / 262_142
}

pub(super) fn out_of_memory(folder: &Path) -> bool {
    keyed_number(folder, "memory.events", "oom_kill").is_some_and(|count| count > 0)
}

pub(super) fn add_usage(folder: &Path, usage: &mut Usage) {
    usage.cpu_nanoseconds = keyed_number(folder, "cpu.stat", "usage_usec").unwrap_or(0) * 1000;
    let used = number(folder, "memory.current").unwrap_or(0);
    let inactive = keyed_number(folder, "memory.stat", "inactive_file").unwrap_or(0);
    usage.memory_bytes = used.saturating_sub(inactive);
    usage.pids = number(folder, "pids.current").unwrap_or(0);
}

#[cfg(test)]
mod tests {
    use super::weight;

    #[test]
    fn shares_become_weights_as_kubernetes_converts_them() {
        assert_eq!([2, 1024, 262_144, 0].map(weight), [1, 39, 10_000, 1]);
    }
}
