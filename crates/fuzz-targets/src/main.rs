//! Fuzzing on the stable toolchain: `cargo xtask fuzz [--seconds N] [TARGET]...`.

#![expect(clippy::print_stdout, reason = "the developer waits for what was found")]

use std::{
    fs,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context as _, Result, anyhow};
use clap::Parser;
use fuzz_targets::{TARGETS, Target, fuzz, target};

#[derive(Parser)]
#[command(name = "cargo xtask fuzz", about = "Try made-up inputs")]
struct Arguments {
    /// How long to try each target
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Repeats a run
    #[arg(long)]
    seed: Option<u64>,
    /// Try this input, and no other
    #[arg(long)]
    input: Option<PathBuf>,
    /// All where none is named
    targets: Vec<String>,
}

/// An input that takes longer is worth a look.
const SLOW: Duration = Duration::from_secs(1);

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let named = arguments.targets.iter();
    let named = named.map(|name| target(name).ok_or_else(|| anyhow!("there is no target `{name}`")));
    let mut targets: Vec<&Target> = named.collect::<Result<_>>()?;
    if targets.is_empty() {
        targets = TARGETS.iter().collect();
    }
    if let Some(path) = &arguments.input {
        let input = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        for target in &targets {
            (target.run)(&input);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let seed = arguments.seed.unwrap_or(now.as_secs());
    let mut found = false;
    for target in targets {
        found |= !is_sound(target, seed, Duration::from_secs(arguments.seconds))?;
    }
    Ok(if found {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn is_sound(target: &Target, seed: u64, duration: Duration) -> Result<bool> {
    let started = Instant::now();
    let keep = |what: &str, input: &[u8]| -> Result<String> {
        let path = std::env::temp_dir().join(format!("{}-{seed}.{what}", target.name));
        fs::write(&path, input).with_context(|| format!("cannot write `{}`", path.display()))?;
        Ok(format!(
            "cargo xtask fuzz {} --input {}",
            target.name,
            path.display()
        ))
    };
    match fuzz(target, seed, |_| started.elapsed() < duration) {
        Ok(progress) => {
            let (slowest, input) = &progress.slowest;
            println!(
                "{}: {} inputs, the slowest took {slowest:?}",
                target.name, progress.inputs
            );
            if *slowest > SLOW {
                println!("  that is long; repeat it with `{}`", keep("slow", input)?);
            }
            Ok(true)
        }
        Err(finding) => {
            let repeat = keep("finding", &finding.input)?;
            println!(
                "{}: found something with seed {seed}; repeat it with `{repeat}`",
                target.name
            );
            Ok(false)
        }
    }
}
