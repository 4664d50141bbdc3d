//! Volumes: each has a name and exactly one source.

mod claim_template;
mod files;
mod iscsi;
pub(crate) mod paths;
mod projected;
mod shared;

use std::collections::HashSet;

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{Options, mounts::Volumes};
use crate::{
    checks::{Errors, require, require_syntax},
    field::Field,
    names,
    quantity::Quantity,
    read::{get, has, list, text},
    volume_sources,
};

/// A kind of volume, in the order in which the real server looks at them.
struct Source {
    key: &'static str,
    /// Where complaints about a second source point to, if not to the key.
    shown: &'static str,
    /// Where complaints about the source itself point to, if not to the key.
    inside: &'static str,
    check: Check,
}

enum Check {
    /// These fields must be there.
    Required(&'static [&'static str]),
    /// The source is checked as in a persistent volume.
    Shared(fn(&Field<'_>, &mut Errors)),
    By(fn(&Value, Options, &Path, &mut Errors)),
}

impl Source {
    const fn required(key: &'static str, fields: &'static [&'static str]) -> Self {
        Self {
            key,
            shown: key,
            inside: key,
            check: Check::Required(fields),
        }
    }

    const fn shared(key: &'static str, check: fn(&Field<'_>, &mut Errors)) -> Self {
        Self {
            key,
            shown: key,
            inside: key,
            check: Check::Shared(check),
        }
    }

    const fn by(key: &'static str, check: fn(&Value, Options, &Path, &mut Errors)) -> Self {
        Self {
            key,
            shown: key,
            inside: key,
            check: Check::By(check),
        }
    }
}

// The odd spellings (`persistentDisk`, `cephFS`, `downwarAPI`) are the real server's.
static SOURCES: &[Source] = &[
    Source::by("emptyDir", validate_empty_dir),
    Source::shared("hostPath", volume_sources::validate_host_path),
    Source::by("gitRepo", shared::validate_git_repo),
    Source {
        inside: "persistentDisk",
        ..Source::shared("gcePersistentDisk", |source, errors| {
            volume_sources::validate_disk(source, "pdName", errors);
        })
    },
    Source::shared("awsElasticBlockStore", |source, errors| {
        volume_sources::validate_disk(source, "volumeID", errors);
    }),
    Source::by("secret", files::validate_secret),
    Source::shared("nfs", volume_sources::validate_nfs),
    Source::by("iscsi", iscsi::validate),
    Source::required("glusterfs", &["endpoints", "path"]),
    Source::shared("flocker", volume_sources::validate_flocker),
    Source::required("persistentVolumeClaim", &["claimName"]),
    Source::required("rbd", &["monitors", "image"]),
    Source::by("cinder", shared::validate_cinder),
    Source {
        shown: "cephFS",
        ..Source::required("cephfs", &["monitors"])
    },
    Source::shared("quobyte", volume_sources::validate_quobyte),
    Source {
        shown: "downwarAPI",
        ..Source::by("downwardAPI", files::validate_downward_api)
    },
    Source::shared("fc", volume_sources::validate_fibre_channel),
    Source::shared("flexVolume", volume_sources::validate_flex),
    Source::by("configMap", files::validate_config_map),
    Source::required("azureFile", &["secretName", "shareName"]),
    Source::required("vsphereVolume", &["volumePath"]),
    Source::required("photonPersistentDisk", &["pdID"]),
    Source::required("portworxVolume", &["volumeID"]),
    Source::shared("azureDisk", volume_sources::validate_azure_disk),
    Source::by("storageos", shared::validate_storage_os),
    Source::by("projected", projected::validate),
    Source::required("scaleIO", &["gateway", "system", "volumeName"]),
    Source::by("csi", shared::validate_csi),
    Source::by("ephemeral", claim_template::validate_ephemeral),
    Source::by("image", validate_image),
];

/// Whether a volume names any source at all.
pub(super) fn has_source(volume: &Value) -> bool {
    SOURCES.iter().any(|source| has(volume, source.key))
}

/// Checks the volumes of a pod and answers with those that containers may mount. A template has no
/// name yet; a pod's name (`meta`) decides over the names of claims made for it.
pub(super) fn validate<'a>(
    spec: &'a Value,
    meta: Option<&Value>,
    options: Options,
    path: &Path,
    errors: &mut Errors,
) -> Volumes<'a> {
    let volumes = list(spec, "volumes");
    let pod_name = meta.map(|meta| text(meta, "name")).unwrap_or_default();
    let made_claims = claims_made_for(pod_name, volumes);
    let mut usable = Volumes::new();
    for (i, volume) in volumes.iter().enumerate() {
        let path = path.child("volumes").index(i);
        let name = text(volume, "name");
        let before = errors.len();
        validate_source(volume, pod_name, options, &path, errors);
        require_syntax(volume, "name", names::dns_label, &path, errors);
        if usable.contains_key(name) {
            errors.push(FieldError::duplicate(&path.child("name"), &json!(name)));
        }
        if errors.len() == before {
            usable.insert(name, volume);
        }
        let claim = text(get(volume, "persistentVolumeClaim"), "claimName");
        if made_claims.contains(claim) {
            let path = path.child("persistentVolumeClaim").child("claimName");
            let detail = "must not reference a PVC that gets created for an ephemeral volume";
            errors.push(FieldError::invalid(&path, &json!(claim), detail));
        }
    }
    usable
}

fn claims_made_for(pod_name: &str, volumes: &[Value]) -> HashSet<String> {
    volumes
        .iter()
        .filter(|volume| !pod_name.is_empty() && has(volume, "ephemeral"))
        .map(|volume| format!("{pod_name}-{}", text(volume, "name")))
        .collect()
}

fn validate_source(volume: &Value, pod_name: &str, options: Options, path: &Path, errors: &mut Errors) {
    let mut found = false;
    for source in SOURCES.iter().filter(|source| has(volume, source.key)) {
        let value = get(volume, source.key);
        if found {
            let detail = "may not specify more than 1 volume type";
            errors.push(FieldError::forbidden(&path.child(source.shown), detail));
        } else {
            found = true;
            let inside = path.child(source.inside);
            match source.check {
                Check::Required(fields) => {
                    volume_sources::require(&Field::at(value, &inside), fields, errors);
                }
                Check::Shared(check) => check(&Field::at(value, &inside), errors),
                Check::By(check) => check(value, options, &inside, errors),
            }
            if source.key == "ephemeral" {
                claim_template::validate_claim_name(text(volume, "name"), pod_name, path, errors);
            }
        }
        if source.key == "iscsi" {
            iscsi::validate_name(value, text(volume, "name"), path, errors);
        }
    }
    if !found {
        errors.push(FieldError::required(path, "must specify a volume type"));
    }
}

fn validate_empty_dir(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    let limit = Quantity::parse(text(source, "sizeLimit"));
    if limit.is_ok_and(|limit| limit.is_negative()) {
        let detail = "SizeLimit field must be a valid resource quantity";
        errors.push(FieldError::forbidden(&path.child("sizeLimit"), detail));
    }
}

fn validate_image(source: &Value, options: Options, path: &Path, errors: &mut Errors) {
    if options.is_pod {
        require(source, "reference", path, errors);
    }
    super::containers::validate_pull_policy(source, "pullPolicy", path, errors);
}
