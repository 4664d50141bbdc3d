//! Two streams that belong together come one after the other, and possibly never.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use crate::streams::multiplex::Stream;

/// Halves that wait for their other half.
pub(super) struct Pairs {
    waiting: HashMap<String, Half>,
    patience: Duration,
}

struct Half {
    stream: Stream,
    since: Instant,
}

/// What one connection to a port needs.
pub(super) struct Pair {
    pub port: u16,
    pub data: Stream,
    pub error: Stream,
}

pub(super) enum Added {
    Waiting,
    Pair(Pair),
    /// It is for nothing, or not for the first time.
    Refused(Stream),
}

impl Pairs {
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            waiting: HashMap::new(),
            patience,
        }
    }

    pub(super) fn add(&mut self, stream: Stream) -> Added {
        let port = stream.purpose.port.parse().unwrap_or(0_u16);
        if port == 0 || !matches!(stream.purpose.kind.as_str(), "data" | "error") {
            return Added::Refused(stream);
        }
        let request = request(&stream);
        let Some(half) = self.waiting.remove(&request) else {
            let since = Instant::now();
            self.waiting.insert(request, Half { stream, since });
            return Added::Waiting;
        };
        let (data, error) = match (half.stream.purpose.kind.as_str(), stream.purpose.kind.as_str()) {
            ("data", "error") => (half.stream, stream),
            ("error", "data") => (stream, half.stream),
            _ => {
                self.waiting.insert(request, half);
                return Added::Refused(stream);
            }
        };
        Added::Pair(Pair { port, data, error })
    }

    /// Gives up halves that have waited too long.
    pub(super) async fn forget_late(&mut self) {
        let patience = self.patience;
        let late = self
            .waiting
            .extract_if(|_, half| half.since.elapsed() >= patience);
        for (_, half) in late.collect::<Vec<_>>() {
            let _ = half.stream.output.reset().await;
        }
    }
}

/// What the streams of a pair have in common. Old clients do not say: theirs are numbered in a row, the
/// one for errors first.
fn request(stream: &Stream) -> String {
    if !stream.purpose.request.is_empty() {
        return stream.purpose.request.clone();
    }
    match stream.purpose.kind.as_str() {
        "data" => stream.id.wrapping_sub(2).to_string(),
        _ => stream.id.to_string(),
    }
}

impl Pair {
    /// Says what went wrong and gives the connection up.
    pub(super) async fn refuse(self, why: &str) {
        let _ = self.error.output.send(why.to_owned().into()).await;
        let _ = self.error.output.end().await;
        let _ = self.data.output.reset().await;
    }
}
