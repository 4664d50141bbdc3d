//! What the node says of its GPUs.

use std::collections::BTreeMap;

use super::reading::Gpu;

/// The name of the resource, as NVIDIA's own device plugin gives it.
pub const RESOURCE: &str = "nvidia.com/gpu";

/// For the node's status and labels; empty on a machine without GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advertisement {
    pub capacity: usize,
    /// Less those that somebody else uses.
    pub allocatable: usize,
    pub labels: BTreeMap<String, String>,
}

impl Advertisement {
    pub(super) fn new(gpus: &[Gpu], usable: usize) -> Self {
        Self {
            capacity: gpus.len(),
            allocatable: usable,
            labels: labels(gpus),
        }
    }
}

fn labels(gpus: &[Gpu]) -> BTreeMap<String, String> {
    let Some(first) = gpus.first() else {
        return BTreeMap::new();
    };
    let mut labels = BTreeMap::from([
        ("nvidia.com/gpu.count".to_owned(), gpus.len().to_string()),
        ("nvidia.com/gpu.product".to_owned(), label_value(&first.product)),
    ]);
    if let Some(memory) = first.memory_mebibytes {
        labels.insert("nvidia.com/gpu.memory".to_owned(), memory.to_string());
    }
    labels
}

/// A product's name with what labels cannot have replaced.
fn label_value(product: &str) -> String {
    let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    let text: String = product
        .chars()
        .map(|character| if allowed(character) { character } else { '-' })
        .take(63)
        .collect();
    text.trim_matches(|character: char| !character.is_ascii_alphanumeric())
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_say_what_gpus_there_are() {
        let gpu = Gpu {
            index: 0,
            minor: 0,
            uuid: "GPU-a".to_owned(),
            product: "NVIDIA GeForce RTX 4090 (24GB)".to_owned(),
            memory_mebibytes: Some(24_564),
        };
        let advertised = Advertisement::new(&[gpu.clone(), gpu], 1);
        assert_eq!((advertised.capacity, advertised.allocatable), (2, 1));
        let labels: Vec<_> = advertised.labels.values().map(String::as_str).collect();
        assert_eq!(labels, ["2", "24564", "NVIDIA-GeForce-RTX-4090--24GB"]);
        assert_eq!(Advertisement::new(&[], 0), Advertisement::default());
    }
}
