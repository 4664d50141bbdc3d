//! Deliveries of callbacks: those of a task to an endpoint one after the other, in their order.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::{SignedDuration, Timestamp};
use kube::api::DeleteParams;
use parking_lot::Mutex;
use reconcile::{Cached, Closing, Controller, Identity, Key, Next, Queue, requests, run};
use resources::tasks::{
    CALLBACK_DELIVERY, CallbackDeliverySpec, CallbackDeliveryStatus, DeliveryPhase,
    names::{self, NAMESPACE_SIGNING_SECRET, SIGNING_KEY},
};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
};

use crate::{
    apply::secrets,
    callback_secret,
    callbacks::{
        client::{Client, Message},
        schedule::{self, Due},
        signature,
    },
    places::{self, folder},
    requests::{ignore_gone, only},
    world::World,
};

/// So many receivers are talked to at a time; a slow one keeps one busy.
const WORKERS: usize = 256;
/// So many of one namespace: those that do not answer keep nobody waiting elsewhere.
const OF_ONE_NAMESPACE: usize = 128;
const BUSY: Duration = Duration::from_millis(50);
/// So long the log of a task that is gone is kept.
const KEPT: SignedDuration = SignedDuration::from_hours(1);

/// A delivery as it is remembered.
#[derive(Clone, Debug)]
pub(crate) struct KeptDelivery {
    identity: Identity,
    spec: CallbackDeliverySpec,
    status: CallbackDeliveryStatus,
    /// Deliveries with the same are made in their order.
    stream: Box<str>,
}

impl KeptDelivery {
    pub(crate) fn task_uid(&self) -> &str {
        &self.spec.task_uid
    }

    pub(crate) fn phase(&self) -> DeliveryPhase {
        self.status.phase
    }

    /// The reference by which it keeps what it needs.
    pub(crate) fn as_owner(&self) -> Value {
        json!({
            "apiVersion": CALLBACK_DELIVERY.api_version(),
            "kind": CALLBACK_DELIVERY.kind,
            "name": self.name(),
            "uid": self.uid(),
        })
    }
}

impl<'de> Deserialize<'de> for KeptDelivery {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        let failed = serde::de::Error::custom::<serde_json::Error>;
        let mut spec = CallbackDeliverySpec::deserialize(&object["spec"]).map_err(failed)?;
        let status = match &object["status"] {
            Value::Null => CallbackDeliveryStatus::default(),
            status => CallbackDeliveryStatus::deserialize(status).map_err(failed)?,
        };
        let is_over = schedule::replayed(&status, spec.replay).phase.is_final();
        if is_over {
            // Nobody sends it any more.
            spec.payload = String::new();
        }
        Ok(Self {
            identity: Identity::read(&object["metadata"]),
            stream: format!("{}/{}", spec.task_uid, spec.endpoint).into_boxed_str(),
            spec,
            status,
        })
    }
}

impl Cached for KeptDelivery {
    fn namespace(&self) -> &str {
        self.identity.namespace()
    }

    fn name(&self) -> &str {
        self.identity.name()
    }

    fn uid(&self) -> &str {
        self.identity.uid()
    }

    fn version(&self) -> u64 {
        self.identity.version()
    }

    /// By this those of a stream are found.
    fn controller(&self) -> Option<Controller<'_>> {
        Some(Controller {
            kind: "Stream",
            name: &self.stream,
            uid: &self.stream,
        })
    }

    fn trim(&mut self) {}
}

pub(crate) struct Deliverer {
    pub world: Arc<World>,
    pub client: Client,
    turns: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// Delivers until the tasks are dropped, or after a word by `closing` until what was begun is done.
pub(crate) fn start(deliverer: Arc<Deliverer>, closing: Closing, tasks: &mut JoinSet<()>) {
    tasks.spawn(async move {
        tokio::select! {
            () = deliverer.world.deliveries.synced() => {}
            () = closing.heard() => return,
        }
        let queue: Queue<Key> = Queue::new();
        let woken = queue.clone();
        deliverer.world.deliveries.on_change(move |change| {
            if let Some(delivery) = change.after
                && !schedule::replayed(&delivery.status, delivery.spec.replay)
                    .phase
                    .is_final()
            {
                woken.add(Key::new(delivery.namespace(), &delivery.stream));
            }
        });
        let working = run("callback", queue.clone(), WORKERS, move |key: Key| {
            let deliverer = deliverer.clone();
            async move { deliverer.look(&key).await }
        });
        let closed = async {
            closing.heard().await;
            queue.close();
        };
        tokio::join!(working, closed);
    });
}

impl Deliverer {
    pub(crate) fn new(world: Arc<World>, client: Client) -> Self {
        Self {
            world,
            client,
            turns: Mutex::default(),
        }
    }

