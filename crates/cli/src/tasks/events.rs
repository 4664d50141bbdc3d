//! Streams of events as browsers read them, taken apart.

use anyhow::Result;
use futures_util::{Stream, StreamExt as _};

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) id: Option<String>,
    pub(super) data: String,
}

/// Takes text apart that comes in pieces.
#[derive(Default)]
struct Reader {
    rest: Vec<u8>,
    event: Event,
    has_data: bool,
}

impl Reader {
    /// The events that are whole now.
    fn take(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            events.extend(self.line(line.trim_end_matches(['\n', '\r'])));
        }
        events
    }

    fn line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let is_whole = std::mem::take(&mut self.has_data);
            let event = std::mem::take(&mut self.event);
            return is_whole.then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "id" => self.event.id = Some(value.to_owned()),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            // Comments, and how long to wait before coming back.
            _ => {}
        }
        None
    }
}

/// The events of a text that comes in pieces.
pub(super) fn read<B: AsRef<[u8]>>(
    pieces: impl Stream<Item = Result<B>> + Send,
) -> impl Stream<Item = Result<Event>> + Send {
    let mut reader = Reader::default();
    pieces.flat_map(move |piece| {
        let events: Vec<Result<Event>> = match piece {
            Ok(bytes) => reader.take(bytes.as_ref()).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        futures_util::stream::iter(events)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_whole_wherever_the_text_is_cut() {
        let text =
            "retry: 1000\n\n: alive\n\nevent: line\nid: 7\ndata: a\ndata:  b\n\nevent: end\ndata: {}\n\n";
        let expected = [
            Event {
                name: "line".to_owned(),
                id: Some("7".to_owned()),
                data: "a\n b".to_owned(),
            },
            Event {
                name: "end".to_owned(),
                id: None,
                data: "{}".to_owned(),
            },
        ];
        for cut in 0..text.len() {
            let mut reader = Reader::default();
            let mut events = reader.take(&text.as_bytes()[..cut]);
            events.extend(reader.take(&text.as_bytes()[cut..]));
            assert_eq!(events, expected, "cut at {cut}");
        }
    }
}
