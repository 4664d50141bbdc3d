//! Events as users read them in `kubectl describe`.

mod history;
mod turns;

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream};
use k8s_openapi::{
    api::core::v1::{Event, EventSource, ObjectReference},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time},
    jiff::Timestamp,
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::{
    sync::{Notify, mpsc, watch},
    time::Instant,
};

use history::{History, Write};
use turns::{Turns, Work};

/// So many events may wait to be written; in a storm the rest is lost, and that is logged.
const WAITING: usize = 16_384;

/// So many are written at a time, while nobody has something better to ask of the server.
const WRITERS: usize = 8;

/// So long an event waits for those who work; after that it is written beside their work. A thousand jobs have their
/// pods before that, and nobody reads events while they do not.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest text an event may have.
const LONGEST: usize = 1024;

/// Tells of what one controller did. Telling never holds up doing: a lost event is only logged.
/// The same words about the same object are one event that is counted.
#[derive(Clone)]
pub struct Recorder {
    told: mpsc::Sender<Told>,
    /// Its other end goes when everything is written.
    writing: watch::Receiver<()>,
    work: watch::Sender<Work>,
    crowded: Arc<Notify>,
}

/// Somebody at work: until it goes, events wait, and those that have waited long are written one at a time.
#[must_use = "work is over when this is dropped"]
pub struct Working(watch::Sender<Work>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.send_modify(Work::end);
    }
}

/// What is said, and of what.
struct Told {
    about: Arc<ObjectReference>,
    kind: &'static str,
    reason: String,
    note: String,
    at: Timestamp,
    /// Until when it waits for those who work.
    patience: Instant,
}

/// Who says it.
#[derive(Clone)]
struct Reporter {
    controller: &'static str,
    node: Option<String>,
}

impl Recorder {
    pub fn new(client: Client, controller: &'static str) -> Self {
        let node = None;
        Self::made(client, Reporter { controller, node })
    }

    /// One of many of its sort, named for where it runs.
    pub fn on_node(client: Client, controller: &'static str, node: &str) -> Self {
        let node = Some(node.to_owned());
        Self::made(client, Reporter { controller, node })
    }

    fn made(client: Client, reporter: Reporter) -> Self {
        let (told, heard) = mpsc::channel(WAITING);
        let (written, writing) = watch::channel(());
        let work = watch::Sender::new(Work::default());
        let crowded = Arc::new(Notify::new());
        let turns = Turns::new(work.subscribe(), crowded.clone());
        tokio::spawn(async move {
            write_down(client, reporter, heard, turns).await;
            drop(written);
        });
        Self {
            told,
            writing,
            work,
            crowded,
        }
    }

    /// Telling gives way to the work that begins with this.
    pub fn at_work(&self) -> Working {
        self.work.send_modify(Work::begin);
        Working(self.work.clone())
    }

    /// Resolves when what was told is written, once nobody else can tell anything any more: for those who end
    /// and wish to be heard out.
    pub async fn finish(self) {
        let Self {
            told, mut writing, ..
        } = self;
        drop(told);
        while writing.changed().await.is_ok() {}
    }

    pub fn normal(&self, about: impl Into<Arc<ObjectReference>>, reason: &str, note: String) {
        self.tell(about.into(), "Normal", reason, note);
    }

    pub fn warning(&self, about: impl Into<Arc<ObjectReference>>, reason: &str, note: String) {
        self.tell(about.into(), "Warning", reason, note);
    }

    fn tell(&self, about: Arc<ObjectReference>, kind: &'static str, reason: &str, mut note: String) {
        if let Some((end, _)) = note.char_indices().nth(LONGEST) {
            note.truncate(end);
        }
        let told = Told {
            about,
            kind,
            reason: reason.to_owned(),
            note,
            at: Timestamp::now(),
            patience: Instant::now() + PATIENCE,
        };
        if self.told.capacity() < WAITING / 2 {
            self.crowded.notify_waiters();
        }
        if self.told.try_send(told).is_err() {
            tracing::warn!(reason, "an event was lost: too many at a time");
        }
    }
}

/// Writes until the last recorder is gone.
async fn write_down(client: Client, reporter: Reporter, heard: mpsc::Receiver<Told>, turns: Turns) {
    let mut history = History::default();
    let told = stream::unfold(heard, |mut heard| async move {
        let mut told = heard.recv().await?;
        if heard.len() > WAITING / 2 {
            // The next ones might find no room.
            told.patience = Instant::now();
        }
        Some((told, heard))
    });
    told.map(|told| (history.next(&told, &reporter), told.patience))
        .for_each_concurrent(WRITERS, |(write, patience)| {
            let (client, turns) = (client.clone(), &turns);
            async move {
                let _turn = turns.next(patience).await;
                if let Err(error) = carry_out(client, write).await {
                    tracing::warn!(%error, "an event was lost");
                }
            }
        })
        .await;
}