    /// A place among the deliveries of a namespace that are on their way, if there is one.
    fn turn(&self, namespace: &str) -> Option<OwnedSemaphorePermit> {
        let turns = self
            .turns
            .lock()
            .entry(namespace.to_owned())
            .or_insert_with(|| Arc::new(Semaphore::new(OF_ONE_NAMESPACE)))
            .clone();
        turns.try_acquire_owned().ok()
    }

    /// Makes the first delivery of a stream that is not over, if it is time.
    async fn look(&self, stream: &Key) -> kube::Result<Next> {
        let mut deliveries = self.world.deliveries.controlled_by(&stream.name);
        deliveries.sort_by_key(|delivery| delivery.spec.sequence);
        let refused = deliveries
            .iter()
            .find(|delivery| delivery.status.phase == DeliveryPhase::Gone)
            .map(|delivery| delivery.spec.sequence);
        let status_of = |delivery: &KeptDelivery| schedule::replayed(&delivery.status, delivery.spec.replay);
        let first = deliveries
            .iter()
            .map(|delivery| (delivery, status_of(delivery)))
            .find(|(_, status)| !status.phase.is_final());
        let Some((delivery, status)) = first else {
            return Ok(Next::Wait);
        };
        let now = Timestamp::now();
        let is_replay = status.observed_replay.is_some();
        let status = if refused.is_some_and(|refused| refused < delivery.spec.sequence) && !is_replay {
            // The receiver wants no more of them.
            CallbackDeliveryStatus {
                phase: DeliveryPhase::Gone,
                ended_at: Some(now),
                ..status
            }
        } else {
            match schedule::due(&status, now) {
                Due::Over => return Ok(Next::Wait),
                Due::At(at) => {
                    let wait = Duration::try_from(at.duration_since(now)).unwrap_or_default();
                    return Ok(Next::After(wait));
                }
                Due::Now => {
                    let Some(_turn) = self.turn(delivery.namespace()) else {
                        return Ok(Next::After(BUSY));
                    };
                    let message = self.message(delivery).await?;
                    let tried = self.client.send(&message).await;
                    schedule::after(&status, tried, Timestamp::now(), fastrand::f64())
                }
            }
        };
        self.write(delivery, &status).await?;
        // The next of the stream, or this one again.
        Ok(Next::After(Duration::ZERO))
    }

