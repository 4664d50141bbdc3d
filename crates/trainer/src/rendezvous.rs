//! How workers find each other: all call on rank 0, which tells each where the others are; then each
//! calls on the next, and they stand in a ring.

use std::{
    io,
    net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _},
    thread,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use crate::{
    ring::PeerError,
    wire::{hear, say},
};

/// How long one handshake may take: a caller that says nothing must not keep the others waiting.
const HANDSHAKE: Duration = Duration::from_secs(5);
const BETWEEN_CALLS: Duration = Duration::from_millis(50);

/// A worker's place among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub rank: usize,
    /// How many workers there are.
    pub world: usize,
    /// Where rank 0 is called on.
    pub host: String,
    pub port: u16,
}

/// A worker's two neighbours, and at which step everybody begins.
#[derive(Debug)]
pub(crate) struct Meeting {
    pub(crate) next: TcpStream,
    pub(crate) previous: TcpStream,
    pub(crate) step: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Hello {
    rank: usize,
    world: usize,
    /// Where this worker waits for its neighbour.
    port: u16,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Answer {
    Refused { why: String },
    Welcome(Table),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Table {
    /// What a neighbour must know: strangers do not.
    secret: u64,
    step: u64,
    /// Where each rank waits for its neighbour. Rank 0 does not know its own address; whoever called
    /// on it does.
    places: Vec<(Option<IpAddr>, u16)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Neighbour {
    secret: u64,
}

/// Finds the neighbours. `step` is where rank 0 begins; the others learn it.
pub(crate) fn meet(place: &Place, step: u64, patience: Duration) -> Result<Meeting, PeerError> {
    let deadline = Instant::now() + patience;
    let own = TcpListener::bind(("0.0.0.0", 0)).map_err(PeerError::Listen)?;
    let port = own.local_addr().map_err(PeerError::Listen)?.port();
    let (table, rank_0) = if place.rank == 0 {
        (gather(place, port, step, deadline)?, None)
    } else {
        let (table, address) = call(place, port, deadline)?;
        (table, Some(address))
    };
    let next = (place.rank + 1) % place.world;
    let (address, port) = table.places[next];
    // Rank 0 is nobody's unknown address: it is where the others called.
    let address = address.or(rank_0).ok_or(PeerError::Gone { rank: next })?;
    let next = step_up(SocketAddr::new(address, port), table.secret, next)?;
    let previous = (place.rank + place.world - 1) % place.world;
    Ok(Meeting {
        next,
        previous: await_neighbour(&own, table.secret, previous, deadline)?,
        step: table.step,
    })
}

/// Rank 0: waits until every other has called, then tells all.
fn gather(place: &Place, port: u16, step: u64, deadline: Instant) -> Result<Table, PeerError> {
    let door = TcpListener::bind(("0.0.0.0", place.port)).map_err(PeerError::Listen)?;
    let mut callers: Vec<Option<(TcpStream, SocketAddr, u16)>> = (1..place.world).map(|_| None).collect();
    while let Some(missing) = callers.iter().position(Option::is_none) {
        let (stream, address) = accept(&door, deadline).ok_or_else(|| PeerError::Missing {
            rank: missing + 1,
            missing: callers.iter().filter(|caller| caller.is_none()).count(),
            world: place.world,
        })?;
        let Ok(hello) = hear::<Hello>(&stream) else {
            continue;
        };
        match refusal(&hello, place.world) {
            Some(why) => drop(say(&stream, &Answer::Refused { why })),
            // A worker that was restarted calls again; its last call counts.
            None => callers[hello.rank - 1] = Some((stream, address, hello.port)),
        }
    }
    let mut places = vec![(None, port)];
    places.extend(
        callers
            .iter()
            .flatten()
            .map(|(_, address, port)| (Some(address.ip()), *port)),
    );
    let table = Table {
        secret: fastrand::u64(..),
        step,
        places,
    };
    for (rank, (stream, ..)) in callers.iter().flatten().enumerate() {
        say(stream, &Answer::Welcome(table.clone())).map_err(|_| PeerError::Gone { rank: rank + 1 })?;
    }
    Ok(table)
}

fn refusal(hello: &Hello, world: usize) -> Option<String> {
    if hello.world != world {
        let theirs = hello.world;
        return Some(format!(
            "rank 0 was told of {world} workers, this one of {theirs}"
        ));
    }
    let is_possible = (1..world).contains(&hello.rank);
    (!is_possible).then(|| format!("there is no other worker of rank {} among {world}", hello.rank))
}

/// Any other rank: calls on rank 0 until it answers.
fn call(place: &Place, port: u16, deadline: Instant) -> Result<(Table, IpAddr), PeerError> {
    let hello = Hello {
        rank: place.rank,
        world: place.world,
        port,
    };
    loop {
        let cause = match dial(&place.host, place.port) {
            Ok((stream, address)) => {
                // Rank 0 answers when the last has called.
                let rest = deadline.saturating_duration_since(Instant::now()).max(HANDSHAKE);
                let answer = stream
                    .set_read_timeout(Some(rest))
                    .and_then(|()| say(&stream, &hello))
                    .and_then(|()| hear::<Answer>(&stream));
                match answer {
                    Ok(Answer::Welcome(table)) if table.places.len() == place.world => {
                        return Ok((table, address));
                    }
                    Ok(Answer::Welcome(_)) => return Err(PeerError::Gone { rank: 0 }),
                    Ok(Answer::Refused { why }) => return Err(PeerError::Refused { why }),
                    Err(cause) => cause,
                }
            }
            Err(cause) => cause,
        };
        if Instant::now() + BETWEEN_CALLS > deadline {
            let (host, port) = (place.host.clone(), place.port);
            return Err(PeerError::Unreachable { host, port, cause });
        }
        thread::sleep(BETWEEN_CALLS);
    }
}

/// Resolves anew at each call: the name may be younger than this worker.
fn dial(host: &str, port: u16) -> io::Result<(TcpStream, IpAddr)> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, HANDSHAKE) {
            Ok(stream) => return Ok((stream, address.ip())),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn step_up(address: SocketAddr, secret: u64, rank: usize) -> Result<TcpStream, PeerError> {
    let gone = |_| PeerError::Gone { rank };
    let stream = TcpStream::connect_timeout(&address, HANDSHAKE).map_err(gone)?;
    say(&stream, &Neighbour { secret }).map_err(gone)?;
    Ok(stream)
}

fn await_neighbour(
    own: &TcpListener,
    secret: u64,
    rank: usize,
    deadline: Instant,
) -> Result<TcpStream, PeerError> {
    // Everybody has been told by now: a neighbour that does not come soon will not come at all.
    let deadline = deadline
        .min(Instant::now() + 2 * HANDSHAKE)
        .max(Instant::now() + HANDSHAKE);
    loop {
        let (stream, _) = accept(own, deadline).ok_or(PeerError::Gone { rank })?;
        if hear::<Neighbour>(&stream).is_ok_and(|neighbour| neighbour.secret == secret) {
            return Ok(stream);
        }
    }
}

/// The next caller, ready to be heard; `None` when time is up.
fn accept(listener: &TcpListener, deadline: Instant) -> Option<(TcpStream, SocketAddr)> {
    loop {
        let rest = deadline.checked_duration_since(Instant::now())?;
        let wait = Timespec::try_from(rest).ok()?;
        if poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&wait)) == Ok(0) {
            return None;
        }
        let Ok((stream, address)) = listener.accept() else {
            continue;
        };
        if stream.set_read_timeout(Some(HANDSHAKE)).is_ok() {
            return Some((stream, address));
        }
    }
}
