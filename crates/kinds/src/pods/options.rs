//! What validation lets pass because an object already has it. Rules that were added later do not
//! lock up objects that were accepted before.

use manifests::field::Path;
use serde_json::Value;

use super::{affinity, all_containers, annotations, resources, security, topology_spread, volumes};
use crate::{
    checks::Errors,
    read::{at, flag, get, has, list},
};

/// What validation lets pass.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one rule that came later than some objects"
)]
pub struct Options {
    /// The object is a pod, not a template of one.
    pub is_pod: bool,
    pub allow_invalid_deletion_cost: bool,
    pub allow_invalid_selector_values: bool,
    pub allow_invalid_node_affinity_values: bool,
    pub allow_invalid_spread_selector: bool,
    pub allow_duplicate_spread_keys: bool,
    pub allow_indivisible_huge_pages: bool,
    pub allow_non_local_token_path: bool,
    pub allow_host_sysctls: bool,
    pub allow_any_selinux_change_policy: bool,
    pub allow_user_namespace_devices: bool,
}

impl Options {
    /// For a new template.
    pub const NEW: Self = Self {
        is_pod: false,
        allow_invalid_deletion_cost: false,
        allow_invalid_selector_values: false,
        allow_invalid_node_affinity_values: false,
        allow_invalid_spread_selector: false,
        allow_duplicate_spread_keys: false,
        allow_indivisible_huge_pages: false,
        allow_non_local_token_path: false,
        allow_host_sysctls: false,
        allow_any_selinux_change_policy: false,
        allow_user_namespace_devices: false,
    };

    /// For a new pod.
    pub const NEW_POD: Self = Self {
        is_pod: true,
        ..Self::NEW
    };

    /// For an object that was a pod or template with this metadata and spec before.
    pub fn after(meta: &Value, spec: &Value) -> Self {
        Self {
            is_pod: false,
            allow_invalid_deletion_cost: !annotations::has_valid_deletion_cost(get(meta, "annotations")),
            allow_invalid_selector_values: affinity::has_invalid_selector(spec),
            allow_invalid_node_affinity_values: affinity::has_invalid_node_value(spec),
            allow_invalid_spread_selector: topology_spread::has_invalid_selector(spec),
            allow_duplicate_spread_keys: topology_spread::has_invalid_label_keys(spec),
            allow_indivisible_huge_pages: resources::has_indivisible_huge_pages(spec),
            allow_non_local_token_path: has_non_local_token_path(spec),
            allow_host_sysctls: security::has_host_sysctl(spec),
            allow_any_selinux_change_policy: has(get(spec, "securityContext"), "seLinuxChangePolicy"),
            allow_user_namespace_devices: has_user_namespace_devices(spec),
        }
    }

    /// For a pod with this previous form.
    pub fn after_pod(old: &Value) -> Self {
        Self {
            is_pod: true,
            ..Self::after(get(old, "metadata"), get(old, "spec"))
        }
    }

    /// For a template with this previous form.
    pub fn after_template(old: &Value) -> Self {
        Self::after(get(old, "metadata"), get(old, "spec"))
    }
}

fn has_non_local_token_path(spec: &Value) -> bool {
    list(spec, "volumes")
        .iter()
        .flat_map(|volume| list(get(volume, "projected"), "sources"))
        .filter(|source| has(source, "serviceAccountToken"))
        .any(|source| {
            let mut errors = Errors::new();
            let path = at(source, &["serviceAccountToken", "path"])
                .as_str()
                .unwrap_or_default();
            volumes::paths::validate_local(path, &Path::root(), &mut errors);
            !errors.is_empty()
        })
}

fn has_user_namespace_devices(spec: &Value) -> bool {
    has(spec, "hostUsers")
        && !flag(spec, "hostUsers")
        && all_containers(spec).any(|container| !list(container, "volumeDevices").is_empty())
}
