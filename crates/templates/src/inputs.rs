//! What a template is rendered with, and what it sees of it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    limits::VALUES_BYTES,
    names::label_value,
    problem::{Code, Problem},
    python, tokens,
};

/// Who and what a task is. Templates put these into labels, so they are legal there whatever was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Global {
    /// The name of the task, see [`crate::release_name`].
    pub release: String,
    /// The name of the definition, as its user wrote it.
    pub task_def: String,
    pub application: String,
    pub creator: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inputs {
    /// The filled values of a user: a mapping.
    pub values: Value,
    /// The values of the definition, which win over those of users: a mapping.
    #[serde(default)]
    pub system_values: Value,
    pub global: Global,
}

impl Inputs {
    /// Everything a template can name: the values of user and definition, `global`, and `configs`.
    pub fn context(&self) -> Result<Value, Box<Problem>> {
        let mut context = mapping("the filled values", &self.values)?;
        let system = mapping("the system values of the definition", &self.system_values)?;
        let extra = system.get("configs").and_then(Value::as_object).cloned();
        for (name, value) in system {
            merge(context.entry(name).or_insert(Value::Null), value);
        }
        let global = self.labels();
        context.insert("configs".to_owned(), self.configs(extra.unwrap_or_default()));
        context.insert("global".to_owned(), global);
        Ok(Value::Object(context))
    }

    /// As templates see it. What no label is left of is `unknown`: templates have it in places that may not be empty.
    fn labels(&self) -> Value {
        let legal = |text: &str| match label_value(text) {
            empty if empty.is_empty() => "unknown".to_owned(),
            value => value,
        };
        json!({
            "release": self.global.release,
            "taskDef": legal(&self.global.task_def),
            "application": legal(&self.global.application),
            "creator": legal(&self.global.creator),
        })
    }

    /// The configuration of the program in the container, each part as JSON text: who it runs for, its data and its
    /// parameters. What the definition adds is passed on.
    fn configs(&self, extra: Map<String, Value>) -> Value {
        let mut configs: Map<String, Value> = extra
            .into_iter()
            .map(|(name, value)| match value {
                Value::String(text) => (name, text.into()),
                other => (name, python::json(&other, false).into()),
            })
            .collect();
        let mut global = json!(self.global);
        for name in ["name", "description"] {
            if let Some(value) = self.values.get(name) {
                global[name] = value.clone();
            }
        }
        let process = self.values.get("process").cloned().unwrap_or_else(|| json!({}));
        let parts = [
            ("global", global),
            ("dataset", self.datasets()),
            ("process", process),
        ];
        configs.extend(parts.map(|(name, value)| (name.to_owned(), python::json(&value, false).into())));
        Value::Object(configs)
    }

    /// The endpoints that programs read. Those for events are called by us, and their headers are secrets.
    fn datasets(&self) -> Value {
        let endpoints = self.values.get("endpoints").and_then(Value::as_array);
        let mut endpoints = endpoints.cloned().unwrap_or_default();
        endpoints.retain(|endpoint| endpoint.get("type").and_then(Value::as_str) != Some("event"));
        for endpoint in &mut endpoints {
            if let Some(endpoint) = endpoint.as_object_mut() {
                endpoint.remove("headers");
            }
        }
        Value::Array(endpoints)
    }

    /// The context for the engine, without the characters of tokens.
    pub(crate) fn hidden(&self) -> Result<Value, Box<Problem>> {
        let mut context = self.context()?;
        tokens::hide(&mut context);
        Ok(context)
    }
}

fn mapping(what: &str, value: &Value) -> Result<Map<String, Value>, Box<Problem>> {
    let bytes = length(value);
    if bytes > VALUES_BYTES {
        let message = format!("{what} have {bytes} bytes as JSON; {VALUES_BYTES} is the most");
        let hint = "give the task the address of large data, not the data";
        return Err(Box::new(Problem::new(Code::Limit, message).hint(hint)));
    }
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(fields) => Ok(fields.clone()),
        _ => Err(Box::new(Problem::new(
            Code::Values,
            format!("{what} must be a mapping"),
        ))),
    }
}

/// How long a value is as JSON, without making it.
fn length(value: &Value) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, value) {
        Ok(()) => counter.0,
        Err(_) => usize::MAX,
    }
}

/// Puts values over others; mappings are merged.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(values: Value) -> Inputs {
        Inputs {
            values,
            system_values: json!({"image": {"tag": "v1"}, "configs": {"more": {"a": 1}}}),
            global: Global {
                release: "mnist-abc".to_owned(),
                task_def: "mnist_softmax_cpu".to_owned(),
                application: String::new(),
                creator: "O'Brien".to_owned(),
            },
        }
    }

    #[test]
    fn the_definition_wins_and_what_is_ours_is_ours() {
        let context = inputs(json!({"image": {"tag": "evil", "repository": "r"}, "global": 1, "configs": 2}))
            .context()
            .unwrap();
        assert_eq!(context["image"], json!({"tag": "v1", "repository": "r"}));
        assert_eq!(
            context["global"],
            json!({"release": "mnist-abc", "taskDef": "mnist_softmax_cpu", "application": "unknown", "creator": "O_Brien"})
        );
    }

    #[test]
    fn configs_are_json_text_without_secrets() {
        let values = json!({
            "name": "demo",
            "endpoints": [
                {"endpoint": "s3://a/b", "type": "dataset", "headers": {"x-api-key": "secret"}},
                {"endpoint": "http://c", "type": "event", "headers": {"x-api-key": "secret"}},
            ],
            "process": {"train": {"maxStep": 100, "note": "it's"}},
        });
        let context = inputs(values).context().unwrap();
        assert_eq!(
            context["configs"],
            json!({
                "global": r#"{"application": "", "creator": "O'Brien", "name": "demo", "release": "mnist-abc", "taskDef": "mnist_softmax_cpu"}"#,
                "dataset": r#"[{"endpoint": "s3://a/b", "type": "dataset"}]"#,
                "process": r#"{"train": {"maxStep": 100, "note": "it's"}}"#,
                "more": r#"{"a": 1}"#,
            })
        );
    }

    #[test]
    fn values_are_a_mapping_of_bounded_size() {
        let told = inputs(json!([1])).context().unwrap_err();
        assert_eq!(told.message, "the filled values must be a mapping");
        let told = inputs(json!({"x": "y".repeat(1_000_000)})).context().unwrap_err();
        assert_eq!(told.code, Code::Limit);
        assert!(told.message.contains("1000008 bytes"), "{told}");
        assert!(inputs(Value::Null).context().is_ok());
    }
}
