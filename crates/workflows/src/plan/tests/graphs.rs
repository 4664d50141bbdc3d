//! Workflows of any shape: how one is drawn, how it is written down, and what should become of it, told by a small
//! interpreter that knows neither pods nor requests.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};

use crate::node::Phase;

/// What a task waits for of another.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wish {
    /// The usual: it succeeded or was skipped.
    Done,
    Succeeded,
    Failed,
    Omitted,
}

/// A step or a task.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a choice of its own, made at random"
)]
pub(super) struct Work {
    body: Body,
    is_wanted: bool,
    /// As often at the same time, where it is a loop.
    items: Option<usize>,
    /// Tried again so often.
    limit: Option<usize>,
    has_backoff: bool,
    has_handler: bool,
    goes_on: bool,
    /// Places of other tasks, all before this one.
    needs: Vec<(usize, Wish)>,
    needs_all: bool,
}

#[derive(Clone, Debug)]
enum Body {
    /// So many attempts fail; perhaps only one pod of this kind may run at a time.
    Pod {
        failures: usize,
        is_alone: bool,
    },
    Group(Box<Group>),
}

#[derive(Clone, Debug)]
pub(super) struct Group {
    is_dag: bool,
    /// What runs at the same time, one row after the other; a DAG has one row.
    rows: Vec<Vec<Work>>,
    limit: Option<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Flow {
    root: Group,
    pub(super) limit: Option<usize>,
    /// The handler of the end, and how often it fails.
    handler: Option<usize>,
}

fn pod() -> impl Strategy<Value = Body> {
    let failures = prop_oneof![3 => Just(0), 1 => 1..3usize];
    (failures, prop::bool::weighted(0.2)).prop_map(|(failures, is_alone)| Body::Pod { failures, is_alone })
}

fn work(body: impl Strategy<Value = Body>) -> impl Strategy<Value = Work> {
    let wish = prop_oneof![
        4 => Just(Wish::Done),
        2 => Just(Wish::Succeeded),
        1 => Just(Wish::Failed),
        1 => Just(Wish::Omitted),
    ];
    let tries = prop_oneof![2 => Just(None), 3 => (0..3usize).prop_map(Some)];
    let items = prop_oneof![3 => Just(None), 1 => (0..3usize).prop_map(Some)];
    (
        body,
        prop::bool::weighted(0.8),
        items,
        (tries, prop::bool::weighted(0.3)),
        (prop::bool::weighted(0.2), prop::bool::weighted(0.3)),
        vec((any::<prop::sample::Index>(), wish), 0..3),
        any::<bool>(),
    )
        .prop_map(
            |(body, is_wanted, items, (limit, has_backoff), (has_handler, goes_on), needs, needs_all)| Work {
                body,
                is_wanted,
                items,
                limit,
                has_backoff,
                has_handler,
                goes_on,
                needs: needs
                    .into_iter()
                    .map(|(place, wish)| (place.index(usize::MAX), wish))
                    .collect(),
                needs_all,
            },
        )
}

fn group(work: impl Strategy<Value = Work> + Clone) -> impl Strategy<Value = Group> {
    let limit = prop_oneof![2 => Just(None), 1 => (1..3usize).prop_map(Some)];
    let shape = prop_oneof![
        vec(work.clone(), 1..7).prop_map(|tasks| (true, vec![tasks])),
        vec(vec(work, 1..4), 1..4).prop_map(|rows| (false, rows)),
    ];
    (shape, limit).prop_map(|((is_dag, mut rows), limit)| {
        for row in &mut rows {
            for (place, work) in row.iter_mut().enumerate() {
                let mut needs: BTreeMap<usize, Wish> = BTreeMap::new();
                if is_dag && place > 0 {
                    needs.extend(work.needs.iter().map(|(other, wish)| (other % place, *wish)));
                }
                work.needs = needs.into_iter().collect();
                // What goes on after a failure inside of a DAG gives a branch two phases.
                work.goes_on &= !is_dag;
                if is_dag && let Body::Group(inner) = &mut work.body {
                    inner
                        .rows
                        .iter_mut()
                        .flatten()
                        .for_each(|work| work.goes_on = false);
                }
            }
        }
        Group { is_dag, rows, limit }
    })
}

pub(super) fn flows() -> impl Strategy<Value = Flow> {
    let inner = group(work(pod()).boxed()).prop_map(|group| Body::Group(Box::new(group)));
    let body = prop_oneof![4 => pod(), 1 => inner];
    let limit = prop_oneof![2 => Just(None), 1 => (1..4usize).prop_map(Some)];
    let handler = prop_oneof![2 => Just(None), 2 => Just(Some(0)), 1 => Just(Some(1))];
    (group(work(body.boxed()).boxed()), limit, handler).prop_map(|(root, limit, handler)| Flow {
        root,
        limit,
        handler,
    })
}

/// What becomes of a workflow.
pub(super) fn interpret(flow: &Flow) -> Phase {
    match (group_ends(&flow.root), flow.handler) {
        (Phase::Succeeded, Some(failures)) if failures > 0 => Phase::Failed,
        (phase, _) => phase,
    }
}

/// What becomes of the steps or tasks of the workflow's first template, by the names of their nodes.
pub(super) fn interpret_nodes(flow: &Flow) -> Vec<(String, Option<Phase>)> {
    let mut told = Vec::new();
    let mut has_failed = false;
    for (row, works) in flow.root.rows.iter().enumerate() {
        let phases = row_ends(&flow.root, works);
        for (place, (work, phase)) in works.iter().zip(&phases).enumerate() {
            let name = name(&flow.root, row, place);
            // The items of a step have nodes, and the step itself has none.
            if flow.root.is_dag || work.items.is_none() {
                told.push((format!("w{name}"), (!has_failed).then_some(*phase)));
            }
        }
        has_failed |= fails(works, &phases) && !flow.root.is_dag;
    }
    told
}

fn fails(works: &[Work], phases: &[Phase]) -> bool {
    let mut all = works.iter().zip(phases);
    all.any(|(work, phase)| *phase == Phase::Failed && !work.goes_on)
}

fn group_ends(group: &Group) -> Phase {
    let failed = |is_failed| {
        if is_failed {
            Phase::Failed
        } else {
            Phase::Succeeded
        }
    };
    if !group.is_dag {
        return failed(group.rows.iter().any(|row| fails(row, &row_ends(group, row))));
    }
    let tasks = &group.rows[0];
    let phases = row_ends(group, tasks);
    // What was left out is as good as what it was left out for.
    let mut is_bad: Vec<bool> = Vec::new();
    for (task, phase) in tasks.iter().zip(&phases) {
        is_bad.push(match phase {
            Phase::Skipped | Phase::Omitted => task.needs.iter().any(|(other, _)| is_bad[*other]),
            phase => *phase == Phase::Failed,
        });
    }
    let is_needed = |place: usize| {
        tasks
            .iter()
            .flat_map(|task| &task.needs)
            .any(|(other, _)| *other == place)
    };
    failed((0..tasks.len()).any(|place| !is_needed(place) && is_bad[place]))
}

fn row_ends(group: &Group, row: &[Work]) -> Vec<Phase> {
    let mut phases: Vec<Phase> = Vec::new();
    for work in row {
        let holds = |(other, wish): &(usize, Wish)| {
            let phase = phases[*other];
            match wish {
                Wish::Done => matches!(phase, Phase::Succeeded | Phase::Skipped),
                Wish::Succeeded => phase == Phase::Succeeded,
                Wish::Failed => phase == Phase::Failed,
                Wish::Omitted => phase == Phase::Omitted,
            }
        };
        let begins = work.needs.is_empty()
            || if work.needs_all {
                work.needs.iter().all(holds)
            } else {
                work.needs.iter().any(holds)
            };
        phases.push(if begins {
            work_ends(group, work)
        } else {
            Phase::Omitted
        });
    }
    phases
}

fn work_ends(group: &Group, work: &Work) -> Phase {
    match (work.items, work.is_wanted) {
        // A loop over nothing, and one of which nothing is wanted.
        (Some(0), _) if group.is_dag => return Phase::Skipped,
        (Some(0), _) | (Some(_), false) => return Phase::Succeeded,
        (None, false) => return Phase::Skipped,
        _ => {}
    }
    match &work.body {
        Body::Pod { failures, .. } if *failures > work.limit.unwrap_or(0) => Phase::Failed,
        Body::Pod { .. } => Phase::Succeeded,
        Body::Group(inner) => group_ends(inner),
    }
}

// --- How it is written down

fn name(group: &Group, row: usize, place: usize) -> String {
    if group.is_dag {
        format!(".t{place}")
    } else {
        format!("[{row}].s{row}-{place}")
    }
}

/// By template, what each of its tasks waits for.
type Waits = BTreeMap<String, Vec<(String, Vec<String>)>>;

/// The templates of a workflow while they are written down.
#[derive(Default)]
struct Writer {
    templates: Vec<Value>,
    waits: Waits,
}

/// The workflow's specification, and by the templates of DAGs what each of their tasks waits for.
pub(super) fn write(flow: &Flow) -> (Value, Waits) {
    let mut writer = Writer::default();
    let entry = writer.group(&flow.root, None);
    writer
        .templates
        .push(json!({"name": "bye", "container": {"image": "i", "command": ["run", "0", "0"]}}));
    let mut spec = json!({"entrypoint": entry});
    if let Some(failures) = flow.handler {
        let command = json!(["run", failures.to_string(), "0"]);
        writer
            .templates
            .push(json!({"name": "end", "container": {"image": "i", "command": command}}));
        spec["onExit"] = json!("end");
    }
    if let Some(limit) = flow.limit {
        spec["parallelism"] = json!(limit);
    }
    spec["templates"] = json!(writer.templates);
    (spec, writer.waits)
}

impl Writer {
    /// The name of its template.
    fn group(&mut self, group: &Group, own: Option<&Work>) -> String {
        let mut rows = Vec::new();
        let mut waits = Vec::new();
        for (row, works) in group.rows.iter().enumerate() {
            let mut written = Vec::new();
            for (place, work) in works.iter().enumerate() {
                let name = name(group, row, place);
                let name = name.rsplit_once('.').map(|(_, name)| name.to_owned()).unwrap();
                written.push(self.work(work, &name));
                let needs = work.needs.iter().map(|(other, _)| format!("t{other}")).collect();
                waits.push((name, needs));
            }
            rows.push(json!(written));
        }
        let mut template = if group.is_dag {
            json!({"dag": {"failFast": false, "tasks": rows[0]}})
        } else {
            json!({"steps": rows})
        };
        if let Some(limit) = group.limit {
            template["parallelism"] = json!(limit);
        }
        let name = self.add(template, own);
        if group.is_dag {
            self.waits.insert(name.clone(), waits);
        }
        name
    }

