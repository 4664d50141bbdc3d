//! Pages of the program itself.

use std::ops::Range;

use nix::{errno::Errno, libc};

/// Lets go of the mapped pages of a range, which has to be code of this program.
pub(crate) fn forget_code(range: &Range<usize>) -> nix::Result<()> {
    let start = std::ptr::with_exposed_provenance_mut(range.start);
    // SAFETY: pages of a file that were never written to; whoever comes there again is given the same bytes. For
    // memory that was written to this would not be so, but that is never executable here.
    Errno::result(unsafe { libc::madvise(start, range.len(), libc::MADV_DONTNEED) }).map(drop)
}
