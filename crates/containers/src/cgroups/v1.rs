//! Version 1: a hierarchy for each controller or few.

use std::{fs, io, path::Path};

use super::{keyed_number, number};
use crate::{spec::Limits, state::Usage};

pub(super) fn limit(folder: &Path, controllers: &[String], limits: &Limits) -> io::Result<()> {
    let has = |name: &str| controllers.iter().any(|controller| controller == name);
    let write = |file: &str, value: u64| fs::write(folder.join(file), value.to_string());
    if has("memory")
        && let Some(bytes) = limits.memory_bytes
    {
        write("memory.limit_in_bytes", bytes)?;
        // Memory and swap together; absent where swap is not accounted.
        let _ = write("memory.memsw.limit_in_bytes", bytes);
    }
    if has("cpu") {
        limits
            .cpu_shares
            .map_or(Ok(()), |shares| write("cpu.shares", shares.max(2)))?;
        if let Some(cpu) = limits.cpu {
            write("cpu.cfs_period_us", cpu.period)?;
            write("cpu.cfs_quota_us", cpu.quota)?;
        }
    }
    if has("pids") {
        limits.pids.map_or(Ok(()), |pids| write("pids.max", pids))?;
    }
    Ok(())
}

pub(super) fn out_of_memory(folder: &Path) -> bool {
    keyed_number(folder, "memory.oom_control", "oom_kill").is_some_and(|count| count > 0)
}

pub(super) fn add_usage(folder: &Path, controllers: &[String], usage: &mut Usage) {
    for controller in controllers {
        match controller.as_str() {
            "cpuacct" => usage.cpu_nanoseconds = number(folder, "cpuacct.usage").unwrap_or(0),
            "memory" => {
                let used = number(folder, "memory.usage_in_bytes").unwrap_or(0);
                let inactive = keyed_number(folder, "memory.stat", "total_inactive_file").unwrap_or(0);
                usage.memory_bytes = used.saturating_sub(inactive);
            }
            "pids" => usage.pids = number(folder, "pids.current").unwrap_or(0),
            _ => {}
        }
    }
}
