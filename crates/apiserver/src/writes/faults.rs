//! Keys given twice and fields nobody knows: what strict decoding complains of, in the order and the
//! words of the real server.

use manifests::{json, yaml};

/// The keys that a document gives twice, found before anybody knew its type.
#[derive(Clone, Debug)]
pub(crate) enum Repeated<'b> {
    /// In a JSON body of a typed object: told together with its unknown fields, as they come.
    Json { faults: Vec<String>, document: &'b [u8] },
    /// In a YAML body, each by its line: told before its unknown fields, as one fault.
    Yaml(Vec<String>),
    /// In a body whose fields are checked afterwards, or in a patch of one.
    Before(Vec<String>),
}

impl Default for Repeated<'_> {
    fn default() -> Self {
        Self::Before(Vec::new())
    }
}

impl Repeated<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Json { faults, .. } | Self::Yaml(faults) | Self::Before(faults) => faults.is_empty(),
        }
    }

    /// The same of an object without a type, which is read whole before its fields are checked.
    pub(crate) fn before_fields(self) -> Self {
        match self {
            Self::Json { faults, .. } => Self::Before(faults),
            other => other,
        }
    }

    /// Every fault by itself, as users are warned of it.
    pub(crate) fn warnings(self, unknown: Vec<String>) -> Vec<String> {
        match self {
            Self::Json { faults, document } => json::in_document_order(document, [faults, unknown].concat()),
            Self::Yaml(faults) | Self::Before(faults) => [faults, unknown].concat(),
        }
    }

    /// All faults in one, as the object is refused for them.
    pub(crate) fn error(self, unknown: Vec<String>) -> String {
        let faults = match self {
            Self::Yaml(lines) if !lines.is_empty() => {
                [vec![yaml::duplicates_error(&lines)], unknown].concat()
            }
            other => other.warnings(unknown),
        };
        format!("strict decoding error: {}", faults.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    const UNKNOWN: &str = "unknown field \"a\"";

    #[test]
    fn faults_of_json_come_in_its_order() {
        let twice = "duplicate field \"b\"";
        let repeated = Repeated::Json {
            faults: texts(&[twice]),
            document: br#"{"a":1,"b":1,"b":2}"#,
        };
        assert_eq!(repeated.clone().warnings(texts(&[UNKNOWN])), [UNKNOWN, twice]);
        assert_eq!(
            repeated.before_fields().warnings(texts(&[UNKNOWN])),
            [twice, UNKNOWN]
        );
    }

    #[test]
    fn keys_repeated_in_yaml_are_one_fault_and_many_warnings() {
        let lines = texts(&[
            "line 1: key \"b\" already set in map",
            "line 2: key \"c\" already set in map",
        ]);
        let repeated = Repeated::Yaml(lines.clone());
        assert_eq!(repeated.clone().warnings(Vec::new()), lines);
        assert_eq!(
            repeated.error(texts(&[UNKNOWN])),
            format!(
                "strict decoding error: yaml: unmarshal errors:\n  {}\n  {}, {UNKNOWN}",
                lines[0], lines[1]
            )
        );
    }
}
