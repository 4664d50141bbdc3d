//! What becomes of jobs, told as stories; and what must hold in any story.

mod any_input;
mod any_job;
mod any_story;
mod bad_edits;
mod clashes;
mod clean_up;
mod launchers;
mod ledger;
mod mpi;
mod mxnet;
mod mxnet_edits;
mod names;
mod old_labels;
mod one_launcher;
mod ports;
mod properties;
mod restarts;
mod stopped;
mod stories;
mod unknown_fields;
mod validation;
mod waiting;
mod words;
mod wrong_values;

use proptest::test_runner::Config as ProptestConfig;

/// A job of one role or two, as short as it gets.
pub(super) fn job(kind: &str, field: &str, container: &str, roles: &str, rest: &str) -> String {
    let mut yaml = format!(
        "apiVersion: kubeflow.org/v1\nkind: {kind}\nmetadata: {{name: j}}\nspec:\n{rest}  {field}:\n"
    );
    for role in roles.split_whitespace() {
        let mut parts = role.split(':');
        let name = parts.next().unwrap_or_default();
        let count = parts.next().unwrap_or("1");
        let policy = parts
            .next()
            .map(|policy| format!(", restartPolicy: {policy}"))
            .unwrap_or_default();
        yaml.push_str(&format!(
            "    {name}: {{replicas: {count}{policy}, template: {{spec: {{containers: [{{name: {container}, image: i}}]}}}}}}\n"
        ));
    }
    yaml
}

pub(super) fn tensorflow(roles: &str, rest: &str) -> String {
    job("TFJob", "tfReplicaSpecs", "tensorflow", roles, rest)
}

pub(super) fn pytorch(roles: &str, rest: &str) -> String {
    job("PyTorchJob", "pytorchReplicaSpecs", "pytorch", roles, rest)
}

pub(super) fn jax(roles: &str, rest: &str) -> String {
    job("JAXJob", "jaxReplicaSpecs", "jax", roles, rest)
}

/// How many made-up stories are tried: `PROPTEST_CASES`, or so many.
pub(super) fn stories(cases: u32) -> ProptestConfig {
    let wanted = std::env::var_os("PROPTEST_CASES");
    let wanted = wanted.and_then(|wanted| wanted.to_str()?.parse().ok());
    ProptestConfig::with_cases(wanted.unwrap_or(cases))
}
