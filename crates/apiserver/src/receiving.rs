//! Taking in what clients send. A request is worked on once its body is whole, so that a slow sender
//! holds nothing but its own bytes, and large bodies come in and are worked on a few at a time.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    body::{LIMIT, RequestBody},
    error::{ApiError, Result},
};

/// Bodies up to this size are taken in freely; all but a few objects are smaller.
const SMALL: usize = 64 * 1024;
/// Larger bodies taken in at the same time.
const LARGE_RECEIVED: usize = 64;
/// Larger bodies worked on at the same time: as values they take a hundred times their size.
const LARGE_WORKED_ON: usize = 4;

pub(crate) struct Receiving {
    received: Arc<Semaphore>,
    worked_on: Arc<Semaphore>,
}

/// A whole body or why there is none, and the room it takes until it is dropped.
pub(crate) struct Received {
    bytes: Result<Bytes>,
    room: [Option<OwnedSemaphorePermit>; 2],
}

impl Receiving {
    pub(crate) fn new() -> Self {
        Self {
            received: Arc::new(Semaphore::new(LARGE_RECEIVED)),
            worked_on: Arc::new(Semaphore::new(LARGE_WORKED_ON)),
        }
    }

    /// Waits for a body and for its turn.
    pub(crate) async fn receive(&self, body: RequestBody) -> Received {
        let mut received = None;
        let bytes = self.collect(body, &mut received).await;
        let worked_on = match received {
            Some(_) => self.worked_on.clone().acquire_owned().await.ok(),
            None => None,
        };
        Received {
            bytes,
            room: [received, worked_on],
        }
    }

    async fn collect(&self, body: RequestBody, room: &mut Option<OwnedSemaphorePermit>) -> Result<Bytes> {
        let mut body = Limited::new(body, LIMIT);
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                if error.is::<LengthLimitError>() {
                    ApiError::too_large(LIMIT)
                } else {
                    ApiError::bad_request(format!("the body could not be read: {error}"))
                }
            })?;
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > SMALL && room.is_none() {
                *room = self.received.clone().acquire_owned().await.ok();
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes.into())
    }
}

impl Received {
    /// No body, for requests that have none to speak of.
    pub(crate) fn nothing() -> Self {
        Self {
            bytes: Ok(Bytes::new()),
            room: [None, None],
        }
    }

    pub(crate) fn bytes(&self) -> Result<&Bytes> {
        self.bytes.as_ref().map_err(ApiError::clone)
    }

    /// Whether working on it may take long.
    pub(crate) fn is_large(&self) -> bool {
        self.room.iter().any(Option::is_some)
    }
}
