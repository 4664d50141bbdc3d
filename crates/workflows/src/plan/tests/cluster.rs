//! A cluster of the imagination: pods are made and end as the test says.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    Artifacts, Delivery, Locks, Observed, Plan, Pod, Settings, TemplateSource, Unknown,
    node::{Node, Phase},
    plan,
    report::{Order, Report},
    status::Status,
};

/// How a pod ends: its exit code and what it reports.
pub(super) type Script = Box<dyn FnMut(&Value, Option<&Order>) -> End>;

pub(super) enum End {
    /// It does not end by itself.
    Never,
    With {
        code: i64,
        report: Report,
    },
}

pub(super) fn ok() -> End {
    End::With {
        code: 0,
        report: Report::default(),
    }
}

pub(super) fn fail(code: i64) -> End {
    End::With {
        code,
        report: Report::default(),
    }
}

pub(super) fn result(text: &str) -> End {
    End::With {
        code: 0,
        report: Report {
            result: Some(text.to_owned()),
            ..Report::default()
        },
    }
}

pub(super) struct Cluster {
    pub(super) workflow: Value,
    pub(super) pods: BTreeMap<String, Value>,
    pub(super) made: Vec<String>,
    pub(super) now: Timestamp,
    pub(super) locks: Locks,
    pub(super) config_maps: BTreeMap<(String, String), BTreeMap<String, String>>,
    pub(super) templates: BTreeMap<TemplateSource, Value>,
    pub(super) script: Script,
    pub(super) last: Plan,
    /// What became of pods, by the names of their nodes.
    pub(super) log: Vec<(Happened, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happened {
    Made,
    Ended,
}

impl Cluster {
    pub(super) fn new(spec: Value, script: impl FnMut(&Value, Option<&Order>) -> End + 'static) -> Self {
        let workflow = json!({
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Workflow",
            "metadata": {
                "name": "w", "namespace": "n", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": spec,
        });
        Self {
            workflow,
            pods: BTreeMap::new(),
            made: Vec::new(),
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
            locks: Locks::default(),
            config_maps: BTreeMap::new(),
            templates: BTreeMap::new(),
            script: Box::new(script),
            last: Plan::default(),
            log: Vec::new(),
        }
    }

    pub(super) fn settings() -> Settings {
        Settings {
            delivery: Delivery::HostPath("/bin/trainyard".to_owned()),
            artifacts: Artifacts::OwnClaim {
                class: None,
                size: "1Gi".to_owned(),
                access: "ReadWriteOnce".to_owned(),
            },
            is_plain: false,
        }
    }

    pub(super) fn plan(&mut self) -> Plan {
        let mut observed = Observed {
            pods: self.pods.values().map(Pod::read).collect(),
            ..Observed::default()
        };
        loop {
            let plan = plan(
                &self.workflow,
                &observed,
                &mut self.locks,
                &Self::settings(),
                self.now,
            );
            if plan.unknown.is_empty() {
                return plan;
            }
            for unknown in &plan.unknown {
                match unknown {
                    Unknown::Template(source) => {
                        let found = self.templates.get(source).cloned();
                        observed.templates.insert(source.clone(), found);
                    }
                    Unknown::ConfigMap(namespace, name) => {
                        let key = (namespace.clone(), name.clone());
                        let found = self.config_maps.get(&key).cloned();
                        observed.config_maps.insert(key, found);
                    }
                    Unknown::Pod { name, .. } => {
                        assert!(!self.pods.contains_key(name), "{name} is there");
                        observed.absent.insert(name.clone());
                    }
                    Unknown::Report(id) => panic!("nothing is reported elsewhere: {id}"),
                }
            }
        }
    }

    /// Plans once and does what is asked for.
    pub(super) fn step(&mut self) {
        self.step_until(usize::MAX);
    }

    /// The same by a controller that dies after so many requests; another one begins with what is stored.
    pub(super) fn step_dying(&mut self, requests: usize) {
        self.step_until(requests);
        self.locks = Locks::default();
        self.locks.restore("n", &self.workflow);
    }

    fn step_until(&mut self, mut requests: usize) {
        let mut may = || {
            let may = requests > 0;
            requests = requests.saturating_sub(1);
            may
        };
        let mut plan = self.plan();
        if let Some(held) = plan.newly_held(&self.workflow) {
            if !may() {
                return;
            }
            self.workflow = held;
            plan = self.plan();
            assert_eq!(plan.newly_held(&self.workflow), None);
        }
        for object in &plan.make {
            if !may() {
                return;
            }
            self.make(object);
        }
        for stop in &plan.stop {
            if !may() {
                return;
            }
            if let Some(pod) = self.pods.get_mut(&stop.name) {
                self.log.push((Happened::Ended, node_name(pod)));
                end(pod, 143, &Report::default(), self.now);
            }
        }
        if plan.object.is_some() && !may() {
            return;
        }
        for memory in &plan.remember {
            let key = ("n".to_owned(), memory.config_map.clone());
            self.config_maps
                .entry(key)
                .or_default()
                .insert(memory.key.clone(), memory.entry.to_string());
        }
        if let Some(object) = &plan.object {
            self.workflow = object.clone();
        }
        for gone in &plan.delete {
            self.pods.remove(&gone.name);
        }
        for pod in &plan.label_completed {
            if let Some(pod) = self.pods.get_mut(&pod.name) {
                pod["metadata"]["labels"]["workflows.argoproj.io/completed"] = json!("true");
            }
        }
        self.last = plan;
    }

    pub(super) fn make(&mut self, object: &Value) {
        if object["kind"] != "Pod" {
            return;
        }
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        if self.pods.contains_key(&name) {
            return;
        }
        self.made.push(name.clone());
        self.log.push((Happened::Made, node_name(object)));
        let mut pod = object.clone();
        pod["metadata"]["uid"] = json!(format!("uid-{name}-{}", self.made.len()));
        pod["status"] = json!({"phase": "Pending"});
        self.pods.insert(name, pod);
    }

    /// Lets every pod that can end do so.
    pub(super) fn run_pods(&mut self) {
        let now = self.now;
        for pod in self.pods.values_mut() {
            if matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) {
                continue;
            }
            let main = &pod["spec"]["containers"][0];
            let env = main["env"].as_array().into_iter().flatten();
            let order = env
                .filter(|variable| variable["name"] == crate::report::ORDER)
                .find_map(|variable| serde_json::from_str(variable["value"].as_str()?).ok());
            match (self.script)(pod, order.as_ref()) {
                End::Never => {
                    pod["status"]["phase"] = json!("Running");
                    pod["spec"]["nodeName"] = json!("node");
                    pod["status"]["containerStatuses"] =
                        json!([{"name": "main", "ready": true, "state": {"running": {}}}]);
                }
                End::With { code, report } => {
                    self.log.push((Happened::Ended, node_name(pod)));
                    end(pod, code, &report, now);
                }
            }
        }
    }

    pub(super) fn advance(&mut self, seconds: i64) {
        self.now = Timestamp::from_second(self.now.as_second() + seconds).unwrap();
    }

    /// Until nothing changes any more, a second at a time.
    pub(super) fn play(mut self) -> Self {
        for _ in 0..500 {
            let before = (self.workflow.clone(), self.made.len());
            self.step();
            if self.status().is_fulfilled() {
                return self;
            }
            self.run_pods();
            self.advance(1);
            let is_waiting = self.last.wake_at.is_some() || self.last.left_queue;
            if before == (self.workflow.clone(), self.made.len()) && !is_waiting && self.is_quiet() {
                return self;
            }
        }
        panic!(
            "it has no end: {}",
            serde_json::to_string_pretty(&self.workflow).unwrap()
        );
    }

    fn is_quiet(&self) -> bool {
        let observed: Vec<Pod> = self.pods.values().map(Pod::read).collect();
        let status = self.status();
        observed.iter().all(|pod| {
            let node = status.nodes.get(&pod.node_id);
            !pod.has_ended() || node.is_some_and(|node| node.phase.is_fulfilled())
        })
    }

    pub(super) fn status(&self) -> Status {
        Status::read(&self.workflow).unwrap()
    }

    pub(super) fn node(&self, name: &str) -> Node {
        let nodes = self.status().nodes;
        let found = nodes.values().find(|node| node.name == name);
        found
            .unwrap_or_else(|| {
                panic!(
                    "no node {name} among {:?}",
                    nodes.values().map(|node| &node.name).collect::<Vec<_>>()
                )
            })
            .clone()
    }

    pub(super) fn phase(&self) -> Phase {
        self.status().phase
    }

    /// Names and phases, in the order of names.
    pub(super) fn told(&self) -> Vec<String> {
        let nodes = self.status().nodes;
        let mut told: Vec<String> = nodes
            .values()
            .map(|node| format!("{} {}", node.name, node.phase.text()))
            .collect();
        told.sort();
        told
    }
}

pub(super) fn node_name(pod: &Value) -> String {
    let name = &pod["metadata"]["annotations"][crate::names::NODE_NAME];
    name.as_str().unwrap_or_default().to_owned()
}

pub(super) fn end(pod: &mut Value, code: i64, report: &Report, now: Timestamp) {
    pod["status"]["phase"] = json!(if code == 0 { "Succeeded" } else { "Failed" });
    pod["spec"]["nodeName"] = json!("node");
    let names: Vec<Value> = pod["spec"]["containers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|container| container["name"].clone())
        .collect();
    let words = if *report == Report::default() {
        String::new()
    } else {
        report.to_last_words().unwrap()
    };
    let statuses: Vec<Value> = names
        .iter()
        .map(|name| {
            json!({"name": name, "ready": false, "state": {"terminated": {
                "exitCode": code, "reason": if code == 0 { "Completed" } else { "Error" }, "message": words,
                "startedAt": now, "finishedAt": now,
            }}})
        })
        .collect();
    pod["status"]["containerStatuses"] = json!(statuses);
}
