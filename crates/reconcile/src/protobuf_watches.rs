//! Watches in protobuf where the server has it, which it writes in a fraction of the time that JSON takes, told on as
//! JSON without the fields that nobody reads.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{StreamExt as _, future::BoxFuture, stream};
use http::{
    HeaderMap, HeaderValue, Request, Response, Uri,
    header::{ACCEPT, CONTENT_TYPE},
};
use http_body::Frame;
use http_body_util::{BodyDataStream, BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use kinds::protobuf::{self, ProtobufError};
use kube::{Client, client::Body};
use serde::Serialize;
use serde_json::Value;
use tower_service::Service;

use crate::requests::PROTOBUF;

/// Servers that have none, and kinds of which there is none, answer with the second.
const ACCEPTED: &str = "application/vnd.kubernetes.protobuf,application/json";
/// No object is as large: etcd takes one and a half megabytes.
const LONGEST: usize = 64 << 20;

type Error = Box<dyn std::error::Error + Send + Sync>;
type Answer = UnsyncBoxBody<Bytes, Error>;

#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("an event of a watch is said to be {0} bytes long")]
    TooLong(usize),
    #[error("an event of a watch cannot be read: {0}")]
    Protobuf(#[from] ProtobufError),
    #[error("an event of a watch cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

/// Who owns which field is half of an object, and nobody here reads it.
const ALWAYS_UNREAD: &[&str] = &["metadata.managedFields"];

/// A client whose watches are without these fields of objects where they come as protobuf, and else are as they come.
pub fn by_protobuf(client: &Client, unread: &[&'static str]) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = Watches {
        client: client.clone(),
        unread: [unread, ALWAYS_UNREAD].concat().into(),
        is_off: Arc::default(),
    };
    Client::new(service, namespace)
}

#[derive(Clone)]
struct Watches {
    client: Client,
    unread: Arc<[&'static str]>,
    /// Something could not be read: from then on watches are in JSON.
    is_off: Arc<AtomicBool>,
}

impl Service<Request<Body>> for Watches {
    type Response = Response<Answer>;
    type Error = kube::Error;
    type Future = BoxFuture<'static, Result<Response<Answer>, kube::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), kube::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let watches = self.clone();
        Box::pin(async move {
            if is_watch(request.uri()) && !watches.is_off.load(Ordering::Relaxed) {
                let headers = request.headers_mut();
                headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
            }
            let path = request.uri().path().to_owned();
            let (mut head, body) = watches.client.send(request).await?.into_parts();
            let body = match (is_protobuf(&head.headers), head.status.is_success()) {
                (false, _) => body.map_err(Error::from).boxed_unsync(),
                (true, true) => watches.lines(path, body),
                (true, false) => refusal(&body.collect_bytes().await?),
            };
            head.headers.remove(CONTENT_TYPE);
            Ok(Response::from_parts(head, body))
        })
    }
}

fn is_watch(uri: &Uri) -> bool {
    let mut query = uri.query().unwrap_or_default().split('&');
    query.any(|pair| matches!(pair, "watch=true" | "watch=1"))
}

fn is_protobuf(headers: &HeaderMap) -> bool {
    let name = headers.get(CONTENT_TYPE).and_then(|name| name.to_str().ok());
    name.is_some_and(|name| name.starts_with(PROTOBUF))
}

/// What a server answers that does not let us watch.
fn refusal(bytes: &Bytes) -> Answer {
    let text = match protobuf::decode_object(bytes) {
        Ok((_, _, status)) => status.to_string(),
        // The code of the answer says enough, and its reader takes any words.
        Err(error) => error.to_string(),
    };
    Full::from(text).map_err(|never| match never {}).boxed_unsync()
}

impl Watches {
    /// An event a line, as in a watch in JSON.
    fn lines(self, path: String, body: Body) -> Answer {
        let mut events = Events::default();
        let lines = BodyDataStream::new(body).flat_map(move |data| {
            let line = match data {
                Err(error) => Err(error.into()),
                Ok(data) => events.take_in(&data, &self.unread).map_err(|error| {
                    tracing::warn!(%error, path, "a watch in protobuf is given up for one in JSON");
                    self.is_off.store(true, Ordering::Relaxed);
                    Error::from(error)
                }),
            };
            // A part of an event is no line yet.
            let is_empty = line.as_ref().is_ok_and(Vec::is_empty);
            stream::iter((!is_empty).then(|| line.map(|line| Frame::data(line.into()))))
        });
        StreamBody::new(lines).boxed_unsync()
    }
}

/// Cuts events out of what comes: each has its length before it.
#[derive(Default)]
struct Events {
    /// The beginning of one whose end has not come yet.
    begun: Vec<u8>,
}

impl Events {
    fn take_in(&mut self, data: &[u8], unread: &[&str]) -> Result<Vec<u8>, Unreadable> {
        self.begun.extend_from_slice(data);
        let (mut rest, mut lines) = (self.begun.as_slice(), Vec::new());
        while let Some((length, after)) = rest.split_first_chunk() {
            let length = u32::from_be_bytes(*length) as usize;
            if length > LONGEST {
                return Err(Unreadable::TooLong(length));
            }
            let Some((event, after)) = after.split_at_checked(length) else {
                break;
            };
            write_line(event, unread, &mut lines)?;
            rest = after;
        }
        let taken = self.begun.len() - rest.len();
        self.begun.drain(..taken);
        Ok(lines)
    }
}

fn write_line(event: &[u8], unread: &[&str], lines: &mut Vec<u8>) -> Result<(), Unreadable> {
    let (kind, object) = protobuf::watch_event(event)?;
    // Of an error the object is what the server says, not one of those that are watched.
    let unread = if kind == "ERROR" { &[] } else { unread };
    let (_, _, object) = protobuf::decode_object_without(object, unread)?;
    // In the order of the API: a reader that keeps the text of the object has to know before it comes that one comes.
    serde_json::to_writer(&mut *lines, &Line { kind: &kind, object })?;
    lines.push(b'\n');
    Ok(())
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    object: Value,
}

#[cfg(test)]
mod tests {
    use std::future::{Ready, ready};

    use k8s_openapi::api::core::v1::Pod;
    use kube::api::{WatchEvent, WatchParams};
    use parking_lot::Mutex;

    use super::*;
    use crate::Unread;

    fn field(tag: u8, bytes: &[u8]) -> Vec<u8> {
        let mut field = vec![tag << 3 | 2, bytes.len() as u8];
        field.extend_from_slice(bytes);
        field
    }

    fn object(version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let kind = [field(1, version.as_bytes()), field(2, kind.as_bytes())].concat();
        [b"k8s\0", &*field(1, &kind), &*field(2, raw)].concat()
    }

    fn event(kind: &str, object: &[u8]) -> Vec<u8> {
        let event = [field(1, kind.as_bytes()), field(2, &field(1, object))].concat();
        [&(event.len() as u32).to_be_bytes()[..], &event].concat()
    }

    /// A pod of version 7 with a node, whose container has ended well, that is being deleted and of which somebody
    /// owns a field.
    fn pod() -> Vec<u8> {
        let owner = [vec![17 << 3 & 0x7f | 0x80 | 2, 1], vec![3], field(1, b"m")].concat();
        let deleted = field(9, &[1 << 3, 0x80, 0xe2, 0xcf, 0xaa, 0x06]);
        let metadata = [field(1, b"p"), field(3, b"n"), field(6, b"7"), deleted, owner].concat();
        let ended = field(2, &field(3, &[1 << 3, 0]));
        let container = field(8, &[field(1, b"c"), ended].concat());
        let (spec, status) = (field(10, b"here"), [field(1, b"Running"), container].concat());
        let raw = [field(1, &metadata), field(2, &spec), field(3, &status)].concat();
        object("v1", "Pod", &raw)
    }

    const UNREAD: &[&str] = &["spec", "metadata.managedFields"];

    #[test]
    fn an_event_is_a_line_however_it_is_cut() {
        let bytes = [event("ADDED", &pod()), event("DELETED", &pod())].concat();
        let whole = Events::default().take_in(&bytes, UNREAD).unwrap();
        let mut events = Events::default();
        let cut = bytes.chunks(5).map(|part| events.take_in(part, UNREAD).unwrap());
        assert_eq!(cut.collect::<Vec<_>>().concat(), whole);
        assert!(events.begun.is_empty());
        let text = String::from_utf8(whole).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines[0]["type"], "ADDED");
        assert_eq!(lines[1]["type"], "DELETED");
        let pod = &lines[0]["object"];
        assert_eq!(pod["metadata"]["name"], "p");
        assert_eq!(pod["metadata"]["resourceVersion"], "7");
        assert!(pod["metadata"].get("managedFields").is_none());
        assert!(pod["spec"].get("nodeName").is_none());
        assert_eq!(pod["status"]["phase"], "Running");
        assert_eq!(pod["metadata"]["deletionTimestamp"], "2023-11-14T22:13:20Z");
        let ended = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
        assert_eq!(ended["exitCode"], 0);
    }

    #[test]
    fn nothing_is_kept_of_an_event_without_end() {
        let length = (LONGEST as u32 + 1).to_be_bytes();
        assert!(matches!(
            Events::default().take_in(&length, &[]),
            Err(Unreadable::TooLong(_))
        ));
    }

    /// A server that always gives the same answer, and what it was asked to give it in.
    #[derive(Clone)]
    struct Answering {
        code: u16,
        form: &'static str,
        answer: Vec<u8>,
        asked: Arc<Mutex<Vec<String>>>,
    }

    impl Service<Request<Body>> for Answering {
        type Response = Response<Full<Bytes>>;
        type Error = Error;
        type Future = Ready<Result<Response<Full<Bytes>>, Error>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request<Body>) -> Self::Future {
            let accepted = request.headers().get(ACCEPT);
            let accepted = accepted.map(|name| name.to_str().unwrap().to_owned());
            self.asked.lock().push(accepted.unwrap_or_default());
            let response = Response::builder()
                .status(self.code)
                .header(CONTENT_TYPE, self.form);
            ready(Ok(response.body(self.answer.clone().into()).unwrap()))
        }
    }

    fn server(code: u16, form: &'static str, answer: Vec<u8>) -> (Client, Arc<Mutex<Vec<String>>>) {
        let asked = Arc::default();
        let service = Answering {
            code,
            form,
            answer,
            asked: Arc::clone(&asked),
        };
        (Client::new(service, "default"), asked)
    }

    async fn watched(client: &Client) -> Vec<kube::Result<WatchEvent<Unread>>> {
        let pods = Unread::of::<Pod>(client.clone(), &(), None);
        match pods.watch(&WatchParams::default(), "0").await {
            Ok(events) => events.collect().await,
            Err(error) => vec![Err(error)],
        }
    }

    #[tokio::test]
    async fn a_watch_in_protobuf_reads_like_any() {
        let form = "application/vnd.kubernetes.protobuf;stream=watch";
        let (client, asked) = server(200, form, event("MODIFIED", &pod()));
        let events = watched(&by_protobuf(&client, UNREAD)).await;
        let [Ok(WatchEvent::Modified(pod))] = &*events else {
            panic!("{events:?}");
        };
        let pod: Pod = pod.read().unwrap();
        assert_eq!(pod.metadata.name.as_deref(), Some("p"));
        assert_eq!(pod.status.as_ref().unwrap().phase.as_deref(), Some("Running"));
        assert_eq!(*asked.lock(), [ACCEPTED]);
    }

    #[tokio::test]
    async fn a_bookmark_says_how_far_a_watch_has_come() {
        let reached = object("v1", "Pod", &field(1, &field(6, b"41")));
        let (client, _) = server(200, PROTOBUF, event("BOOKMARK", &reached));
        let events = watched(&by_protobuf(&client, UNREAD)).await;
        assert!(
            matches!(&*events, [Ok(WatchEvent::Bookmark(reached))] if reached.metadata.resource_version == "41"),
            "{events:?}"
        );
    }

    #[tokio::test]
    async fn that_it_has_expired_is_heard_in_a_watch_and_before_one() {
        let status = [
            field(2, b"Failure"),
            field(4, b"Expired"),
            vec![6 << 3, 0x9a, 0x03],
        ]
        .concat();
        let status = object("v1", "Status", &status);
        let form = "application/vnd.kubernetes.protobuf;stream=watch";
        let (client, _) = server(200, form, event("ERROR", &status));
        let events = watched(&by_protobuf(&client, UNREAD)).await;
        assert!(
            matches!(&*events, [Ok(WatchEvent::Error(status))] if status.code == 410),
            "{events:?}"
        );
        let (client, _) = server(410, PROTOBUF, status);
        let events = watched(&by_protobuf(&client, UNREAD)).await;
        assert!(
            matches!(&*events, [Err(kube::Error::Api(status))] if status.code == 410 && status.reason == "Expired"),
            "{events:?}"
        );
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_asked_for_in_json() {
        let form = "application/vnd.kubernetes.protobuf;stream=watch";
        let (client, asked) = server(200, form, event("ADDED", b"nonsense"));
        let client = by_protobuf(&client, UNREAD);
        assert!(matches!(&*watched(&client).await, [Err(_)]));
        watched(&client).await;
        assert_eq!(asked.lock()[0], ACCEPTED);
        assert_ne!(asked.lock()[1], ACCEPTED);
    }

    #[tokio::test]
    async fn a_server_without_protobuf_is_heard_as_it_speaks() {
        let line =
            r#"{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[]}}}"#;
        let (client, _) = server(200, "application/json", line.into());
        let events = watched(&by_protobuf(&client, UNREAD)).await;
        assert!(
            matches!(&*events, [Ok(WatchEvent::Added(pod))] if pod.read::<Pod>().unwrap().spec.is_some()),
            "{events:?}"
        );
    }
}
