//! Bodies of answers: one piece of data with trailers where gRPC wants them, messages as they come, or what another
//! server sends.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::sync::mpsc;

#[derive(Debug)]
pub(crate) enum Answer {
    Whole {
        data: Option<Bytes>,
        trailers: Option<HeaderMap>,
    },
    /// The trailers come when nobody sends any more.
    Stream {
        messages: mpsc::Receiver<Bytes>,
        trailers: Option<HeaderMap>,
    },
    Relayed(Incoming),
}

impl Default for Answer {
    fn default() -> Self {
        Self::new(Bytes::new(), None)
    }
}

impl Answer {
    pub(crate) fn new(data: impl Into<Bytes>, trailers: Option<HeaderMap>) -> Self {
        let data = data.into();
        Self::Whole {
            data: (!data.is_empty()).then_some(data),
            trailers,
        }
    }
}

impl Body for Answer {
    type Data = Bytes;
    /// Only what another server sends can break off.
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let (data, trailers) = match self.get_mut() {
            Self::Relayed(body) => return Pin::new(body).poll_frame(context),
            Self::Whole { data, trailers } => (data.take(), trailers),
            Self::Stream { messages, trailers } => (ready!(messages.poll_recv(context)), trailers),
        };
        let next = data
            .map(Frame::data)
            .or_else(|| trailers.take().map(Frame::trailers));
        Poll::Ready(next.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole { data, trailers } => data.is_none() && trailers.is_none(),
            Self::Stream { .. } => false,
            Self::Relayed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole { data, .. } => {
                SizeHint::with_exact(data.as_ref().map_or(0, |data| data.len() as u64))
            }
            Self::Stream { .. } => SizeHint::default(),
            Self::Relayed(body) => body.size_hint(),
        }
    }
}
