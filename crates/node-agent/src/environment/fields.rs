//! Values taken from the pod itself: its fields, and the resources of its containers.

use k8s_openapi::api::core::v1::{Container, Pod, ResourceFieldSelector};
use kinds::quantity::Quantity;

/// What a node offers, as quantities.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    pub cpu: String,
    pub memory: String,
    pub ephemeral_storage: String,
}

/// The value of a field path such as `metadata.labels['app']` or `status.podIP`.
pub fn field(pod: &Pod, path: &str) -> Result<String, String> {
    let meta = &pod.metadata;
    let spec = pod.spec.as_ref();
    let status = pod.status.as_ref();
    if let Some((map, key)) = subscript(path) {
        let map = match map {
            "metadata.labels" => meta.labels.as_ref(),
            "metadata.annotations" => meta.annotations.as_ref(),
            _ => return Err(format!("unsupported fieldPath: {path}")),
        };
        return Ok(map.and_then(|map| map.get(key)).cloned().unwrap_or_default());
    }
    let value = match path {
        "metadata.name" => meta.name.clone(),
        "metadata.namespace" => meta.namespace.clone(),
        "metadata.uid" => meta.uid.clone(),
        "metadata.labels" => Some(lines(meta.labels.as_ref())),
        "metadata.annotations" => Some(lines(meta.annotations.as_ref())),
        "spec.nodeName" => spec.and_then(|spec| spec.node_name.clone()),
        "spec.serviceAccountName" => spec.and_then(|spec| spec.service_account_name.clone()),
        "status.hostIP" => status.and_then(|status| status.host_ip.clone()),
        "status.podIP" => status.and_then(|status| status.pod_ip.clone()),
        "status.hostIPs" => status.map(|status| {
            let addresses = status.host_ips.iter().flatten();
            addresses
                .map(|address| address.ip.clone())
                .collect::<Vec<_>>()
                .join(",")
        }),
        "status.podIPs" => status.map(|status| {
            let addresses = status.pod_ips.iter().flatten();
            addresses
                .map(|address| address.ip.clone())
                .collect::<Vec<_>>()
                .join(",")
        }),
        _ => return Err(format!("unsupported fieldPath: {path}")),
    };
    Ok(value.unwrap_or_default())
}

fn subscript(path: &str) -> Option<(&str, &str)> {
    let (map, rest) = path.split_once("['")?;
    Some((map, rest.strip_suffix("']")?))
}

/// A map as a file shows it: one `key="value"` a line, in order.
fn lines(map: Option<&std::collections::BTreeMap<String, String>>) -> String {
    let pairs = map.into_iter().flatten();
    let lines: Vec<String> = pairs
        .map(|(key, value)| format!("{key}={}", quoted(value)))
        .collect();
    lines.join("\n")
}

/// A quoted string with the escapes of Go, which is what programs that read these files expect.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control.is_control() => quoted.push_str(&format!("\\x{:02x}", control as u32)),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// A request or limit of a container, divided and rounded up. Without a limit it is what the node has.
pub fn resource(
    pod: &Pod,
    container: &Container,
    selector: &ResourceFieldSelector,
    allocatable: Resources,
) -> Result<String, String> {
    let named = selector.container_name.as_deref().filter(|name| !name.is_empty());
    let container = match named {
        None => container,
        Some(name) => containers(pod)
            .find(|container| container.name == name)
            .ok_or_else(|| format!("container {name} not found"))?,
    };
    let (list, resource) = selector
        .resource
        .split_once('.')
        .ok_or_else(|| format!("unsupported container resource : {}", selector.resource))?;
    let resources = container.resources.as_ref();
    let listed = match list {
        "limits" => resources.and_then(|resources| resources.limits.as_ref()),
        _ => resources.and_then(|resources| resources.requests.as_ref()),
    };
    let known = listed
        .and_then(|listed| listed.get(resource))
        .map(|quantity| quantity.0.clone());
    let quantity = match (known, list, resource) {
        (Some(quantity), ..) => quantity,
        (None, "limits", "cpu") => allocatable.cpu,
        (None, "limits", "memory") => allocatable.memory,
        (None, "limits", "ephemeral-storage") => allocatable.ephemeral_storage,
        _ => "0".to_owned(),
    };
    let divisor = selector
        .divisor
        .as_ref()
        .map_or("1", |divisor| divisor.0.as_str());
    divide(&quantity, divisor, resource == "cpu")
}

fn containers(pod: &Pod) -> impl Iterator<Item = &Container> {
    let spec = pod.spec.iter();
    spec.flat_map(|spec| spec.init_containers.iter().flatten().chain(&spec.containers))
}

fn divide(quantity: &str, divisor: &str, by_thousandths: bool) -> Result<String, String> {
    let parse =
        |text: &str| Quantity::parse(text).map_err(|error| format!("`{text}` is no quantity: {error}"));
    let divisor = if divisor == "0" { "1" } else { divisor };
    let (quantity, divisor) = (parse(quantity)?, parse(divisor)?);
    let measure = |quantity: &Quantity| {
        if by_thousandths {
            quantity.milli_value()
        } else {
            quantity.value()
        }
    };
    let divisor = measure(&divisor).max(1);
    let quotient = measure(&quantity).div_euclid(divisor);
    let is_exact = measure(&quantity).rem_euclid(divisor) == 0;
    Ok((quotient + i64::from(!is_exact)).to_string())
}
