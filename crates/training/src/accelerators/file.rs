//! The configuration file as it is written, read field by field so that what is wrong has a place.

use manifests::yaml::{YamlError, line_of, parse_documents};
use serde_json::{Map, Value};

use super::{Accelerator, AcceleratorVolume, Accelerators, Variable};

/// Why a configuration file cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcceleratorsError {
    #[error("line {}: {}", .0.line.max(1), .0.message)]
    Yaml(YamlError),
    #[error("line {line}: {field}: {message}")]
    Field {
        line: u64,
        /// Empty for the whole.
        field: String,
        message: String,
    },
}

type Read<T> = Result<T, Problem>;

struct Problem {
    path: Vec<String>,
    message: String,
}

/// A value and the names and numbers that lead to it.
struct At<'a> {
    value: &'a Value,
    path: Vec<String>,
}

pub(super) fn read(yaml: &str) -> Result<Accelerators, AcceleratorsError> {
    let documents = parse_documents(yaml).map_err(AcceleratorsError::Yaml)?;
    let Some(document) = documents.into_iter().next() else {
        return Ok(Accelerators::default());
    };
    let (value, path) = (&document.value, Vec::new());
    accelerators(&At { value, path }).map_err(|problem| AcceleratorsError::Field {
        line: line_of(yaml, &problem.path).unwrap_or(document.line),
        field: if problem.path.is_empty() {
            "the file".to_owned()
        } else {
            problem.path.join(".")
        },
        message: problem.message,
    })
}

fn accelerators(file: &At<'_>) -> Read<Accelerators> {
    let mut found = Accelerators::default();
    for all in file.fields(&["accelerators"])? {
        for accelerator in all.entries()? {
            let resource = accelerator.path.last().cloned().unwrap_or_default();
            found
                .accelerators
                .insert(resource, self::accelerator(&accelerator)?);
        }
    }
    Ok(found)
}

fn accelerator(at: &At<'_>) -> Read<Accelerator> {
    let mut found = Accelerator::default();
    for list in at.fields(&["volumes", "envVars"])? {
        let is_volumes = list.is_named("volumes");
        for item in list.items()? {
            if is_volumes {
                found.volumes.push(AcceleratorVolume {
                    name: item.text("name")?,
                    host_path: item.text("hostPath")?,
                    mount_path: item.text("mountPath")?,
                });
                item.fields(&["name", "hostPath", "mountPath"])?;
            } else {
                found.env_vars.push(Variable {
                    name: item.text("name")?,
                    value: item.text_or_empty("value")?,
                });
                item.fields(&["name", "value"])?;
            }
        }
    }
    Ok(found)
}

impl<'a> At<'a> {
    fn below(&self, step: &str, value: &'a Value) -> Self {
        let mut path = self.path.clone();
        path.push(step.to_owned());
        Self { value, path }
    }

    fn wrong<T>(&self, message: &str) -> Read<T> {
        Err(Problem {
            path: self.path.clone(),
            message: message.to_owned(),
        })
    }

    /// The original's decoder does not mind the case of names.
    fn is_named(&self, name: &str) -> bool {
        self.path
            .last()
            .is_some_and(|last| last.eq_ignore_ascii_case(name))
    }

    fn map(&self) -> Read<Option<&'a Map<String, Value>>> {
        match self.value {
            Value::Null => Ok(None),
            Value::Object(map) => Ok(Some(map)),
            _ => self.wrong("must be a mapping"),
        }
    }

    fn entries(&self) -> Read<Vec<Self>> {
        let entries = self.map()?.into_iter().flatten();
        Ok(entries.map(|(name, value)| self.below(name, value)).collect())
    }

    /// The entries, which must be among these.
    fn fields(&self, known: &[&str]) -> Read<Vec<Self>> {
        let entries = self.entries()?;
        for entry in &entries {
            if !known.iter().any(|name| entry.is_named(name)) {
                return entry.wrong(&format!("unknown field; known are {}", known.join(", ")));
            }
        }
        Ok(entries)
    }

    fn items(&self) -> Read<Vec<Self>> {
        match self.value {
            Value::Null => Ok(Vec::new()),
            Value::Array(items) => Ok(items
                .iter()
                .enumerate()
                .map(|(number, item)| self.below(&number.to_string(), item))
                .collect()),
            _ => self.wrong("must be a list"),
        }
    }

    fn text(&self, name: &str) -> Read<String> {
        let text = self.text_or_empty(name)?;
        if text.is_empty() {
            return self.below(name, &Value::Null).wrong("must be set");
        }
        Ok(text)
    }

    fn text_or_empty(&self, name: &str) -> Read<String> {
        let entries = self.entries()?;
        let Some(entry) = entries.iter().find(|entry| entry.is_named(name)) else {
            return Ok(String::new());
        };
        match entry.value {
            Value::Null => Ok(String::new()),
            Value::String(text) => Ok(text.clone()),
            _ => entry.wrong("must be text; put it into quotes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(yaml: &str) -> String {
        read(yaml).unwrap_err().to_string()
    }

    #[test]
    fn no_file_and_an_empty_one_are_no_accelerators() {
        for yaml in ["", "---\n", "accelerators:\n", "accelerators: {}\n"] {
            assert_eq!(read(yaml).unwrap(), Accelerators::default());
        }
    }

    #[test]
    fn fields_are_known_in_any_case() {
        let yaml = "Accelerators:\n  x/gpu:\n    EnvVars:\n    - {Name: A, Value: b}\n";
        let found = read(yaml).unwrap();
        assert_eq!(found.accelerators["x/gpu"].env_vars[0].value, "b");
    }

    #[test]
    fn what_is_wrong_has_a_line_and_a_field() {
        let yaml = "accelerators:\n  x/gpu:\n    volumes:\n    - name: lib\n      hostPath: /a\n      mountpoint: /b\n";
        assert_eq!(
            error(yaml),
            "line 4: accelerators.x/gpu.volumes.0.mountPath: must be set"
        );
        let yaml = "accelerators:\n  x/gpu:\n    envVars:\n    - name: A\n      value: 1\n";
        assert_eq!(
            error(yaml),
            "line 5: accelerators.x/gpu.envVars.0.value: must be text; put it into quotes"
        );
        let yaml = "accelerators:\n  x/gpu:\n    volume: []\n";
        assert_eq!(
            error(yaml),
            "line 3: accelerators.x/gpu.volume: unknown field; known are volumes, envVars"
        );
        assert_eq!(error("- a\n"), "line 1: the file: must be a mapping");
        assert_eq!(
            error("accelerators:\n  x/gpu: 3\n"),
            "line 2: accelerators.x/gpu: must be a mapping"
        );
        assert!(
            error("accelerators: [\n").starts_with("line "),
            "{}",
            error("accelerators: [\n")
        );
    }
}
