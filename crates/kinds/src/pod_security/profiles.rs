//! The profiles that confine containers: AppArmor, SELinux and seccomp.

use std::collections::BTreeSet;

use manifests::field;
use serde_json::Value;

use super::{
    Violation,
    policy::Version,
    subject::{Subject, in_context},
    wording::{containers, plural, quoted},
};
use crate::read::{entries, get, text};

const APP_ARMOR_PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";
const SECCOMP: &[&str] = &["seccompProfile"];
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_PREFIX: &str = "container.seccomp.security.alpha.kubernetes.io/";

/// Whether a profile is set, and to something else than the runtime's own or one of the node's.
fn is_unconfined(profile: &Value) -> bool {
    !profile.is_null() && !["RuntimeDefault", "Localhost"].contains(&text(profile, "type"))
}

/// The types of the profiles that do not confine.
fn unconfined_types<'a>(pod: &Subject<'a>, field: &[&str]) -> BTreeSet<&'a str> {
    pod.values(field)
        .filter(|profile| is_unconfined(profile))
        .map(|profile| text(profile, "type"))
        .collect()
}

pub(super) fn app_armor(pod: &Subject<'_>) -> Option<Violation> {
    const FIELD: &[&str] = &["appArmorProfile"];
    let mut setters = pod.setters(FIELD, is_unconfined);
    let mut values: Vec<String> = unconfined_types(pod, FIELD)
        .into_iter()
        .map(str::to_owned)
        .collect();
    let is_allowed =
        |value: &str| ["", "runtime/default"].contains(&value) || value.starts_with("localhost/");
    let annotations: BTreeSet<String> = entries(pod.metadata, "annotations")
        .filter(|(key, _)| key.starts_with(APP_ARMOR_PREFIX))
        .filter_map(|(key, value)| Some((key, value.as_str()?)))
        .filter(|(_, value)| !is_allowed(value))
        .map(|(key, value)| annotation(key, value))
        .collect();
    if !annotations.is_empty() {
        setters.push(plural("annotation", "annotations", annotations.len()).to_owned());
        values.extend(annotations);
    }
    (!setters.is_empty()).then(|| {
        let reason = plural(
            "forbidden AppArmor profile",
            "forbidden AppArmor profiles",
            values.len(),
        );
        let setters = setters.join(" and ");
        let detail = format!(
            "{setters} must not set AppArmor profile type to {}",
            quoted(values)
        );
        Violation::new(reason, detail)
    })
}

pub(super) fn se_linux(pod: &Subject<'_>) -> Option<Violation> {
    const FIELD: &[&str] = &["seLinuxOptions"];
    let is_bad_type = |options: &Value| match text(options, "type") {
        "" | "container_t" | "container_init_t" | "container_kvm_t" => false,
        "container_engine_t" => pod.version < Version::Minor(31),
        _ => true,
    };
    let sets = |options: &Value, field| !text(options, field).is_empty();
    let setters = pod.setters(FIELD, |options| {
        is_bad_type(options) || sets(options, "user") || sets(options, "role")
    });
    if setters.is_empty() {
        return None;
    }
    let types: BTreeSet<&str> = pod
        .values(FIELD)
        .filter(|options| is_bad_type(options))
        .map(|options| text(options, "type"))
        .collect();
    let types =
        (!types.is_empty()).then(|| format!("{} {}", plural("type", "types", types.len()), quoted(types)));
    let others = ["user", "role"]
        .into_iter()
        .filter(|field| pod.values(FIELD).any(|options| sets(options, field)))
        .map(|field| format!("{field} may not be set"));
    let faults: Vec<String> = types.into_iter().chain(others).collect();
    let detail = format!(
        "{} set forbidden securityContext.seLinuxOptions: {}",
        setters.join(" and "),
        faults.join("; ")
    );
    Some(Violation::new("seLinuxOptions", detail))
}

/// A profile is not needed, but if there is one it confines.
pub(super) fn seccomp(pod: &Subject<'_>) -> Option<Violation> {
    if pod.version < Version::Minor(19) {
        return seccomp_annotations(pod);
    }
    let setters = pod.setters(SECCOMP, is_unconfined);
    (!setters.is_empty()).then(|| {
        let detail = format!(
            "{} must not set securityContext.seccompProfile.type to {}",
            setters.join(" and "),
            quoted(unconfined_types(pod, SECCOMP))
        );
        Violation::new("seccompProfile", detail)
    })
}

/// Before there were fields, annotations said it.
fn seccomp_annotations(pod: &Subject<'_>) -> Option<Violation> {
    let is_allowed = |value: &str| {
        ["runtime/default", "docker/default"].contains(&value) || value.starts_with("localhost/")
    };
    let of_containers = pod
        .containers()
        .map(|container| format!("{SECCOMP_PREFIX}{}", text(container, "name")));
    let forbidden: BTreeSet<String> = std::iter::once(SECCOMP_POD.to_owned())
        .chain(of_containers)
        .filter_map(|key| {
            let value = get(get(pod.metadata, "annotations"), &key).as_str()?;
            (!is_allowed(value)).then(|| annotation(&key, value))
        })
        .collect();
    (!forbidden.is_empty()).then(|| {
        let noun = plural("annotation", "annotations", forbidden.len());
        let forbidden: Vec<String> = forbidden.into_iter().collect();
        Violation::new(
            "seccompProfile",
            format!("forbidden {noun} {}", forbidden.join(", ")),
        )
    })
}

fn annotation(key: &str, value: &str) -> String {
    format!("{key}={}", field::quoted(value))
}

/// Every container has a profile that confines it, its own or that of its pod.
pub(super) fn required_seccomp(pod: &Subject<'_>) -> Option<Violation> {
    if pod.is_exempt_windows() {
        return None;
    }
    let unconfined = seccomp(pod);
    let of_pod = in_context(pod.spec, SECCOMP);
    if unconfined.is_some() || !of_pod.is_null() {
        return unconfined;
    }
    let silent = pod.containers_where(|container| in_context(container, SECCOMP).is_null());
    (!silent.is_empty()).then(|| {
        let detail = format!(
            r#"pod or {} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost""#,
            containers(&silent)
        );
        Violation::new("seccompProfile", detail)
    })
}
