//! Endpoints put into slices, with as few writes as possible: what can stay in its slice stays. Pure.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{
    api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};

use super::TRIGGER_TIME;

/// Endpoints of one address family with the same ports. A group without endpoints stands for an empty slice.
#[derive(Debug)]
pub(crate) struct Group {
    pub address_type: String,
    pub ports: Vec<EndpointPort>,
    pub endpoints: Vec<Endpoint>,
}

/// What all slices of an owner have in common.
pub(crate) struct Frame {
    pub owner: OwnerReference,
    pub namespace: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub annotations: Annotations,
    /// The most endpoints a slice may have.
    pub limit: usize,
}

pub(crate) enum Annotations {
    /// The moment of the change that made the write necessary.
    Trigger(Option<String>),
    /// Those of the owner.
    Owners(BTreeMap<String, String>),
}

#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub create: Vec<EndpointSlice>,
    pub update: Vec<EndpointSlice>,
    pub delete: Vec<Arc<EndpointSlice>>,
}

/// How the slices become what the groups say.
pub(crate) fn pack(groups: Vec<Group>, existing: &[Arc<EndpointSlice>], frame: &Frame) -> Changes {
    let mut changes = Changes::default();
    let mut left: Vec<&Arc<EndpointSlice>> = existing.iter().collect();
    for group in groups {
        let (own, others): (Vec<_>, Vec<_>) = left
            .into_iter()
            .partition(|slice| frame.owns(slice) && is_of(slice, &group));
        left = others;
        pack_group(group, &own, frame, &mut changes);
    }
    changes.delete.extend(left.into_iter().cloned());
    recycle(&mut changes, frame);
    for slice in changes.create.iter_mut().chain(&mut changes.update) {
        frame.dress(slice);
    }
    changes
}

fn pack_group(group: Group, existing: &[&Arc<EndpointSlice>], frame: &Frame, changes: &mut Changes) {
    let is_placeholder = group.endpoints.is_empty();
    let mut missing: BTreeMap<Identity, Endpoint> = BTreeMap::new();
    for endpoint in group.endpoints {
        missing.insert(identity(&endpoint), endpoint);
    }
    let (mut changed, mut unchanged) = (Vec::new(), Vec::new());
    for (position, slice) in existing.iter().enumerate() {
        let known = slice.endpoints.iter();
        let kept: Vec<Endpoint> = known
            .filter_map(|endpoint| missing.remove(&identity(endpoint)))
            .collect();
        if kept.is_empty() && !(is_placeholder && position == 0) {
            changes.delete.push((*slice).clone());
        } else if kept == slice.endpoints {
            unchanged.push(*slice);
        } else {
            changed.push(with_endpoints(slice, kept));
        }
    }
    let mut missing: Vec<Endpoint> = missing.into_values().collect();
    // Slices that are written anyway are filled first, the fullest before the others.
    changed.sort_by_key(|slice| std::cmp::Reverse(slice.endpoints.len()));
    for slice in &mut changed {
        fill(slice, &mut missing, frame.limit);
    }
    while !missing.is_empty() {
        if let Some(position) = with_least_room(&unchanged, missing.len(), frame.limit) {
            let mut slice = (**unchanged.remove(position)).clone();
            fill(&mut slice, &mut missing, frame.limit);
            changed.push(slice);
        } else {
            let mut slice = frame.slice(&group.address_type, &group.ports);
            fill(&mut slice, &mut missing, frame.limit);
            changes.create.push(slice);
        }
    }
    if is_placeholder && changed.is_empty() && unchanged.is_empty() {
        changes
            .create
            .push(frame.slice(&group.address_type, &group.ports));
    }
    let undressed = unchanged.into_iter().filter(|slice| !frame.fits(slice));
    changed.extend(undressed.map(|slice| (**slice).clone()));
    changes.update.extend(changed);
}

fn with_endpoints(slice: &EndpointSlice, endpoints: Vec<Endpoint>) -> EndpointSlice {
    EndpointSlice {
        endpoints,
        ..slice.clone()
    }
}

fn fill(slice: &mut EndpointSlice, missing: &mut Vec<Endpoint>, limit: usize) {
    let room = limit.saturating_sub(slice.endpoints.len()).min(missing.len());
    slice.endpoints.extend(missing.drain(..room));
}

