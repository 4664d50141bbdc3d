//! Faulty objects of many kinds: each is refused, with the field, the reason and the words of the real server.

use serde_json::{Value, json};

use crate::{Check, Context, Outcome, context::root};

pub(super) mod cluster;
pub(super) mod configuration;
pub(super) mod containers;
pub(super) mod networking;
pub(super) mod pods;
pub(super) mod workloads;

const AREA: &str = "validation";

/// The areas' checks, one slice per file.
pub(super) const CHECKS: [&[Check]; 6] = [
    containers::CHECKS,
    pods::CHECKS,
    workloads::CHECKS,
    networking::CHECKS,
    configuration::CHECKS,
    cluster::CHECKS,
];

/// A fault: field, reason, message.
type Fault<'a> = (&'a str, &'a str, &'a str);

fn refuses(cx: &Context<'_>, version: &str, resource: &str, body: Value, faults: &[Fault<'_>]) -> Outcome {
    cx.post(cx.in_group(version, resource)?, body)
        .invalid(faults)?
        .done()
}

fn refuses_spec(
    cx: &Context<'_>,
    version: &str,
    resource: &str,
    spec: Value,
    faults: &[Fault<'_>],
) -> Outcome {
    refuses(
        cx,
        version,
        resource,
        json!({"metadata": {"name": "a"}, "spec": spec}),
        faults,
    )
}

fn refuses_pod(cx: &Context<'_>, spec: Value, faults: &[Fault<'_>]) -> Outcome {
    refuses_spec(cx, "v1", "pods", spec, faults)
}

fn refuses_cluster(
    cx: &Context<'_>,
    version: &str,
    resource: &str,
    body: Value,
    faults: &[Fault<'_>],
) -> Outcome {
    cx.post(format!("{}/{resource}", root(version)), body)
        .query("dryRun", "All")
        .invalid(faults)?
        .done()
}
