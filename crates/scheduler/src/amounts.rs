//! Amounts of resources: CPU in thousandths, everything else in its own unit.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use kinds::quantity::Quantity;

/// By resource name; what is not named is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    by_name: BTreeMap<String, i64>,
}

impl Amounts {
    /// Reads a resource list. What is no quantity does not pass the API and counts as zero here.
    pub fn read(list: Option<&BTreeMap<String, Text>>) -> Self {
        let pairs = list.into_iter().flatten();
        let by_name = pairs
            .map(|(name, text)| (name.clone(), measure(name, &text.0)))
            .collect();
        Self { by_name }
    }

    pub fn one(name: &str, amount: i64) -> Self {
        Self {
            by_name: BTreeMap::from([(name.to_owned(), amount)]),
        }
    }

    pub fn get(&self, name: &str) -> i64 {
        self.by_name.get(name).copied().unwrap_or_default()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.by_name.iter().map(|(name, amount)| (name.as_str(), *amount))
    }

    pub fn add(&mut self, other: &Self) {
        for (name, amount) in other.iter() {
            *self.by_name.entry(name.to_owned()).or_default() += amount;
        }
    }

    pub fn subtract(&mut self, other: &Self) {
        for (name, amount) in other.iter() {
            *self.by_name.entry(name.to_owned()).or_default() -= amount;
        }
    }

    /// The larger amount of each resource.
    pub fn raise_to(&mut self, other: &Self) {
        for (name, amount) in other.iter() {
            let own = self.by_name.entry(name.to_owned()).or_default();
            *own = amount.max(*own);
        }
    }
}

fn measure(name: &str, text: &str) -> i64 {
    let quantity = Quantity::parse(text).ok();
    let value = quantity.map(|quantity| match name {
        "cpu" => quantity.milli_value(),
        _ => quantity.value(),
    });
    value.unwrap_or_default()
}

/// An amount as people write it.
pub(crate) fn shown(name: &str, amount: i64) -> String {
    const GIB: i64 = 1 << 30;
    const MIB: i64 = 1 << 20;
    let is_bytes = name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-");
    match (name, is_bytes) {
        ("cpu", _) if amount % 1000 == 0 => (amount / 1000).to_string(),
        ("cpu", _) => format!("{amount}m"),
        (_, true) if amount >= GIB => format!("{:.1}Gi", amount as f64 / GIB as f64).replace(".0Gi", "Gi"),
        (_, true) => format!("{}Mi", amount / MIB),
        _ => amount.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_as_people_write_them() {
        assert_eq!(shown("cpu", 1500), "1500m");
        assert_eq!(shown("cpu", 2000), "2");
        assert_eq!(shown("memory", 3 << 29), "1.5Gi");
        assert_eq!(shown("memory", 200 << 20), "200Mi");
        assert_eq!(shown("nvidia.com/gpu", 8), "8");
    }
}
