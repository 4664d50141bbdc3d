//! The CEL rules of the definitions. The words are those of the original webhooks.

use serde_json::{Value, json};

use crate::{
    kinds::Kind,
    names::{MANAGED_BY, MPI_MANAGED_BY, MULTIKUEUE},
    run_policy::MOST_PROCESSES,
};

fn rule(rule: &str, reason: &str, path: &str, message: &str) -> Value {
    let mut value = json!({"rule": rule, "message": message, "reason": reason});
    if !path.is_empty() {
        value["fieldPath"] = json!(path);
    }
    value
}

const REQUIRED: &str = "FieldValueRequired";
const FORBIDDEN: &str = "FieldValueForbidden";
const INVALID: &str = "FieldValueInvalid";

/// Pods and Services have names of so many characters at most.
pub const LONGEST_NAME: usize = 63;

/// What is said of a name that is too long, by the definitions and by whoever looks at jobs that were stored before.
pub const TOO_LONG: &str =
    "must be shorter: the names of its pods, `<name>-<role>-<number>`, have at most 63 characters";

/// Rules of an object as a whole: its name leaves room for what is made of it. The first words are about jobs that
/// were stored before there was this rule, and about the many whose names are short whatever they ask for.
pub(crate) fn of_root(kind: &Kind) -> Vec<Value> {
    if kind.roles.contains(&"SCHEDULER") {
        return vec![of_mxnet_name()];
    }
    let longest = kind.roles.iter().map(|role| role.len()).max().unwrap_or_default();
    let always = LONGEST_NAME - longest - "--9999".len();
    let replicas = format!("self.spec.{}", kind.replicas_field);
    let number = format!(
        "(has({replicas}[role].replicas) && {replicas}[role].replicas > 1 ? {replicas}[role].replicas - 1 : 0)"
    );
    let suffix = format!("size(role) + size(string({number})) + 2");
    // There is one launcher, and it has no number.
    let suffix = match kind.kind {
        "MPIJob" => format!("(role.lowerAscii() == 'launcher' ? 9 : {suffix})"),
        _ => suffix,
    };
    let condition = format!(
        "has(self.status) || size(self.metadata.name) <= {always} || !has({replicas}) || {replicas}.all(role, size(self.metadata.name) + {suffix} <= {LONGEST_NAME})"
    );
    vec![rule(&condition, INVALID, ".metadata.name", TOO_LONG)]
}

fn of_mxnet_name() -> Value {
    let suffix = "size(has(self.spec.RuntimeId) && self.spec.RuntimeId != '' ? self.spec.RuntimeId : 'abcd') + size(has(self.spec.jobMode) && self.spec.jobMode == 'dist' ? '-scheduler--0' : '-worker--0')";
    let condition = format!("has(self.status) || size(self.metadata.name) + {suffix} <= {LONGEST_NAME}");
    rule(&condition, INVALID, ".metadata.name", TOO_LONG)
}

const CONTAINERS: &str = ".template.spec.containers";
const HAS_CONTAINERS: &str = "has(self.template) && has(self.template.spec) && has(self.template.spec.containers) && size(self.template.spec.containers) > 0";

/// Rules of one replica specification of a kind.
pub(crate) fn of_replica(kind: &Kind) -> Vec<Value> {
    let unless_missing = |condition: &str| format!("!({HAS_CONTAINERS}) || {condition}");
    let images = unless_missing("self.template.spec.containers.all(c, has(c.image) && c.image != '')");
    let mut rules = vec![
        rule(HAS_CONTAINERS, REQUIRED, CONTAINERS, "must be specified"),
        rule(&images, REQUIRED, CONTAINERS, "image must be required"),
    ];
    if !kind.container.is_empty() {
        let name = kind.container;
        let condition = format!("self.template.spec.containers.exists(c, c.name == '{name}')");
        let message = format!("must have at least one container with name {name}");
        rules.push(rule(&unless_missing(&condition), REQUIRED, CONTAINERS, &message));
    }
    rules
}

