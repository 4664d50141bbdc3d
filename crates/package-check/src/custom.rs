//! Objects of custom kinds, by the schema of their definition; of training jobs also what the operator would
//! say of them.

use kinds::object_meta;
use manifests::{field::Path, names};
use serde_json::Value;

use crate::{built_in, catalogue::CustomRules, complaints::Complaints, templates};

pub(crate) fn check(rules: &CustomRules<'_>, object: &Value, complaints: &mut Complaints<'_>) {
    let mut errors = Vec::new();
    let mut completed = object.clone();
    built_in::complete(&mut completed, rules.namespaced);
    match schemas::coerce(&mut completed, rules.version.schema()) {
        Ok(unknown) => unknown.iter().for_each(|field| complaints.unknown(field, None)),
        Err(error) => {
            let hint = "write it as Kubernetes has it, or take it out".to_owned();
            return complaints.refuse("metadata", error.to_string(), hint);
        }
    }
    object_meta::validate_any(
        &completed["metadata"],
        rules.namespaced,
        names::dns_subdomain,
        &Path::new("metadata"),
        &mut errors,
    );
    schemas::default(&mut completed, rules.version.schema());
    schemas::validate(&completed, rules.version.schema(), &mut errors);
    // A note that rules were not looked at is no news to whoever reads why.
    errors.retain(|error| error.field != "<nil>");
    if rules.is_training {
        let fits = templates::check(object, complaints);
        if fits && errors.is_empty() {
            errors = training::check(object);
        }
    }
    complaints.broken_rules(errors);
}
