//! A command while it runs: our standard streams are its own, until it ends or nothing is heard of it
//! any more.

use std::{
    io::{Read as _, Write},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use hyper::{body::Bytes, upgrade::Upgraded};
use hyper_util::rt::TokioIo;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf},
    sync::mpsc::{self, Receiver, Sender},
    task::{JoinSet, spawn_blocking},
    time::{interval, timeout},
};

use super::channels::{self, Outcome, Reader, Said};

/// How often the server is asked whether it is there, and after how long a silence it is not.
const PING: Duration = Duration::from_secs(15);
const SILENCE: Duration = Duration::from_mins(1);
const LOST: &str = "the connection was lost before the command ended";

type Socket = TokioIo<Upgraded>;

pub(super) async fn run(connection: Upgraded) -> Result<Outcome> {
    let (reading, writing) = tokio::io::split(TokioIo::new(connection));
    let (frames, queue) = mpsc::channel(8);
    // They end with this function; what ends them early shows in what is read.
    let mut tasks = JoinSet::new();
    tasks.spawn(send(queue, writing));
    tasks.spawn(ping(frames.clone()));
    let inputs = frames.clone();
    spawn_blocking(move || pass_input(&inputs));
    receive(reading, &frames).await
}

/// Bytes that nobody can foresee.
pub(super) fn random<const COUNT: usize>() -> Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    SystemRandom::new()
        .fill(&mut bytes)
        .ok()
        .context("the system has no random numbers")?;
    Ok(bytes)
}

async fn send(mut queue: Receiver<Bytes>, mut socket: WriteHalf<Socket>) -> Result<()> {
    while let Some(frame) = queue.recv().await {
        socket.write_all(&websocket::masked(&frame, random()?)).await?;
        socket.flush().await?;
    }
    Ok(())
}

/// Waits for input on a thread of its own, which is left behind when there is nothing to wait for.
fn pass_input(frames: &Sender<Bytes>) {
    let mut stdin = std::io::stdin();
    let mut buffer = vec![0; 16 * 1024];
    loop {
        // Input that cannot be read has ended.
        let count = stdin.read(&mut buffer).unwrap_or_default();
        let frame = match count {
            0 => channels::end_of_input(),
            count => channels::input(&buffer[..count]),
        };
        if frames.blocking_send(frame).is_err() || count == 0 {
            return;
        }
    }
}

async fn ping(frames: Sender<Bytes>) -> Result<()> {
    let mut times = interval(PING);
    loop {
        times.tick().await;
        frames.send(websocket::ping()).await?;
    }
}

async fn receive(mut socket: ReadHalf<Socket>, frames: &Sender<Bytes>) -> Result<Outcome> {
    let mut reader = Reader::new();
    let mut buffer = vec![0; 32 * 1024];
    loop {
        while let Some(said) = reader.next()? {
            match said {
                Said::Output(bytes) => write(std::io::stdout(), bytes).await?,
                Said::Errors(bytes) => write(std::io::stderr(), bytes).await?,
                Said::Ended(outcome) => return Ok(outcome),
                // Where the queue is full, what is in it is sign of life enough.
                Said::Ping(payload) => drop(frames.try_send(websocket::pong(&payload))),
                Said::Goodbye => bail!(LOST),
            }
        }
        let count = timeout(SILENCE, socket.read(&mut buffer)).await.context(LOST)?;
        match count.context(LOST)? {
            0 => bail!(LOST),
            count => reader.push(&buffer[..count]),
        }
    }
}

/// A write may have to wait for whoever reads, which is no reason to stop sending.
async fn write(mut stream: impl Write + Send + 'static, bytes: Bytes) -> Result<()> {
    let written = spawn_blocking(move || stream.write_all(&bytes).and_then(|()| stream.flush()));
    written.await?.context("nobody takes the command's output")
}
