//! What is wrong with the objects of a package, before a cluster sees them. The rules are those the API server
//! has for each kind; where there is more than one thing wrong, all are told, each with its place.

mod built_in;
mod catalogue;
mod complaints;
mod custom;
mod finding;
mod pipelines;
mod pod_specs;
mod references;
mod templates;

use packages::TracedObject;

use self::{
    catalogue::{Catalogue, Rules},
    complaints::Complaints,
    pipelines::Pipelines,
    references::Inventory,
};

pub use finding::{Finding, Severity, Subject};

/// Everything that is wrong with the objects of a package, in the order of their places.
pub fn check(objects: &[TracedObject]) -> Vec<Finding> {
    let catalogue = Catalogue::of(objects);
    let inventory = Inventory::of(objects);
    let pipelines = Pipelines::of(objects);
    let mut findings = Vec::new();
    for object in objects {
        let mut complaints = Complaints::about(object);
        match catalogue.rules(&object.value) {
            Rules::BuiltIn(resource) => built_in::check(resource, &object.value, &mut complaints),
            Rules::Custom(custom) => custom::check(&custom, &object.value, &mut complaints),
            Rules::Unknown(_) if pipelines::is_one(&object.value) => {}
            Rules::Unknown(unknown) => unknown.tell(&mut complaints),
        }
        if pipelines::is_one(&object.value) {
            pipelines.check(&object.value, &mut complaints);
        }
        references::check(&object.value, &inventory, &mut complaints);
        findings.extend(complaints.into_findings());
    }
    findings.sort_by(|a, b| a.position().cmp(&b.position()));
    findings.dedup();
    findings
}
