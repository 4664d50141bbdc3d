//! A pod that is a few sockets and scripted commands of this process.

use std::{
    collections::VecDeque,
    io,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::reach::{ExecFailure, Executed, Reach};

pub(super) const POD: &str = "127.0.0.1";

/// Answers commands in order, the last one for ever.
#[derive(Default)]
pub(super) struct Pod {
    pub(super) answers: Mutex<VecDeque<Result<i32, ExecFailure>>>,
    /// What leads to it is broken.
    pub(super) is_cut_off: AtomicBool,
}

impl Reach for Pod {
    async fn exec(&self, _: &str, argv: &[String], _: Duration) -> Result<Executed, ExecFailure> {
        let mut answers = self.answers.lock();
        let answer = answers.pop_front().unwrap_or(Ok(0));
        if let (Ok(code), true) = (&answer, answers.is_empty()) {
            answers.push_back(Ok(*code));
        }
        answer.map(|code| Executed {
            code,
            output: argv.join(" ").into_bytes(),
        })
    }

    fn way(&self) -> Option<u64> {
        (!self.is_cut_off.load(Ordering::Relaxed)).then_some(1)
    }

    async fn connect(&self, host: Option<&str>, port: u16) -> io::Result<TcpStream> {
        TcpStream::connect((host.unwrap_or(POD), port)).await
    }
}

/// A server that sends each connection the next of these answers, and keeps what it was asked.
pub(super) async fn serve(answers: Vec<String>) -> (u16, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind((POD, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let task = tokio::spawn(async move {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let count = stream.read(&mut request).await.unwrap();
            asked.push(String::from_utf8_lossy(&request[..count]).into_owned());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        asked
    });
    (port, task)
}

/// A port nobody listens on.
pub(super) async fn free_port() -> u16 {
    let listener = TcpListener::bind((POD, 0)).await.unwrap();
    listener.local_addr().unwrap().port()
}
