//! The process behind `trainyard __render`: requests come in on standard input, replies go out on standard output.

use std::{
    io::{self, Read as _, Write as _},
    process::ExitCode,
    time::Duration,
};

use nix::{
    sys::{
        resource::{Resource, setrlimit},
        signal::{SigEvent, SigevNotify, Signal},
        time::TimeSpec,
        timer::{Expiration, Timer, TimerSetTimeFlags},
    },
    time::ClockId,
};

use crate::{answer::answer, cache::Cache, frames, request::Request};

/// Serves until standard input ends. `arguments` are the limits that [`crate::Pool`] gives it: bytes of memory and
/// milliseconds of processor time for each request.
pub fn process(arguments: &[&str]) -> ExitCode {
    let numbers: Vec<u64> = arguments.iter().filter_map(|text| text.parse().ok()).collect();
    let [memory, milliseconds] = numbers.as_slice() else {
        return ExitCode::from(2);
    };
    match serve(*memory, Duration::from_millis(*milliseconds)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(1),
    }
}

fn serve(memory: u64, processor: Duration) -> io::Result<()> {
    limit(memory)?;
    // Counts processor time only: a busy machine is no reason to end. Its signal ends the process.
    let ends = SigEvent::new(SigevNotify::SigevSignal {
        signal: Signal::SIGXCPU,
        si_value: 0,
    });
    let mut timer = Timer::new(ClockId::CLOCK_PROCESS_CPUTIME_ID, ends)?;
    let mut cache = Cache::default();
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut header = [0; 4];
    loop {
        match input.read_exact(&mut header) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
        let mut body = vec![0; frames::length(header)?];
        input.read_exact(&mut body)?;
        let expiration = Expiration::OneShot(TimeSpec::from(processor));
        timer.set(expiration, TimerSetTimeFlags::empty())?;
        // Values may be nested deeper than the reader of JSON likes; what bounds them did so when they came in.
        let request = manifests::json::read_own(&body).and_then(serde_json::from_value::<Request>)?;
        let reply = serde_json::to_vec(&answer(request, &mut cache))?;
        timer.set(
            Expiration::OneShot(TimeSpec::from(NEVER)),
            TimerSetTimeFlags::empty(),
        )?;
        output.write_all(&frames::header(reply.len()))?;
        output.write_all(&reply)?;
        output.flush()?;
    }
}

/// Between requests, no time is spent.
const NEVER: Duration = Duration::from_hours(1);

fn limit(memory: u64) -> io::Result<()> {
    let taken = taken().unwrap_or(0);
    let most = taken + memory;
    setrlimit(Resource::RLIMIT_AS, most, most)?;
    // Nothing here opens, writes or leaves anything.
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    setrlimit(Resource::RLIMIT_FSIZE, 0, 0)?;
    setrlimit(Resource::RLIMIT_NOFILE, 16, 16)?;
    Ok(())
}

/// Bytes of address space that the program itself has taken.
fn taken() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().next()?.parse().ok()?;
    Some(pages * 4096)
}
