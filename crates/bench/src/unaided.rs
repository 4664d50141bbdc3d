//! What an operator would make for a job, made by the client itself: as fast as a server lets anybody be.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use kinds::protobuf;
use serde_json::{Value, json};

/// The job that the children were made for, in a namespace of any name.
const MODEL: &str = "job-0000";
const PLACE: &str = "the-namespace";

/// What pods need and pods; what comes after them is no part of the time.
const KINDS: [(&str, &str); 3] = [
    ("ConfigMap", "configmaps"),
    ("Secret", "secrets"),
    ("Pod", "pods"),
];

/// Children of one job, to be sent for another.
pub(crate) struct Children(Vec<(&'static str, Value)>);

impl Children {
    /// Reads what `trainyard render -o json` says of a job `job-0000` in `the-namespace`.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let list: Value = serde_json::from_slice(&text).context("the children are not JSON")?;
        let items = list["items"].as_array().context("the children are no list")?;
        let of = |(kind, plural): (&'static str, &'static str)| {
            let items = items.iter().filter(move |item| item["kind"] == kind);
            items.map(move |item| (plural, complete(item.clone())))
        };
        Ok(Self(KINDS.into_iter().flat_map(of).collect()))
    }

    /// Where to send what for a job, in protobuf as an operator would that wants to be fast.
    pub(crate) fn requests(&self, namespace: &str, job: &str, uid: &str) -> Result<Vec<(String, Bytes)>> {
        let request = |(plural, child): &(&str, Value)| {
            let path = format!("/api/v1/namespaces/{namespace}/{plural}");
            let mut child = child.clone();
            rename(&mut child, &[(MODEL, job), (PLACE, namespace)]);
            child["metadata"]["ownerReferences"][0]["uid"] = uid.into();
            let body = protobuf::encode_object(&child).context("a child has no form in protobuf")?;
            Ok((path, body.into()))
        };
        self.0.iter().map(request).collect()
    }
}

fn rename(value: &mut Value, names: &[(&str, &str)]) {
    match value {
        Value::String(text) => {
            for (from, to) in names {
                if text.contains(from) {
                    *text = text.replace(from, to);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, names)),
        Value::Object(fields) => fields.values_mut().for_each(|field| rename(field, names)),
        _ => {}
    }
}

/// Keys are not rendered; a Secret of their size is as much work.
fn complete(mut child: Value) -> Value {
    if child["kind"] == "Secret" {
        child["data"] = json!({"ssh-privatekey": "QUJD".repeat(80), "ssh-publickey": "QUJD".repeat(60)});
    }
    child
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_sent_under_the_name_of_their_job() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("children.json");
        let owner = json!([{"name": MODEL, "uid": ""}]);
        let child = |kind: &str| {
            json!({
                "apiVersion": "v1",
                "kind": kind,
                "metadata": {"name": format!("{MODEL}-a"), "namespace": PLACE, "ownerReferences": owner},
            })
        };
        let list = json!({"items": [child("Pod"), child("Service"), child("Secret")]});
        fs::write(&path, list.to_string()).unwrap();
        let requests = Children::read(&path)
            .unwrap()
            .requests("here", "job-0007", "u")
            .unwrap();
        let paths: Vec<&str> = requests.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(
            paths,
            ["/api/v1/namespaces/here/secrets", "/api/v1/namespaces/here/pods"]
        );
        let (_, _, pod) = protobuf::decode_object(&requests[1].1).unwrap();
        assert_eq!(pod["metadata"]["name"], "job-0007-a");
        assert_eq!(pod["metadata"]["namespace"], "here");
        assert_eq!(pod["metadata"]["ownerReferences"][0]["uid"], "u");
    }
}
