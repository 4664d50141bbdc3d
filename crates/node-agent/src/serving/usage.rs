//! What pods and the node use. Processor time is a difference: of two looks, some time apart.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    time::{Duration, Instant},
};

use containers::{client::Sandbox, state};
use jiff::Timestamp;
use k8s_openapi::api::core::v1;
use node_api::{ContainerUsage, NodeUsage, PodUsage, Usage};
use parking_lot::Mutex;

use crate::agent::Agent;

/// Looks closer together than this say little.
const SHORTEST: Duration = Duration::from_secs(1);
/// Earlier looks than this say nothing about now.
const LONGEST: Duration = Duration::from_mins(1);

/// What was seen when last looked.
#[derive(Default)]
pub(super) struct Meter {
    pods: Mutex<HashMap<String, Look>>,
    node: Mutex<Option<(Instant, u64)>>,
}

/// The containers of a pod at one moment.
#[derive(Clone)]
struct Look {
    at: Instant,
    containers: BTreeMap<String, state::Usage>,
}

impl Meter {
    pub(super) async fn pods(&self, agent: &Agent) -> Vec<PodUsage> {
        let mut before = self.pods.lock().clone();
        before.retain(|_, look| (SHORTEST..LONGEST).contains(&look.at.elapsed()));
        let mut after = look(agent).await;
        if after.keys().any(|uid| !before.contains_key(uid)) {
            for (uid, look) in after {
                before.entry(uid).or_insert(look);
            }
            tokio::time::sleep(SHORTEST).await;
            after = look(agent).await;
        }
        let pods = agent.followed.pods.all();
        let usage = pods.iter().filter_map(|pod| {
            let uid = pod.metadata.uid.as_deref()?;
            Some(difference(pod, before.get(uid)?, after.get(uid)?))
        });
        let usage = usage.collect();
        *self.pods.lock() = after;
        usage
    }

    pub(super) async fn node(&self) -> io::Result<NodeUsage> {
        let known = *self.node.lock();
        let known = known.filter(|(at, _)| (SHORTEST..LONGEST).contains(&at.elapsed()));
        let (at, before) = if let Some(known) = known {
            known
        } else {
            let first = (Instant::now(), processor_nanoseconds()?);
            tokio::time::sleep(SHORTEST).await;
            first
        };
        let after = (Instant::now(), processor_nanoseconds()?);
        *self.node.lock() = Some(after);
        let window = after.0.duration_since(at);
        Ok(NodeUsage {
            measured: Timestamp::now(),
            window,
            usage: Usage {
                cpu_nanocores: rate(before, after.1, window),
                memory_bytes: memory_in_use()?,
            },
        })
    }
}

async fn look(agent: &Agent) -> HashMap<String, Look> {
    let mut looks = HashMap::new();
    for pod in agent.followed.pods.all() {
        let folder = agent.folders.pod(&pod);
        let Ok(sandbox) = Sandbox::adopt(folder.path()).await else {
            continue;
        };
        if let (Ok(containers), Some(uid)) = (sandbox.usage().await, pod.metadata.uid.clone()) {
            let at = Instant::now();
            looks.insert(uid, Look { at, containers });
        }
    }
    looks
}

fn difference(pod: &v1::Pod, before: &Look, after: &Look) -> PodUsage {
    let window = after.at.duration_since(before.at);
    let containers = after.containers.iter().map(|(name, now)| {
        let then = before.containers.get(name).map_or(0, |then| then.cpu_nanoseconds);
        ContainerUsage {
            name: name.clone(),
            usage: Usage {
                cpu_nanocores: rate(then, now.cpu_nanoseconds, window),
                memory_bytes: now.memory_bytes,
            },
        }
    });
    PodUsage {
        namespace: pod.metadata.namespace.clone().unwrap_or_default(),
        name: pod.metadata.name.clone().unwrap_or_default(),
        measured: Timestamp::now(),
        window,
        containers: containers.collect(),
    }
}

/// Nanoseconds of work a second.
fn rate(before: u64, after: u64, window: Duration) -> u64 {
    let seconds = window.as_secs_f64().max(f64::EPSILON);
    (after.saturating_sub(before) as f64 / seconds) as u64
}

/// All processors' work since boot.
fn processor_nanoseconds() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/stat")?;
    let line = text.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = line
        .split_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    // user nice system idle iowait irq softirq steal
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    let all: u64 = ticks.iter().take(8).sum();
    let per_tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    Ok((all - idle) * per_tick)
}

fn memory_in_use() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let kibibytes = |name: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok())
            .unwrap_or_default()
    };
    Ok(kibibytes("MemTotal:").saturating_sub(kibibytes("MemAvailable:")) * 1024)
}
