//! Streaming the changes of a collection.
//!
//! A watch holds a cursor into the store's log and pulls when the client reads: a slow client costs
//! nothing but its own place, and one that falls off the log is told to start again.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt, StreamBody};
use jiff::Timestamp;
use serde_json::{Value, json};
use store::{Event, Key, Object, TooOld, WatchEnd, Watcher};
use tokio::time::{Instant, sleep_until};

use crate::{
    call::Call,
    conversion,
    error::{ApiError, Result},
    kind::Kind,
    list::{check_options, check_revision_exists, parse_revision},
    metrics::Counted,
    negotiate::Form,
    object,
    response::{self, Answer},
    rows::{self, IncludeObject},
    selection::Selection,
};

const BOOKMARK_INTERVAL: Duration = Duration::from_mins(1);
/// Watches without an own limit end after this; the client starts the next one.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(45);
/// More than anybody waits, and little enough to be added to any moment.
const LONGEST_TIMEOUT: Duration = Duration::from_hours(24 * 365);
/// Frames are gathered up to this size before they are sent.
const CHUNK: usize = 64 * 1024;

pub(crate) async fn watch(call: &Call) -> Result<Answer> {
    let asked = Asked::read(call)?;
    let (start, watcher) = if asked.wants_state() {
        with_state(call, &asked).await?
    } else {
        match changes_only(call, &asked) {
            Ok(watcher) => (Start::nothing(), watcher),
            Err(expired) => return Ok(ended(&asked.encoder, &expired)),
        }
    };
    let now = Instant::now();
    let state = Watch {
        watcher,
        selection: asked.selection,
        encoder: asked.encoder,
        start,
        deadline: now + asked.timeout,
        next_bookmark: asked.bookmarks.then_some(now + BOOKMARK_INTERVAL),
        api: call.api.clone(),
        _counted: call.api.metrics.watch(),
        ended: false,
    };
    let stream = futures_util::stream::unfold(state, |mut state| async move {
        state
            .next()
            .await
            .map(|chunk| (Ok(http_body::Frame::data(chunk)), state))
    });
    Ok(answer(StreamBody::new(stream).boxed_unsync()))
}

/// What a client asks of a watch.
struct Asked {
    selection: Selection,
    /// Whether it wants the state first, where it says so; the end of it is then marked.
    send_initial: Option<bool>,
    bookmarks: bool,
    revision: Option<u64>,
    timeout: Duration,
    encoder: Encoder,
}

impl Asked {
    fn read(call: &Call) -> Result<Self> {
        let query = &call.query;
        check_options(query)?;
        let mut selection = Selection::read(query, &call.kind)?;
        if !call.target.name.is_empty() {
            // The old way to watch one object: by its own path.
            selection.require_name(&call.target.name);
        }
        let send_initial = query.optional_flag("sendInitialEvents");
        let bookmarks = query.flag("allowWatchBookmarks");
        let revision = query
            .text("resourceVersion")
            .map(parse_revision)
            .transpose()
            .map_err(|why| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "", why))?;
        let timeout = query.int("timeoutSeconds")?.filter(|seconds| *seconds > 0);
        Ok(Self {
            selection,
            send_initial,
            bookmarks,
            revision,
            timeout: timeout.map_or(DEFAULT_TIMEOUT, |seconds| {
                Duration::from_secs(seconds.unsigned_abs()).min(LONGEST_TIMEOUT)
            }),
            encoder: Encoder {
                kind: call.kind.clone(),
                form: call.representation.form,
                include: IncludeObject::read(query)?,
                columns_sent: false,
            },
        })
    }

    /// Whether the state comes before the changes: unless told, where no revision says from when on.
    fn wants_state(&self) -> bool {
        self.send_initial.unwrap_or(self.revision.unwrap_or(0) == 0)
    }
}

/// The state of now, and the changes after it.
async fn with_state(call: &Call, asked: &Asked) -> Result<(Start, Watcher)> {
    if let Some(revision) = asked.revision {
        check_revision_exists(call, revision).await?;
    }
    let (objects, watcher) = snapshot_and_watch(call, &asked.selection);
    let objects = conversion::shown(&call.api, &call.kind, objects).await?;
    let start = Start {
        objects: objects.into_iter(),
        done: false,
        end_bookmark: (asked.send_initial == Some(true) && asked.bookmarks).then_some(watcher.revision()),
    };
    Ok((start, watcher))
}

