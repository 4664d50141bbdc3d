//! The content of files.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read, Seek as _, SeekFrom, Write as _},
    os::fd::OwnedFd,
    path::Path,
};

use rustix::fs::{Mode, OFlags, openat};

use crate::unpack::members::Member;

const BUFFER: usize = 256 << 10;
/// Zeros in steps of this size are left out of the file, which then has a hole there.
const HOLE: usize = 4096;

/// Makes a file with the data of a member.
pub(super) fn file(folder: &OwnedFd, name: &OsStr, member: &Member, data: &mut impl Read) -> io::Result<()> {
    let mut file = create(folder, name)?;
    match &member.segments {
        None => write(&mut file, data, member.size)?,
        Some(segments) => {
            for segment in segments {
                file.seek(SeekFrom::Start(segment.offset))?;
                write(&mut file, data, segment.length)?;
            }
        }
    }
    file.set_len(member.size)
}

/// Makes a file with the content of another.
pub(super) fn copy(from: &Path, folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let mut source = File::open(from)?;
    let length = source.metadata()?.len();
    let mut file = create(folder, name)?;
    write(&mut file, &mut source, length)?;
    file.set_len(length)
}

fn create(folder: &OwnedFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?;
    Ok(file.into())
}

fn write(file: &mut File, data: &mut impl Read, length: u64) -> io::Result<()> {
    let mut buffer = vec![0; usize::try_from(length).map_or(BUFFER, |length| length.min(BUFFER))];
    let mut left = length;
    while left > 0 {
        let part = usize::try_from(left).map_or(BUFFER, |left| left.min(BUFFER));
        data.read_exact(&mut buffer[..part])?;
        write_with_holes(file, &buffer[..part])?;
        left -= part as u64;
    }
    Ok(())
}

fn write_with_holes(file: &mut File, part: &[u8]) -> io::Result<()> {
    let is_zero = |step: &[u8]| step.len() == HOLE && step.iter().all(|byte| *byte == 0);
    let mut start = 0;
    let mut end = 0;
    for step in part.chunks(HOLE) {
        if is_zero(step) {
            file.write_all(&part[start..end])?;
            file.seek(SeekFrom::Current(HOLE as i64))?;
            start = end + HOLE;
        }
        end += step.len();
    }
    file.write_all(&part[start..])
}
