//! The network process by itself, and a stand-in for a pod: a process in its own network namespace that
//! does what it reads from its input. The tests use both.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    path::Path,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use hickory_proto::{
    op::{Message, Query},
    rr::{Name, RData, RecordType},
};
use nix::sched::{CloneFlags, setns, unshare};

const PATIENCE: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["__network", folder] => {
            tracing_subscriber::fmt()
                .with_writer(io::stderr)
                .with_ansi(false)
                .init();
            network::process::main(Path::new(folder))
        }
        ["pod", user_namespace] => finish(pod(Some(user_namespace))),
        ["pod"] => finish(pod(None)),
        ["start", binary, folder] => finish(start(Path::new(binary), Path::new(folder))),
        _ => ExitCode::from(2),
    }
}

fn finish(outcome: io::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// Starts a network process and waits to be killed.
fn start(binary: &Path, folder: &Path) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let options = network::Options::default();
    let program = this_program::Program::at(binary);
    let start = network::Network::start(&program, folder, &options);
    runtime.block_on(start).map_err(io::Error::other)?;
    say("started")?;
    io::stdin().read_to_string(&mut String::new()).map(drop)
}

fn pod(user_namespace: Option<&str>) -> io::Result<()> {
    if let Some(path) = user_namespace {
        setns(File::open(path)?, CloneFlags::CLONE_NEWUSER)?;
    }
    unshare(CloneFlags::CLONE_NEWNET)?;
    say("ready")?;
    for line in io::stdin().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        match act(&words) {
            Ok(answer) => say(&answer)?,
            Err(error) => say(&format!("error: {:?}", error.kind()))?,
        }
    }
    Ok(())
}

fn say(text: &str) -> io::Result<()> {
    let mut output = io::stdout();
    writeln!(output, "{text}")?;
    output.flush()
}

fn act(words: &[&str]) -> io::Result<String> {
    match *words {
        ["listen", "tcp", port, name] => {
            let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, number(port)?))?;
            let name = name.to_owned();
            thread::spawn(move || serve_tcp(&listener, &name));
            Ok("ok".to_owned())
        }
        ["listen", "udp", port, name] => {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, number(port)?))?;
            let name = name.to_owned();
            thread::spawn(move || serve_udp(&socket, &name));
            Ok("ok".to_owned())
        }
        ["sink", port] => {
            let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, number(port)?))?;
            thread::spawn(move || sink(&listener));
            Ok("ok".to_owned())
        }
        ["ask", "tcp", to] => ask_tcp(address(to)?),
        ["echo", to, bytes] => echo(address(to)?, number(bytes)? as usize * 1024),
        ["push", to, mebibytes] => push(address(to)?, number(mebibytes)? as usize),
        ["ask", "udp", to, text] => ask_udp(0, address(to)?, text),
        ["ask-from", port, to, text] => ask_udp(number(port)?, address(to)?, text),
        ["devices"] => devices(),
        ["resolve", server, name, kind] => resolve(address(server)?, name, kind, false),
        ["resolve-tcp", server, name, kind] => resolve(address(server)?, name, kind, true),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Greets with its name and the client's address, then echoes.
fn serve_tcp(listener: &TcpListener, name: &str) {
    for stream in listener.incoming().flatten() {
        let name = name.to_owned();
        thread::spawn(move || -> io::Result<()> {
            let mut stream = stream;
            writeln!(stream, "{name} {}", stream.peer_addr()?.ip())?;
            io::copy(&mut stream.try_clone()?, &mut stream)?;
            stream.shutdown(std::net::Shutdown::Write)
        });
    }
}

fn serve_udp(socket: &UdpSocket, name: &str) {
    let mut buffer = vec![0; 65_536];
    while let Ok((length, from)) = socket.recv_from(&mut buffer) {
        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
        let _ = socket.send_to(format!("{name} {} {text}", from.ip()).as_bytes(), from);
    }
}

