//! The versions of the model: which answer, and what became of the others. Whoever asks holds the version it was
//! given until it is answered, so a version can be dropped at any moment.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use parking_lot::RwLock;
use saved_model::{Model, Signature};

use crate::{
    failure::{Code, Failure, Outcome},
    versions::Policy,
};

/// A version that answers.
pub(crate) struct Version {
    pub(crate) number: u64,
    /// What kind of model it is.
    pub(crate) platform: &'static str,
    pub(crate) model: Model,
    /// Signatures whose rows may be answered together.
    pub(crate) batchable: BTreeSet<String>,
}

impl Version {
    pub(crate) fn signature(&self, name: &str) -> Outcome<&Signature> {
        self.model.signature(name).ok_or_else(|| {
            let known: Vec<String> = self
                .model
                .signatures()
                .keys()
                .map(|name| format!("`{name}`"))
                .collect();
            Failure::invalid(format!(
                "the model has no signature `{name}`; it has {}",
                known.join(", ")
            ))
        })
    }
}

/// What TensorFlow Serving says of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Loading = 20,
    Available = 30,
    Unloading = 40,
    End = 50,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            Self::Loading => "LOADING",
            Self::Available => "AVAILABLE",
            Self::Unloading => "UNLOADING",
            Self::End => "END",
        }
    }
}

/// What is known of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionStatus {
    pub version: u64,
    pub state: State,
    /// Why it does not answer.
    pub error: Option<String>,
}

/// Which version is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Latest,
    Number(i64),
    Label(String),
}

/// Filled by the loader, read by everybody else.
pub(crate) struct Catalogue {
    pub(crate) name: String,
    wishes: RwLock<Wishes>,
    entries: RwLock<BTreeMap<u64, Entry>>,
}

/// What users want of the versions there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wishes {
    pub(crate) policy: Policy,
    pub(crate) labels: BTreeMap<String, u64>,
}

struct Entry {
    state: State,
    error: Option<String>,
    version: Option<Arc<Version>>,
}

/// So many versions that are gone are remembered.
const REMEMBERED: usize = 16;

impl Catalogue {
    pub(crate) fn new(name: String, wishes: Wishes) -> Self {
        Self {
            name,
            wishes: RwLock::new(wishes),
            entries: RwLock::default(),
        }
    }

    pub(crate) fn policy(&self) -> Policy {
        self.wishes.read().policy.clone()
    }

    pub(crate) fn wishes(&self) -> Wishes {
        self.wishes.read().clone()
    }

    /// The wishes from now on; the loader makes them true.
    pub(crate) fn wish(&self, wishes: Wishes) {
        *self.wishes.write() = wishes;
    }

    pub(crate) fn loading(&self, version: u64) {
        self.set(version, State::Loading, None, None);
    }

    pub(crate) fn available(&self, version: Arc<Version>) {
        self.set(version.number, State::Available, None, Some(version));
    }

    pub(crate) fn refused(&self, version: u64, why: String) {
        self.set(version, State::End, Some(why), None);
    }

    pub(crate) fn dropped(&self, version: u64) {
        self.set(version, State::End, None, None);
        let mut entries = self.entries.write();
        while entries.len() > REMEMBERED {
            let gone = entries.iter().find(|(_, entry)| entry.state == State::End);
            let Some(gone) = gone.map(|(version, _)| *version) else {
                break;
            };
            entries.remove(&gone);
        }
    }

    pub(crate) fn forget(&self, version: u64) {
        self.entries.write().remove(&version);
    }

    fn set(&self, number: u64, state: State, error: Option<String>, version: Option<Arc<Version>>) {
        let entry = Entry {
            state,
            error,
            version,
        };
        let before = self.entries.write().insert(number, entry);
        // A model may be large; nobody waits at the lock while it goes.
        drop(before);
    }

    /// The versions that answer, the highest last.
    pub(crate) fn serving(&self) -> Vec<Arc<Version>> {
        let entries = self.entries.read();
        entries
            .values()
            .filter_map(|entry| entry.version.clone())
            .collect()
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.entries.read().values().any(|entry| entry.version.is_some())
    }

    pub(crate) fn status(&self) -> Vec<VersionStatus> {
        let entries = self.entries.read();
        let newest_first = entries.iter().rev();
        newest_first
            .map(|(version, entry)| VersionStatus {
                version: *version,
                state: entry.state,
                error: entry.error.clone(),
            })
            .collect()
    }

    pub(crate) fn check_name(&self, name: &str) -> Outcome<()> {
        if name == self.name {
            return Ok(());
        }
        Err(Failure::new(
            Code::NotFound,
            format!("there is no model `{name}` here; the model is `{}`", self.name),
        ))
    }

    /// The number that is meant, where it is not the latest.
    pub(crate) fn number(&self, choice: &Choice) -> Outcome<Option<u64>> {
        match choice {
            Choice::Latest => Ok(None),
            Choice::Number(number) => Ok(Some(u64::try_from(*number).map_err(|_| {
                Failure::invalid(format!("{number} is no version: versions are not negative"))
            })?)),
            Choice::Label(label) => self
                .wishes
                .read()
                .labels
                .get(label)
                .map(|number| Some(*number))
                .ok_or_else(|| {
                    Failure::new(
                        Code::NotFound,
                        format!("no version of `{}` has the label `{label}`", self.name),
                    )
                }),
        }
    }

    /// The version to ask.
    pub(crate) fn find(&self, name: &str, choice: &Choice) -> Outcome<Arc<Version>> {
        self.check_name(name)?;
        let entries = self.entries.read();
        let Some(number) = self.number(choice)? else {
            let latest = entries.values().rev().find_map(|entry| entry.version.clone());
            return latest.ok_or_else(|| {
                Failure::new(
                    Code::Unavailable,
                    format!("no version of `{name}` can be served yet"),
                )
            });
        };
        let entry = entries.get(&number);
        if let Some(version) = entry.and_then(|entry| entry.version.clone()) {
            return Ok(version);
        }
        let serving = entries.iter().filter(|(_, entry)| entry.version.is_some());
        let serving: Vec<String> = serving.map(|(number, _)| number.to_string()).collect();
        Err(match entry {
            Some(Entry {
                state: State::Loading,
                ..
            }) => Failure::new(
                Code::Unavailable,
                format!("version {number} of `{name}` is being loaded"),
            ),
            Some(Entry { error: Some(why), .. }) => Failure::new(
                Code::NotFound,
                format!("version {number} of `{name}` was refused: {why}"),
            ),
            _ => Failure::new(
                Code::NotFound,
                format!(
                    "version {number} of `{name}` is not served; served: {}",
                    serving.join(", ")
                ),
            ),
        })
    }
}
