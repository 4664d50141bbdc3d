//! Pod security: the labels of a namespace say what its pods may ask for. Pods that ask for more are
//! refused; templates of them, and pods that were there before the label, are warned of.

use kinds::{
    pod_security::{self, Policies},
    read::{get, text},
};
use serde_json::Value;
use store::Collection;

use crate::{
    call::Call,
    derived,
    error::{ApiError, Result},
    object,
    writes::Writer,
};

/// Subresources of pods that change what runs in them.
const OF_CONTENT: [&str; 3] = ["", "ephemeralcontainers", "resize"];

pub(crate) fn check(writer: &Writer<'_>, object: &Value, old: Option<&Value>) -> Result<()> {
    let call = writer.call;
    let subresource = call.target.subresource.as_str();
    if call.kind.is("", "Pod") {
        if OF_CONTENT.contains(&subresource) {
            return check_pod(writer, object, old);
        }
    } else if subresource.is_empty() {
        if call.kind.is("", "Namespace") {
            return check_namespace(writer, object, old);
        }
        if let Some(template) = pod_security::template_of(&call.kind.group, &call.kind.kind, object) {
            let policies = policies_here(call)?;
            warn(writer, policies, template);
        }
    }
    Ok(())
}

fn check_pod(writer: &Writer<'_>, pod: &Value, old: Option<&Value>) -> Result<()> {
    if old.is_some_and(|old| !pod_security::is_significant_update(pod, old)) {
        return Ok(());
    }
    let call = writer.call;
    let policies = policies_here(call)?;
    let violations = pod_security::violations(policies.enforce, get(pod, "metadata"), get(pod, "spec"));
    if violations.is_empty() {
        warn(writer, policies, pod);
        return Ok(());
    }
    let why = format!(
        "violates PodSecurity \"{}\": {}",
        policies.enforce,
        pod_security::describe(&violations)
    );
    Err(ApiError::forbidden(
        call.kind.qualified(),
        object::name(pod),
        &why,
    ))
}

/// What holds in the namespace of the request. Labels that make no sense cannot be set; where they
/// are found nevertheless, the strictest policy is enforced.
fn policies_here(call: &Call) -> Result<Policies> {
    let namespaces = Collection::new("", "namespaces");
    let stored = call.api.store.get(&namespaces, "", call.key_namespace());
    Ok(match stored {
        Some(namespace) => policies_of(&*derived::parsed(&namespace)?).0,
        None => policies_of(&Value::Null).0,
    })
}

fn policies_of(namespace: &Value) -> (Policies, Vec<manifests::field::FieldError>) {
    pod_security::policies(get(get(namespace, "metadata"), "labels"))
}

fn warn(writer: &Writer<'_>, policies: Policies, pod: &Value) {
    let violations = pod_security::violations(policies.warn, get(pod, "metadata"), get(pod, "spec"));
    if !violations.is_empty() {
        writer.warn([format!(
            "would violate PodSecurity \"{}\": {}",
            policies.warn,
            pod_security::describe(&violations)
        )]);
    }
}

/// Labels must make sense once they are set or changed.
fn check_namespace(writer: &Writer<'_>, namespace: &Value, old: Option<&Value>) -> Result<()> {
    let call = writer.call;
    let name = text(get(namespace, "metadata"), "name");
    let (policies, errors) = policies_of(namespace);
    let before = old.map(policies_of);
    if !errors.is_empty() && before.as_ref().is_none_or(|(_, known)| *known != errors) {
        return Err(ApiError::invalid(
            &call.kind.group,
            &call.kind.kind,
            name,
            &errors,
        ));
    }
    if let Some((before, _)) = before
        && policies.enforce.may_forbid_more_than(before.enforce)
    {
        let pods = pods_in(call, name);
        writer.warn(pod_security::warnings_about_existing(
            name,
            policies.enforce,
            &pods,
        ));
    }
    Ok(())
}

fn pods_in(call: &Call, namespace: &str) -> Vec<Value> {
    let pods = call
        .api
        .store
        .list(&Collection::new("", "pods"), Some(namespace), None, None);
    pods.items
        .iter()
        .filter_map(|stored| object::readable(stored))
        .collect()
}
