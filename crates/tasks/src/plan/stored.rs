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
    /// The note of the Idempotency-Key it was submitted with.
    pub key_note: Option<String>,
    /// What `kubectl apply` has written on it, where that has headers of callbacks in it.
    pub applied: Option<String>,
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
            key_note: meta["labels"][names::labels::IDEMPOTENCY_KEY]
                .as_str()
                .filter(|note| note.starts_with(names::KEY_NOTE_PREFIX))
                .map(str::to_owned),
            applied: meta["annotations"][APPLIED]
                .as_str()
                .filter(|text| headers_of_text(text))
                .map(str::to_owned),
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
        self.applied.is_some() || has_headers(self.spec.values.get("endpoints"))
    }

    /// What becomes of its claims, by its own word or else by that of its template.
    pub fn keeps_claims(&self, of_template: Option<ClaimPolicy>) -> bool {
        let policy = self.spec.claims.or(of_template).unwrap_or(ClaimPolicy::Keep);
        policy == ClaimPolicy::Keep
    }
}

/// Where `kubectl apply` keeps what it was given: the whole object, as text.
pub const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn has_headers(endpoints: Option<&Value>) -> bool {
    let all = endpoints.and_then(Value::as_array).into_iter().flatten();
    all.into_iter().any(|endpoint| endpoint.get("headers").is_some())
}

/// Texts that cannot be read may have anything in them.
fn headers_of_text(text: &str) -> bool {
    text.contains("headers")
        && serde_json::from_str::<Value>(text).map_or(true, |object| {
            has_headers(object.pointer("/spec/values/endpoints"))
        })
}

/// The same text without headers; none where it cannot be read.
pub fn without_headers(text: &str) -> Option<String> {
    let mut object: Value = serde_json::from_str(text).ok()?;
    let endpoints = object.pointer_mut("/spec/values/endpoints");
    for endpoint in endpoints.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(endpoint) = endpoint.as_object_mut() {
            endpoint.remove("headers");
        }
    }
    // As kubectl writes it.
    Some(format!("{object}\n"))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_kubectl_apply_remembers_shows_headers_too() {
        let of = |endpoint: Value| {
            let values = json!({"endpoints": [endpoint], "note": "about headers"});
            json!({"metadata": {"annotations": {APPLIED: json!({"spec": {"values": values}}).to_string()}},
                   "spec": {"values": {"endpoints": []}}})
        };
        let shown = Task::read(&of(json!({"type": "event", "headers": {"x-api-key": "k3y"}}))).unwrap();
        assert!(shown.shows_headers());
        let kept = without_headers(shown.applied.as_deref().unwrap()).unwrap();
        assert!(!kept.contains("k3y") && kept.contains("event"), "{kept}");
        assert!(!headers_of_text(&kept));
        assert!(!Task::read(&of(json!({"type": "event"}))).unwrap().shows_headers());
        // Nobody knows what is in it.
        assert!(headers_of_text("{\"headers"));
        assert_eq!(without_headers("{\"headers"), None);
    }
}
