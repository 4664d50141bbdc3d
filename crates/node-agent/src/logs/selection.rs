//! Which records are sent, and how they look. Pure.

use jiff::Timestamp;

use super::{Options, Stream};

/// Takes a log in pieces of any size.
#[derive(Debug)]
pub(super) struct Selection {
    since: Option<Timestamp>,
    stream: Option<Stream>,
    timestamps: bool,
    /// How much may still be sent.
    left: Option<u64>,
    /// The beginning of a record whose end has not come yet.
    begun: Vec<u8>,
    /// The last record sent was a part of a line.
    in_line: bool,
}

impl Selection {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            since: options.since,
            stream: options.stream,
            timestamps: options.timestamps,
            left: options.limit_bytes,
            begun: Vec::new(),
            in_line: false,
        }
    }

    /// What is to be sent of these bytes, and whether more may be wanted.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (Vec<u8>, bool) {
        let mut text = Vec::with_capacity(bytes.len());
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let record = std::mem::take(&mut self.begun);
                self.show(&record[..record.len() - 1], &mut text);
            }
        }
        if let Some(left) = &mut self.left {
            text.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= text.len() as u64;
        }
        (text, self.left != Some(0))
    }

    fn show(&mut self, record: &[u8], text: &mut Vec<u8>) {
        // What is no record was not written by us.
        let Some(record) = Record::parse(record) else {
            return;
        };
        let is_unwanted = self.stream.is_some_and(|stream| stream.name() != record.stream);
        if is_unwanted || self.is_too_old(record.time) {
            return;
        }
        if self.timestamps && !self.in_line {
            text.extend_from_slice(record.time.as_bytes());
            text.push(b' ');
        }
        text.extend_from_slice(record.content);
        if record.is_whole {
            text.push(b'\n');
        }
        self.in_line = !record.is_whole;
    }

    fn is_too_old(&self, time: &str) -> bool {
        self.since.is_some_and(|since| {
            let time: Result<Timestamp, _> = time.parse();
            time.is_ok_and(|time| time < since)
        })
    }
}

impl Stream {
    fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// `TIME STREAM TAG TEXT`.
struct Record<'a> {
    time: &'a str,
    stream: &'a str,
    is_whole: bool,
    content: &'a [u8],
}

impl<'a> Record<'a> {
    fn parse(record: &'a [u8]) -> Option<Self> {
        let mut fields = record.splitn(4, |byte| *byte == b' ');
        let mut word = || fields.next().and_then(|word| std::str::from_utf8(word).ok());
        let (time, stream, tags) = (word()?, word()?, word()?);
        Some(Self {
            time,
            stream,
            is_whole: tags.split(':').next() == Some("F"),
            content: fields.next().unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LOG: &str = "2026-01-01T00:00:01.5Z stdout F one\n2026-01-01T00:00:02Z stderr P tw\n\
                       2026-01-01T00:00:02Z stderr F o\nnonsense\n2026-01-01T00:00:03Z stdout F \n\
                       2026-01-01T00:00:04Z stdout F three four\n";

    fn check(options: &Options) -> String {
        let (text, _) = Selection::new(options).take(LOG.as_bytes());
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn lines_lose_what_the_log_adds_to_them() {
        assert_eq!(check(&Options::default()), "one\ntwo\n\nthree four\n");
    }

    #[test]
    fn times_stand_before_lines_not_before_their_parts() {
        let options = Options {
            timestamps: true,
            stream: Some(Stream::Stderr),
            ..Options::default()
        };
        assert_eq!(check(&options), "2026-01-01T00:00:02Z two\n");
    }

    #[test]
    fn the_past_and_what_is_too_much_are_left_out() {
        let since = Options {
            since: Some("2026-01-01T00:00:03Z".parse().unwrap()),
            ..Options::default()
        };
        assert_eq!(check(&since), "\nthree four\n");
        let limited = Options {
            limit_bytes: Some(6),
            ..Options::default()
        };
        assert_eq!(check(&limited), "one\ntw");
        assert!(!Selection::new(&limited).take(LOG.as_bytes()).1);
    }

    proptest! {
        #[test]
        fn pieces_of_any_size_give_the_same(cuts in prop::collection::vec(0..LOG.len(), 0..8), limit in prop::option::of(0_u64..40)) {
            let options = Options { timestamps: true, limit_bytes: limit, ..Options::default() };
            let mut cuts = cuts;
            cuts.extend([0, LOG.len()]);
            cuts.sort_unstable();
            let mut selection = Selection::new(&options);
            let mut text = Vec::new();
            for piece in cuts.windows(2) {
                text.extend(selection.take(&LOG.as_bytes()[piece[0]..piece[1]]).0);
            }
            prop_assert_eq!(String::from_utf8(text).unwrap(), check(&options));
        }
    }
}
