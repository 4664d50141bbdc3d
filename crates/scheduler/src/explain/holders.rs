//! Who holds most of a resource.

use std::{cmp::Reverse, sync::Arc};

use crate::{amounts::shown, demand::Demand};

/// How many holders are named.
const NAMED: usize = 3;

/// `n/train holds 6, n/other holds 1`: of these pods, as `asker` is told it. Members of its own group
/// hold nothing against it; they have only come first. Empty if nobody holds any.
pub(super) fn holders<'a>(
    pods: impl IntoIterator<Item = &'a Arc<Demand>>,
    resource: &str,
    asker: &Demand,
) -> String {
    let holding = pods.into_iter().filter(|pod| pod.requests.get(resource) > 0);
    let (own, mut others): (Vec<_>, Vec<_>) = holding.partition(|pod| pod.is_of_same_group(asker));
    others.sort_by_key(|pod| (Reverse(pod.requests.get(resource)), pod.namespace(), pod.name()));
    let amount = |pod: &Demand| shown(resource, pod.requests.get(resource));
    let mut named: Vec<String> = others
        .iter()
        .take(NAMED)
        .map(|pod| format!("{}/{} holds {}", pod.namespace(), pod.name(), amount(pod)))
        .collect();
    if others.len() > NAMED {
        named.push(format!("{} more hold the rest", others.len() - NAMED));
    }
    if !own.is_empty() {
        let sum = own.iter().map(|pod| pod.requests.get(resource)).sum();
        let taken = shown(resource, sum);
        named.push(match own.len() {
            1 => format!("1 pod of its own group takes {taken}"),
            count => format!("{count} pods of its own group take {taken}"),
        });
    }
    named.join(", ")
}
