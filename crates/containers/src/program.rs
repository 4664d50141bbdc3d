//! What this program takes of memory for its own code.
//!
//! The system maps code in pieces of 64 kB and never takes it away while there is room. Starting, and every burst
//! of work, goes through most of the program; idling needs a tenth of it.

use std::{fs, io, ops::Range, path::Path, time::Duration};

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::{TimeVal, TimeValLike as _},
};

use crate::system;

/// Lets go of all code that is mapped. What is needed next comes back from the system's cache of files.
pub fn release_code() -> io::Result<()> {
    let program = fs::read_link("/proc/self/exe")?;
    for range in code(&fs::read_to_string("/proc/self/maps")?, &program) {
        system::forget_code(&range)?;
    }
    Ok(())
}

/// The processor time this process has taken.
pub fn processor_time() -> io::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let of = |time: TimeVal| Duration::from_micros(time.num_microseconds().unsigned_abs());
    Ok(of(usage.user_time()) + of(usage.system_time()))
}

/// Where a program's code is. What can be executed cannot be written, and is not relocated either.
fn code(maps: &str, program: &Path) -> Vec<Range<usize>> {
    let parse = |line: &str| {
        let (range, rest) = word(line)?;
        let (rights, rest) = word(rest)?;
        // Offset, device and inode; the rest is the path. One that is no longer there has ` (deleted)` behind it,
        // as what the program is known by has then.
        let (_, rest) = word(rest)?;
        let (_, rest) = word(rest)?;
        let (_, path) = word(rest)?;
        if rights != "r-xp" || Path::new(path) != program {
            return None;
        }
        let (start, end) = range.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        Some(number(start)?..number(end)?)
    };
    maps.lines().filter_map(parse).collect()
}

/// The first word of a line, and what follows it.
fn word(line: &str) -> Option<(&str, &str)> {
    let (word, rest) = line.split_once(' ')?;
    Some((word, rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0a000-55d2d000 r--p 00000000 fe:00 17 /usr/bin/trainyard
55d2d000-56f00000 r-xp 00023000 fe:00 17 /usr/bin/trainyard
56f00000-56fc0000 r--p 01d00000 fe:00 17 /usr/bin/trainyard
56fc0000-56fd0000 rw-p 01dc0000 fe:00 17 /usr/bin/trainyard
7f000000-7f100000 r-xp 00000000 fe:00 99 /usr/lib/libc.so.6
7ffd0000-7ffd2000 r-xp 00000000 00:00 0 [vdso]
";

    #[test]
    fn code_is_what_can_be_executed_of_the_program() {
        let found = code(MAPS, Path::new("/usr/bin/trainyard"));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0], 0x55d2_d000..0x56f0_0000);
    }

    #[test]
    fn a_program_whose_file_was_replaced_still_knows_its_code() {
        let maps = MAPS.replace("/usr/bin/trainyard", "/opt/my tools/trainyard (deleted)");
        let found = code(&maps, Path::new("/opt/my tools/trainyard (deleted)"));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0], 0x55d2_d000..0x56f0_0000);
    }

    #[test]
    fn a_program_goes_on_without_the_code_it_had() {
        let before = processor_time().unwrap();
        release_code().unwrap();
        let sum: u64 = (0..1_000_000_u64).map(|number| number % 7).sum();
        assert_eq!(sum, 2_999_997);
        assert!(processor_time().unwrap() >= before);
    }
}
