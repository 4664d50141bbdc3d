//! What a registry or a layout says an image is made of: indexes and manifests, in OCI's form or
//! Docker's.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{digest::Digest, platform::Platform};

/// The largest manifest or configuration that is read.
pub(crate) const MAX_DOCUMENT: u64 = 8 << 20;

/// Something stored under its digest.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    #[serde(default)]
    pub(crate) media_type: String,
    pub(crate) digest: Digest,
    #[serde(default)]
    pub(crate) size: u64,
    pub(crate) platform: Option<Platform>,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
}

/// An image for one platform, or several to choose from.
#[derive(Debug)]
pub(crate) enum Manifest {
    Index(Vec<Descriptor>),
    Image {
        config: Descriptor,
        layers: Vec<Descriptor>,
    },
}

/// Why there is no image in a document.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("the manifest is not JSON of the known form")]
    Json(#[source] serde_json::Error),
    #[error("manifests of type `{0}` are not supported")]
    MediaType(String),
    #[error("no image for {wanted}: there is {offered}")]
    Platform { wanted: String, offered: String },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    #[serde(default)]
    schema_version: u32,
    #[serde(default)]
    media_type: String,
    manifests: Option<Vec<Descriptor>>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
}

impl Manifest {
    /// Both forms are told apart by what they have: old layouts do not say what they are.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let document: Document = serde_json::from_slice(bytes).map_err(ManifestError::Json)?;
        match (document.manifests, document.config, document.layers) {
            (Some(manifests), None, None) => Ok(Self::Index(manifests)),
            (None, Some(config), Some(layers)) => Ok(Self::Image { config, layers }),
            _ if document.media_type.is_empty() => Err(ManifestError::MediaType(format!(
                "schema version {}",
                document.schema_version
            ))),
            _ => Err(ManifestError::MediaType(document.media_type)),
        }
    }
}

/// The image among several that runs on `machine`. One that does not say what it is for may be it.
pub(crate) fn choose<'a>(
    manifests: &'a [Descriptor],
    machine: &Platform,
) -> Result<&'a Descriptor, ManifestError> {
    let fit = |descriptor: &Descriptor| match &descriptor.platform {
        Some(platform) => machine.fit(platform),
        None => Some(2),
    };
    manifests
        .iter()
        .filter_map(|descriptor| Some((fit(descriptor)?, descriptor)))
        .min_by_key(|(fit, _)| *fit)
        .map(|(_, descriptor)| descriptor)
        .ok_or_else(|| ManifestError::Platform {
            wanted: machine.to_string(),
            offered: offered(manifests),
        })
}

/// What there is instead, for people; attestations are for `unknown`.
fn offered(manifests: &[Descriptor]) -> String {
    let platforms: Vec<String> = manifests
        .iter()
        .filter_map(|descriptor| descriptor.platform.as_ref())
        .filter(|platform| platform.os != "unknown")
        .map(Platform::to_string)
        .collect();
    if platforms.is_empty() {
        "none".to_owned()
    } else {
        platforms.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn index(platforms: &[(&str, &str, &str)]) -> Vec<Descriptor> {
        let manifests: Vec<_> = platforms
            .iter()
            .enumerate()
            .map(|(index, (os, architecture, variant))| {
                json!({
                    "digest": Digest::sha256(&[index as u8]),
                    "platform": { "os": os, "architecture": architecture, "variant": variant },
                })
            })
            .collect();
        let text = json!({ "schemaVersion": 2, "manifests": manifests }).to_string();
        match Manifest::parse(text.as_bytes()).unwrap() {
            Manifest::Index(manifests) => manifests,
            Manifest::Image { .. } => panic!("an index"),
        }
    }

    fn amd64() -> Platform {
        Platform {
            os: "linux".into(),
            architecture: "amd64".into(),
            variant: None,
        }
    }

    #[test]
    fn the_plain_variant_for_this_machine_is_chosen() {
        let manifests = index(&[
            ("linux", "arm64", "v8"),
            ("windows", "amd64", ""),
            ("linux", "amd64", "v3"),
            ("linux", "amd64", ""),
        ]);
        let chosen = choose(&manifests, &amd64()).unwrap();
        assert_eq!(chosen.digest, Digest::sha256(&[3]));
    }

    #[test]
    fn without_one_it_is_said_what_there_is() {
        let manifests = index(&[("linux", "arm64", "v8"), ("unknown", "unknown", "")]);
        let error = choose(&manifests, &amd64()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no image for linux/amd64: there is linux/arm64/v8"
        );
    }

    #[test]
    fn the_first_docker_schema_is_refused_by_name() {
        let text = json!({ "schemaVersion": 1, "fsLayers": [] }).to_string();
        let error = Manifest::parse(text.as_bytes()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "manifests of type `schema version 1` are not supported"
        );
    }
}
