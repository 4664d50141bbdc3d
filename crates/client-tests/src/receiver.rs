//! A receiver of callbacks: remembers what it is sent, and answers as it is told.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Instant,
};

use serde_json::Value;

/// A request that came.
#[derive(Clone, Debug)]
pub struct Call {
    pub path: String,
    headers: Vec<(String, String)>,
    pub body: Value,
    /// The body as it was sent.
    pub text: String,
    pub at: Instant,
}

impl Call {
    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// What a receiver answers: the status and further lines of the head.
type Answer = Box<dyn Fn(&Call) -> (u16, String) + Send + Sync>;

pub struct Receiver {
    address: SocketAddr,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Receiver {
    /// One that is content with everything.
    pub fn start() -> Self {
        Self::answering(|_| (200, String::new()))
    }

    /// One that says something else: a status, and headers, each with its end of line.
    pub fn answering(answer: impl Fn(&Call) -> (u16, String) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let calls: Arc<Mutex<Vec<Call>>> = Arc::default();
        let heard = calls.clone();
        let say: Arc<Answer> = Arc::new(Box::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (heard, say) = (heard.clone(), say.clone());
                thread::spawn(move || serve(stream, &heard, &say));
            }
        });
        Self { address, calls }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Everything that came, in its order.
    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// None where the peer went away in the middle.
fn serve(mut stream: TcpStream, calls: &Mutex<Vec<Call>>, say: &Answer) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length")?;
    let mut body = vec![0; length.1.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    let call = Call {
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
        text: String::from_utf8_lossy(&body).into_owned(),
        at: Instant::now(),
    };
    let (status, more) = say(&call);
    calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    let answer =
        format!("HTTP/1.1 {status} Said\r\n{more}Content-Length: 2\r\nConnection: close\r\n\r\n{{}}");
    stream.write_all(answer.as_bytes()).ok()
}
