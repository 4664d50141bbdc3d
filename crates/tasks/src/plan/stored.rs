//! A task as it is stored.

use jiff::Timestamp;
use resources::tasks::{ClaimPolicy, TaskSpec, TaskStatus, names};
use serde_json::{Map, Value};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    pub namespace: String,
    /// The release.
    pub name: String,
    pub uid: String,
    pub version: String,
    pub generation: Option<i64>,
    pub deleted_at: Option<Timestamp>,
    pub finalizers: Vec<String>,
    pub spec: TaskSpec,
    pub status: TaskStatus,
}

/// Somebody who is told of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its place in `values.endpoints`.
    pub index: usize,
    pub url: String,
    pub headers: Option<Map<String, Value>>,
}

impl Task {
    /// Reads an object. What does not fit the types is said to whoever wrote it by the API server; here it is an error.
    pub fn read(object: &Value) -> Result<Self, serde_json::Error> {
        let meta = &object["metadata"];
        let text = |field: &str| meta[field].as_str().unwrap_or_default().to_owned();
        let finalizers = meta["finalizers"].as_array().into_iter().flatten();
        let deleted_at = meta["deletionTimestamp"].as_str();
        Ok(Self {
            namespace: text("namespace"),
            name: text("name"),
            uid: text("uid"),
            version: text("resourceVersion"),
            generation: meta["generation"].as_i64(),
            deleted_at: deleted_at.and_then(|time| time.parse().ok()),
            finalizers: finalizers.filter_map(Value::as_str).map(str::to_owned).collect(),
            spec: read(&object["spec"])?,
            status: read(&object["status"])?,
        })
    }

    pub fn is_deleting(&self) -> bool {
        self.deleted_at.is_some()
    }

    /// Whether it stays until it is released.
    pub fn is_held(&self) -> bool {
        self.finalizers.iter().any(|name| name == names::FINALIZER)
    }

    /// Who is told of it.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        endpoints(&self.spec.values)
    }

    pub fn has_callbacks(&self) -> bool {
        !self.endpoints().is_empty()
    }

    /// Whether headers of callbacks can be read by everybody who can read the task.
    pub fn shows_headers(&self) -> bool {
        let all = self.spec.values.get("endpoints").and_then(Value::as_array);
        all.into_iter()
            .flatten()
            .any(|endpoint| endpoint.get("headers").is_some())
    }

    /// What becomes of its claims, by its own word or else by that of its template.
    pub fn keeps_claims(&self, of_template: Option<ClaimPolicy>) -> bool {
        let policy = self.spec.claims.or(of_template).unwrap_or(ClaimPolicy::Keep);
        policy == ClaimPolicy::Keep
    }
}

fn read<T: serde::de::DeserializeOwned + Default>(value: &Value) -> Result<T, serde_json::Error> {
    if value.is_null() {
        Ok(T::default())
    } else {
        T::deserialize(value)
    }
}

/// The endpoints of type `event` among filled values.
pub fn endpoints(values: &Map<String, Value>) -> Vec<Endpoint> {
    let all = values
        .get("endpoints")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let event = |(index, endpoint): (usize, &Value)| {
        let url = endpoint["endpoint"].as_str().filter(|url| !url.is_empty())?;
        (endpoint["type"] == "event").then(|| Endpoint {
            index,
            url: url.to_owned(),
            headers: endpoint["headers"].as_object().cloned(),
        })
    };
    all.enumerate().filter_map(event).collect()
}
