//! Many streams over one connection, whatever protocol they are wrapped in. One task reads the
//! connection and one writes it; what a client may leave lying in between is bounded.

use std::{collections::HashMap, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{Instant, sleep_until},
};

/// What clients sent on all streams of a connection and nobody has taken yet, in bytes. When it is
/// reached the connection is not read until somebody takes some.
const UNTAKEN: u32 = 1 << 20;
/// What keeping a piece costs beside its bytes.
const PIECE_COST: usize = 128;
/// Streams open at the same time on one connection.
const MOST_STREAMS: usize = 1024;
/// Pieces waiting to be written to the connection.
const UNSENT: usize = 8;
/// Streams that were opened and that nobody has accepted yet.
const UNACCEPTED: usize = 64;
const READ_SIZE: usize = 16 << 10;

/// A stream's name in the protocol.
pub(super) type Id = u32;

/// What the client does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    Open(Id, Purpose),
    Data(Id, Bytes),
    End(Id),
    Reset(Id),
    /// Something the protocol itself answers.
    Answer(Outgoing),
    Goodbye,
}

/// What a stream is for, as the client says when it opens it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Purpose {
    /// `stdin`, `stdout`, `stderr`, `error`, `resize` or `data`.
    pub kind: String,
    pub port: String,
    pub request: String,
}

