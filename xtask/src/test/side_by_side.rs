//! Test programs, some at a time. Cargo runs one after the other, and most of ours wait for pods more than they
//! compute: a core would be idle for a third of the time.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::{
    count::Counts,
    programs::Program,
    progress::{EVERY, Progress},
};

/// A program for each core; each runs as many tests at a time as there are cores. With more, tests that measure how long
/// a cluster takes to notice would fail now and then.
pub(super) fn at_a_time() -> usize {
    thread::available_parallelism().map_or(2, usize::from).clamp(2, 8)
}

/// What became of one program.
pub(super) struct Ran {
    pub(super) name: String,
    pub(super) succeeded: bool,
    pub(super) counts: Counts,
    pub(super) took: Duration,
    /// Processor time of the program and of the programs it waited for.
    pub(super) processor: Duration,
    /// What it printed, and how it ended.
    output: String,
}

/// Runs all of them, whatever becomes of each. A program's output is shown when it has failed, or with `verbose`.
pub(super) fn run(
    programs: &[Program],
    at_a_time: usize,
    verbose: bool,
    prepare: impl Fn(&mut Command) + Sync,
) -> Result<Vec<Ran>> {
    let next = AtomicUsize::new(0);
    let progress = Progress::new(programs.len());
    let results = Mutex::new(Vec::new());
    let work = || -> Result<()> {
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut command = Command::new(&program.executable);
            prepare(&mut command);
            let ran = one(program, &mut command, &progress)?;
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            println!("{}", progress.ends(&ran));
            if verbose || !ran.succeeded {
                println!("{}", ran.output);
            }
            std::io::stdout().flush()?;
            results.push(ran);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let (all_ended, until) = mpsc::channel::<()>();
        scope.spawn({
            let progress = &progress;
            move || {
                while until.recv_timeout(EVERY / 4) == Err(mpsc::RecvTimeoutError::Timeout) {
                    if let Some(line) = progress.waiting() {
                        println!("{line}");
                    }
                }
            }
        });
        let workers: Vec<_> = (0..at_a_time.max(1)).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        drop(all_ended);
        ended
    })?;
    Ok(results.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Runs one. What it prints goes through a file: a pipe would be open for as long as anything that a test left behind.
fn one(program: &Program, command: &mut Command, progress: &Progress) -> Result<Ran> {
    let file = tempfile::NamedTempFile::new().context("the output of tests has no place")?;
    let sink = file.reopen()?;
    let name = program.name();
    let begun = Instant::now();
    let mut child = command
        .current_dir(&program.package)
        .env("CARGO_MANIFEST_DIR", &program.package)
        .stdin(Stdio::null())
        .stdout(sink.try_clone()?)
        .stderr(sink)
        .spawn()
        .with_context(|| format!("cannot start {}", program.executable.display()))?;
    progress.begins(&name, file.path().to_owned());
    let processor = processor_time(&child);
    let status = child.wait().context("cannot wait for a test program")?;
    let took = begun.elapsed();
    let text = fs::read(file.path()).context("the output of a test program is gone")?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut counts = Counts::default();
    text.lines().for_each(|line| counts.read(line));
    Ok(Ran {
        output: format!(
            "{}\n{text}\n{name} ended with {status}",
            program.executable.display()
        ),
        name,
        succeeded: status.success(),
        counts,
        took,
        processor,
    })
}

/// Waits until the program has ended and returns its processor time, which is gone once it is waited for.
fn processor_time(child: &Child) -> Duration {
    let pid = Pid::from_child(child);
    while matches!(
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT),
        Err(rustix::io::Errno::INTR)
    ) {}
    let stat = format!("/proc/{}/stat", child.id());
    fs::read_to_string(Path::new(&stat))
        .ok()
        .and_then(|stat| ticks(&stat))
        .map_or(Duration::ZERO, |ticks| Duration::from_millis(ticks * 10))
}

/// User and system time, of the process and of those it waited for, in hundredths of a second.
fn ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    // Field 3 of proc(5) is the first after the name; the times are fields 14 to 17.
    let fields = after_name.split_whitespace().skip(11).take(4);
    fields.map(|field| field.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_that_of_the_process_and_its_children() {
        let stat = "12 (a (b) c) Z 1 12 12 0 -1 4 9 9 0 0 100 20 3 4 20 0 1 0 5 0 0";
        assert_eq!(ticks(stat), Some(127));
    }
}
