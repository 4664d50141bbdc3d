//! Processor time of single compilations: this program stands between cargo and the compiler and writes it down.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::Path,
    process::{Command, ExitCode},
    time::Duration,
};

use anyhow::{Context as _, Result};

/// Names the file that compilations are recorded in.
pub(crate) const LOG: &str = "TRAINYARD_BENCH_UNITS";
/// That file in the folder of a benchmark.
pub(super) const FILE: &str = "units.tsv";

const SHOWN: usize = 20;

pub(super) struct Unit {
    pub(super) name: String,
    pub(super) processor: Duration,
}

/// Runs a compiler as cargo asked for it (`RUSTC_WRAPPER`), and records its processor time.
pub(crate) fn record(log: &Path, mut words: impl Iterator<Item = OsString>) -> Result<ExitCode> {
    let compiler = words.next().context("cargo names no compiler")?;
    let words: Vec<OsString> = words.collect();
    let status = Command::new(&compiler)
        .args(&words)
        .status()
        .with_context(|| format!("cannot start `{}`", compiler.display()))?;
    if let Some(name) = name(&words) {
        let line = format!("{name}\t{}\n", super::processor_time()?.as_millis());
        let mut log = fs::OpenOptions::new().create(true).append(true).open(log)?;
        log.write_all(line.as_bytes())?;
    }
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}

/// The crate, and which of its units it is. Questions about the compiler itself name none.
fn name(words: &[OsString]) -> Option<String> {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let after = |option: &str| {
        let place = words.iter().position(|word| *word == option)?;
        words.get(place + 1).copied()
    };
    let name = after("--crate-name").filter(|name| *name != "___")?;
    let kind = match after("--crate-type") {
        _ if words.contains(&"--test") => " (test)",
        _ if name.starts_with("build_script_") => " (build script)",
        Some("bin") => " (program)",
        Some("proc-macro") => " (macro)",
        _ if words.contains(&"--emit=dep-info,metadata") => " (check)",
        _ => "",
    };
    Some(format!("{name}{kind}"))
}

/// The units that took most over all steps.
pub(super) fn dearest(folder: &Path) -> Result<Vec<Unit>> {
    let path = folder.join(FILE);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(sum(&text))
}

fn sum(text: &str) -> Vec<Unit> {
    let mut sums: BTreeMap<&str, (Duration, u32)> = BTreeMap::new();
    for (name, time) in text.lines().filter_map(|line| line.split_once('\t')) {
        let sum = sums.entry(name).or_default();
        sum.0 += Duration::from_millis(time.parse().unwrap_or_default());
        sum.1 += 1;
    }
    let mut units: Vec<Unit> = sums
        .into_iter()
        .map(|(name, (processor, times))| Unit {
            name: format!("{name}, {times} times"),
            processor,
        })
        .collect();
    units.sort_by_key(|unit| std::cmp::Reverse(unit.processor));
    units
}

pub(super) fn table(units: &[Unit]) -> String {
    let mut text = String::from("\n| unit, in all steps | processor |\n|---|---|\n");
    for unit in units.iter().take(SHOWN) {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "| {} | {:.1} s |", unit.name, unit.processor.as_secs_f64());
    }
    let all: Duration = units.iter().map(|unit| unit.processor).sum();
    let _ = writeln!(text, "| all that rustc built | {} s |", all.as_secs());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn units_of_a_crate_are_told_apart() {
        let of = |line| name(&words(line));
        assert_eq!(
            of("--crate-name syn --edition=2021 --crate-type lib").as_deref(),
            Some("syn")
        );
        assert_eq!(
            of("--crate-name cli --crate-type lib --test").as_deref(),
            Some("cli (test)")
        );
        assert_eq!(of("-vV"), None);
        assert_eq!(of("- --crate-name ___ --print=file-names"), None);
    }

    #[test]
    fn times_of_a_unit_are_added() {
        let units = sum("syn\t1000\ncli\t1500\nsyn\t700\n");
        assert_eq!(units[0].name, "syn, 2 times");
        assert_eq!(units[0].processor, Duration::from_millis(1700));
    }
}
