//! Pods of a task, reduced to what decisions need.

use std::collections::BTreeMap;

use jiff::Timestamp;
use resources::tasks::names::labels;
use serde_json::Value;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    pub name: String,
    pub uid: String,
    pub attempt: i32,
    pub phase: String,
    pub is_deleting: bool,
    /// When its first container began to run.
    pub started_at: Option<Timestamp>,
    /// Why it has no node: the reason and the words of the scheduler.
    pub unscheduled: Option<(String, String)>,
    /// Why a container of a placed pod does not run: the reason and a message.
    pub held_up: Option<(String, String)>,
    pub node_selector: BTreeMap<String, String>,
    /// Amounts its containers ask for of what is counted in pieces, such as GPUs.
    pub devices: BTreeMap<String, i64>,
    /// The first container that failed: its exit code, the reason and what it said last.
    pub failure: Option<(i32, String, String)>,
    /// What its containers left in their termination logs when they ended well.
    pub result: String,
}

/// As much of what a container said last is remembered.
const LONGEST: usize = 4096;

impl Pod {
    pub fn read(object: &Value) -> Self {
        let (meta, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let containers = list(&status["containerStatuses"]);
        let first = list(&status["initContainerStatuses"]).chain(containers.clone());
        Self {
            name: text(&meta["name"]),
            uid: text(&meta["uid"]),
            attempt: attempt(meta),
            phase: text(&status["phase"]),
            is_deleting: meta["deletionTimestamp"].is_string(),
            started_at: containers.clone().filter_map(started).min(),
            unscheduled: unscheduled(status),
            held_up: first.clone().find_map(held_up),
            node_selector: map(&spec["nodeSelector"]),
            devices: devices(spec),
            failure: first.clone().find_map(failure),
            result: containers.clone().find_map(result).unwrap_or_default(),
        }
    }
}

/// The attempt an object was made for.
pub fn attempt(meta: &Value) -> i32 {
    let label = meta["labels"][labels::ATTEMPT].as_str();
    label.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn list(value: &Value) -> std::slice::Iter<'_, Value> {
    value.as_array().map_or(&[][..], Vec::as_slice).iter()
}

fn map(value: &Value) -> BTreeMap<String, String> {
    let entries = value.as_object().into_iter().flatten();
    entries
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect()
}

fn started(container: &Value) -> Option<Timestamp> {
    let states = [&container["state"], &container["lastState"]];
    let times = states
        .into_iter()
        .flat_map(|state| [&state["running"]["startedAt"], &state["terminated"]["startedAt"]]);
    times.filter_map(|time| time.as_str()?.parse().ok()).min()
}

fn unscheduled(status: &Value) -> Option<(String, String)> {
    let condition = list(&status["conditions"])
        .find(|condition| condition["type"] == "PodScheduled" && condition["status"] == "False")?;
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    Some((text("reason"), text("message")))
}

fn held_up(container: &Value) -> Option<(String, String)> {
    let waiting = container["state"]["waiting"].as_object()?;
    let text = |field: &str| {
        waiting
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    Some((text("reason"), text("message")))
}

fn failure(container: &Value) -> Option<(i32, String, String)> {
    let ended = &container["state"]["terminated"];
    let code = ended["exitCode"].as_i64().filter(|code| *code != 0)?;
    let reason = ended["reason"].as_str().unwrap_or_default().to_owned();
    Some((code as i32, reason, shortened(&ended["message"])))
}

fn result(container: &Value) -> Option<String> {
    let ended = &container["state"]["terminated"];
    let is_good = ended["exitCode"] == 0;
    Some(shortened(&ended["message"])).filter(|message| is_good && !message.is_empty())
}

fn shortened(message: &Value) -> String {
    let message = message.as_str().unwrap_or_default().trim();
    let end = message
        .char_indices()
        .nth(LONGEST)
        .map_or(message.len(), |(end, _)| end);
    message[..end].to_owned()
}

/// Resources with a domain of their own are counted in pieces.
fn devices(spec: &Value) -> BTreeMap<String, i64> {
    let mut devices = BTreeMap::new();
    for container in list(&spec["containers"]) {
        let limits = container["resources"]["limits"].as_object().into_iter().flatten();
        for (name, amount) in limits.filter(|(name, _)| name.contains('/')) {
            let amount = amount
                .as_i64()
                .or_else(|| amount.as_str()?.parse().ok())
                .unwrap_or(0);
            *devices.entry(name.clone()).or_default() += amount;
        }
    }
    devices
}