async fn carry_out(client: Client, write: Write) -> kube::Result<()> {
    match write {
        Write::New(event) => {
            let namespace = event.metadata.namespace.clone().unwrap_or_default();
            let api: Api<Event> = Api::namespaced(client, &namespace);
            match api.create(&PostParams::default(), &event).await {
                // Its namespace goes away, and the event would with it.
                Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404 | 409) => Ok(()),
                outcome => outcome.map(drop),
            }
        }
        Write::Again {
            namespace,
            name,
            count,
            at,
        } => {
            let api: Api<Event> = Api::namespaced(client, &namespace);
            let patch = Patch::Merge(json!({"count": count, "lastTimestamp": Time(at)}));
            match api.patch(&name, &PatchParams::default(), &patch).await {
                // It has expired.
                Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => Ok(()),
                outcome => outcome.map(drop),
            }
        }
    }
}

fn event(told: &Told, reporter: &Reporter, name: String) -> Event {
    // What belongs to the whole cluster is told of in one place.
    let namespace = told
        .about
        .namespace
        .clone()
        .unwrap_or_else(|| "default".to_owned());
    let time = Time(Timestamp::from_second(told.at.as_second()).unwrap_or(told.at));
    Event {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(namespace),
            ..ObjectMeta::default()
        },
        involved_object: told.about.as_ref().clone(),
        type_: Some(told.kind.to_owned()),
        reason: Some(told.reason.clone()),
        message: Some(told.note.clone()),
        source: Some(EventSource {
            component: Some(reporter.controller.to_owned()),
            host: reporter.node.clone(),
        }),
        reporting_component: Some(reporter.controller.to_owned()),
        reporting_instance: reporter.node.clone().or(Some(String::new())),
        first_timestamp: Some(time.clone()),
        last_timestamp: Some(time),
        event_time: None::<MicroTime>,
        count: Some(1),
        ..Event::default()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use http::{Request, Response};
    use kube::client::Body;
    use tower_service::Service;

    use super::*;

    /// An API that takes its time, and counts.
    #[derive(Clone, Default)]
    struct Slow {
        written: Arc<AtomicUsize>,
    }

    impl Service<Request<Body>> for Slow {
        type Response = Response<Body>;
        type Error = Infallible;
        type Future = futures_util::future::BoxFuture<'static, Result<Response<Body>, Infallible>>;

        fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Infallible>> {
            std::task::Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request<Body>) -> Self::Future {
            let written = self.written.clone();
            Box::pin(async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let body = request.into_body().collect_bytes().await.unwrap_or_default();
                written.fetch_add(1, Ordering::Relaxed);
                Ok(Response::builder()
                    .status(201)
                    .body(Body::from(body.to_vec()))
                    .unwrap())
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn telling_gives_way_to_work() {
        let api = Slow::default();
        let recorder = Recorder::new(Client::new(api.clone(), "default"), "test");
        let work = recorder.at_work();
        for number in 0..=WRITERS {
            recorder.normal(ObjectReference::default(), "Told", format!("the {number}th"));
        }
        tokio::time::sleep(PATIENCE).await;
        assert_eq!(api.written.load(Ordering::Relaxed), 0);
        // Patience has an end; then they go one at a time.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        assert_eq!(api.written.load(Ordering::Relaxed), 1);
        drop(work);
        tokio::time::sleep(Duration::from_millis(2500)).await;
        assert_eq!(api.written.load(Ordering::Relaxed), 1 + WRITERS);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_told_while_nobody_works_is_written_at_once() {
        let api = Slow::default();
        let recorder = Recorder::new(Client::new(api.clone(), "default"), "test");
        recorder.normal(ObjectReference::default(), "Told", "now".to_owned());
        tokio::time::sleep(Duration::from_millis(1010)).await;
        assert_eq!(api.written.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_ends_is_heard_out() {
        let api = Slow::default();
        let recorder = Recorder::new(Client::new(api.clone(), "default"), "test");
        for number in 0..20 {
            recorder.normal(ObjectReference::default(), "Told", format!("the {number}th"));
        }
        recorder
            .clone()
            .normal(ObjectReference::default(), "Told", "the last".to_owned());
        recorder.finish().await;
        assert_eq!(api.written.load(Ordering::Relaxed), 21);
    }
}
