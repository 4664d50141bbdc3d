//! What a server costs while nobody asks it anything.

use std::{fs, thread, time::Duration};

use anyhow::{Context as _, Result};

/// From ready to settled: what was needed only for starting has been given back by then.
const SETTLE: Duration = Duration::from_secs(10);
const WINDOW: Duration = Duration::from_secs(10);
/// Whoever is busy longer after his work is measured as he is.
const PATIENCE: Duration = Duration::from_mins(1);
/// The kernel counts processor time in these.
const TICKS_PER_SECOND: f64 = 100.0;

pub(super) struct Idle {
    pub(super) megabytes: f64,
    pub(super) cpu_percent: f64,
}

/// Gives servers the time to come to rest.
pub(super) fn settle() {
    eprintln!("idle for {} seconds", (SETTLE + WINDOW).as_secs());
    thread::sleep(SETTLE);
}

/// Waits until a process does nothing any more, or for so long that it will not come to rest.
pub(super) fn at_rest(pid: u32) -> Result<()> {
    let mut before = cpu_ticks(pid)?;
    for _ in 0..PATIENCE.as_secs() {
        thread::sleep(Duration::from_secs(1));
        let now = cpu_ticks(pid)?;
        // Its timers may take a little.
        if now <= before + 1 {
            return Ok(());
        }
        before = now;
    }
    Ok(())
}

/// Looks at several servers, each a group of processes, at the same time.
pub(super) fn measure(servers: &[Vec<u32>]) -> Result<Vec<Idle>> {
    let ticks = |pids: &Vec<u32>| -> Result<u64> { pids.iter().map(|pid| cpu_ticks(*pid)).sum() };
    let before = servers.iter().map(ticks).collect::<Result<Vec<_>>>()?;
    thread::sleep(WINDOW);
    servers
        .iter()
        .zip(before)
        .map(|(pids, before)| {
            let spent = (ticks(pids)? - before) as f64 / TICKS_PER_SECOND;
            let bytes: u64 = pids.iter().map(|pid| memory(*pid)).sum::<Result<_>>()?;
            Ok(Idle {
                megabytes: bytes as f64 / 1e6,
                cpu_percent: 100.0 * spent / WINDOW.as_secs_f64(),
            })
        })
        .collect()
}

/// What is resident, and of pages that several processes have their share: the program itself counts once
/// however many run it.
pub(super) fn memory(pid: u32) -> Result<u64> {
    let sums = read(pid, "smaps_rollup")?;
    let line = sums.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kilobytes: u64 = line
        .and_then(|line| line.split_whitespace().next()?.parse().ok())
        .context("a process without memory")?;
    Ok(kilobytes * 1024)
}

fn cpu_ticks(pid: u32) -> Result<u64> {
    let stat = read(pid, "stat")?;
    // The name of the program may contain blanks, but the last `)` closes it.
    let (_, fields) = stat.rsplit_once(')').context("a process without a name")?;
    let times = fields.split_whitespace().skip(11).take(2);
    times
        .map(|ticks| ticks.parse::<u64>().context("a process without times"))
        .sum()
}

fn read(pid: u32, file: &str) -> Result<String> {
    fs::read_to_string(format!("/proc/{pid}/{file}")).context("a server has ended")
}
