//! What is known of a job and its pods, event by event. Pure.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::Sight;
use crate::jobs::{
    api::{Api, ApiError, Event},
    job::{Job, text},
    replicas::{self, of_job},
};

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Job,
    Pod,
    /// What makes the launchers of MPI jobs.
    BatchJob,
}

#[derive(Debug)]
pub(super) struct Known {
    job: Job,
    is_there: bool,
    is_complete: bool,
    pods: BTreeMap<String, Arc<Value>>,
    batch_jobs: BTreeMap<String, Arc<Value>>,
}

impl Known {
    pub(super) fn new(job: Job) -> Self {
        Self {
            job,
            is_there: true,
            is_complete: false,
            pods: BTreeMap::new(),
            batch_jobs: BTreeMap::new(),
        }
    }

    /// Takes a list in, and says which version it is.
    pub(super) fn list(&mut self, what: What, mut list: Value) -> String {
        if what == What::Job {
            self.is_there = false;
        }
        if let Value::Array(items) = list["items"].take() {
            for item in items {
                self.is_there |= self.put(what, item);
            }
        }
        self.is_complete = true;
        text(&list["metadata"]["resourceVersion"]).to_owned()
    }

    pub(super) fn learn(&mut self, (what, event): (What, Event)) -> Result<(), ApiError> {
        match event {
            Event::Added(object) | Event::Modified(object) => {
                self.put(what, object);
            }
            Event::Deleted(object) => self.drop(what, &object),
            Event::Bookmark(_) => {}
            Event::Error(status) => return Err(ApiError::refused(&status)),
        }
        Ok(())
    }

    pub(super) fn is_gone(&self) -> bool {
        !self.is_there
    }

    /// Whether the cluster has told everything once.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    pub(super) fn sight(&self, api: &Api) -> Sight {
        if !self.is_there {
            return Sight::Gone;
        }
        Sight::There {
            replicas: of_job(
                &self.job,
                self.pods.values().cloned(),
                self.batch_jobs.values().map(|batch| &**batch),
            ),
            job: self.job.clone(),
            api: api.clone(),
        }
    }

    /// Whether it was the job that came.
    fn put(&mut self, what: What, mut object: Value) -> bool {
        // Nobody reads them, and they are half of an object.
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        let name = text(&object["metadata"]["name"]).to_owned();
        match what {
            What::Job if object["metadata"]["uid"] == self.job.uid() => {
                for field in ["apiVersion", "kind"] {
                    // Lists do not repeat it in their items.
                    if object[field].is_null() {
                        object[field] = self.job.object[field].take();
                    }
                }
                self.job.object = object;
                return true;
            }
            // Another one of that name: this one is gone.
            What::Job => self.is_there = false,
            What::Pod if replicas::may_be_of(&self.job, &object) => {
                self.pods.insert(name, Arc::new(object));
            }
            What::BatchJob if replicas::owner(&object) == Some(self.job.uid()) => {
                self.batch_jobs.insert(name, Arc::new(object));
            }
            What::Pod | What::BatchJob => {}
        }
        false
    }

    fn drop(&mut self, what: What, object: &Value) {
        let name = text(&object["metadata"]["name"]);
        match what {
            What::Job => self.is_there &= object["metadata"]["uid"] != self.job.uid(),
            What::Pod => drop(self.pods.remove(name)),
            What::BatchJob => drop(self.batch_jobs.remove(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use ::resources::kinds;
    use serde_json::json;

    use super::*;

    fn object(name: &str, uid: &str, owner: &str) -> Value {
        json!({
            "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
            "metadata": {
                "name": name, "uid": uid, "managedFields": [{}],
                "ownerReferences": [{"uid": owner, "controller": true}],
            },
        })
    }

    fn known() -> Known {
        let mut known = Known::new(Job {
            kind: &kinds::PYTORCH_JOB,
            object: object("a", "1", ""),
        });
        let list =
            json!({"metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"name": "a", "uid": "1"}}]});
        assert_eq!(known.list(What::Job, list), "7");
        known
    }

    fn names(known: &Known) -> Vec<&str> {
        known.pods.keys().map(String::as_str).collect()
    }

    #[test]
    fn only_what_is_the_jobs_is_kept_and_nothing_that_nobody_reads() {
        let mut known = known();
        assert_eq!(known.job.object["kind"], "PyTorchJob", "as it was found");
        for (name, owner) in [("mine", "1"), ("another", "2")] {
            let event = Event::Added(object(name, name, owner));
            known.learn((What::Pod, event)).unwrap();
        }
        assert_eq!(names(&known), ["mine"]);
        assert!(known.pods["mine"]["metadata"]["managedFields"].is_null());
        let event = Event::Deleted(object("mine", "mine", "1"));
        known.learn((What::Pod, event)).unwrap();
        assert_eq!(names(&known), [""; 0]);
    }

    #[test]
    fn a_job_that_was_made_anew_is_another_one() {
        let mut gone = known();
        gone.learn((What::Job, Event::Deleted(object("a", "1", ""))))
            .unwrap();
        assert!(gone.is_gone());
        let mut replaced = known();
        replaced
            .learn((What::Job, Event::Added(object("a", "2", ""))))
            .unwrap();
        assert!(replaced.is_gone());
        let mut missed = known();
        missed.list(What::Job, json!({"items": [object("a", "2", "")]}));
        assert!(missed.is_gone());
    }
}