/// What the client is sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outgoing {
    Accept(Id),
    Data(Id, Bytes),
    End(Id),
    Reset(Id),
    Ping(u32),
    Pong(Bytes),
    Goodbye,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ProtocolError {
    #[error(transparent)]
    Spdy(#[from] spdy::SpdyError),
    #[error(transparent)]
    WebSocket(#[from] websocket::WebSocketError),
    #[error("the message on channel {0} is not what it should be")]
    Channel(u8),
}

/// Bytes of a connection to events.
pub(super) trait Decode: Send {
    fn push(&mut self, bytes: &[u8]);
    fn next(&mut self) -> Result<Option<Event>, ProtocolError>;
}

/// What is to be sent to bytes of a connection.
pub(super) trait Encode: Send {
    fn encode(&mut self, outgoing: Outgoing) -> Bytes;
}

/// How a connection is spoken on.
pub(super) struct Protocol {
    pub decoder: Box<dyn Decode>,
    pub encoder: Box<dyn Encode>,
}

/// A connection that is not driven yet.
pub(super) struct Multiplexer {
    protocol: Protocol,
    opened: mpsc::Sender<Stream>,
    outgoing: mpsc::WeakSender<Outgoing>,
    unsent: mpsc::Receiver<Outgoing>,
}

/// The streams a client opens. When this and all streams are dropped the client is told goodbye.
pub(super) struct Streams {
    opened: mpsc::Receiver<Stream>,
    /// Keeps the connection open while there is no stream.
    _open: mpsc::Sender<Outgoing>,
}

pub(super) struct Stream {
    pub id: Id,
    pub purpose: Purpose,
    pub input: Input,
    pub output: Output,
}

/// What the client sends on a stream.
pub(super) struct Input(mpsc::UnboundedReceiver<Piece>);

/// Where the client is sent something on a stream.
#[derive(Clone)]
pub(super) struct Output {
    id: Id,
    outgoing: mpsc::Sender<Outgoing>,
}

/// The client gave the stream up, or is gone.
#[derive(Debug, thiserror::Error)]
#[error("the client gave the stream up")]
pub(super) struct Abandoned;

enum Piece {
    Data(
        Bytes,
        #[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit,
    ),
    End,
    Reset,
}

pub(super) fn multiplex(protocol: Protocol) -> (Multiplexer, Streams) {
    let (opened, accepted) = mpsc::channel(UNACCEPTED);
    let (outgoing, unsent) = mpsc::channel(UNSENT);
    let multiplexer = Multiplexer {
        protocol,
        opened,
        outgoing: outgoing.downgrade(),
        unsent,
    };
    let streams = Streams {
        opened: accepted,
        _open: outgoing,
    };
    (multiplexer, streams)
}

impl Streams {
    /// The next stream the client opens; `None` when it is gone.
    pub(super) async fn accept(&mut self) -> Option<Stream> {
        self.opened.recv().await
    }

    /// Takes no more streams; those that come are refused.
    pub(super) fn close(&mut self) {
        self.opened.close();
    }
}

impl Input {
    /// The next piece; `None` after the last. A client may give a stream up that it has ended before.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Abandoned> {
        match self.0.recv().await {
            Some(Piece::Data(bytes, _)) => Ok(Some(bytes)),
            Some(Piece::Reset) => Err(Abandoned),
            Some(Piece::End) | None => Ok(None),
        }
    }
}

impl Output {
    pub(super) async fn send(&self, bytes: Bytes) -> Result<(), Abandoned> {
        self.put(Outgoing::Data(self.id, bytes)).await
    }

    pub(super) async fn end(&self) -> Result<(), Abandoned> {
        self.put(Outgoing::End(self.id)).await
    }

    pub(super) async fn reset(&self) -> Result<(), Abandoned> {
        self.put(Outgoing::Reset(self.id)).await
    }

    async fn put(&self, outgoing: Outgoing) -> Result<(), Abandoned> {
        self.outgoing.send(outgoing).await.map_err(|_| Abandoned)
    }
}

impl Multiplexer {
    /// Carries everything to and fro until the client is gone, nothing was said for `patience`, or,
    /// after the streams were dropped, the client has said goodbye too.
    pub(super) async fn drive(self, io: impl AsyncRead + AsyncWrite, patience: Duration) {
        let (read, write) = tokio::io::split(io);
        let Self {
            protocol,
            opened,
            outgoing,
            unsent,
        } = self;
        let activity = Activity::new(patience);
        let reader = Reader {
            decoder: protocol.decoder,
            streams: HashMap::new(),
            opened,
            outgoing,
            room: Arc::new(Semaphore::new(UNTAKEN as usize)),
        };
        let traffic = async {
            let reading = std::pin::pin!(reader.read(read, &activity));
            let writing = std::pin::pin!(write_all(write, unsent, protocol.encoder, &activity));
            match select(reading, writing).await {
                Either::Right((Ok(()), reading)) => reading.await,
                Either::Right((Err(error), _)) => tracing::debug!(%error, "a client takes nothing more"),
                Either::Left(((), _)) => {}
            }
        };
        tokio::select! {
            () = traffic => {}
            () = activity.ceased() => tracing::debug!("a connection was silent for too long"),
        }
    }
}

struct Reader {
    decoder: Box<dyn Decode>,
    streams: HashMap<Id, mpsc::UnboundedSender<Piece>>,
    opened: mpsc::Sender<Stream>,
    outgoing: mpsc::WeakSender<Outgoing>,
    room: Arc<Semaphore>,
}

impl Reader {
    async fn read(mut self, io: impl AsyncRead, activity: &Activity) {
        let mut io = std::pin::pin!(io);
        let mut buffer = BytesMut::with_capacity(READ_SIZE);
        loop {
            loop {
                match self.decoder.next() {
                    Ok(Some(Event::Goodbye)) => return,
                    Ok(Some(event)) => self.take(event).await,
                    Ok(None) => break,
                    Err(error) => return tracing::debug!(%error, "a client does not keep to the protocol"),
                }
            }
            buffer.clear();
            buffer.reserve(READ_SIZE);
            match io.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(_) => self.decoder.push(&buffer),
            }
            activity.note();
        }
    }

    async fn take(&mut self, event: Event) {
        match event {
            Event::Open(id, purpose) => self.open(id, purpose).await,
            Event::Data(id, bytes) => self.deliver(id, bytes).await,
            Event::End(id) => {
                if let Some(stream) = self.streams.get(&id) {
                    let _ = stream.send(Piece::End);
                }
            }
            Event::Reset(id) => {
                if let Some(stream) = self.streams.remove(&id) {
                    let _ = stream.send(Piece::Reset);
                }
            }
            Event::Answer(answer) => self.answer(answer).await,
            Event::Goodbye => {}
        }
    }

    async fn open(&mut self, id: Id, purpose: Purpose) {
        let Some(outgoing) = self.outgoing.upgrade() else {
            return;
        };
        if self.streams.len() >= MOST_STREAMS {
            self.streams.retain(|_, stream| !stream.is_closed());
        }
        if self.streams.len() >= MOST_STREAMS || self.streams.contains_key(&id) || self.opened.is_closed() {
            return self.answer(Outgoing::Reset(id)).await;
        }
        let (input, taken) = mpsc::unbounded_channel();
        self.streams.insert(id, input);
        let output = Output { id, outgoing };
        self.answer(Outgoing::Accept(id)).await;
        let stream = Stream {
            id,
            purpose,
            input: Input(taken),
            output,
        };
        if self.opened.send(stream).await.is_err() {
            self.streams.remove(&id);
            self.answer(Outgoing::Reset(id)).await;
        }
    }

    /// Hands a piece over, once there is room for it. What nobody waits for is thrown away.
    async fn deliver(&mut self, id: Id, bytes: Bytes) {
        let Some(stream) = self.streams.get(&id).filter(|stream| !stream.is_closed()) else {
            return;
        };
        if bytes.is_empty() {
            return;
        }
        let cost = u32::try_from(bytes.len() + PIECE_COST)
            .unwrap_or(UNTAKEN)
            .min(UNTAKEN);
        let room = tokio::select! {
            room = self.room.clone().acquire_many_owned(cost) => room,
            () = stream.closed() => return,
        };
        if let Ok(room) = room {
            let _ = stream.send(Piece::Data(bytes, room));
        }
    }

    async fn answer(&mut self, answer: Outgoing) {
        if let Some(outgoing) = self.outgoing.upgrade() {
            let _ = outgoing.send(answer).await;
        }
    }
}

