//! `count`: how many resources there are.

use std::collections::BTreeMap;

use crate::{
    Outcome, Package,
    outcome::{Change, Reach, on_packages},
    resources::{all, read_scope},
};

#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// Of each kind.
    pub by_kind: bool,
    /// Also of the packages below.
    pub recurse: bool,
}

impl Default for Count {
    fn default() -> Self {
        Self {
            by_kind: true,
            recurse: true,
        }
    }
}

impl Count {
    pub fn run(self, package: &Package) -> Outcome {
        on_packages(package, Reach::Any, self.recurse, |scope| {
            let files = read_scope(package, scope)?;
            let resources = all(&files);
            if !self.by_kind {
                return Ok(Change::message(format!("{}\n", resources.len())));
            }
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            for resource in resources {
                *counts.entry(resource.kind()).or_default() += 1;
            }
            let lines = counts.iter().map(|(kind, count)| format!("{kind}: {count}\n"));
            Ok(Change::message(lines.collect::<String>()))
        })
    }
}