/// The changes after the revision that is asked for, or from now on.
fn changes_only(call: &Call, asked: &Asked) -> Result<Watcher> {
    let revision = asked.revision.filter(|revision| *revision > 0);
    let after = revision.unwrap_or_else(|| call.api.store.revision());
    watch_from(call, &asked.selection, after).map_err(|too_old| expired(after, too_old.oldest))
}

/// The one object a selection can match, when it names it. Such a watch is not woken by others.
fn single_object(call: &Call, selection: &Selection) -> Option<Key> {
    let name = selection.single_name()?;
    (call.namespace().is_some() || !call.kind.namespaced).then(|| Key::new(call.key_namespace(), name))
}

fn snapshot_and_watch(call: &Call, selection: &Selection) -> (Vec<Arc<Object>>, Watcher) {
    let store = &call.api.store;
    if let Some(key) = single_object(call, selection) {
        let (object, watcher) = store.snapshot_and_watch_object(&call.kind.collection, &key);
        return (object.into_iter().collect(), watcher);
    }
    let (list, watcher) = store.snapshot_and_watch(&call.kind.collection, call.namespace());
    (list.items, watcher)
}

fn watch_from(call: &Call, selection: &Selection, after: u64) -> Result<Watcher, TooOld> {
    let store = &call.api.store;
    if let Some(custom) = call.kind.custom() {
        custom.check_history(after)?;
    }
    match single_object(call, selection) {
        Some(key) => store.watch_object(&call.kind.collection, key, after),
        None => store.watch(&call.kind.collection, call.namespace(), after),
    }
}

fn answer(body: response::Body) -> Answer {
    response::with_type(StatusCode::OK, "application/json", body)
}

/// A watch that is over before it began. The error comes in the stream, not as the answer's code:
/// clients look for it there.
fn ended(encoder: &Encoder, error: &ApiError) -> Answer {
    let mut frame = Vec::new();
    encoder.error(&mut frame, error);
    answer(response::full(frame))
}

fn expired(asked: u64, oldest: u64) -> ApiError {
    ApiError::expired(format!("too old resource version: {asked} ({oldest})"))
}

/// The state of a collection that a watch sends before its changes.
struct Start {
    objects: std::vec::IntoIter<Arc<Object>>,
    done: bool,
    /// The revision of the bookmark that ends the initial events, where one was asked for.
    end_bookmark: Option<u64>,
}

impl Start {
    /// For watches that only want changes.
    fn nothing() -> Self {
        Self {
            objects: Vec::new().into_iter(),
            done: true,
            end_bookmark: None,
        }
    }
}

struct Watch {
    watcher: Watcher,
    selection: Selection,
    encoder: Encoder,
    start: Start,
    deadline: Instant,
    next_bookmark: Option<Instant>,
    api: Arc<crate::api::Api>,
    _counted: Counted,
    ended: bool,
}

impl Watch {
    /// The next bytes for the client; none when the watch is over.
    async fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        if !self.start.done {
            let frames = self.initial().unwrap_or_else(|error| self.failed(&error));
            // An empty piece would be a frame of its own, of which clients do not take many.
            if !frames.is_empty() {
                return Some(frames);
            }
        }
        loop {
            let wake = self
                .next_bookmark
                .map_or(self.deadline, |at| at.min(self.deadline));
            tokio::select! {
                biased;
                () = self.api.stopping() => return None,
                batch = self.watcher.next() => match batch {
                    Ok(events) => {
                        let frames = self.changes(events).await.unwrap_or_else(|error| self.failed(&error));
                        if !frames.is_empty() {
                            return Some(frames);
                        }
                    }
                    Err(WatchEnd::Expired(too_old)) => {
                        return Some(self.failed(&expired(too_old.requested, too_old.oldest)));
                    }
                    Err(WatchEnd::Ended) => return None,
                },
                () = sleep_until(wake) => {
                    if self.next_bookmark.is_some() {
                        self.next_bookmark = Some(Instant::now() + BOOKMARK_INTERVAL);
                        self.ended = Instant::now() >= self.deadline;
                        let mut frame = Vec::new();
                        self.encoder.bookmark(&mut frame, self.watcher.revision(), false);
                        return Some(frame.into());
                    }
                    return None;
                }
            }
        }
    }

    /// The last bytes of a watch that cannot go on.
    fn failed(&mut self, error: &ApiError) -> Bytes {
        self.ended = true;
        let mut frame = Vec::new();
        self.encoder.error(&mut frame, error);
        frame.into()
    }

    async fn changes(&mut self, events: Vec<Arc<Event>>) -> Result<Bytes> {
        let mut frames = Vec::new();
        for event in conversion::shown_events(&self.api, &self.encoder.kind, events).await? {
            self.encoder.event(&mut frames, &event, &self.selection)?;
        }
        Ok(frames.into())
    }

    fn initial(&mut self) -> Result<Bytes> {
        let mut frames = Vec::new();
        while frames.len() < CHUNK {
            let Some(object) = self.start.objects.next() else {
                self.start.done = true;
                if let Some(revision) = self.start.end_bookmark {
                    self.encoder.bookmark(&mut frames, revision, true);
                }
                break;
            };
            if self.selection.matches(&self.encoder.kind, &object)? {
                self.encoder.frame(&mut frames, "ADDED", &object)?;
            }
        }
        Ok(frames.into())
    }
}

