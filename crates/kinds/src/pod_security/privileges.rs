//! What the processes of a container may do.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Violation,
    subject::{Subject, in_context},
    wording::{containers, quoted},
};
use crate::read::{list, text};

/// What container runtimes give by default.
const DEFAULT_CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

pub(super) fn privileged(pod: &Subject<'_>) -> Option<Violation> {
    let bad = pod.containers_where(|container| *in_context(container, &["privileged"]) == true);
    (!bad.is_empty()).then(|| {
        let detail = format!(
            "{} must not set securityContext.privileged=true",
            containers(&bad)
        );
        Violation::new("privileged", detail)
    })
}

pub(super) fn escalation(pod: &Subject<'_>) -> Option<Violation> {
    if pod.is_exempt_windows() {
        return None;
    }
    let bad =
        pod.containers_where(|container| *in_context(container, &["allowPrivilegeEscalation"]) != false);
    (!bad.is_empty()).then(|| {
        let detail = format!(
            "{} must set securityContext.allowPrivilegeEscalation=false",
            containers(&bad)
        );
        Violation::new("allowPrivilegeEscalation != false", detail)
    })
}

pub(super) fn added_capabilities(pod: &Subject<'_>) -> Option<Violation> {
    additions(pod, &DEFAULT_CAPABILITIES).map(|detail| Violation::new("non-default capabilities", detail))
}

pub(super) fn dropped_capabilities(pod: &Subject<'_>) -> Option<Violation> {
    if pod.is_exempt_windows() {
        return None;
    }
    let drops_all = |container: &Value| {
        list(in_context(container, &["capabilities"]), "drop")
            .iter()
            .any(|capability| *capability == "ALL")
    };
    let keeping = pod.containers_where(|container| !drops_all(container));
    let kept = (!keeping.is_empty()).then(|| {
        format!(
            r#"{} must set securityContext.capabilities.drop=["ALL"]"#,
            containers(&keeping)
        )
    });
    let details: Vec<String> = kept
        .into_iter()
        .chain(additions(pod, &["NET_BIND_SERVICE"]))
        .collect();
    (!details.is_empty()).then(|| Violation::new("unrestricted capabilities", details.join("; ")))
}

/// What containers add to their capabilities beyond those allowed.
fn additions(pod: &Subject<'_>, allowed: &[&str]) -> Option<String> {
    let forbidden = |container: &Value| -> BTreeSet<String> {
        list(in_context(container, &["capabilities"]), "add")
            .iter()
            .filter_map(Value::as_str)
            .filter(|capability| !allowed.contains(capability))
            .map(str::to_owned)
            .collect()
    };
    let bad = pod.containers_where(|container| !forbidden(container).is_empty());
    let added: BTreeSet<String> = pod.containers().flat_map(forbidden).collect();
    (!bad.is_empty()).then(|| {
        format!(
            "{} must not include {} in securityContext.capabilities.add",
            containers(&bad),
            quoted(added)
        )
    })
}

pub(super) fn proc_mount(pod: &Subject<'_>) -> Option<Violation> {
    let bad: Vec<(&str, &str)> = pod
        .containers()
        .map(|container| (text(container, "name"), in_context(container, &["procMount"])))
        .filter_map(|(name, mount)| Some((name, mount.as_str()?)))
        .filter(|(_, mount)| *mount != "Default")
        .collect();
    let names: Vec<&str> = bad.iter().map(|(name, _)| *name).collect();
    let mounts: BTreeSet<&str> = bad.iter().map(|(_, mount)| *mount).collect();
    (!bad.is_empty()).then(|| {
        let detail = format!(
            "{} must not set securityContext.procMount to {}",
            containers(&names),
            quoted(mounts)
        );
        Violation::new("procMount", detail)
    })
}
