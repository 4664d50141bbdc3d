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

    /// Puts these amounts in the place of those of the same names.
    pub fn replace(&mut self, other: &Self) {
        let amounts = other.iter().map(|(name, amount)| (name.to_owned(), amount));
        self.by_name.extend(amounts);
    }

    pub fn retain(&mut self, mut is_kept: impl FnMut(&str) -> bool) {
        self.by_name.retain(|name, _| is_kept(name));
    }

    pub fn contains(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
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
