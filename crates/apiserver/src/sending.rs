//! Sending answers. One keeps its place among the requests worked on until its client has taken all of
//! it, and has only so long for that: a client that does not read costs its own place and connection.

use std::{
    collections::BTreeSet,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use crate::{
    in_flight::Slot,
    response::{Answer, Body},
};

/// Answers are handed to the connection in pieces of at most this size, each when there is room for
/// it: what waits in its buffers is bounded.
const PIECE: usize = 128 * 1024;

/// The client took longer than it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer was not taken in time")]
pub struct NotTaken;

/// The time an answer has: from the arrival of its request until the client has taken it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// After this no more of it is sent than was begun; an answer to say so has to begin somewhere.
    pub(crate) at: Instant,
    /// A connection that still holds a part of it by then does not move at all.
    stuck_at: Instant,
}

impl Due {
    pub(crate) fn within(patience: Duration) -> Self {
        let at = Instant::now() + patience;
        Self {
            at,
            stuck_at: at + patience / 2,
        }
    }
}

/// The answers of one connection that its client has not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Owed {
    open: Mutex<Open>,
    began: Notify,
}

#[derive(Debug, Default)]
struct Open {
    /// When each is given up, and a number to tell them apart.
    answers: BTreeSet<(Instant, u64)>,
    last: u64,
}

impl Owed {
    /// Resolves when an answer is neither taken nor can be taken back: a stream that is still read is
    /// ended by itself, one that is not read at all ends with its connection.
    pub(crate) async fn stuck(&self) {
        loop {
            let first = self.open.lock().answers.first().copied();
            match first {
                None => self.began.notified().await,
                Some((at, _)) if at <= Instant::now() => return,
                // Answers that begin meanwhile have at least as long.
                Some((at, _)) => sleep_until(at).await,
            }
        }
    }

    fn begin(&self, due: Due) -> (Instant, u64) {
        let mut open = self.open.lock();
        open.last += 1;
        let entry = (due.stuck_at, open.last);
        open.answers.insert(entry);
        if open.answers.len() == 1 {
            self.began.notify_one();
        }
        entry
    }
}

/// What an answer holds for as long as a part of it is not sent.
struct Held {
    _slot: Option<Slot>,
    owed: Option<(Arc<Owed>, (Instant, u64))>,
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some((owed, entry)) = &self.owed {
            owed.open.lock().answers.remove(entry);
        }
    }
}

/// The answer, holding its slot until it is sent. `owed` is the connection it goes to, if it goes to
/// one.
pub(crate) fn until_taken(answer: Answer, due: Due, slot: Option<Slot>, owed: Option<&Arc<Owed>>) -> Answer {
    let held = Held {
        _slot: slot,
        owed: owed.map(|owed| (owed.clone(), owed.begin(due))),
    };
    answer.map(|body| {
        let outgoing = Outgoing {
            body,
            waiting: Bytes::new(),
            has_begun: false,
            due,
            held: Arc::new(held),
        };
        outgoing.boxed_unsync()
    })
}

/// A body in pieces that each hold the place of the whole.
struct Outgoing {
    body: Body,
    /// What came from the body and is not handed on yet.
    waiting: Bytes,
    has_begun: bool,
    due: Due,
    held: Arc<Held>,
}

/// Bytes on their way. Whoever buffers them keeps the place taken.
struct Piece {
    bytes: Bytes,
    _held: Arc<Held>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl http_body::Body for Outgoing {
    type Data = Bytes;
    type Error = NotTaken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, NotTaken>>> {
        if self.is_end_stream() {
            return Poll::Ready(None);
        }
        if self.has_begun && self.due.at <= Instant::now() {
            return Poll::Ready(Some(Err(NotTaken)));
        }
        if self.waiting.is_empty() {
            let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => self.waiting = data,
                Some(Ok(Err(other))) => return Poll::Ready(Some(Ok(other))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        self.has_begun = true;
        let length = self.waiting.len().min(PIECE);
        let piece = Piece {
            bytes: self.waiting.split_to(length),
            _held: self.held.clone(),
        };
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.waiting.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (waiting, rest) = (self.waiting.len() as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(waiting + rest.lower());
        if let Some(upper) = rest.upper() {
            hint.set_upper(waiting + upper);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use http_body::Body as _;

    use super::*;
    use crate::response;

    const PATIENCE: Duration = Duration::from_millis(50);

    fn sent(length: usize, owed: &Arc<Owed>) -> Body {
        let answer = response::text(StatusCode::OK, vec![b'x'; length]);
        until_taken(answer, Due::within(PATIENCE), None, Some(owed)).into_body()
    }

    async fn is_stuck(owed: &Owed) -> bool {
        tokio::time::timeout(2 * PATIENCE, owed.stuck()).await.is_ok()
    }

    #[tokio::test]
    async fn an_answer_holds_its_place_until_the_last_piece_is_gone() {
        let owed = Arc::<Owed>::default();
        let mut body = sent(PIECE + 1, &owed);
        assert_eq!(body.size_hint().exact(), Some(PIECE as u64 + 1));
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        let last = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!((first.len(), last.len()), (PIECE, 1));
        assert!(body.frame().await.is_none());
        drop((body, first));
        assert!(is_stuck(&owed).await);
        drop(last);
        assert!(!is_stuck(&owed).await);
    }

    #[tokio::test]
    async fn a_client_that_takes_too_long_gets_no_more() {
        let owed = Arc::<Owed>::default();
        let mut body = sent(2 * PIECE, &owed);
        assert!(body.frame().await.unwrap().is_ok());
        tokio::time::sleep(PATIENCE).await;
        assert_eq!(body.frame().await.unwrap().unwrap_err(), NotTaken);
        drop(body);
        assert!(!is_stuck(&owed).await);
    }
}
