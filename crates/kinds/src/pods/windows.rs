//! What pods for Windows may and may not say, and pods for Linux likewise.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::visit_containers;
use crate::{
    checks::{Errors, syntax},
    names,
    read::{flag, get, has, list, text},
};

const SPECIFICATION_LIMIT: usize = 64 * 1024;
const DOMAIN_LIMIT: usize = 256;
const USER_LIMIT: usize = 104;
const FOR_LINUX: &str = "windows options cannot be set for a linux pod";
const FOR_WINDOWS: &str = "cannot be set for a windows pod";

/// Checks `windowsOptions` of a security context; `path` is the context's.
pub(super) fn validate_options(context: &Value, path: &Path, errors: &mut Errors) {
    let options = get(context, "windowsOptions");
    if options.is_null() {
        return;
    }
    let path = path.child("windowsOptions");
    if has(options, "gmsaCredentialSpecName") {
        syntax(
            options,
            "gmsaCredentialSpecName",
            names::dns_subdomain,
            &path,
            errors,
        );
    }
    if let Some(specification) = get(options, "gmsaCredentialSpec").as_str() {
        let path = path.child("gmsaCredentialSpec");
        let detail = match specification.len() {
            0 => "gmsaCredentialSpec cannot be an empty string",
            length if length > SPECIFICATION_LIMIT => "gmsaCredentialSpec size must be under 64 KiB",
            _ => "",
        };
        if !detail.is_empty() {
            errors.push(FieldError::invalid(&path, &json!(specification), detail));
        }
    }
    if let Some(user) = get(options, "runAsUserName").as_str() {
        for detail in user_name_errors(user) {
            errors.push(FieldError::invalid(
                &path.child("runAsUserName"),
                &json!(user),
                detail,
            ));
        }
    }
}

/// What is wrong with `user` or `domain\user`.
fn user_name_errors(name: &str) -> Vec<String> {
    if name.is_empty() {
        return vec!["runAsUserName cannot be an empty string".to_owned()];
    }
    if name.contains(|c: char| c.is_ascii_control()) {
        return vec!["runAsUserName cannot contain control characters".to_owned()];
    }
    let (domain, user) = match name.split('\\').collect::<Vec<_>>()[..] {
        [user] => (None, user),
        [domain, user] => (Some(domain), user),
        _ => return vec!["runAsUserName cannot contain more than one backslash".to_owned()],
    };
    let mut errors = Vec::new();
    if domain.is_some_and(|domain| domain.len() >= DOMAIN_LIMIT) {
        errors.push(format!(
            "runAsUserName's Domain length must be under {DOMAIN_LIMIT} characters"
        ));
    }
    if domain.is_some_and(|domain| !is_net_bios_name(domain) && !is_dns_name(domain)) {
        errors.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format".to_owned());
    }
    if user.is_empty() {
        errors.push("runAsUserName's User cannot be empty".to_owned());
    } else if user.len() > USER_LIMIT {
        errors.push(format!(
            "runAsUserName's User length must not be longer than {USER_LIMIT} characters"
        ));
    }
    if !user.is_empty() && user.chars().all(|c| matches!(c, '.' | ' ')) {
        errors.push("runAsUserName's User cannot contain only periods or spaces".to_owned());
    }
    if user.contains([
        '"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']',
    ]) {
        errors.push(
            r#"runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]"#.to_owned(),
        );
    }
    errors
}

fn is_net_bios_name(name: &str) -> bool {
    let forbidden = ['\\', '/', ':', '*', '?', '"', '<', '>', '|'];
    let length = name.chars().count();
    (1..=15).contains(&length) && !name.contains(forbidden) && !name.starts_with('.')
}

fn is_dns_name(name: &str) -> bool {
    name.split('.').all(|label| {
        (1..=63).contains(&label.len())
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    })
}