/// Writes until nobody can have anything more to say, and then goodbye.
async fn write_all(
    io: impl AsyncWrite,
    mut unsent: mpsc::Receiver<Outgoing>,
    mut encoder: Box<dyn Encode>,
    activity: &Activity,
) -> std::io::Result<()> {
    let mut io = std::pin::pin!(io);
    while let Some(outgoing) = unsent.recv().await {
        io.write_all(&encoder.encode(outgoing)).await?;
        if unsent.is_empty() {
            io.flush().await?;
        }
        activity.note();
    }
    io.write_all(&encoder.encode(Outgoing::Goodbye)).await?;
    io.flush().await?;
    io.shutdown().await
}

/// When something was last said, and how long silence may last.
struct Activity {
    last: Mutex<Instant>,
    patience: Duration,
}

impl Activity {
    fn new(patience: Duration) -> Self {
        Self {
            last: Mutex::new(Instant::now()),
            patience,
        }
    }

    fn note(&self) {
        *self.last.lock() = Instant::now();
    }

    /// Resolves when nothing was noted for too long.
    async fn ceased(&self) {
        loop {
            let end = *self.last.lock() + self.patience;
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;
    use crate::streams::channels;

    fn one_channel() -> Protocol {
        channels::protocol(channels::Form::default(), vec![Purpose::default()])
    }

    #[tokio::test]
    async fn what_nobody_takes_is_read_up_to_a_bound() {
        let (mut client, server) = tokio::io::duplex(READ_SIZE);
        let (multiplexer, mut streams) = multiplex(one_channel());
        tokio::spawn(multiplexer.drive(server, Duration::from_mins(1)));
        let mut stream = streams.accept().await.unwrap();
        // The head of a message of a gigabyte.
        let head = [&[0x82, 0xff][..], &(1_u64 << 30).to_be_bytes(), &[0; 4]].concat();
        client.write_all(&head).await.unwrap();
        let mut sent = 0;
        while timeout(Duration::from_millis(300), client.write_all(&[0; 4096]))
            .await
            .is_ok()
        {
            sent += 4096;
            assert!(sent < 4 * UNTAKEN, "everything is read");
        }
        let first = stream.input.next().await.unwrap().unwrap();
        assert!(!first.is_empty());
        // There is room again.
        let more = timeout(Duration::from_secs(10), client.write_all(&[0; 64])).await;
        assert!(more.is_ok());
    }

    #[tokio::test]
    async fn the_client_is_told_goodbye_when_everything_is_said() {
        let (mut client, server) = tokio::io::duplex(READ_SIZE);
        let (multiplexer, mut streams) = multiplex(one_channel());
        let driving = tokio::spawn(multiplexer.drive(server, Duration::from_mins(1)));
        let stream = streams.accept().await.unwrap();
        stream.output.send(Bytes::from_static(b"last")).await.unwrap();
        drop((stream, streams));
        let mut received = Vec::new();
        client.read_to_end(&mut received).await.unwrap();
        assert_eq!(received, b"\x82\x05\0last\x88\x02\x03\xe8");
        drop(client);
        driving.await.unwrap();
    }

    #[tokio::test]
    async fn silence_ends_the_connection() {
        let (_client, server) = tokio::io::duplex(READ_SIZE);
        let (multiplexer, _streams) = multiplex(one_channel());
        multiplexer.drive(server, Duration::from_millis(20)).await;
    }
}
