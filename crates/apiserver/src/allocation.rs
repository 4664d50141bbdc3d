//! Cluster addresses and node ports: each Service gets its own, nobody gets one twice.
//!
//! The set in use is rebuilt from the stored Services at start, so a crash leaks nothing.

use std::{collections::HashSet, net::Ipv4Addr, sync::Arc};

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

/// The range cluster addresses come from: 10.96.0.0/16. Its first address is the API's own Service.
const FIRST: u32 = u32::from_be_bytes([10, 96, 0, 1]);
const LAST: u32 = u32::from_be_bytes([10, 96, 255, 254]);
const PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;

#[derive(Default)]
pub struct Allocations(Arc<Mutex<InUse>>);

#[derive(Default)]
struct InUse {
    addresses: HashSet<u32>,
    ports: HashSet<i64>,
}

/// Addresses and ports taken for a write that is not stored yet; given back unless it is kept.
#[must_use]
#[derive(Default)]
pub struct Taken {
    allocations: Option<Arc<Mutex<InUse>>>,
    addresses: Vec<u32>,
    ports: Vec<i64>,
}

impl Taken {
    /// The write is stored: what was taken stays taken.
    pub fn keep(mut self) {
        self.allocations = None;
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(allocations) = self.allocations.take() {
            let mut in_use = allocations.lock();
            for address in &self.addresses {
                in_use.addresses.remove(address);
            }
            for port in &self.ports {
                in_use.ports.remove(port);
            }
        }
    }
}

impl Allocations {
    pub fn load(store: &Store) -> Self {
        let mut in_use = InUse::default();
        let services = store.list(&Collection::new("", "services"), None, None, None).items;
        for stored in services {
            let service: Value = serde_json::from_slice(stored.json()).unwrap_or_default();
            in_use.addresses.extend(addresses(&service));
            in_use.ports.extend(ports(&service));
        }
        Self(Arc::new(Mutex::new(in_use)))
    }
}

fn addresses(service: &Value) -> Vec<u32> {
    let spec = kinds::read::get(service, "spec");
    let mut all: Vec<u32> = kinds::read::list(spec, "clusterIPs")
        .iter()
        .filter_map(Value::as_str)
        .chain([kinds::read::text(spec, "clusterIP")])
        .filter_map(|text| text.parse::<Ipv4Addr>().ok())
        .map(u32::from)
        .collect();
    all.dedup();
    all
}

