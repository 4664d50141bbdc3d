//! Cluster addresses and node ports: each Service gets its own, nobody gets one twice.
//!
//! `kinds` says what a Service needs; the pools are here. They are rebuilt from the stored Services at
//! start, so a crash leaks nothing.

use std::{collections::HashSet, net::Ipv4Addr, sync::Arc};

use kinds::objects::{
    ip_address,
    service::{
        allocation::{Ask, Plan, plan_create, plan_delete, plan_update},
        cluster_ips::{self, Family},
    },
};
use manifests::field::{FieldError, Path};
use parking_lot::Mutex;
use serde_json::{Value, json};
use store::{Collection, Store};

use crate::{
    api::Api,
    error::{ApiError, Result},
    kind::Kind,
    object,
};

/// The network cluster addresses come from. Its first address is the API's own Service.
pub(crate) const NETWORK: &str = "10.96.0.0/16";
const FIRST: u32 = u32::from_be_bytes([10, 96, 0, 1]);
const LAST: u32 = u32::from_be_bytes([10, 96, 255, 254]);
/// Addresses before this one are for those who ask for one by name.
const FIRST_ANY: u32 = FIRST + 255;
const PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;

#[derive(Default)]
pub struct Allocations(Arc<Mutex<InUse>>);

#[derive(Default)]
struct InUse {
    addresses: HashSet<u32>,
    ports: HashSet<i64>,
}

/// What a write took and will give back. Unless it is kept, what it took is given back.
#[must_use]
#[derive(Default)]
pub(crate) struct Taken {
    pool: Option<Arc<Mutex<InUse>>>,
    addresses: Vec<u32>,
    ports: Vec<i64>,
    released: Plan,
}

impl Taken {
    /// The write is stored: what was taken stays taken, what was given up is free.
    pub(crate) fn keep(mut self) {
        let Some(pool) = self.pool.take() else { return };
        pool.lock().release(&self.released);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let Some(pool) = self.pool.take() else { return };
        let mut in_use = pool.lock();
        for address in &self.addresses {
            in_use.addresses.remove(address);
        }
        for port in &self.ports {
            in_use.ports.remove(port);
        }
    }
}

impl InUse {
    fn release(&mut self, plan: &Plan) {
        for address in plan
            .released_ips
            .iter()
            .filter_map(|text| text.parse::<Ipv4Addr>().ok())
        {
            self.addresses.remove(&u32::from(address));
        }
        for port in &plan.released_ports {
            self.ports.remove(port);
        }
    }
}

impl Allocations {
    pub fn load(store: &Store) -> Self {
        let mut in_use = InUse::default();
        for stored in store
            .list(&Collection::new("", "services"), None, None, None)
            .items
        {
            let Some(service) = object::readable(&stored) else {
                continue;
            };
            // What a Service would give back is what it holds.
            let held = plan_delete(&service);
            in_use.ports.extend(&held.released_ports);
            let addresses = held
                .released_ips
                .iter()
                .filter_map(|text| text.parse::<Ipv4Addr>().ok());
            in_use.addresses.extend(addresses.map(u32::from));
        }
        Self(Arc::new(Mutex::new(in_use)))
    }
}

/// Takes what a Service asks for or needs and writes it into the spec; nothing for other kinds.
pub(crate) fn allocate(api: &Api, kind: &Kind, object: &mut Value, old: Option<&Value>) -> Result<Taken> {
    if !kind.is("", "Service") {
        return Ok(Taken::default());
    }
    let errors = cluster_ips::settle(object, old.unwrap_or(&Value::Null), &[Family::V4]);
    if !errors.is_empty() {
        return Err(ApiError::invalid("", "Service", object::name(object), &errors));
    }
    let plan = old.map_or_else(|| plan_create(object), |old| plan_update(object, old));
    let mut taken = Taken::default();
    taken.pool = Some(api.allocations.0.clone());
    take_addresses(api, &plan, object, &mut taken)?;
    take_ports(api, &plan, object, &mut taken)?;
    taken.released = plan;
    Ok(taken)
}

/// Gives back what a deleted Service had.
pub(crate) fn release(api: &Api, kind: &Kind, last: &Value) {
    if kind.is("", "Service") {
        api.allocations.0.lock().release(&plan_delete(last));
    }
}

fn invalid(object: &Value, error: FieldError) -> ApiError {
    ApiError::invalid("", "Service", object::name(object), &[error])
}

