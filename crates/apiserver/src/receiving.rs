//! Taking in what clients send. A request is worked on once its body is whole, so that a slow sender
//! holds nothing but its own bytes, and large bodies come in and are worked on a few at a time. A
//! sender who dawdles over a large one loses its place.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, header};
use http_body::Body as _;
use http_body_util::BodyExt;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout, timeout_at},
};

use crate::{
    body::{LIMIT, RequestBody},
    error::{ApiError, Result},
    turns::{Turn, Turns},
};

/// Bodies up to this size are taken in freely; all but a few objects are smaller.
const SMALL: usize = 64 * 1024;
/// Larger bodies taken in at the same time.
const LARGE_RECEIVED: usize = 64;
/// How much of a body that nobody wants is taken in all the same. Clients read the answer once they
/// have sent what they have.
const DISCARDED: usize = 16 * 1024 * 1024;

pub(crate) struct Receiving {
    /// How long a large body may take to come in.
    patience: Duration,
    received: Arc<Semaphore>,
    turns: Turns,
}

/// A whole body or why there is none, and the room it takes until it is dropped.
pub(crate) struct Received {
    bytes: Result<Bytes>,
    /// Where it is large.
    room: Option<Room>,
}

struct Room {
    _received: OwnedSemaphorePermit,
    turn: Arc<Turn>,
}

impl Receiving {
    pub(crate) fn new(patience: Duration) -> Self {
        Self {
            patience,
            received: Arc::new(Semaphore::new(LARGE_RECEIVED)),
            turns: Turns::new(),
        }
    }

    /// Waits for a body and for its turn.
    pub(crate) async fn receive(&self, headers: &HeaderMap, body: RequestBody) -> Received {
        if body.size_hint().lower() > LIMIT as u64 {
            self.refuse(headers, body).await;
            return Received::refused(ApiError::too_large(LIMIT));
        }
        let mut received = None;
        let bytes = self.collect(body, &mut received).await;
        let room = match (received, &bytes) {
            (Some(received), Ok(bytes)) => Some(Room {
                _received: received,
                turn: self.turns.next(bytes.len()).await,
            }),
            _ => None,
        };
        Received { bytes, room }
    }

    /// Sees to it that the sender of a body that is not wanted gets to read the answer.
    pub(crate) async fn refuse(&self, headers: &HeaderMap, body: RequestBody) {
        let asks_first = headers.contains_key(header::EXPECT);
        if !asks_first {
            self.discard(body).await;
        }
    }

    /// Takes in the rest of a body, within reason.
    async fn discard(&self, mut body: RequestBody) {
        let reading = async {
            let mut length = 0;
            while length < DISCARDED
                && let Some(Ok(frame)) = body.frame().await
            {
                length += frame.data_ref().map_or(0, Bytes::len);
            }
        };
        let _ = timeout(self.patience, reading).await;
    }

    async fn collect(&self, mut body: RequestBody, room: &mut Option<OwnedSemaphorePermit>) -> Result<Bytes> {
        let mut bytes = Vec::new();
        let mut deadline = None;
        loop {
            let next = match deadline {
                Some(deadline) => timeout_at(deadline, body.frame())
                    .await
                    .map_err(|_| ApiError::timeout())?,
                None => body.frame().await,
            };
            let Some(frame) = next else {
                return Ok(bytes.into());
            };
            let frame = frame
                .map_err(|error| ApiError::bad_request(format!("the body could not be read: {error}")))?;
            let Ok(data) = frame.into_data() else { continue };
            let length = bytes.len() + data.len();
            if length > LIMIT {
                drop((bytes, data, room.take()));
                self.discard(body).await;
                return Err(ApiError::too_large(LIMIT));
            }
            if length > SMALL && room.is_none() {
                *room = self.received.clone().acquire_owned().await.ok();
                deadline = Some(Instant::now() + self.patience);
            }
            bytes.extend_from_slice(&data);
        }
    }
}

impl Received {
    /// No body, for requests that have none to speak of.
    pub(crate) fn nothing() -> Self {
        Self {
            bytes: Ok(Bytes::new()),
            room: None,
        }
    }

    fn refused(error: ApiError) -> Self {
        Self {
            bytes: Err(error),
            room: None,
        }
    }

    pub(crate) fn bytes(&self) -> Result<&Bytes> {
        self.bytes.as_ref().map_err(ApiError::clone)
    }

    /// The turn of a request whose body is so large that working on it may take long.
    pub(crate) fn turn(&self) -> Option<&Arc<Turn>> {
        self.room.as_ref().map(|room| &room.turn)
    }
}