    fn work(&mut self, work: &Work, name: &str) -> Value {
        let template = match &work.body {
            Body::Group(group) => self.group(group, Some(work)),
            Body::Pod { failures, is_alone } => {
                let tried = if work.limit.is_some() { "{{retries}}" } else { "0" };
                let command = json!(["run", failures.to_string(), tried]);
                let mut template = json!({"container": {"image": "i", "command": command}});
                if *is_alone {
                    template["synchronization"] = json!({"mutex": {"name": "m"}});
                    template["metadata"] = json!({"labels": {"alone": "yes"}});
                }
                self.add(template, Some(work))
            }
        };
        let mut written = json!({"name": name, "template": template});
        if !work.is_wanted {
            written["when"] = json!("yes == no");
        }
        if let Some(items) = work.items {
            written["withItems"] = json!((0..items).collect::<Vec<_>>());
        }
        if work.has_handler {
            written["hooks"] = json!({"exit": {"template": "bye"}});
        }
        if work.goes_on {
            written["continueOn"] = json!({"failed": true});
        }
        if !work.needs.is_empty() {
            let parts: Vec<String> = work.needs.iter().map(wished).collect();
            written["depends"] = json!(parts.join(if work.needs_all { " && " } else { " || " }));
        }
        written
    }

    fn add(&mut self, mut template: Value, own: Option<&Work>) -> String {
        let name = format!("x{}", self.templates.len());
        template["name"] = json!(name);
        if let Some((work, limit)) = own.and_then(|work| Some((work, work.limit?))) {
            template["retryStrategy"] = json!({"limit": limit, "retryPolicy": "Always"});
            if work.has_backoff {
                template["retryStrategy"]["backoff"] = json!({"duration": "2", "factor": 2});
            }
        }
        self.templates.push(template);
        name
    }
}

fn wished((other, wish): &(usize, Wish)) -> String {
    match wish {
        Wish::Done => format!("t{other}"),
        Wish::Succeeded => format!("t{other}.Succeeded"),
        Wish::Failed => format!("t{other}.Failed"),
        Wish::Omitted => format!("t{other}.Omitted"),
    }
}
