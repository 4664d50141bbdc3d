//! What `/proc` tells about processes. Numbers are the host's unless said otherwise.

use std::{fs, io};

use crate::state::Usage;

/// Good enough for a sum of resident memory on machines with larger pages.
const PAGE: u64 = 4096;

/// When a process started, in clock ticks since boot: with its number it names a process for good.
pub(crate) fn start_time(pid: i32) -> io::Result<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    field(&stat, 22).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Whether it has ended and waits to be buried.
pub(crate) fn is_zombie(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| rest.starts_with('Z'))
}

/// The session a process belongs to.
pub(crate) fn session(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    field(&stat, 6)
}

/// What a process uses: time on a processor, and memory of its own.
pub(crate) fn usage(pid: i32) -> Option<Usage> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (user, system, pages): (u64, u64, u64) = (field(&stat, 14)?, field(&stat, 15)?, field(&stat, 24)?);
    // The kernel shows programs a hundred ticks a second whatever its own clock does.
    let cpu_nanoseconds = (user + system) * 10_000_000;
    Some(Usage {
        cpu_nanoseconds,
        memory_bytes: pages * PAGE,
        pids: 1,
    })
}

/// All processes that can be seen.
pub(crate) fn all() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// A process's numbers, from the host's namespace to the innermost one.
pub(crate) fn numbers(pid: i32) -> Vec<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    numbers_in(&status)
}

fn numbers_in(status: &str) -> Vec<i32> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))
        .unwrap_or_default();
    line.split_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect()
}

/// A field of `/proc/PID/stat`, counted from 1. The second one may hold blanks and brackets.
fn field<T: std::str::FromStr>(stat: &str, number: usize) -> Option<T> {
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{field, numbers_in};

    #[test]
    fn fields_are_counted_after_a_name_that_may_hold_anything() {
        let stat = "42 (a) b (c) S 1 7 8 9 10";
        assert_eq!(field::<i32>(stat, 4), Some(1));
        assert_eq!(field::<i32>(stat, 6), Some(8));
        assert_eq!(field::<i32>(stat, 22), None);
    }

    #[test]
    fn a_process_has_a_number_in_each_namespace() {
        assert_eq!(
            numbers_in("Name:\tsh\nNSpid:\t4711\t12\t1\nNSpgid:\t0\n"),
            [4711, 12, 1]
        );
    }
}