/// Rules of the map from roles to replica specifications. Roles are known in any spelling.
pub(crate) fn of_replicas(kind: &Kind) -> Vec<Value> {
    let is = |role: &str| format!("role.lowerAscii() == '{}'", role.to_lowercase());
    let is_there = |role: &str| format!("self.exists(role, {})", is(role));
    let number = |role: &str, condition: &str| {
        let number = "self[role].replicas";
        format!(
            "self.all(role, !({}) || !has({number}) || {number} {condition})",
            is(role)
        )
    };
    let exactly_one = |role: &str| {
        rule(
            &number(role, "== 1"),
            FORBIDDEN,
            "",
            &format!("{role} replicas must be 1"),
        )
    };
    let mut rules = vec![rule("size(self) > 0", REQUIRED, "", "must be required")];
    match kind.kind {
        "TFJob" => {
            let some = |role: &str| {
                let number = "self[role].replicas";
                format!(
                    "self.exists(role, {} && (!has({number}) || {number} > 0))",
                    is(role)
                )
            };
            let condition = format!(
                "{} && {} && !({} && {})",
                number("Chief", "<= 1"),
                number("Master", "<= 1"),
                some("Chief"),
                some("Master")
            );
            let message = "must not have more than 1 Chief or Master role";
            rules.push(rule(&condition, FORBIDDEN, "", message));
        }
        "PyTorchJob" => {
            rules.push(exactly_one("Master"));
            let message = "Worker replicas must be at least 1";
            rules.push(rule(&number("Worker", ">= 1"), FORBIDDEN, "", message));
        }
        "XGBoostJob" => {
            rules.push(rule(&is_there("Master"), REQUIRED, "", "Master must be present"));
            rules.push(exactly_one("Master"));
        }
        "MPIJob" => {
            let message = "must have Launcher replica spec";
            rules.push(rule(&is_there("Launcher"), REQUIRED, "", message));
            rules.push(exactly_one("Launcher"));
        }
        _ => {}
    }
    rules
}

/// Rules of the run policy.
pub(crate) fn of_run_policy(kind: &Kind) -> Vec<Value> {
    let managers = if kind.kind == "MPIJob" {
        &[MPI_MANAGED_BY, MANAGED_BY, MULTIKUEUE][..]
    } else {
        &[MANAGED_BY, MULTIKUEUE]
    };
    let known = format!(
        "!has(self.managedBy) || self.managedBy in ['{}']",
        managers.join("', '")
    );
    let message = format!("supported values: {}", managers.join(", "));
    vec![rule(&known, INVALID, ".managedBy", &message)]
}

/// Rules of a specification. Where the run policy comes and goes as a whole, only what is above it sees it.
pub(crate) fn of_spec() -> Vec<Value> {
    let manager = |of: &str| {
        format!("(has({of}.runPolicy) && has({of}.runPolicy.managedBy) ? {of}.runPolicy.managedBy : '')")
    };
    vec![rule(
        &format!("{} == {}", manager("self"), manager("oldSelf")),
        INVALID,
        ".runPolicy.managedBy",
        "field is immutable",
    )]
}

/// Rules of the queue in which a job waits. MPIJobs may change it, as they always could.
pub(crate) fn of_queue() -> Vec<Value> {
    vec![rule(
        "self == oldSelf",
        INVALID,
        "",
        "spec.runPolicy.schedulingPolicy.queue is immutable",
    )]
}

/// Types of devices of which `torchrun` knows the number.
const DEVICES: [&str; 7] = ["cpu", "gpu", "xpu", "npu", "hpu", "mlu", "musa"];

/// Rules of how many processes `torchrun` starts on a node.
pub(crate) fn of_processes() -> Vec<Value> {
    let devices = DEVICES.join("', '");
    let condition = format!(
        "type(self) == int ? self >= 1 && self <= {MOST_PROCESSES} : self in ['auto', '{devices}'] || self.matches('^([1-9][0-9]{{0,3}}|{MOST_PROCESSES})$')"
    );
    let message = format!(
        "must be auto, a type of device ({}) or a number from 1 to {MOST_PROCESSES}",
        DEVICES.join(", ")
    );
    vec![rule(&condition, INVALID, "", &message)]
}
