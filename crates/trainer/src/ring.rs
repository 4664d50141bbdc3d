//! Workers in a ring: each sends to the next and hears from the one before. A sum over all of them
//! goes round twice, in as many pieces as there are workers, so that every link is busy at all times.

use std::{
    io::{self, BufReader, Read as _, Write as _},
    net::TcpStream,
    ops::Range,
    sync::mpsc::{SyncSender, sync_channel},
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::rendezvous::{Meeting, Place};

/// What keeps workers from working together.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    #[error("cannot listen for the other workers")]
    Listen(#[source] io::Error),
    #[error("rank 0 cannot be reached at {host}:{port}")]
    Unreachable {
        host: String,
        port: u16,
        #[source]
        cause: io::Error,
    },
    #[error("rank 0 refuses this worker: {why}")]
    Refused { why: String },
    #[error("{missing} of {world} workers never called, rank {rank} is one of them")]
    Missing {
        rank: usize,
        missing: usize,
        world: usize,
    },
    #[error("the worker of rank {rank} went away")]
    Gone { rank: usize },
    #[error("the worker of rank {rank} has not been heard of for {seconds} s")]
    Silent { rank: usize, seconds: u64 },
}

/// This worker's place in the ring.
#[derive(Debug)]
pub(crate) struct Ring {
    rank: usize,
    world: usize,
    /// `None` for a worker that is alone.
    neighbours: Option<Neighbours>,
}

#[derive(Debug)]
struct Neighbours {
    next: Writer,
    previous: BufReader<TcpStream>,
    patience: Duration,
}

/// Writes to the next worker from a thread of its own: if all wrote before they read, nobody would read.
#[derive(Debug)]
struct Writer {
    pieces: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    fn to(mut next: TcpStream) -> Self {
        let (sender, pieces) = sync_channel::<Vec<u8>>(1);
        let thread = thread::spawn(move || {
            while let Ok(piece) = pieces.recv()
                && next.write_all(&piece).is_ok()
            {}
        });
        Self {
            pieces: Some(sender),
            thread: Some(thread),
        }
    }

    /// Takes a piece to write; false when the neighbour has hung up.
    fn write(&self, piece: Vec<u8>) -> bool {
        self.pieces
            .as_ref()
            .is_some_and(|pieces| pieces.send(piece).is_ok())
    }
}

/// Who is done first still owes the next worker its last piece.
impl Drop for Writer {
    fn drop(&mut self) {
        self.pieces = None;
        if let Some(thread) = self.thread.take() {
            // A writer does nothing that could panic.
            drop(thread.join());
        }
    }
}

impl Ring {
    pub(crate) fn alone() -> Self {
        Self {
            rank: 0,
            world: 1,
            neighbours: None,
        }
    }

    pub(crate) fn of(place: &Place, meeting: Meeting, patience: Duration) -> Result<Self, PeerError> {
        let Meeting { next, previous, .. } = meeting;
        previous
            .set_read_timeout(Some(patience))
            .map_err(PeerError::Listen)?;
        next.set_nodelay(true).map_err(PeerError::Listen)?;
        Ok(Self {
            rank: place.rank,
            world: place.world,
            neighbours: Some(Neighbours {
                next: Writer::to(next),
                previous: BufReader::new(previous),
                patience,
            }),
        })
    }

    /// Adds up the lists of all workers; afterwards all have the same sums, to the last bit.
    pub(crate) fn sum(&mut self, values: &mut [f32]) -> Result<(), PeerError> {
        let (rank, world) = (self.rank, self.world);
        let piece = |index: usize| piece(values.len(), index % world, world);
        // First each piece goes round and grows; then, complete, it goes round again.
        let rounds: Vec<_> = (0..world - 1)
            .map(|round| {
                (
                    piece(rank + world - round),
                    piece(rank + 2 * world - round - 1),
                    true,
                )
            })
            .chain((0..world - 1).map(|round| {
                (
                    piece(rank + world + 1 - round),
                    piece(rank + world - round),
                    false,
                )
            }))
            .collect();
        for (out, into, is_growing) in rounds {
            let bytes = values[out].iter().flat_map(|value| value.to_le_bytes()).collect();
            let received = self.pass_on(bytes, into.len() * size_of::<f32>())?;
            for (value, bytes) in values[into].iter_mut().zip(received.as_chunks().0) {
                let theirs = f32::from_le_bytes(*bytes);
                *value = if is_growing { *value + theirs } else { theirs };
            }
        }
        Ok(())
    }

    /// Whether the worker before has the same number. If it is so for all, all have the same.
    pub(crate) fn agrees(&mut self, number: u64) -> Result<bool, PeerError> {
        if self.world == 1 {
            return Ok(true);
        }
        let own = number.to_le_bytes();
        Ok(self.pass_on(own.to_vec(), own.len())? == own)
    }

    fn pass_on(&mut self, bytes: Vec<u8>, expected: usize) -> Result<Vec<u8>, PeerError> {
        let (next, previous) = (
            (self.rank + 1) % self.world,
            (self.rank + self.world - 1) % self.world,
        );
        let neighbours = self.neighbours.as_mut().ok_or(PeerError::Gone { rank: next })?;
        if !neighbours.next.write(bytes) {
            return Err(PeerError::Gone { rank: next });
        }
        let mut received = vec![0; expected];
        match neighbours.previous.read_exact(&mut received) {
            Ok(()) => Ok(received),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(PeerError::Silent {
                rank: previous,
                seconds: neighbours.patience.as_secs(),
            }),
            Err(_) => Err(PeerError::Gone { rank: previous }),
        }
    }
}

/// Where one of several pieces of a list lies.
fn piece(length: usize, index: usize, pieces: usize) -> Range<usize> {
    index * length / pieces..(index + 1) * length / pieces
}