fn take_addresses(api: &Api, plan: &Plan, object: &mut Value, taken: &mut Taken) -> Result<()> {
    let mut in_use = api.allocations.0.lock();
    for place in &plan.cluster_ips {
        let address = match &place.wanted {
            Some(text) => wanted_address(api, &in_use, object, text)?,
            None => free_address(api, &in_use)
                .ok_or_else(|| ApiError::internal("failed to allocate a serviceIP: range is full"))?,
        };
        in_use.addresses.insert(address);
        taken.addresses.push(address);
        let text = Ipv4Addr::from(address).to_string();
        let spec = &mut object["spec"];
        if place.index == 0 {
            spec["clusterIP"] = text.as_str().into();
        }
        match spec.get_mut("clusterIPs").and_then(Value::as_array_mut) {
            Some(list) if list.len() > place.index => list[place.index] = text.into(),
            Some(list) => list.push(text.into()),
            None => spec["clusterIPs"] = json!([text]),
        }
    }
    Ok(())
}

fn wanted_address(api: &Api, in_use: &InUse, object: &Value, text: &str) -> Result<u32> {
    let refused = |why: &str| {
        let detail = format!("failed to allocate IP {text}: {why}");
        let asked = kinds::read::get(kinds::read::get(object, "spec"), "clusterIPs");
        invalid(
            object,
            FieldError::invalid(&Path::new("spec").child("clusterIPs"), asked, detail),
        )
    };
    let outside = || refused("the provided network does not match the current range");
    let address = text.parse::<Ipv4Addr>().map(u32::from).map_err(|_| outside())?;
    if !(FIRST..=LAST).contains(&address) {
        return Err(outside());
    }
    if is_taken(api, in_use, address) {
        return Err(refused("provided IP is already allocated"));
    }
    Ok(address)
}

/// Services hold addresses, and users may reserve some with IPAddresses of their own.
fn is_taken(api: &Api, in_use: &InUse, address: u32) -> bool {
    let name = Ipv4Addr::from(address).to_string();
    let reserved = || {
        let stored = api
            .store
            .get(&Collection::new("networking.k8s.io", "ipaddresses"), "", &name)?;
        object::readable(&stored)
    };
    in_use.addresses.contains(&address) || reserved().is_some_and(|object| !ip_address::is_managed(&object))
}

fn free_address(api: &Api, in_use: &InUse) -> Option<u32> {
    let size = LAST - FIRST_ANY;
    // A random start keeps an address that was just given back from being reused at once.
    let start = random() % size;
    (0..size)
        .map(|step| FIRST_ANY + (start + step) % size)
        .find(|address| !is_taken(api, in_use, *address))
}

fn take_ports(api: &Api, plan: &Plan, object: &mut Value, taken: &mut Taken) -> Result<()> {
    let mut in_use = api.allocations.0.lock();
    for place in &plan.node_ports {
        let path = Path::new("spec")
            .child("ports")
            .index(place.index)
            .child("nodePort");
        let port = match place.ask {
            Ask::SameAs(earlier) => object["spec"]["ports"][earlier]["nodePort"]
                .as_i64()
                .unwrap_or_default(),
            ask => take_port(&mut in_use, object, ask, &path, taken)?,
        };
        object["spec"]["ports"][place.index]["nodePort"] = port.into();
    }
    if let Some(ask) = plan.health_check {
        let path = Path::new("spec").child("healthCheckNodePort");
        let port = take_port(&mut in_use, object, ask, &path, taken)?;
        object["spec"]["healthCheckNodePort"] = port.into();
    }
    Ok(())
}

fn take_port(in_use: &mut InUse, object: &Value, ask: Ask, path: &Path, taken: &mut Taken) -> Result<i64> {
    let port = match ask {
        Ask::Exactly(port) => port,
        Ask::Any | Ask::SameAs(_) => free_port(in_use)
            .ok_or_else(|| ApiError::internal("failed to allocate a nodePort: range is full"))?,
    };
    let refused = |why: &str| invalid(object, FieldError::invalid(path, &json!(port), why));
    if !PORTS.contains(&port) {
        return Err(refused(
            "provided port is not in the valid range. The range of valid ports is 30000-32767",
        ));
    }
    if !in_use.ports.insert(port) {
        return Err(refused("provided port is already allocated"));
    }
    taken.ports.push(port);
    Ok(port)
}

fn free_port(in_use: &InUse) -> Option<i64> {
    let size = PORTS.end() - PORTS.start() + 1;
    let start = i64::from(random()) % size;
    (0..size)
        .map(|step| PORTS.start() + (start + step) % size)
        .find(|port| !in_use.ports.contains(port))
}

fn random() -> u32 {
    let random = uuid::Uuid::new_v4();
    let [a, b, c, d, ..] = *random.as_bytes();
    u32::from_be_bytes([a, b, c, d])
}
