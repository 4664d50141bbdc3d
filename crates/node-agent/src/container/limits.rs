//! How much a container may use, and who is killed first when memory runs out.

use containers::spec::{Cpu, Limits};
use k8s_openapi::{
    api::core::v1::{Container, Pod},
    apimachinery::pkg::api::resource,
};
use kinds::quantity::Quantity;

use crate::lifecycle::roles;

/// What of the machine decides about its pods.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    pub(crate) memory_bytes: i64,
}

const PERIOD_MICROSECONDS: u64 = 100_000;
/// The kernel takes no smaller ones.
const LEAST_QUOTA: u64 = 1_000;
const LEAST_SHARES: u64 = 2;

pub(super) fn limits(container: &Container) -> Limits {
    let request =
        amount(container, Which::Requests, "cpu").or_else(|| amount(container, Which::Limits, "cpu"));
    let limit = amount(container, Which::Limits, "cpu").filter(|limit| !limit.is_zero());
    let milli = |quantity: Quantity| u64::try_from(quantity.milli_value()).unwrap_or_default();
    let memory = amount(container, Which::Limits, "memory").filter(|limit| !limit.is_zero());
    Limits {
        cpu_shares: Some((request.map_or(0, milli) * 1024 / 1000).max(LEAST_SHARES)),
        cpu: limit.map(|limit| Cpu {
            quota: (milli(limit) * PERIOD_MICROSECONDS / 1000).max(LEAST_QUOTA),
            period: PERIOD_MICROSECONDS,
        }),
        memory_bytes: memory.and_then(|limit| u64::try_from(limit.value()).ok()),
        pids: None,
    }
}

#[derive(Clone, Copy)]
enum Which {
    Requests,
    Limits,
}

fn amount(container: &Container, which: Which, name: &str) -> Option<Quantity> {
    let resources = container.resources.as_ref()?;
    let list = match which {
        Which::Requests => resources.requests.as_ref(),
        Which::Limits => resources.limits.as_ref(),
    };
    parse(list?.get(name)?)
}

fn parse(quantity: &resource::Quantity) -> Option<Quantity> {
    Quantity::parse(&quantity.0).ok()
}

/// At and above this priority a pod belongs to the system itself.
const SYSTEM_PRIORITY: i32 = 2_000_000_000;
const PROTECTED: i64 = -997;
const FIRST_TO_GO: i64 = 1000;

/// The more of what it asked for is the machine's memory, the later a container is killed; one that
/// asked for nothing goes first.
pub(super) fn oom_score(pod: &Pod, container: &Container, machine: Machine) -> i32 {
    let class = pod.status.as_ref().and_then(|status| status.qos_class.as_deref());
    let is_system = roles::spec(pod)
        .priority
        .is_some_and(|priority| priority >= SYSTEM_PRIORITY);
    let score = match class {
        _ if is_system => PROTECTED,
        Some("Guaranteed") => PROTECTED,
        Some("BestEffort") => FIRST_TO_GO,
        _ => {
            let request = amount(container, Which::Requests, "memory").map_or(0, |quantity| quantity.value());
            let share = i128::from(request) * 1000 / i128::from(machine.memory_bytes.max(1));
            let share = i64::try_from(share).unwrap_or(FIRST_TO_GO);
            // Between the protected, and those who go first.
            (FIRST_TO_GO - share).clamp(1000 + PROTECTED, FIRST_TO_GO - 1)
        }
    };
    i32::try_from(score).unwrap_or_default()
}
