//! Streams of events, which go on where they broke off.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::Service;

/// The events of a stream that has ended: name, id and data.
fn events(text: &str) -> Vec<(String, String, String)> {
    let field = |block: &str, name: &str| {
        let lines = block
            .lines()
            .filter_map(|line| line.strip_prefix(&format!("{name}: ")));
        lines.collect::<Vec<_>>().join("\n")
    };
    text.split("\n\n")
        .filter(|block| block.contains("event: "))
        .map(|block| (field(block, "event"), field(block, "id"), field(block, "data")))
        .collect()
}

#[test]
fn a_stream_tells_everything_once_also_when_it_was_cut() {
    if client_tests::is_real() {
        // Nothing ends there by itself.
        return;
    }
    let service = Service::start();
    service.register_countdown("countdown");
    let name = service.countdown("countdown", 3);
    let stream = |path: &str, after: Option<&str>| {
        let after = after.map(|id| format!("Last-Event-ID: {id}"));
        // A busy machine takes its time for a whole task.
        let mut arguments = vec!["-N", "--max-time", "600", "-H", "Accept: text/event-stream"];
        if let Some(after) = &after {
            arguments.extend(["-H", after]);
        }
        let reply = service.curl(&arguments, &format!("/v1/tasks/{name}/{path}"), None);
        assert_eq!(
            reply.header("content-type"),
            Some("text/event-stream"),
            "{reply:?}"
        );
        events(&reply.body)
    };

    // From the first state to the end, while it happens.
    let states = stream("status", None);
    let phase = |data: &str| {
        serde_json::from_str::<Value>(data).unwrap()["phase"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let (last, states) = states.split_last().unwrap();
    assert_eq!((last.0.as_str(), phase(&last.2).as_str()), ("end", "Succeeded"));
    assert!(
        states
            .iter()
            .all(|(event, id, _)| event == "status" && !id.is_empty()),
        "{states:?}"
    );
    assert_eq!(phase(&states.last().unwrap().2), "Succeeded");
    // Whoever has seen the last state is told that it was.
    let rest = stream("status", Some(&states.last().unwrap().1));
    assert_eq!(
        rest.iter().map(|(event, ..)| event.as_str()).collect::<Vec<_>>(),
        ["end"]
    );

    // What happened, from any place on.
    let all = stream("events", None);
    let ids: Vec<&str> = all
        .iter()
        .map(|(_, id, _)| id.as_str())
        .filter(|id| !id.is_empty())
        .collect();
    // One that ends at once is not always seen while it runs.
    assert!(ids.len() >= 2, "{all:?}");
    for cut in 0..ids.len() {
        let rest = stream("events", Some(ids[cut]));
        assert_eq!(rest, all[cut + 1..], "after {}", ids[cut]);
    }

    // Lines, from any place on, each with an id of its own.
    let lines = stream("logs", None);
    let texts = |events: &[(String, String, String)]| -> Vec<String> {
        let lines = events.iter().filter(|(event, ..)| event == "line");
        lines.map(|(_, _, data)| data.trim().to_owned()).collect()
    };
    assert_eq!(texts(&lines), ["3", "2", "1"]);
    for cut in 0..3 {
        let rest = stream("logs", Some(&lines[cut].1));
        assert_eq!(texts(&rest), texts(&lines[cut + 1..]), "after line {cut}");
    }

    // The same as a list and as text, for whoever wants no stream.
    let list = service.get(&format!("/v1/tasks/{name}/events")).expect(200);
    assert_eq!(list["items"].as_array().unwrap().len(), ids.len());
    service
        .curl(
            &["-H", "Accept: text/event-stream"],
            &format!("/v1/tasks/{name}"),
            None,
        )
        .problem(406, "not_acceptable");
}

#[test]
fn what_a_task_has_printed_stays_when_its_pods_are_gone() {
    if client_tests::is_real() {
        return;
    }
    let service = Service::start();
    service.register_countdown("countdown");
    let name = service.countdown("countdown", 2);
    assert_eq!(
        service.wait_for(&name, &["Succeeded", "Failed"])["phase"],
        "Succeeded"
    );
    let Some(kubectl) = client_tests::needed(client_tests::kubectl(client_tests::Release::Ours)) else {
        return;
    };
    let shell = client_tests::Shell::new(&service.server, &[("kubectl", &kubectl)]);
    let printed = || {
        service
            .get(&format!("/v1/tasks/{name}/logs"))
            .body
            .replace('\r', "")
    };
    crate::until("the lines", || {
        let text = printed();
        (text == "2\n1\n").then_some(()).ok_or(text)
    });
    shell.ok(&format!("kubectl delete job {name} --cascade=foreground"));
    assert_eq!(shell.ok("kubectl get pods -o name"), "");
    crate::until("what is kept of them", || {
        let text = printed();
        (text == "2\n1\n").then_some(()).ok_or(text)
    });
    let last = service
        .get(&format!("/v1/tasks/{name}/logs?tail=1"))
        .body
        .replace('\r', "");
    assert_eq!(last, "1\n");
}

/// A stream that somebody reads.
pub(crate) struct OpenStream {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl OpenStream {
    /// Returns when the stream has begun.
    #[track_caller]
    pub(crate) fn begin(url: &str, token: &str) -> Self {
        Self::try_begin(url, token, 120).unwrap_or_else(|| panic!("{url}: it did not begin"))
    }

    /// None where it is refused. It is read for so many seconds at most.
    fn try_begin(url: &str, token: &str, seconds: u32) -> Option<Self> {
        let mut process = Command::new("curl")
            .args(["--silent", "--fail", "--no-buffer"])
            .args(["--max-time", &seconds.to_string()])
            .args(["-H", "Accept: text/event-stream"])
            .args(["-H", &format!("Authorization: Bearer {token}"), url])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("curl can be started");
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let stream = Self { process, output };
        (!line.is_empty()).then_some(())?;
        assert_eq!(line, "retry: 1000\n", "{url}");
        Some(stream)
    }

    /// The stream is ended by the server, and has not told of any end of what it is about.
    #[track_caller]
    pub(crate) fn ends(mut self) {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        let status = self.process.wait().unwrap();
        assert!(status.success(), "curl gave up before the stream ended: {rest}");
        assert!(!rest.contains("event: end"), "{rest}");
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn streams_end_with_the_token_they_were_begun_with() {
    let service = Service::start();
    let task = service.endless();
    let token = |seconds: Option<u32>| {
        let mut body = json!({"name": "vera", "grants": [{"role": "viewer", "namespace": "default"}]});
        if let Some(seconds) = seconds {
            body["expires_in_seconds"] = json!(seconds);
        }
        let made = service.post("/v1/tokens", &body).expect(201);
        let text = |field: &str| made[field].as_str().unwrap().to_owned();
        (text("id"), text("token"))
    };
    let begin = |token: &str| -> Option<Vec<OpenStream>> {
        let url = |what: &str| format!("{}/v1/tasks/{task}/{what}", service.address);
        // Longer than all of the tokens together that are tried below.
        let begun = ["status", "events", "logs"].map(|what| OpenStream::try_begin(&url(what), token, 600));
        begun.into_iter().collect()
    };

    let ((_, holds), (id, revoked)) = (token(None), token(None));
    let (kept, cut) = (begin(&holds).unwrap(), begin(&revoked).unwrap());
    service
        .curl(&["-X", "DELETE"], &format!("/v1/tokens/{id}"), None)
        .expect(204);
    cut.into_iter().for_each(OpenStream::ends);

    // On a machine that is so busy that the token has ended before they begin, with one that lives longer.
    let begun_in_time = (2..8).find_map(|power| {
        let (_, brief) = token(Some(1 << power));
        Some((begin(&brief)?, brief))
    });
    let (streams, brief) = begun_in_time.expect("some token lives long enough");
    streams.into_iter().for_each(OpenStream::ends);
    let reply = service.curl_as(&brief, &[], &format!("/v1/tasks/{task}/status"), None);
    reply.problem(401, "unauthenticated");

    // Those of others go on.
    for mut stream in kept {
        assert!(stream.process.try_wait().unwrap().is_none());
    }
}
