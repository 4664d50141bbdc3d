//! What a container writes: into its log, and to whoever is attached.

use std::{
    fs::File,
    io::{self, Read as _},
    os::fd::{AsFd, OwnedFd},
};

use jiff::Timestamp;
use nix::{errno::Errno, unistd::write};

use super::{
    events::{Events, Token},
    logs::{Lines, LogFile, Stream},
};

/// One container's outputs and where they go.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) streams: Vec<OutputStream>,
    log: Option<LogFile>,
    followers: Vec<Follower>,
}

/// Standard output, standard error, or the terminal.
#[derive(Debug)]
pub(super) struct OutputStream {
    pub(super) file: Option<File>,
    pub(super) token: Option<Token>,
    lines: Lines,
}

/// The writing ends of an attached client's pipes, one for each stream.
#[derive(Debug)]
struct Follower {
    pipes: Vec<OwnedFd>,
}

impl OutputStream {
    pub(super) fn close(&mut self, events: &mut Events) {
        if let (Some(file), Some(token)) = (self.file.take(), self.token.take()) {
            events.remove(&file, token);
        }
    }
}

/// Whether there is more to come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Open,
    Ended,
}

impl Output {
    pub(super) fn new(outputs: Vec<OwnedFd>, log: Option<LogFile>) -> Self {
        let streams = outputs
            .into_iter()
            .zip([Stream::Stdout, Stream::Stderr])
            .map(|(output, stream)| OutputStream {
                file: Some(File::from(output)),
                token: None,
                lines: Lines::of(stream),
            })
            .collect();
        Self {
            streams,
            log,
            followers: Vec::new(),
        }
    }

    /// Whoever is slower than the container by more than a pipe holds is dropped: nobody who looks
    /// at a container may slow it down.
    pub(super) fn follow(&mut self, pipes: Vec<OwnedFd>) {
        self.followers.push(Follower { pipes });
    }

    /// Passes on what one stream has, for a while: other containers want to be heard, too.
    pub(super) fn pump(&mut self, index: usize) -> Progress {
        let mut buffer = vec![0; 64 << 10];
        for _ in 0..16 {
            let Some(file) = self
                .streams
                .get_mut(index)
                .and_then(|stream| stream.file.as_mut())
            else {
                return Progress::Ended;
            };
            match file.read(&mut buffer) {
                Ok(0) => return Progress::Ended,
                Ok(count) => self.pass_on(index, &buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Progress::Open,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A terminal whose last user is gone answers with an error.
                Err(_) => return Progress::Ended,
            }
        }
        Progress::Open
    }

    /// Everything that is still in the pipes, after the last writer is gone.
    pub(super) fn finish(&mut self) {
        for index in 0..self.streams.len() {
            while self.pump_is_not_dry(index) {}
        }
        let (time, mut records) = (Timestamp::now().to_string(), Vec::new());
        for stream in &mut self.streams {
            stream.lines.finish(&time, &mut records);
        }
        self.write(&records, true);
        self.followers.clear();
    }

    fn pump_is_not_dry(&mut self, index: usize) -> bool {
        let mut buffer = vec![0; 64 << 10];
        let file = self
            .streams
            .get_mut(index)
            .and_then(|stream| stream.file.as_mut());
        match file.map(|file| file.read(&mut buffer)) {
            Some(Ok(count)) if count > 0 => {
                self.pass_on(index, &buffer[..count]);
                true
            }
            Some(Err(error)) => error.kind() == io::ErrorKind::Interrupted,
            _ => false,
        }
    }

    fn pass_on(&mut self, index: usize, bytes: &[u8]) {
        self.followers.retain(|follower| follower.accepts(index, bytes));
        let in_line = self.streams.iter().any(|stream| stream.lines.in_line());
        let mut records = Vec::with_capacity(bytes.len() * 2);
        self.streams[index]
            .lines
            .feed(&Timestamp::now().to_string(), bytes, &mut records);
        self.write(&records, in_line);
    }

    fn write(&mut self, records: &[u8], in_line: bool) {
        if records.is_empty() {
            return;
        }
        if let Some(log) = &mut self.log
            && let Err(error) = log.write(records, in_line)
        {
            // The container goes on when the disk is full; its log has a gap then.
            super::server::note(format_args!("cannot write a log: {error}"));
        }
    }
}

impl Follower {
    fn accepts(&self, index: usize, bytes: &[u8]) -> bool {
        let Some(pipe) = self.pipes.get(index) else {
            return true;
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            match write(pipe.as_fd(), rest) {
                Ok(count) => rest = &rest[count..],
                Err(Errno::EINTR) => {}
                Err(_) => return false,
            }
        }
        true
    }
}
