//! Test programs, some at a time. Cargo runs one after the other, and most of ours wait for pods more than they
//! compute: a core would be idle for a third of the time.

use std::{
    fs,
    io::Write as _,
    process::{Command, ExitStatus, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::{Context as _, Result};

use super::{count::Counts, programs::Program};

/// Each runs as many tests at a time as there are cores.
const AT_A_TIME: usize = 2;

/// Runs all of them, whatever becomes of each, and shows what one printed when it has ended. Answers which failed.
pub(super) fn run<'p>(
    programs: &'p [Program],
    counts: &mut Counts,
    prepare: impl Fn(&mut Command) + Sync,
) -> Result<Vec<&'p Program>> {
    let next = AtomicUsize::new(0);
    let shown = Mutex::new((counts, Vec::new()));
    let work = || -> Result<()> {
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            eprintln!("    Starting {}", program.source.display());
            let mut command = Command::new(&program.executable);
            prepare(&mut command);
            let (status, text) = output(program, &mut command)?;
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            println!("     Running {}", name(program));
            for line in text.lines() {
                shown.0.read(line);
            }
            if !status.success() {
                println!("error: {} ended with {status}", name(program));
                shown.1.push(program);
            }
            std::io::stdout().flush()?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    let (_, failed) = shown.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(failed)
}

pub(super) fn name(program: &Program) -> String {
    format!("{} ({})", program.source.display(), program.executable.display())
}

/// What it prints goes through a file: a pipe would be open for as long as anything that a test left behind.
fn output(program: &Program, command: &mut Command) -> Result<(ExitStatus, String)> {
    let file = tempfile::NamedTempFile::new().context("there is no place for what tests print")?;
    let sink = file.reopen()?;
    let status = command
        .current_dir(&program.package)
        .env("CARGO_MANIFEST_DIR", &program.package)
        .stdin(Stdio::null())
        .stdout(sink.try_clone()?)
        .stderr(sink)
        .status()
        .with_context(|| format!("cannot start {}", program.executable.display()))?;
    let text = fs::read(file.path()).context("what a test printed is gone")?;
    Ok((status, String::from_utf8_lossy(&text).into_owned()))
}
