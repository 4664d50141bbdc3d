//! Whether the nodes of a cluster could ever hold pods of a size, whatever else runs on them. Pure.

use std::collections::BTreeMap;

use kinds::quantity::Quantity;
use serde_json::Value;

/// What one pod asks for, by the name of the resource.
pub(crate) type Size = BTreeMap<String, Quantity>;

/// Why pods of a size never have a place on these nodes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shortage {
    pub(crate) what: String,
    pub(crate) advice: String,
}

/// What a pod of this specification asks for: the sum of its containers, or the largest of its init containers.
pub(crate) fn size(spec: &Value) -> Size {
    let mut size = Size::new();
    for container in list(&spec["containers"]) {
        for (name, amount) in asked(container) {
            let sum = size.get(&name).map_or(amount, |sum: &Quantity| sum.plus(amount));
            size.insert(name, sum);
        }
    }
    for container in list(&spec["initContainers"]) {
        for (name, amount) in asked(container) {
            let most = size.get(&name).map_or(amount, |most| (*most).max(amount));
            size.insert(name, most);
        }
    }
    size
}

/// Why so many pods of this size can never run at the same time; `None` where they may, or where that is not known.
/// Nodes that do not take pods now may do so later, so they count as well.
pub(crate) fn shortage(size: &Size, count: u64, nodes: &[Value]) -> Option<Shortage> {
    if nodes.is_empty() || size.is_empty() {
        return None;
    }
    for (name, asked) in size {
        let most = nodes.iter().map(|node| allocatable(node, name)).max()?;
        if most < *asked {
            return Some(one(name, *asked, most));
        }
    }
    let places: u64 = nodes.iter().map(|node| places(size, node)).sum();
    (places < count).then(|| {
        let asked: Vec<String> = size
            .iter()
            .map(|(name, amount)| format!("{amount} {}", unit(name)))
            .collect();
        let asked = asked.join(" and ");
        Shortage {
            what: format!(
                "{count} pods with {asked} each are asked for, and the nodes of the cluster have room for {places} at the same time"
            ),
            advice: match places {
                0 => "ask for less of one of them".to_owned(),
                places => format!("ask for at most {places} (`trainyard run --nodes {places}`), or for less each"),
            },
        }
    })
}

fn one(name: &str, asked: Quantity, most: Quantity) -> Shortage {
    let option = match name {
        "nvidia.com/gpu" => " (`trainyard run --gpus`)",
        "cpu" => " (`trainyard run --cpus`)",
        "memory" => " (`trainyard run --memory`)",
        _ => "",
    };
    let unit = unit(name);
    let most_shown = shown(name, most);
    if most.is_zero() {
        let advice = if name == "nvidia.com/gpu" {
            "leave `--gpus` out to train without, or use a cluster that has some; `nvidia-smi` shows those of this machine"
        } else {
            "leave it out, or use a cluster that has some"
        };
        return Shortage {
            what: format!("a pod asks for {asked} {unit}, and no node of the cluster has any"),
            advice: advice.to_owned(),
        };
    }
    Shortage {
        what: format!("a pod asks for {asked} {unit}, and no node of the cluster has more than {most_shown}"),
        advice: format!("ask for at most {most_shown}{option}, or use a cluster with larger nodes"),
    }
}

/// An amount as people write it: nodes tell their memory in kibibytes.
fn shown(name: &str, amount: Quantity) -> String {
    const GIBI: f64 = (1u64 << 30) as f64;
    let gibibytes = amount.value() as f64 / GIBI;
    if name == "memory" && gibibytes >= 1.0 {
        // Rounded down, so that it fits.
        format!("{}Gi", (gibibytes * 10.0).floor() / 10.0)
    } else {
        amount.to_string()
    }
}

/// The word for a resource beside an amount of it.
fn unit(name: &str) -> &str {
    match name {
        "cpu" => "CPU",
        "memory" => "of memory",
        "nvidia.com/gpu" => "GPU",
        name => name,
    }
}

