//! Random graphs of tasks with random failures, by a controller that dies after any request: the same end as that of
//! a small interpreter which knows neither pods nor requests.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};

use super::cluster::{Cluster, End, fail, ok};
use crate::node::Phase;

/// What a task waits for of another.
#[derive(Clone, Copy, Debug)]
enum Wish {
    /// The usual: it succeeded or was skipped.
    Done,
    Succeeded,
    Failed,
    Omitted,
}

#[derive(Clone, Debug)]
struct Task {
    /// Places of other tasks, all before this one.
    needs: Vec<(usize, Wish)>,
    needs_all: bool,
    /// So many attempts fail.
    failures: usize,
    /// None where there is one attempt only.
    limit: Option<usize>,
}

impl Task {
    fn succeeds(&self) -> bool {
        self.failures <= self.limit.unwrap_or(0)
    }

    fn depends(&self) -> String {
        let parts: Vec<String> = self
            .needs
            .iter()
            .map(|(other, wish)| match wish {
                Wish::Done => format!("t{other}"),
                Wish::Succeeded => format!("t{other}.Succeeded"),
                Wish::Failed => format!("t{other}.Failed"),
                Wish::Omitted => format!("t{other}.Omitted"),
            })
            .collect();
        parts.join(if self.needs_all { " && " } else { " || " })
    }
}

fn tasks() -> impl Strategy<Value = Vec<Task>> {
    let wish = prop_oneof![
        4 => Just(Wish::Done),
        2 => Just(Wish::Succeeded),
        1 => Just(Wish::Failed),
        1 => Just(Wish::Omitted),
    ];
    let task = (
        vec((any::<prop::sample::Index>(), wish), 0..3),
        any::<bool>(),
        0..3usize,
        prop_oneof![Just(None), (0..3usize).prop_map(Some)],
    );
    vec(task, 1..8).prop_map(|drawn| {
        drawn
            .into_iter()
            .enumerate()
            .map(|(place, (needs, needs_all, failures, limit))| {
                let mut chosen: BTreeMap<usize, Wish> = BTreeMap::new();
                if place > 0 {
                    chosen.extend(needs.into_iter().map(|(other, wish)| (other.index(place), wish)));
                }
                Task {
                    needs: chosen.into_iter().collect(),
                    needs_all,
                    failures,
                    limit,
                }
            })
            .collect()
    })
}

/// What becomes of each task, told without any of the machinery.
fn interpret(tasks: &[Task]) -> Vec<Phase> {
    let mut phases: Vec<Phase> = Vec::new();
    for task in tasks {
        let holds = |(other, wish): &(usize, Wish)| {
            let phase = phases[*other];
            match wish {
                Wish::Done | Wish::Succeeded => phase == Phase::Succeeded,
                Wish::Failed => phase == Phase::Failed,
                Wish::Omitted => phase == Phase::Omitted,
            }
        };
        let begins = task.needs.is_empty()
            || if task.needs_all {
                task.needs.iter().all(holds)
            } else {
                task.needs.iter().any(holds)
            };
        phases.push(match (begins, task.succeeds()) {
            (false, _) => Phase::Omitted,
            (true, true) => Phase::Succeeded,
            (true, false) => Phase::Failed,
        });
    }
    phases
}

fn spec(tasks: &[Task]) -> Value {
    let nodes: Vec<Value> = tasks
        .iter()
        .enumerate()
        .map(|(place, task)| {
            let mut node = json!({"name": format!("t{place}"), "template": format!("p{place}")});
            if !task.needs.is_empty() {
                node["depends"] = json!(task.depends());
            }
            node
        })
        .collect();
    let mut templates = vec![json!({"name": "main", "dag": {"failFast": false, "tasks": nodes}})];
    for (place, task) in tasks.iter().enumerate() {
        let mut template =
            json!({"name": format!("p{place}"), "container": {"image": "i", "command": ["c"]}});
        if let Some(limit) = task.limit {
            template["retryStrategy"] = json!({"limit": limit});
        }
        templates.push(template);
    }
    json!({"entrypoint": "main", "templates": templates})
}

/// The cluster: the attempts of a task fail as often as they are to.
fn cluster(tasks: &[Task]) -> Cluster {
    let failures: Vec<usize> = tasks.iter().map(|task| task.failures).collect();
    Cluster::new(spec(tasks), move |pod, _| -> End {
        let name = pod["metadata"]["annotations"][crate::names::NODE_NAME]
            .as_str()
            .unwrap();
        let name = name.trim_start_matches("w.t");
        let (task, attempt) = match name.trim_end_matches(')').split_once('(') {
            Some((task, attempt)) => (task, attempt.parse().unwrap()),
            None => (name, 0),
        };
        let task: usize = task.parse().unwrap();
        if attempt < failures[task] { fail(1) } else { ok() }
    })
}

/// Everything of a status but its times.
fn told(cluster: &Cluster) -> Vec<(String, Phase, String, Vec<String>)> {
    let status = cluster.status();
    let mut told: Vec<_> = status
        .nodes
        .values()
        .map(|node| {
            let mut children = node.children.clone();
            children.sort();
            (node.name.clone(), node.phase, node.message.clone(), children)
        })
        .collect();
    told.sort_by(|one, other| one.0.cmp(&other.0));
    told.push((String::new(), status.phase, status.message, Vec::new()));
    told
}

fn phase_of(cluster: &Cluster, place: usize) -> Phase {
    cluster.node(&format!("w.t{place}")).phase
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_graph_ends_as_it_should_wherever_the_controller_dies(
        tasks in tasks(),
        deaths in vec(0..7usize, 0..24),
    ) {
        let undisturbed = cluster(&tasks).play();
        for (place, expected) in interpret(&tasks).into_iter().enumerate() {
            prop_assert_eq!(phase_of(&undisturbed, place), expected, "t{}", place);
        }
        let disturbed = cluster(&tasks).play_dying(&deaths);
        prop_assert_eq!(told(&disturbed), told(&undisturbed));
        let mut made = disturbed.made.clone();
        made.sort();
        let mut expected = undisturbed.made.clone();
        expected.sort();
        prop_assert_eq!(made, expected, "each attempt has one pod");
    }
}