/// Turns events into lines of JSON in the form the client asked for.
struct Encoder {
    kind: Arc<Kind>,
    form: Form,
    include: IncludeObject,
    /// Table watches describe their columns once.
    columns_sent: bool,
}

impl Encoder {
    /// One change as the client sees it: entering its selection is an addition, leaving a deletion.
    fn event(&mut self, out: &mut Vec<u8>, event: &Event, selection: &Selection) -> Result<()> {
        let is_in = event.kind != store::Kind::Deleted && selection.matches(&self.kind, &event.object)?;
        let was_in = match &event.previous {
            Some(previous) => selection.matches(&self.kind, previous)?,
            None => false,
        };
        let name = match (was_in, is_in) {
            (false, false) => return Ok(()),
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
        };
        if name == "DELETED" && event.kind != store::Kind::Deleted {
            // The object left the selection: its last selected state, at this change's revision.
            if let Some(previous) = &event.previous {
                let mut value = object::parse(previous)?;
                object::set_meta(
                    &mut value,
                    "resourceVersion",
                    Some(event.revision.to_string().into()),
                );
                self.value_frame(out, name, value);
            }
            return Ok(());
        }
        self.frame(out, name, &event.object)
    }

    fn frame(&mut self, out: &mut Vec<u8>, name: &str, stored: &Object) -> Result<()> {
        match self.form {
            Form::Object => {
                out.reserve(stored.json().len() + 40);
                framed(out, name, |out| out.extend_from_slice(stored.json()));
            }
            Form::Metadata => {
                let metadata = object::metadata_text(stored)?;
                framed(out, name, |out| rows::write_metadata(out, metadata));
            }
            Form::Table(_) => self.value_frame(out, name, object::parse(stored)?),
        }
        Ok(())
    }

    fn value_frame(&mut self, out: &mut Vec<u8>, name: &str, value: Value) {
        let shown = self.show(value);
        line(out, name, &shown);
    }

    fn show(&mut self, value: Value) -> Value {
        match self.form {
            Form::Object => value,
            Form::Metadata => rows::metadata(&value),
            Form::Table(version) => {
                let metadata = json!({ "resourceVersion": object::resource_version(&value) });
                let row = rows::row(&self.kind, value, self.include, Timestamp::now());
                let columns = !std::mem::replace(&mut self.columns_sent, true);
                rows::table(version, &self.kind, metadata, vec![row], columns)
            }
        }
    }

    fn bookmark(&mut self, out: &mut Vec<u8>, revision: u64, initial_end: bool) {
        let mut object = json!({
            "kind": self.kind.kind,
            "apiVersion": self.kind.api_version,
            "metadata": { "resourceVersion": revision.to_string(), "creationTimestamp": null },
        });
        if initial_end {
            object["metadata"]["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        let shown = match self.form {
            Form::Table(_) => self.show(object),
            Form::Metadata => rows::metadata(&object),
            Form::Object => object,
        };
        line(out, "BOOKMARK", &shown);
    }

    #[expect(
        clippy::unused_self,
        reason = "errors have one form today; the call sites should not know"
    )]
    fn error(&self, out: &mut Vec<u8>, error: &ApiError) {
        line(out, "ERROR", &error.to_status());
    }
}

fn line(out: &mut Vec<u8>, name: &str, value: &Value) {
    framed(out, name, |out| manifests::json::write(out, value));
}

fn framed(out: &mut Vec<u8>, name: &str, object: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    object(out);
    out.extend_from_slice(b"}\n");
}