/// The fullest slice that still takes all that is missing.
fn with_least_room(slices: &[&Arc<EndpointSlice>], missing: usize, limit: usize) -> Option<usize> {
    let fitting = slices
        .iter()
        .enumerate()
        .filter(|(_, slice)| slice.endpoints.len() + missing <= limit);
    let fullest = fitting.max_by_key(|(_, slice)| slice.endpoints.len());
    fullest.map(|(position, _)| position)
}

/// A slice that is not needed takes the place of one that would be made: one write instead of two.
fn recycle(changes: &mut Changes, frame: &Frame) {
    for old in std::mem::take(&mut changes.delete) {
        let heir = changes
            .create
            .iter()
            .position(|new| new.address_type == old.address_type && frame.owns(&old));
        match heir {
            None => changes.delete.push(old),
            Some(position) => {
                let mut new = changes.create.remove(position);
                new.metadata = old.metadata.clone();
                changes.update.push(new);
            }
        }
    }
}

impl Frame {
    fn slice(&self, address_type: &str, ports: &[EndpointPort]) -> EndpointSlice {
        EndpointSlice {
            metadata: ObjectMeta {
                generate_name: Some(format!("{}-", self.owner.name)),
                namespace: self.namespace.clone(),
                owner_references: Some(vec![self.owner.clone()]),
                ..ObjectMeta::default()
            },
            address_type: address_type.into(),
            ports: Some(ports.to_vec()),
            endpoints: Vec::new(),
        }
    }

    fn owns(&self, slice: &EndpointSlice) -> bool {
        let mut owners = slice.metadata.owner_references.iter().flatten();
        owners.any(|owner| owner.uid == self.owner.uid && owner.kind == self.owner.kind)
    }

    /// Whether labels and annotations are as they should be; a trigger alone is no reason to write.
    fn fits(&self, slice: &EndpointSlice) -> bool {
        let empty = BTreeMap::new();
        let meta = &slice.metadata;
        let has_annotations = match &self.annotations {
            Annotations::Trigger(_) => true,
            Annotations::Owners(wanted) => meta.annotations.as_ref().unwrap_or(&empty) == wanted,
        };
        meta.labels.as_ref().unwrap_or(&empty) == &self.labels && has_annotations
    }

    fn dress(&self, slice: &mut EndpointSlice) {
        let meta = &mut slice.metadata;
        meta.labels = Some(self.labels.clone());
        let annotations = meta.annotations.get_or_insert_default();
        match &self.annotations {
            Annotations::Trigger(Some(time)) => drop(annotations.insert(TRIGGER_TIME.into(), time.clone())),
            Annotations::Trigger(None) => drop(annotations.remove(TRIGGER_TIME)),
            Annotations::Owners(wanted) => annotations.clone_from(wanted),
        }
    }
}

type Port = (String, String, Option<i32>, String);

/// Ports in an order of their own, so that lists can be compared.
pub(crate) fn port_key(ports: &[EndpointPort]) -> Vec<Port> {
    let mut key: Vec<Port> = ports
        .iter()
        .map(|port| {
            (
                port.name.clone().unwrap_or_default(),
                port.protocol.clone().unwrap_or_default(),
                port.port,
                port.app_protocol.clone().unwrap_or_default(),
            )
        })
        .collect();
    key.sort();
    key
}

fn is_of(slice: &EndpointSlice, group: &Group) -> bool {
    slice.address_type == group.address_type
        && port_key(slice.ports.as_deref().unwrap_or_default()) == port_key(&group.ports)
}

type Identity = (Vec<String>, Option<String>, Option<String>, Option<String>);

