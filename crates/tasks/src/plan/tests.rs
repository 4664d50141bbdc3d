//! Tasks in a world in which everything that is asked for happens; a file a story.

mod anything;
mod asked;
mod life;
mod waiting;

use resources::tasks::{Revision, names::FINALIZER};
use serde_json::{Value, json};

use super::*;

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn job() -> Child {
    Child {
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        name: "t".to_owned(),
    }
}

fn claim() -> Child {
    Child {
        api_version: "v1".to_owned(),
        kind: "PersistentVolumeClaim".to_owned(),
        name: "t".to_owned(),
    }
}

fn task() -> Task {
    Task {
        namespace: "n".to_owned(),
        name: "t".to_owned(),
        uid: "u".to_owned(),
        finalizers: vec![FINALIZER.to_owned()],
        ..Task::default()
    }
}

fn with_callback(mut task: Task) -> Task {
    let values = json!({"endpoints": [{"endpoint": "s3://x", "type": "dataset"},
        {"endpoint": "http://localhost/cb", "type": "event"}]});
    let Value::Object(values) = values else {
        panic!("an object")
    };
    task.spec.values = values;
    task
}

fn ready() -> Prepared {
    Prepared::Ready {
        pinned: Pinned {
            definition: Revision {
                name: "d".to_owned(),
                revision: "d-1".to_owned(),
            },
            template: Revision {
                name: "c".to_owned(),
                revision: "c-1".to_owned(),
            },
            claims: None,
        },
        children: vec![claim(), job()],
    }
}

fn run(attempt: i32, state: RunState) -> Run {
    Run {
        child: job(),
        uid: format!("job-{attempt}"),
        is_ours: true,
        attempt,
        is_deleting: false,
        state,
    }
}

/// A world in which everything that is asked for happens.
#[derive(Clone, Debug)]
struct World {
    task: Task,
    seen: Seen,
    second: i64,
    /// How often the job was made.
    jobs_made: i32,
    deliveries: Vec<i64>,
    is_gone: bool,
    claims_kept: Option<bool>,
}

impl World {
    fn of(task: Task) -> Self {
        Self {
            task,
            seen: Seen::default(),
            second: 0,
            jobs_made: 0,
            deliveries: Vec::new(),
            is_gone: false,
            claims_kept: None,
        }
    }

    fn plan(&self) -> Plan {
        plan(&self.task, &self.seen, time(self.second))
    }

    /// Takes the first `steps` writes and steps of a plan, as a process would that ends then.
    fn carry_out(&mut self, most: usize) -> bool {
        let plan = self.plan();
        let mut left = most;
        let mut has_acted = false;
        if plan.status != self.task.status {
            if left == 0 {
                return true;
            }
            left -= 1;
            self.task.status = plan.status;
            has_acted = true;
        }
        for step in plan.steps {
            if left == 0 {
                return true;
            }
            left -= 1;
            has_acted = true;
            self.take(step);
        }
        has_acted
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Hold => self.task.finalizers.push(FINALIZER.to_owned()),
            Step::HideHeaders => {
                let endpoints = self.task.spec.values["endpoints"].as_array_mut().unwrap();
                for endpoint in endpoints {
                    endpoint.as_object_mut().unwrap().remove("headers");
                }
            }
            Step::Prepare => self.seen.prepared = Some(ready()),
            Step::Make => {
                let attempt = self.task.status.attempt;
                if !self.seen.runs.iter().any(|run| run.attempt == attempt) {
                    self.jobs_made += 1;
                    self.seen.runs.push(run(attempt, RunState::Waits));
                }
                self.seen.made = Some(Made::All);
            }
            Step::Stop(targets) => self
                .seen
                .runs
                .retain(|run| !targets.iter().any(|target| target.uid == run.uid)),
            Step::Announce { from } => {
                for event in self
                    .task
                    .status
                    .events
                    .iter()
                    .filter(|event| event.sequence >= from)
                {
                    if !self.deliveries.contains(&event.sequence) {
                        self.deliveries.push(event.sequence);
                    }
                    self.seen.announced = event.sequence;
                }
            }
            Step::Release { keep_claims } => {
                self.claims_kept = Some(keep_claims);
                self.is_gone = true;
            }
            Step::Delete => self.task.deleted_at = Some(time(self.second)),
        }
    }

    /// What is only remembered by a process is forgotten.
    fn restart(&mut self) {
        self.seen.prepared = None;
        self.seen.made = None;
        self.seen.announced = 0;
    }

    /// Until nothing is left to do.
    fn settle(&mut self) -> &mut Self {
        for _ in 0..50 {
            if self.is_gone || !self.carry_out(usize::MAX) {
                self.restart();
                return self;
            }
        }
        panic!("it does not come to rest: {self:#?}");
    }

    fn job_is(&mut self, state: RunState) -> &mut Self {
        self.seen.runs.last_mut().unwrap().state = state;
        self
    }

    fn phase(&self) -> Phase {
        self.task.status.phase
    }

    fn events(&self) -> Vec<&str> {
        self.task
            .status
            .events
            .iter()
            .map(|event| event.kind.as_str())
            .collect()
    }
}

fn succeeded() -> RunState {
    RunState::Succeeded { at: Some(time(90)) }
}

fn failed() -> RunState {
    RunState::Failed {
        at: None,
        reason: "BackoffLimitExceeded".to_owned(),
        message: String::new(),
    }
}