/// How many such pods the whole of a node holds.
fn places(size: &Size, node: &Value) -> u64 {
    let holds = |(name, asked): (&String, &Quantity)| {
        let (has, asked) = (allocatable(node, name).milli_value(), asked.milli_value());
        u64::try_from(has / asked.max(1)).unwrap_or_default()
    };
    size.iter().map(holds).min().unwrap_or(u64::MAX)
}

fn allocatable(node: &Value, name: &str) -> Quantity {
    let status = &node["status"];
    // Devices that cannot be used now are there all the same.
    let fields = if name.contains('/') {
        ["capacity", "allocatable"]
    } else {
        ["allocatable", "capacity"]
    };
    let amount = fields.into_iter().find_map(|field| status[field][name].as_str());
    Quantity::parse(amount.unwrap_or("0")).unwrap_or(Quantity::ZERO)
}

/// Requests, and limits where a container requests nothing else: what the API server makes of them.
fn asked(container: &Value) -> Vec<(String, Quantity)> {
    let resources = &container["resources"];
    let mut all = BTreeMap::new();
    // What is requested comes over the limit of the same name.
    for field in ["limits", "requests"] {
        for (name, amount) in resources[field].as_object().into_iter().flatten() {
            let amount = match amount {
                Value::String(text) => Quantity::parse(text),
                other => Quantity::parse(&other.to_string()),
            };
            if let Ok(amount) = amount {
                all.insert(name.clone(), amount);
            }
        }
    }
    all.retain(|_, amount| !amount.is_zero());
    all.into_iter().collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(cpu: &str, gpus: &str) -> Value {
        json!({"status": {"allocatable": {"cpu": cpu, "memory": "25165824Ki", "nvidia.com/gpu": gpus}}})
    }

    fn spec(limits: &Value) -> Value {
        json!({"containers": [{"resources": {"limits": limits}}]})
    }

    fn told(limits: &Value, count: u64, nodes: &[Value]) -> Option<String> {
        shortage(&size(&spec(limits)), count, nodes).map(|shortage| shortage.what)
    }

    #[test]
    fn what_no_node_has_is_never_there() {
        let nodes = [node("2", "0"), json!({})];
        assert_eq!(
            told(&json!({"nvidia.com/gpu": "1"}), 1, &nodes).unwrap(),
            "a pod asks for 1 GPU, and no node of the cluster has any"
        );
        assert_eq!(
            told(&json!({"cpu": "64"}), 1, &nodes).unwrap(),
            "a pod asks for 64 CPU, and no node of the cluster has more than 2"
        );
        assert_eq!(
            told(&json!({"memory": "100Gi"}), 1, &nodes).unwrap(),
            "a pod asks for 100Gi of memory, and no node of the cluster has more than 24Gi"
        );
        assert_eq!(told(&json!({"cpu": "2", "memory": "24Gi"}), 1, &nodes), None);
    }

    #[test]
    fn pods_that_run_together_need_their_places_together() {
        let gpu = json!({"nvidia.com/gpu": 1});
        assert_eq!(
            told(&gpu, 2, &[node("8", "1")]).unwrap(),
            "2 pods with 1 GPU each are asked for, and the nodes of the cluster have room for 1 at the same time"
        );
        assert_eq!(told(&gpu, 2, &[node("8", "1"), node("8", "1")]), None);
        assert_eq!(told(&json!({"cpu": "500m"}), 4, &[node("2", "0")]), None);
    }

    #[test]
    fn what_is_not_known_is_not_refused() {
        assert_eq!(told(&json!({"nvidia.com/gpu": "1"}), 1, &[]), None);
        assert_eq!(told(&json!({}), 1000, &[node("1", "0")]), None);
    }

    #[test]
    fn a_pod_asks_for_the_sum_of_its_containers_or_its_largest_init_container() {
        let cpu = |amount: &str| json!({"resources": {"requests": {"cpu": amount}, "limits": {"cpu": "9"}}});
        let spec = json!({"containers": [cpu("1"), cpu("2")], "initContainers": [cpu("1"), cpu("4")]});
        assert_eq!(size(&spec)["cpu"], Quantity::from_int(4));
        let spec = json!({"containers": [cpu("3"), cpu("2")], "initContainers": [cpu("4")]});
        assert_eq!(size(&spec)["cpu"], Quantity::from_int(5));
    }
}
