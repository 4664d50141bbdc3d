//! What a step says of itself when it ends. Our program runs inside the pod around the user's command
//! where something is to be brought in or taken out; it is told what by an [`Order`] and answers with a
//! [`Report`] in the pod's own status, or, where that has not room enough, in an object of its own.

use std::io::{Read as _, Write as _};

use base64::{Engine as _, prelude::BASE64_STANDARD_NO_PAD};
use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The variable in which an order is found.
pub const ORDER: &str = "TRAINYARD_STEP";
/// Kubernetes keeps no more of what a container says at its end.
pub const ROOM: usize = 4096;
/// How our program ends when it is not the user's command that failed.
pub const EXIT_BROKEN: i32 = 64;
/// A result is cut to its end beyond this.
pub const LONGEST_RESULT: usize = 256 * 1024;
const LARGEST: u64 = 64 * 1024 * 1024;
const MARK: &str = "trainyard-step:";

/// The key of an artifact that lies where those do that no step names a place for. It is written as Argo writes that, an
/// `s3` that names no bucket, so that it outlives programs that know Argo's fields only; `trainyard` is of before.
pub fn key_in_store(artifact: &Value) -> Option<&str> {
    let s3 = &artifact["s3"];
    let names = |field: &str| s3[field].as_str().is_some_and(|name| !name.is_empty());
    let key = s3["key"].as_str();
    key.filter(|key| !key.is_empty() && !names("bucket") && !names("endpoint"))
        .or_else(|| artifact["trainyard"]["key"].as_str())
}

/// What our program is to do inside a pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Order {
    pub workflow: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub workflow_uid: String,
    pub node_id: String,
    pub container: String,
    /// Where containers of the pod meet; none where there are no volumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// A program, which is written to a file whose path is the command's last argument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<Script>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub capture_result: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<OutputParameter>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Transfer>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Transfer>,
    /// Where artifacts lie, in this container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// Containers that must have ended well before the command begins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Seconds between attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_wait: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceOrder>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpOrder>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Script {
    pub source: String,
    pub path: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OutputParameter {
    pub name: String,
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub json_path: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub jq_filter: String,
}

/// An artifact that is brought in or taken out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Transfer {
    pub name: String,
    pub path: String,
    /// The artifact as it is written, with its location.
    pub artifact: Value,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceOrder {
    pub action: String,
    pub manifest: String,
    pub merge_strategy: String,
    pub success_condition: String,
    pub failure_condition: String,
    pub flags: Vec<String>,
    /// Who the object belongs to, where that is wanted.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub owner: Value,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpOrder {
    pub method: String,
    pub url: String,
    pub headers: Vec<Value>,
    pub timeout_seconds: u64,
    pub success_condition: String,
    pub body: String,
    pub insecure_skip_verify: bool,
}

/// What has come of a step.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<(String, String)>,
    /// Where each lies now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Value>,
    /// What the command itself left as its last words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Why the step could not do its part, whatever the command did.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// The rest is in an object of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_elsewhere: bool,
}

impl Report {
    /// As a container's last words, if it fits.
    pub fn to_last_words(&self) -> Option<String> {
        let plain = format!("{MARK}{}", serde_json::to_string(self).ok()?);
        if plain.len() <= ROOM {
            return Some(plain);
        }
        let packed = format!("{MARK}z{}", pack(&plain.as_bytes()[MARK.len()..]));
        (packed.len() <= ROOM).then_some(packed)
    }

    /// None if the words are somebody else's.
    pub fn read_last_words(words: &str) -> Option<Result<Self, String>> {
        let body = words.strip_prefix(MARK)?;
        Some(match body.strip_prefix('z') {
            Some(packed) => unpack(packed)
                .and_then(|json| serde_json::from_slice(&json).map_err(|error| error.to_string())),
            None => serde_json::from_str(body).map_err(|error| error.to_string()),
        })
    }
}

fn pack(bytes: &[u8]) -> String {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    BASE64_STANDARD_NO_PAD.encode(packed.unwrap_or_default())
}

fn unpack(text: &str) -> Result<Vec<u8>, String> {
    let bytes = BASE64_STANDARD_NO_PAD
        .decode(text)
        .map_err(|error| error.to_string())?;
    let mut unpacked = Vec::new();
    DeflateDecoder::new(bytes.as_slice())
        .take(LARGEST)
        .read_to_end(&mut unpacked)
        .map_err(|error| error.to_string())?;
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_without_a_bucket_is_one_of_the_own_store() {
        let key = |artifact: Value| key_in_store(&artifact).map(str::to_owned);
        assert_eq!(key(json!({"s3": {"key": "pod/a"}})), Some("pod/a".to_owned()));
        assert_eq!(
            key(json!({"trainyard": {"key": "pod/a"}})),
            Some("pod/a".to_owned())
        );
        assert_eq!(key(json!({"s3": {"key": "a", "bucket": "b"}})), None);
        assert_eq!(key(json!({"raw": {"data": "d"}})), None);
    }

    #[test]
    fn reports_fit_into_last_words_or_go_elsewhere() {
        let short = Report {
            result: Some("7".to_owned()),
            ..Report::default()
        };
        let words = short.to_last_words().unwrap();
        assert_eq!(Report::read_last_words(&words), Some(Ok(short)));
        let long = Report {
            result: Some("abc".repeat(3000)),
            ..Report::default()
        };
        let words = long.to_last_words().unwrap();
        assert!(words.len() <= ROOM);
        assert_eq!(Report::read_last_words(&words), Some(Ok(long)));
        let noise: String = (0..9000u32)
            .map(|number| char::from_u32(33 + number * 7919 % 90).unwrap())
            .collect();
        let random = Report {
            result: Some(
                noise
                    .chars()
                    .enumerate()
                    .map(|(at, letter)| {
                        if at % 3 == 0 {
                            letter
                        } else {
                            char::from_u32(33 + (at * at * 31) as u32 % 90).unwrap()
                        }
                    })
                    .collect(),
            ),
            ..Report::default()
        };
        assert!(random.to_last_words().is_none_or(|words| words.len() <= ROOM));
    }

    #[test]
    fn words_of_others_are_left_alone() {
        assert_eq!(Report::read_last_words("out of memory"), None);
        assert!(Report::read_last_words("trainyard-step:{").unwrap().is_err());
    }
}
