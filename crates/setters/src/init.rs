//! `init`: makes a folder a package.

use std::collections::BTreeMap;

use crate::{Outcome, Package, Problem};

const KRMFILE: &str = "Krmfile";

#[derive(Clone, Copy, Debug, Default)]
pub struct Init;

impl Init {
    pub fn run(self, package: &Package) -> Outcome {
        if package.contains(KRMFILE) {
            let problem = Problem::new("directory already initialized with a Krmfile");
            return Outcome::failed(problem.in_file(KRMFILE));
        }
        let text = "apiVersion: config.k8s.io/v1alpha1\nkind: Krmfile";
        Outcome {
            edits: BTreeMap::from([(KRMFILE.to_owned(), text.to_owned())]),
            ..Outcome::default()
        }
    }
}