    async fn write(&self, delivery: &KeptDelivery, status: &CallbackDeliveryStatus) -> kube::Result<()> {
        let folder = folder(&places::of(&CALLBACK_DELIVERY), Some(delivery.namespace()));
        // Only the status is ours; a replay that is asked for meanwhile must not be lost, so it goes by a patch.
        let folder = format!("{folder}/{}", delivery.name());
        let patch = json!({"metadata": {"uid": delivery.uid()}, "status": complete(status)});
        match requests::merge::<KeptDelivery>(&self.world.client, &folder, "status", &patch).await {
            Ok(written) => {
                self.world.deliveries.wrote(written);
                Ok(())
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
                self.world.deliveries.removed(delivery);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// What is sent, with what only the Secrets know.
    async fn message(&self, delivery: &KeptDelivery) -> kube::Result<Message> {
        let spec = &delivery.spec;
        let found = match &spec.secret {
            Some(name) => self.secret(delivery.namespace(), name).await?,
            None => Value::Null,
        };
        let secret = data(&found);
        let endpoint = usize::try_from(spec.endpoint).unwrap_or_default();
        let headers_key = names::headers_key(endpoint);
        // Whoever names a Secret, or changes where its task's callbacks go, may not be allowed to read it.
        let is_own = callback_secret::is_of(&found, &spec.task, &spec.task_uid)
            && secret
                .get(&names::url_key(endpoint))
                .is_none_or(|url| *url == spec.url);
        let headers: Value = secret
            .get(&headers_key)
            .filter(|_| is_own)
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let headers = headers.as_object().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let key = match secret.get(SIGNING_KEY) {
            Some(key) => key.clone(),
            None => self.signing_key(delivery.namespace()).await?,
        };
        let (id, timestamp) = (format!("msg_{}", delivery.name()), Timestamp::now().as_second());
        Ok(Message {
            url: spec.url.clone(),
            signature: signature::sign(&key, &id, timestamp, &spec.payload),
            id,
            timestamp,
            body: spec.payload.clone(),
            headers: headers
                .iter()
                .map(|(name, value)| (name.clone(), text(value)))
                .collect(),
        })
    }

    /// A Secret; nothing where there is none.
    async fn secret(&self, namespace: &str, name: &str) -> kube::Result<Value> {
        let folder = folder(&secrets(), Some(namespace));
        match requests::get(&self.world.client, &folder, name).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Value::Null),
            answer => answer,
        }
    }

    /// The key of a namespace, made when it is first needed.
    async fn signing_key(&self, namespace: &str) -> kube::Result<String> {
        loop {
            let known = data(&self.secret(namespace, NAMESPACE_SIGNING_SECRET).await?);
            if let Some(key) = known.get(SIGNING_KEY) {
                return Ok(key.clone());
            }
            let mut random = [0; 32];
            SystemRandom::new()
                .fill(&mut random)
                .map_err(|_| kube::Error::Service("the system has no random numbers".into()))?;
            let key = signature::written(&random);
            let secret = json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": NAMESPACE_SIGNING_SECRET, "namespace": namespace},
                "data": {SIGNING_KEY: BASE64_STANDARD.encode(&key)},
            });
            let folder = folder(&secrets(), Some(namespace));
            match requests::create::<Value>(&self.world.client, &folder, &secret).await {
                Ok(_) => return Ok(key),
                Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" && known.is_empty() => {}
                // Somebody has emptied it: a key of this moment would be known to nobody.
                Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
                    let message = format!("Secret {NAMESPACE_SIGNING_SECRET} has no {SIGNING_KEY}");
                    return Err(kube::Error::Service(message.into()));
                }
                // The namespace goes away; what is left to tell is signed with a key of its own.
                Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => return Ok(key),
                Err(error) => return Err(error),
            }
        }
    }
}

/// What a Secret holds.
fn data(secret: &Value) -> BTreeMap<String, String> {
    let data = secret["data"].as_object().into_iter().flatten();
    let decode = |(key, value): (&String, &Value)| {
        let bytes = BASE64_STANDARD.decode(value.as_str()?).ok()?;
        Some((key.clone(), String::from_utf8(bytes).ok()?))
    };
    data.filter_map(decode).collect()
}

/// A merge patch keeps what it does not name, so what is not there is named.
fn complete(status: &CallbackDeliveryStatus) -> Value {
    let mut written = json!(status);
    for field in ["firstAttempt", "nextAttempt", "endedAt", "observedReplay"] {
        if written.get(field).is_none() {
            written[field] = Value::Null;
        }
    }
    written
}

/// Forgets what is left of tasks that are gone.
pub(crate) async fn sweep(world: &World) -> kube::Result<()> {
    let now = Timestamp::now();
    for delivery in world.deliveries.all() {
        let is_old = delivery
            .status
            .ended_at
            .is_some_and(|ended| now.duration_since(ended) > KEPT);
        let task = world
            .tasks
            .get(&Key::new(delivery.namespace(), &delivery.spec.task));
        let has_task = task.is_some_and(|task| task.uid() == delivery.task_uid());
        if !is_old || has_task || !delivery.status.phase.is_final() {
            continue;
        }
        let folder = folder(&places::of(&CALLBACK_DELIVERY), Some(delivery.namespace()));
        let parameters = DeleteParams::background().preconditions(only(delivery.uid()));
        let deleted = requests::delete::<Value>(&world.client, &folder, delivery.name(), &parameters).await;
        ignore_gone(deleted.map(drop))?;
    }
    Ok(())
}
