//! What a check works with: one server, a namespace of its own, and names nobody else uses.

use std::{
    cell::{OnceCell, RefCell},
    fmt::Display,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use https_client::Server;
use serde_json::{Value, json};

use crate::{
    answer::Answer,
    failure::{Failure, Outcome},
    request::Request,
    webhook::{Webhooks, WebhooksCell},
};

/// How long controllers and caches of a busy server may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// What all checks against one server share.
#[derive(Debug)]
pub(crate) struct Shared<'a> {
    pub(crate) server: &'a Server,
    /// Tells this run's names from those of the runs before.
    pub(crate) run: String,
    pub(crate) counter: AtomicU64,
    pub(crate) webhooks: WebhooksCell,
}

/// The surroundings of one check.
#[derive(Debug)]
pub struct Context<'a> {
    shared: &'a Shared<'a>,
    namespace: OnceCell<String>,
    /// What is deleted when the check is over.
    leftovers: RefCell<Vec<String>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(shared: &'a Shared<'a>) -> Self {
        Self {
            shared,
            namespace: OnceCell::new(),
            leftovers: RefCell::default(),
        }
    }

    pub(crate) fn request(&self, method: &str, path: impl AsRef<str>) -> Request<'a> {
        Request::new(self.shared.server, method, path.as_ref())
    }

    pub(crate) fn get(&self, path: impl AsRef<str>) -> Request<'a> {
        self.request("GET", path)
    }

    pub(crate) fn post(&self, path: impl AsRef<str>, body: Value) -> Request<'a> {
        self.request("POST", path).json(&body)
    }

    pub(crate) fn put(&self, path: impl AsRef<str>, body: Value) -> Request<'a> {
        self.request("PUT", path).json(&body)
    }

    pub(crate) fn delete(&self, path: impl AsRef<str>) -> Request<'a> {
        self.request("DELETE", path)
    }

    pub(crate) fn merge_patch(&self, path: impl AsRef<str>, changes: Value) -> Request<'a> {
        self.request("PATCH", path)
            .bytes("application/merge-patch+json", changes.to_string())
    }

    pub(crate) fn json_patch(&self, path: impl AsRef<str>, changes: Value) -> Request<'a> {
        self.request("PATCH", path)
            .bytes("application/json-patch+json", changes.to_string())
    }

    pub(crate) fn strategic_patch(&self, path: impl AsRef<str>, changes: Value) -> Request<'a> {
        self.request("PATCH", path)
            .bytes("application/strategic-merge-patch+json", changes.to_string())
    }

    /// A server-side apply by a field manager.
    pub(crate) fn apply(&self, path: impl AsRef<str>, manager: &str, object: Value) -> Request<'a> {
        self.request("PATCH", path)
            .query("fieldManager", manager)
            .bytes("application/apply-patch+yaml", object.to_string())
    }

    /// A name nobody else uses on this server.
    pub(crate) fn unique(&self, prefix: &str) -> String {
        let number = self.shared.counter.fetch_add(1, Ordering::Relaxed);
        format!("{prefix}-{}-{number}", self.shared.run)
    }

    /// The check's own namespace, created when it is first asked for. It can hold pods at once: its
    /// service account is not left to a controller.
    pub(crate) fn namespace(&self) -> Outcome<&str> {
        if let Some(namespace) = self.namespace.get() {
            return Ok(namespace);
        }
        let name = self.make_namespace(json!({}))?;
        Ok(self.namespace.get_or_init(|| name))
    }

    /// Another namespace, with these labels.
    pub(crate) fn make_namespace(&self, labels: Value) -> Outcome<String> {
        let name = self.unique("conformance");
        let body = json!({"metadata": {"name": name, "labels": labels}});
        self.post("/api/v1/namespaces", body).expect(201)?;
        self.clean_up(format!("/api/v1/namespaces/{name}"));
        let account = json!({"metadata": {"name": "default"}});
        self.post(format!("/api/v1/namespaces/{name}/serviceaccounts"), account)
            .send()?
            .satisfies("a service account", |answer| matches!(answer.status(), 201 | 409))?;
        Ok(name)
    }

    /// A path in the check's namespace in the core group: `cx.core("pods/a")`.
    pub(crate) fn core(&self, path: &str) -> Outcome<String> {
        self.in_group("v1", path)
    }

    /// A path in the check's namespace in any group: `cx.in_group("apps/v1", "deployments/a")`.
    pub(crate) fn in_group(&self, version: &str, path: &str) -> Outcome<String> {
        Ok(format!(
            "{}/namespaces/{}/{path}",
            root(version),
            self.namespace()?
        ))
    }

    /// Creates an object in the check's namespace.
    pub(crate) fn create(&self, version: &str, resource: &str, body: Value) -> Outcome<Answer> {
        self.post(self.in_group(version, resource)?, body).expect(201)
    }

    /// Creates a config map with one key, the plainest object there is.
    pub(crate) fn config_map(&self, name: &str) -> Outcome<Answer> {
        self.create(
            "v1",
            "configmaps",
            json!({"metadata": {"name": name}, "data": {"key": "value"}}),
        )
    }

    /// Deletes this when the check is over.
    pub(crate) fn clean_up(&self, path: String) {
        self.leftovers.borrow_mut().push(path);
    }

    /// Creates a cluster-scoped object that is deleted when the check is over.
    pub(crate) fn create_cluster(&self, version: &str, resource: &str, body: Value) -> Outcome<Answer> {
        let path = format!("{}/{resource}", root(version));
        let answer = self.post(&path, body).expect(201)?;
        self.clean_up(format!("{path}/{}", answer.text("/metadata/name")));
        Ok(answer)
    }

    /// Tries again until it succeeds; for what caches and controllers do in their own time.
    #[expect(clippy::unused_self, reason = "reads like the other things a check can do")]
    pub(crate) fn eventually<T>(&self, mut attempt: impl FnMut() -> Outcome<T>) -> Outcome<T> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match attempt() {
                Ok(value) => return Ok(value),
                Err(failure) if Instant::now() > deadline => return Err(failure),
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    /// Waits until an object is gone.
    pub(crate) fn gone(&self, path: impl AsRef<str>) -> Outcome<Answer> {
        self.eventually(|| self.get(path.as_ref()).expect(404))
    }

    /// A server for admission webhooks, which the checks of one run share.
    pub(crate) fn webhooks(&self) -> Outcome<&Webhooks> {
        self.shared
            .webhooks
            .get()
            .map_err(|error| Failure::new("", "a webhook server", error))
    }

    /// Deletes what the check made; `true` keeps namespaces, for servers that are thrown away.
    pub(crate) fn tidy(&self, keep_namespaces: bool) {
        for path in self.leftovers.borrow_mut().drain(..).rev() {
            if keep_namespaces && path.starts_with("/api/v1/namespaces/") {
                continue;
            }
            let _ = self.delete(&path).send();
        }
    }
}

/// The path of a group and version.
pub(crate) fn root(version: &str) -> String {
    if version == "v1" {
        "/api/v1".to_owned()
    } else {
        format!("/apis/{version}")
    }
}

/// A pod that no scheduler takes, with one container.
pub(crate) fn pod(name: impl Display) -> Value {
    json!({
        "metadata": {"name": name.to_string()},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "main", "image": "busybox"}]},
    })
}
