//! What is kept of a child between two looks at its job: of most there is little to tell, and there are as many
//! as a cluster has pods.

use jiff::Timestamp;
use reconcile::Identity;
use serde_json::Value;
use training::{BatchJob, Existing, Phase, Pod};

/// What decisions need to know of an object.
pub(crate) trait Form: Sized {
    /// The same without what the identity says, and small.
    type Kept: Clone + Send + Sync + 'static;

    fn keep(self) -> Self::Kept;

    fn restore(kept: &Self::Kept, kind: &str, identity: &Identity) -> Self;
}

#[derive(Clone)]
pub(crate) enum KeptPod {
    /// It waits, runs or has succeeded, and nothing has befallen it.
    Plain {
        phase: Phase,
        has_node: bool,
        created: Option<Timestamp>,
        gang: i32,
        group_size: Option<u32>,
    },
    Other(Box<Pod>),
}

impl Form for Pod {
    type Kept = KeptPod;

    fn keep(mut self) -> KeptPod {
        (self.name, self.uid, self.controller) = (String::new(), String::new(), None);
        let plain = KeptPod::Plain {
            phase: self.phase,
            has_node: self.has_node,
            created: self.created,
            gang: self.gang,
            group_size: self.group_size,
        };
        if plain.written_out() == self {
            plain
        } else {
            KeptPod::Other(Box::new(self))
        }
    }

    fn restore(kept: &KeptPod, _kind: &str, identity: &Identity) -> Self {
        Self {
            name: identity.name().to_owned(),
            uid: identity.uid().to_owned(),
            controller: controller(identity),
            ..kept.written_out()
        }
    }
}

impl KeptPod {
    fn written_out(&self) -> Pod {
        match self {
            Self::Plain {
                phase,
                has_node,
                created,
                gang,
                group_size,
            } => Pod {
                phase: *phase,
                has_node: *has_node,
                created: *created,
                gang: *gang,
                group_size: *group_size,
                ..Pod::default()
            },
            Self::Other(pod) => (**pod).clone(),
        }
    }
}

impl Form for BatchJob {
    type Kept = Self;

    fn keep(mut self) -> Self {
        (self.name, self.uid, self.controller) = (String::new(), String::new(), None);
        self
    }

    fn restore(kept: &Self, _kind: &str, identity: &Identity) -> Self {
        Self {
            name: identity.name().to_owned(),
            uid: identity.uid().to_owned(),
            controller: controller(identity),
            ..kept.clone()
        }
    }
}

#[derive(Clone)]
pub(crate) struct KeptContent {
    /// As text: a tree of two lines takes a kilobyte.
    content: Box<str>,
    phase: Option<Box<str>>,
}

impl Form for Existing {
    /// Of most only their being there counts.
    type Kept = Option<Box<KeptContent>>;

    fn keep(self) -> Self::Kept {
        if self.content.is_null() && self.phase.is_none() {
            return None;
        }
        Some(Box::new(KeptContent {
            content: self.content.to_string().into_boxed_str(),
            phase: self.phase.map(String::into_boxed_str),
        }))
    }

    fn restore(kept: &Self::Kept, kind: &str, identity: &Identity) -> Self {
        // What was written by us can be read.
        let content = kept
            .as_ref()
            .and_then(|kept| serde_json::from_str(&kept.content).ok());
        Self {
            kind: kind.to_owned(),
            name: identity.name().to_owned(),
            uid: identity.uid().to_owned(),
            controller: controller(identity),
            content: content.unwrap_or(Value::Null),
            phase: kept
                .as_ref()
                .and_then(|kept| kept.phase.as_deref().map(str::to_owned)),
        }
    }
}

fn controller(identity: &Identity) -> Option<String> {
    identity.controller().map(|controller| controller.uid.to_owned())
}
