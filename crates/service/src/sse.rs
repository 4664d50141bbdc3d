//! Streams of events, as browsers read them: each has an id, from which a reader that was cut off goes on.

use std::{future::Future, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream::BoxStream};
use serde_json::Value;
use tokio::time::timeout;

/// A stream that has nothing to tell says so, for whoever is between server and reader and for a server that
/// would not notice otherwise that its reader is gone.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// One event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) name: &'static str,
    /// Where the stream goes on after this; none where nothing is to be remembered.
    pub(crate) id: Option<String>,
    pub(crate) data: String,
}

impl Event {
    pub(crate) fn json(name: &'static str, id: Option<String>, data: &Value) -> Self {
        Self {
            name,
            id,
            data: data.to_string(),
        }
    }

    /// The last event of a stream that does not go on.
    pub(crate) fn end(data: &Value) -> Self {
        Self::json("end", None, data)
    }

    fn write(&self, text: &mut String) {
        text.push_str(&format!("event: {}\n", self.name));
        if let Some(id) = &self.id {
            text.push_str(&format!("id: {id}\n"));
        }
        for line in self.data.split('\n') {
            // A carriage return would end the line, too.
            text.push_str(&format!("data: {}\n", line.replace('\r', "")));
        }
        text.push('\n');
    }
}

/// What comes next in a stream.
pub(crate) enum Next {
    Events(Vec<Event>),
    /// These, and then nothing more.
    Last(Vec<Event>),
}

/// A stream of what `next` gives, again and again. It is asked only when the reader has taken what there was.
pub(crate) fn stream<S, F, Fut>(state: S, next: F) -> BoxStream<'static, Bytes>
where
    S: Send + 'static,
    F: Fn(S) -> Fut + Send + 'static,
    Fut: Future<Output = (S, Next)> + Send + 'static,
{
    enum Turn<S, Fut> {
        Begin(S),
        Waiting(std::pin::Pin<Box<Fut>>),
        Over,
    }
    let begin = Turn::Begin(state);
    let events = futures_util::stream::unfold((begin, next), |(turn, next)| async move {
        let mut waiting = match turn {
            Turn::Over => return None,
            Turn::Begin(state) => Box::pin(next(state)),
            Turn::Waiting(waiting) => waiting,
        };
        let mut text = String::new();
        let turn = match timeout(SIGN_OF_LIFE, waiting.as_mut()).await {
            Err(_) => {
                text.push_str(": still here\n\n");
                Turn::Waiting(waiting)
            }
            Ok((state, Next::Events(events))) => {
                for event in &events {
                    event.write(&mut text);
                }
                Turn::Begin(state)
            }
            Ok((_, Next::Last(events))) => {
                for event in &events {
                    event.write(&mut text);
                }
                Turn::Over
            }
        };
        Some((Bytes::from(text), (turn, next)))
    });
    // Clients come back after a second, if nobody tells them otherwise after three.
    let greeting = futures_util::stream::once(async { Bytes::from_static(b"retry: 1000\n\n") });
    greeting.chain(events).boxed()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stream_tells_what_there_is_and_that_it_is_alive_until_its_end() {
        let events = stream(0, |turn: u32| async move {
            match turn {
                0 => (
                    1,
                    Next::Events(vec![Event {
                        name: "line",
                        id: Some("1".to_owned()),
                        data: "a\nb\rc".to_owned(),
                    }]),
                ),
                1 => {
                    tokio::time::sleep(Duration::from_secs(20)).await;
                    (2, Next::Events(Vec::new()))
                }
                _ => (3, Next::Last(vec![Event::end(&json!({}))])),
            }
        });
        let all: Vec<Bytes> = events.collect().await;
        let text: String = all.iter().map(|bytes| String::from_utf8_lossy(bytes)).collect();
        assert_eq!(
            text,
            "retry: 1000\n\nevent: line\nid: 1\ndata: a\ndata: bc\n\n: still here\n\nevent: end\ndata: {}\n\n"
        );
    }
}
