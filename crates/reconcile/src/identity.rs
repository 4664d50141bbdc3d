//! Which object it is and what controls it, in one piece of memory: there are as many of these as a cluster has
//! pods.

use serde_json::Value;

use crate::Controller;

#[derive(Clone, Debug, Default)]
pub struct Identity {
    version: u64,
    /// The parts, one after the other.
    text: Box<str>,
    ends: [u16; PARTS],
}

const PARTS: usize = 6;
const NAMESPACE: usize = 0;
const NAME: usize = 1;
const UID: usize = 2;
const CONTROLLER_KIND: usize = 3;
const CONTROLLER_NAME: usize = 4;
const CONTROLLER_UID: usize = 5;

impl Identity {
    /// Reads an object's metadata.
    pub fn read(meta: &Value) -> Self {
        let owners = meta["ownerReferences"].as_array().into_iter().flatten();
        let controller = owners
            .into_iter()
            .find(|owner| owner["controller"] == true)
            .unwrap_or(&Value::Null);
        let parts = [
            &meta["namespace"],
            &meta["name"],
            &meta["uid"],
            &controller["kind"],
            &controller["name"],
            &controller["uid"],
        ];
        let parts = parts.map(|part| part.as_str().unwrap_or_default());
        let mut end = 0;
        let ends = parts.map(|part| {
            end += part.len();
            // Names have 253 characters at most.
            u16::try_from(end).unwrap_or(u16::MAX)
        });
        let version = meta["resourceVersion"].as_str();
        Self {
            version: version
                .and_then(|version| version.parse().ok())
                .unwrap_or_default(),
            text: parts.concat().into_boxed_str(),
            ends,
        }
    }

    pub fn namespace(&self) -> &str {
        self.part(NAMESPACE)
    }

    pub fn name(&self) -> &str {
        self.part(NAME)
    }

    pub fn uid(&self) -> &str {
        self.part(UID)
    }

    pub fn version(&self) -> u64 {
        self.version
    }

    pub fn controller(&self) -> Option<Controller<'_>> {
        let uid = self.part(CONTROLLER_UID);
        (!uid.is_empty()).then(|| Controller {
            kind: self.part(CONTROLLER_KIND),
            name: self.part(CONTROLLER_NAME),
            uid,
        })
    }

    fn part(&self, part: usize) -> &str {
        let start = part.checked_sub(1).map_or(0, |before| self.ends[before]);
        let range = usize::from(start)..usize::from(self.ends[part]);
        self.text.get(range).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_and_its_controller_are_told_as_they_were_read() {
        let identity = Identity::read(&json!({
            "namespace": "n", "name": "j-worker-0", "uid": "u", "resourceVersion": "17",
            "ownerReferences": [
                {"kind": "Other", "name": "o", "uid": "x"},
                {"kind": "PyTorchJob", "name": "j", "uid": "v", "controller": true},
            ],
        }));
        assert_eq!(
            (
                identity.namespace(),
                identity.name(),
                identity.uid(),
                identity.version()
            ),
            ("n", "j-worker-0", "u", 17)
        );
        let expected = Controller {
            kind: "PyTorchJob",
            name: "j",
            uid: "v",
        };
        assert_eq!(identity.controller(), Some(expected));
    }

    #[test]
    fn what_is_not_said_is_nothing() {
        let identity = Identity::read(&json!({"name": "j"}));
        assert_eq!((identity.namespace(), identity.name()), ("", "j"));
        assert_eq!(identity.controller(), None);
    }
}