fn ports(service: &Value) -> Vec<i64> {
    let spec = kinds::read::get(service, "spec");
    let own = kinds::read::list(spec, "ports").iter().filter_map(|port| kinds::read::int(port, "nodePort"));
    let health = kinds::read::int(spec, "healthCheckNodePort");
    let mut all: Vec<i64> = own.chain(health).filter(|port| *port != 0).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Takes what a Service asks for or needs; nothing for other kinds.
pub fn allocate(api: &Api, kind: &Kind, object: &mut Value, old: Option<&Value>, dry_run: bool) -> Result<Taken> {
    if !kind.is("", "Service") {
        return Ok(Taken::default());
    }
    let mut taken = Taken { allocations: Some(api.allocations.0.clone()), ..Taken::default() };
    let mut in_use = api.allocations.0.lock();
    let (old_addresses, old_ports) = old.map_or_else(Default::default, |old| (addresses(old), ports(old)));
    let result = allocate_address(&mut in_use, object, &old_addresses, &mut taken)
        .and_then(|()| allocate_ports(&mut in_use, object, &old_ports, &mut taken));
    drop(in_use);
    result?;
    if !dry_run && let Some(old) = old {
        release_unused(api, old, object);
    }
    Ok(taken)
}

/// Gives back what a deleted Service had.
pub fn release(api: &Api, kind: &Kind, last: &Value) {
    if kind.is("", "Service") {
        release_unused(api, last, &Value::Null);
    }
}

fn release_unused(api: &Api, old: &Value, new: &Value) {
    let (new_addresses, new_ports) = (addresses(new), ports(new));
    let mut in_use = api.allocations.0.lock();
    for address in addresses(old).iter().filter(|address| !new_addresses.contains(address)) {
        in_use.addresses.remove(address);
    }
    for port in ports(old).iter().filter(|port| !new_ports.contains(port)) {
        in_use.ports.remove(port);
    }
}

fn invalid(object: &Value, error: FieldError) -> ApiError {
    ApiError::invalid("", "Service", object::name(object), &[error])
}

fn allocate_address(in_use: &mut InUse, object: &mut Value, old: &[u32], taken: &mut Taken) -> Result<()> {
    let spec = &mut object["spec"];
    let kind = kinds::read::text(spec, "type");
    let asked = kinds::read::text(spec, "clusterIP").to_owned();
    if kind == "ExternalName" || asked == "None" {
        return Ok(());
    }
    if asked.is_empty() {
        let Some(address) = free_address(in_use) else {
            return Err(ApiError::internal("failed to allocate a serviceIP: range is full"));
        };
        in_use.addresses.insert(address);
        taken.addresses.push(address);
        let text = Ipv4Addr::from(address).to_string();
        spec["clusterIP"] = text.as_str().into();
        spec["clusterIPs"] = json!([text]);
        return Ok(());
    }
    let Ok(address) = asked.parse::<Ipv4Addr>().map(u32::from) else { return Ok(()) };
    if old.contains(&address) {
        return Ok(());
    }
    let path = Path::new("spec").child("clusterIPs");
    if !(FIRST..=LAST).contains(&address) {
        let error = FieldError::invalid(&path, &json!([asked]), format!("failed to allocate IP {asked}: the provided IP ({asked}) is not in the valid range. The range of valid IPs is 10.96.0.0/16"));
        return Err(invalid(object, error));
    }
    if !in_use.addresses.insert(address) {
        let error = FieldError::invalid(&path, &json!([asked]), format!("failed to allocate IP {asked}: provided IP is already allocated"));
        return Err(invalid(object, error));
    }
    taken.addresses.push(address);
    Ok(())
}

/// A random start keeps a just released address from being reused at once.
fn free_address(in_use: &InUse) -> Option<u32> {
    let size = LAST - FIRST + 1;
    let start = u32::from_be_bytes(random4()) % size;
    (0..size).map(|step| FIRST + (start + step) % size).find(|address| {
        // The first addresses are for those who ask for one by name.
        *address > FIRST + 255 && !in_use.addresses.contains(address)
    })
}

fn random4() -> [u8; 4] {
    let random = uuid::Uuid::new_v4();
    let bytes = random.as_bytes();
    [bytes[0], bytes[1], bytes[2], bytes[3]]
}

fn allocate_ports(in_use: &mut InUse, object: &mut Value, old: &[i64], taken: &mut Taken) -> Result<()> {
    let spec = kinds::read::get(object, "spec");
    let kind = kinds::read::text(spec, "type");
    let wanted = kind == "NodePort"
        || (kind == "LoadBalancer"
            && spec.get("allocateLoadBalancerNodePorts").and_then(Value::as_bool).unwrap_or(true));
    if !wanted {
        return Ok(());
    }
    // One port number may serve the same Service twice, once a protocol.
    let mut own: Vec<i64> = old.to_vec();
    for index in 0..kinds::read::list(spec, "ports").len() {
        let asked = object["spec"]["ports"][index].get("nodePort").and_then(Value::as_i64).unwrap_or(0);
        let port = if asked == 0 {
            let Some(port) = free_port(in_use) else {
                return Err(ApiError::internal("failed to allocate a nodePort: range is full"));
            };
            object["spec"]["ports"][index]["nodePort"] = port.into();
            port
        } else {
            asked
        };
        if own.contains(&port) {
            continue;
        }
        let path = Path::new("spec").child("ports").index(index).child("nodePort");
        if !PORTS.contains(&port) {
            let error = FieldError::invalid(&path, &json!(port), "provided port is not in the valid range. The range of valid ports is 30000-32767");
            return Err(invalid(object, error));
        }
        if !in_use.ports.insert(port) {
            let error = FieldError::invalid(&path, &json!(port), "provided port is already allocated");
            return Err(invalid(object, error));
        }
        taken.ports.push(port);
        own.push(port);
    }
    Ok(())
}

fn free_port(in_use: &InUse) -> Option<i64> {
    let size = PORTS.end() - PORTS.start() + 1;
    let start = i64::from(u32::from_be_bytes(random4())) % size;
    (0..size).map(|step| PORTS.start() + (start + step) % size).find(|port| !in_use.ports.contains(port))
}
