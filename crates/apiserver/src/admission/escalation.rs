//! Nobody gives away more than they have: whoever writes a role or binds one must hold what it
//! allows, or be trusted by the verbs `escalate` and `bind`.

use serde_json::{Value, json};
use store::Collection;

use crate::{
    authorization::{Attributes, Rule},
    call::Call,
    error::{ApiError, Qualified, Result},
    granting, object,
};

const GROUP: &str = "rbac.authorization.k8s.io";
const FULL_AUTHORITY: &str = "must have cluster-admin privileges to use the aggregationRule";

/// Refuses a role or binding that allows more than its writer may do.
pub(crate) fn check(call: &Call, object: &Value, old: Option<&Value>) -> Result<()> {
    let is_access = call.kind.group == GROUP && call.target.subresource.is_empty();
    if !is_access || call.user.is_master() || old.is_some_and(|old| only_garbage_fields(object, old)) {
        return Ok(());
    }
    match call.kind.kind.as_ref() {
        "Role" | "ClusterRole" => check_role(call, object, old),
        "RoleBinding" | "ClusterRoleBinding" => check_binding(call, object),
        _ => Ok(()),
    }
}

fn check_role(call: &Call, role: &Value, old: Option<&Value>) -> Result<()> {
    if may(call, "escalate", &call.kind.plural, &call.target.name) {
        return Ok(());
    }
    confirm(call, object::name(role), kinds::read::list(role, "rules"))?;
    // What a rule gathers may be anything at all.
    if gathers(role) || old.is_some_and(gathers) {
        let everything = [
            json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}),
            json!({"verbs": ["*"], "nonResourceURLs": ["*"]}),
        ];
        confirm(call, object::name(role), &everything)
            .map_err(|_| ApiError::forbidden(call.kind.qualified(), object::name(role), FULL_AUTHORITY))?;
    }
    Ok(())
}

fn check_binding(call: &Call, binding: &Value) -> Result<()> {
    let reference = kinds::read::get(binding, "roleRef");
    let name = kinds::read::text(reference, "name");
    let (plural, namespace) = match kinds::read::text(reference, "kind") {
        "ClusterRole" => ("clusterroles", ""),
        "Role" => ("roles", call.key_namespace()),
        // Validation has more to say about it.
        _ => return Ok(()),
    };
    if may(call, "bind", plural, name) {
        return Ok(());
    }
    let stored = call
        .api
        .store
        .get(&Collection::new(GROUP, plural), namespace, name);
    let qualified = Qualified {
        group: GROUP,
        name: plural,
    };
    let stored = stored.ok_or_else(|| ApiError::not_found(qualified, name))?;
    let role = object::parse(&stored)?;
    confirm(call, object::name(binding), kinds::read::list(&role, "rules"))
}

fn may(call: &Call, verb: &str, resource: &str, name: &str) -> bool {
    let attributes = Attributes::Resource {
        verb,
        group: GROUP,
        resource,
        subresource: "",
        namespace: call.key_namespace(),
        name,
    };
    call.api
        .authorizer
        .decide(&call.api.store, &call.user, attributes)
        .is_allowed()
}

/// Checks that the user holds everything the rules allow.
fn confirm(call: &Call, name: &str, rules: &[Value]) -> Result<()> {
    let authorizer = &call.api.authorizer;
    let rules_of_user = authorizer.rules_for(&call.api.store, &call.user, call.key_namespace());
    let held = rules_of_user.resources.iter().chain(&rules_of_user.paths);
    let held: Vec<Rule> = held.map(Rule::read).collect();
    let wanted: Vec<Rule> = rules.iter().map(Rule::read).collect();
    let missing = granting::missing(&held, &wanted);
    if missing.is_empty() {
        return Ok(());
    }
    let why = format!(
        "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        call.user.name,
        granting::quoted(&call.user.groups),
        missing.join("\n")
    );
    Err(ApiError::forbidden(call.kind.qualified(), name, &why))
}

fn gathers(role: &Value) -> bool {
    let rule = kinds::read::get(role, "aggregationRule");
    !kinds::read::list(rule, "clusterRoleSelectors").is_empty()
}

/// Whether a change touches only what the garbage collector writes, which may always finish its work.
fn only_garbage_fields(new: &Value, old: &Value) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        for field in ["ownerReferences", "finalizers", "managedFields"] {
            object::set_meta(&mut object, field, None);
        }
        object
    };
    rest(new) == rest(old)
}
