//! From bytes to CRI lines: `TIME STREAM TAG TEXT`, where the tag is `F` for a line that is complete
//! and `P` for a part of one.

/// Longer lines are written in parts, as other runtimes do.
const MAX_LINE: usize = 16 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sandbox) enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// What one stream has written of a line that has not ended.
#[derive(Debug)]
pub(in crate::sandbox) struct Lines {
    stream: Stream,
    rest: Vec<u8>,
    /// A part of the current line is written already.
    in_line: bool,
}

impl Lines {
    pub(in crate::sandbox) fn of(stream: Stream) -> Self {
        Self {
            stream,
            rest: Vec::new(),
            in_line: false,
        }
    }

    /// Adds the records that `bytes` complete to `records`.
    pub(in crate::sandbox) fn feed(&mut self, time: &str, bytes: &[u8], records: &mut Vec<u8>) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = piece
                .strip_suffix(b"\n")
                .map_or((piece, false), |text| (text, true));
            self.rest.extend_from_slice(text);
            while self.rest.len() > MAX_LINE {
                let long = self.rest.split_off(MAX_LINE);
                self.record(time, false, records);
                self.rest = long;
            }
            if ends {
                self.record(time, true, records);
                self.rest.clear();
            }
        }
    }

    /// The stream has ended; a line without its end is a part.
    pub(in crate::sandbox) fn finish(&mut self, time: &str, records: &mut Vec<u8>) {
        if !self.rest.is_empty() {
            self.record(time, false, records);
            self.rest.clear();
        }
    }

    /// Whether a line is written in part and its end is still to come.
    pub(in crate::sandbox) fn in_line(&self) -> bool {
        self.in_line
    }

    fn record(&mut self, time: &str, full: bool, records: &mut Vec<u8>) {
        let tag = if full { " F " } else { " P " };
        for part in [
            time.as_bytes(),
            b" ",
            self.stream.name().as_bytes(),
            tag.as_bytes(),
            &self.rest,
            b"\n",
        ] {
            records.extend_from_slice(part);
        }
        self.in_line = !full;
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, MAX_LINE, Stream};

    fn records(pieces: &[&[u8]]) -> String {
        let (mut lines, mut records) = (Lines::of(Stream::Stdout), Vec::new());
        for piece in pieces {
            lines.feed("T", piece, &mut records);
        }
        lines.finish("T", &mut records);
        String::from_utf8(records).unwrap()
    }

    #[test]
    fn lines_are_whole_however_they_were_written() {
        assert_eq!(
            records(&[b"he", b"llo\nwor", b"ld\n\n"]),
            "T stdout F hello\nT stdout F world\nT stdout F \n"
        );
    }

    #[test]
    fn a_last_line_without_end_is_a_part() {
        assert_eq!(records(&[b"a\nb"]), "T stdout F a\nT stdout P b\n");
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_one_record_and_a_longer_one_comes_in_parts() {
        let exact = "x".repeat(MAX_LINE);
        assert_eq!(
            records(&[exact.as_bytes(), b"\n"]),
            format!("T stdout F {exact}\n")
        );
        assert_eq!(
            records(&[exact.as_bytes(), b"y\n"]),
            format!("T stdout P {exact}\nT stdout F y\n")
        );
    }
}