/// Containers that run as host processes come all together or not at all.
pub(super) fn validate_host_process(spec: &Value, path: &Path, errors: &mut Errors) {
    let of = |context: &Value| get(get(context, "windowsOptions"), "hostProcess").as_bool();
    let of_pod = of(get(spec, "securityContext"));
    let (mut count, mut host_processes) = (0, 0);
    visit_containers(spec, path, |container, path| {
        count += 1;
        let of_container = of(get(container, "securityContext"));
        if let (Some(pod), Some(container)) = (of_pod, of_container)
            && pod != container
        {
            let path = path()
                .child("securityContext")
                .child("windowsOptions")
                .child("hostProcess");
            let detail = format!("pod hostProcess value must be identical if both are specified, was {pod}");
            errors.push(FieldError::invalid(&path, &json!(container), detail));
        }
        if of_container.or(of_pod) == Some(true) {
            host_processes += 1;
        }
    });
    if host_processes == 0 {
        return;
    }
    if host_processes != count {
        let detail =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.push(FieldError::invalid(path, &json!(""), detail));
    }
    if !flag(spec, "hostNetwork") {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.push(FieldError::invalid(
            &path.child("hostNetwork"),
            &json!(false),
            detail,
        ));
    }
}

/// Checks that a pod asks for nothing its operating system does not have.
pub(super) fn validate_os(spec: &Value, path: &Path, errors: &mut Errors) {
    let os = get(spec, "os");
    if os.is_null() {
        return;
    }
    match text(os, "name") {
        "" => errors.push(FieldError::required(&path.child("os").child("name"), "")),
        "linux" => validate_linux(spec, path, errors),
        "windows" => validate_windows(spec, path, errors),
        other => {
            let supported = ["linux", "windows"];
            errors.push(FieldError::not_supported(
                &path.child("os"),
                &json!(other),
                &supported,
            ));
        }
    }
}

fn validate_linux(spec: &Value, path: &Path, errors: &mut Errors) {
    let mut check = |context: &Value, path: &dyn Fn() -> Path| {
        if has(context, "windowsOptions") {
            errors.push(FieldError::forbidden(&path().child("windowsOptions"), FOR_LINUX));
        }
    };
    check(get(spec, "securityContext"), &|| path.child("securityContext"));
    visit_containers(spec, path, |container, path| {
        check(get(container, "securityContext"), &|| {
            path().child("securityContext")
        });
    });
}

fn validate_windows(spec: &Value, path: &Path, errors: &mut Errors) {
    // In the order of the real server's complaints; some fields stand beside the context.
    const OF_POD: &[(&str, bool)] = &[
        ("appArmorProfile", true),
        ("seLinuxOptions", true),
        ("hostUsers", false),
        ("hostPID", false),
        ("hostIPC", false),
        ("seccompProfile", true),
        ("fsGroup", true),
        ("fsGroupChangePolicy", true),
        ("sysctls", true),
        ("shareProcessNamespace", false),
        ("runAsUser", true),
        ("runAsGroup", true),
        ("supplementalGroups", true),
        ("supplementalGroupsPolicy", true),
        ("seLinuxChangePolicy", true),
    ];
    const OF_CONTAINER: &[&str] = &[
        "appArmorProfile",
        "seLinuxOptions",
        "seccompProfile",
        "capabilities",
        "readOnlyRootFilesystem",
        "privileged",
        "allowPrivilegeEscalation",
        "procMount",
        "runAsUser",
        "runAsGroup",
    ];
    let context = get(spec, "securityContext");
    for (key, in_context) in OF_POD {
        let set = match *key {
            "hostPID" | "hostIPC" => flag(spec, key),
            "sysctls" => !list(context, key).is_empty(),
            _ if *in_context => has(context, key),
            _ => has(spec, key),
        };
        if set {
            let path = if *in_context {
                path.child("securityContext")
            } else {
                path.clone()
            };
            errors.push(FieldError::forbidden(&path.child(key), FOR_WINDOWS));
        }
    }
    visit_containers(spec, path, |container, path| {
        let context = get(container, "securityContext");
        for key in OF_CONTAINER.iter().filter(|key| has(context, key)) {
            errors.push(FieldError::forbidden(
                &path().child("securityContext").child(key),
                FOR_WINDOWS,
            ));
        }
    });
}