/// What makes an endpoint the same endpoint, whatever its condition.
fn identity(endpoint: &Endpoint) -> Identity {
    let mut addresses = endpoint.addresses.clone();
    addresses.sort();
    let target = endpoint.target_ref.as_ref();
    (
        addresses,
        endpoint.hostname.clone(),
        target.and_then(|target| target.namespace.clone()),
        target.and_then(|target| target.name.clone()),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn frame() -> Frame {
        Frame {
            owner: OwnerReference {
                uid: "s".into(),
                kind: "Service".into(),
                name: "web".into(),
                ..OwnerReference::default()
            },
            namespace: Some("n".into()),
            labels: BTreeMap::from([("app".into(), "web".into())]),
            annotations: Annotations::Trigger(Some("now".into())),
            limit: 3,
        }
    }

    fn endpoint(number: usize, ready: bool) -> Endpoint {
        let endpoint = json!({"addresses": [format!("10.0.0.{number}")], "conditions": {"ready": ready}});
        serde_json::from_value(endpoint).unwrap()
    }

    fn group(port: i32, endpoints: Vec<Endpoint>) -> Group {
        let ports = serde_json::from_value(json!([{"name": "", "port": port, "protocol": "TCP"}])).unwrap();
        Group {
            address_type: "IPv4".into(),
            ports,
            endpoints,
        }
    }

    fn ready(numbers: impl IntoIterator<Item = usize>) -> Vec<Endpoint> {
        numbers.into_iter().map(|number| endpoint(number, true)).collect()
    }

    fn slice(name: &str, port: i32, endpoints: Vec<Endpoint>) -> Arc<EndpointSlice> {
        let frame = frame();
        let mut slice = frame.slice("IPv4", &group(port, Vec::new()).ports);
        frame.dress(&mut slice);
        slice.metadata.name = Some(name.into());
        slice.endpoints = endpoints;
        Arc::new(slice)
    }

    fn sizes(slices: &[EndpointSlice]) -> Vec<usize> {
        slices.iter().map(|slice| slice.endpoints.len()).collect()
    }

    #[test]
    fn many_endpoints_are_spread_over_slices_of_limited_size() {
        let changes = pack(vec![group(80, ready(0..7))], &[], &frame());
        assert_eq!(sizes(&changes.create), [3, 3, 1]);
        let meta = &changes.create[0].metadata;
        assert_eq!(meta.generate_name.as_deref(), Some("web-"));
        assert_eq!(json!(meta.annotations), json!({TRIGGER_TIME: "now"}));
    }

    #[test]
    fn what_is_as_it_should_be_is_not_written() {
        let existing = [slice("a", 80, ready(0..3)), slice("b", 80, ready(3..5))];
        let changes = pack(vec![group(80, ready(0..5))], &existing, &frame());
        assert!(changes.create.is_empty() && changes.update.is_empty() && changes.delete.is_empty());
    }

    #[test]
    fn one_more_endpoint_goes_into_the_fullest_slice_that_has_room() {
        let existing = [
            slice("a", 80, ready(0..1)),
            slice("b", 80, ready(1..3)),
            slice("c", 80, ready(3..6)),
        ];
        let changes = pack(vec![group(80, ready(0..7))], &existing, &frame());
        assert_eq!(changes.update[0].metadata.name.as_deref(), Some("b"));
        assert_eq!((changes.update.len(), changes.create.len()), (1, 0));
    }

    #[test]
    fn a_changed_condition_changes_the_endpoint_where_it_is() {
        let existing = [slice("a", 80, ready(0..2))];
        let wanted = vec![endpoint(0, true), endpoint(1, false)];
        let changes = pack(vec![group(80, wanted.clone())], &existing, &frame());
        assert_eq!(changes.update[0].endpoints, wanted);
    }

    #[test]
    fn a_slice_that_is_not_needed_is_reused_before_it_is_deleted() {
        let existing = [slice("a", 80, ready(0..1)), slice("b", 80, ready(1..2))];
        let changes = pack(vec![group(81, ready(5..6))], &existing, &frame());
        assert_eq!(changes.update[0].metadata.name.as_deref(), Some("a"));
        assert_eq!(changes.update[0].ports.as_ref().unwrap()[0].port, Some(81));
        assert_eq!(changes.delete[0].metadata.name.as_deref(), Some("b"));
    }

    #[test]
    fn a_placeholder_stays_one() {
        let placeholder = || Group {
            ports: Vec::new(),
            ..group(0, Vec::new())
        };
        let created = pack(vec![placeholder()], &[], &frame()).create;
        assert_eq!(sizes(&created), [0]);
        let existing = [Arc::new(created[0].clone())];
        let changes = pack(vec![placeholder()], &existing, &frame());
        assert!(changes.create.is_empty() && changes.update.is_empty() && changes.delete.is_empty());
    }

    #[test]
    fn labels_are_kept_up() {
        let mut strayed = (*slice("a", 80, ready(0..1))).clone();
        strayed.metadata.labels = None;
        let changes = pack(vec![group(80, ready(0..1))], &[Arc::new(strayed)], &frame());
        assert_eq!(json!(changes.update[0].metadata.labels), json!({"app": "web"}));
    }
}