fn sink(listener: &TcpListener) {
    for mut stream in listener.incoming().flatten() {
        thread::spawn(move || -> io::Result<()> {
            let mut buffer = vec![0; 256 << 10];
            while stream.read(&mut buffer)? > 0 {}
            stream.write_all(b"done\n")
        });
    }
}

fn ask_tcp(to: SocketAddr) -> io::Result<String> {
    let stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

/// Sends much, closes its half, and then counts what comes back.
fn echo(to: SocketAddr, bytes: usize) -> io::Result<String> {
    let stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut writer = stream.try_clone()?;
    let sent: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
    let expected = sent.clone();
    thread::spawn(move || -> io::Result<()> {
        writer.write_all(&sent)?;
        writer.shutdown(std::net::Shutdown::Write)
    });
    let mut reader = BufReader::new(stream);
    reader.read_line(&mut String::new())?;
    let mut echoed = Vec::new();
    reader.read_to_end(&mut echoed)?;
    Ok(if echoed == expected {
        "same".to_owned()
    } else {
        format!("{} bytes came back", echoed.len())
    })
}

fn push(to: SocketAddr, mebibytes: usize) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    let started = Instant::now();
    let chunk = vec![7; 1 << 20];
    for _ in 0..mebibytes {
        stream.write_all(&chunk)?;
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.read_to_string(&mut String::new())?;
    Ok(format!(
        "{:.0} MiB/s",
        mebibytes as f64 / started.elapsed().as_secs_f64()
    ))
}

fn ask_udp(from: u16, to: SocketAddr, text: &str) -> io::Result<String> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, from))?;
    socket.connect(to)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send(text.as_bytes())?;
    let mut buffer = vec![0; 65_536];
    let length = socket.recv(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

/// The names of this namespace's devices.
fn devices() -> io::Result<String> {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev")?;
    let names = text.lines().skip(2).filter_map(|line| line.split(':').next());
    Ok(names.map(str::trim).collect::<Vec<_>>().join(" "))
}

fn resolve(server: SocketAddr, name: &str, kind: &str, tcp: bool) -> io::Result<String> {
    let name = Name::from_ascii(name).map_err(io::Error::other)?;
    let kind: RecordType = kind.parse().map_err(io::Error::other)?;
    let mut query = Message::query();
    query.add_query(Query::query(name, kind));
    let query = query.to_vec().map_err(io::Error::other)?;
    let bytes = if tcp {
        exchange_tcp(server, &query)?
    } else {
        exchange_udp(server, &query)?
    };
    let message = Message::from_vec(&bytes).map_err(io::Error::other)?;
    let mut answers: Vec<String> = message.answers.iter().map(|record| shown(&record.data)).collect();
    answers.sort();
    let truncated = if message.metadata.truncation {
        " truncated"
    } else {
        ""
    };
    Ok(format!(
        "{:?}{truncated} {}",
        message.metadata.response_code,
        answers.join(" ")
    )
    .trim_end()
    .to_owned())
}

fn exchange_udp(server: SocketAddr, query: &[u8]) -> io::Result<Vec<u8>> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.connect(server)?;
    socket.send(query)?;
    let mut buffer = vec![0; 65_536];
    let length = socket.recv(&mut buffer)?;
    buffer.truncate(length);
    Ok(buffer)
}

fn exchange_tcp(server: SocketAddr, query: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&(query.len() as u16).to_be_bytes())?;
    stream.write_all(query)?;
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut buffer = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut buffer)?;
    Ok(buffer)
}

fn shown(data: &RData) -> String {
    match data {
        RData::SRV(srv) => format!("{}:{}", srv.target, srv.port),
        data => data.to_string(),
    }
}

fn number(text: &str) -> io::Result<u16> {
    text.parse().map_err(io::Error::other)
}

fn address(text: &str) -> io::Result<SocketAddr> {
    text.parse().map_err(io::Error::other)
}
