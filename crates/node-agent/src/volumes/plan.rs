//! What each volume of a pod is made of. Pure: the API comes in through [`VolumeSources`].

use std::path::{Path, PathBuf};

use containers::tier::Tier;
use k8s_openapi::api::core::v1::{
    self as api, EmptyDirVolumeSource, HostPathVolumeSource, NFSVolumeSource, PersistentVolume, Pod,
};
use kinds::quantity::Quantity;

use super::{
    claims::{self, Claimed},
    content::{self, File, Unavailable, VolumeSources},
    failure::Failure,
    host_path::HostPathType,
    nfs::Share,
    ownership::Ownership,
};

/// Where the volumes of one pod are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    /// `DATA_DIR/pods/UID/volumes`.
    pub folder: PathBuf,
    /// `DATA_DIR/volumes`: what the default storage class provisions.
    pub provisioned: PathBuf,
    /// `DATA_DIR`, which no pod may see.
    pub data_dir: PathBuf,
    pub tier: Tier,
}

/// The volumes of a pod, and whose they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub volumes: Vec<Volume>,
    pub ownership: Ownership,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its name in the pod.
    pub name: String,
    /// Its name in messages: that of the persistent volume, where there is one.
    pub title: String,
    pub source: Source,
    /// No container may write to it, whatever its mount says.
    pub is_read_only: bool,
}

/// What a volume is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A folder that lives as long as the pod.
    Folder,
    /// The same in memory.
    Memory {
        bytes: Option<u64>,
    },
    /// Files made from the API, replaced all at once when it changes.
    Files(Vec<File>),
    /// Something of the host's, as it is.
    Host {
        path: PathBuf,
        kind: HostPathType,
    },
    /// A folder that outlives the pod; made by us if the default storage class provisioned it.
    Persistent {
        path: PathBuf,
        is_provisioned: bool,
    },
    Share(Share),
}

/// Decides for every volume; otherwise says of every volume that cannot be decided why.
pub fn plan(pod: &Pod, sources: &impl VolumeSources, ground: &Ground) -> Result<Plan, Vec<Failure>> {
    let ownership = Ownership::of(pod, ground.tier);
    let context = Context {
        pod,
        ground,
        ownership,
        sources,
    };
    let listed = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let (mut volumes, mut failures) = (Vec::new(), Vec::new());
    for volume in listed {
        match context.volume(volume) {
            Ok(volume) => volumes.push(volume),
            Err(failure) => failures.push(failure),
        }
    }
    if failures.is_empty() {
        Ok(Plan { volumes, ownership })
    } else {
        Err(failures)
    }
}

struct Context<'a, S> {
    pod: &'a Pod,
    ground: &'a Ground,
    ownership: Ownership,
    sources: &'a S,
}

impl<S: VolumeSources> Context<'_, S> {
    fn volume(&self, volume: &api::Volume) -> Result<Volume, Failure> {
        let claimed = claims::resolve(self.pod, volume, self.sources).map_err(|error| Failure::Process {
            volume: volume.name.clone(),
            reason: error.to_string(),
        })?;
        match claimed {
            Some(claimed) => self.persistent(volume, &claimed),
            None => self.inline(volume),
        }
    }

    fn inline(&self, volume: &api::Volume) -> Result<Volume, Failure> {
        let failed = |error: &Unavailable| Failure::set_up(&volume.name, error);
        let files = content::files(self.pod, volume, &self.ownership, self.sources);
        let (source, is_read_only) = if let Some(files) = files.map_err(|error| failed(&error))? {
            (Ok(Source::Files(files)), true)
        } else if let Some(empty) = &volume.empty_dir {
            (self.empty(empty), false)
        } else if let Some(path) = &volume.host_path {
            (host(path), false)
        } else if let Some(nfs) = &volume.nfs {
            (Ok(share(nfs, None)), nfs.read_only == Some(true))
        } else {
            (Err(Unavailable::Unsupported(sort(volume))), false)
        };
        Ok(Volume {
            name: volume.name.clone(),
            title: volume.name.clone(),
            source: source.map_err(|error| failed(&error))?,
            is_read_only,
        })
    }

    fn empty(&self, source: &EmptyDirVolumeSource) -> Result<Source, Unavailable> {
        match source.medium.as_deref().unwrap_or_default() {
            "" => Ok(Source::Folder),
            "Memory" => Ok(Source::Memory {
                bytes: self.memory_size(source),
            }),
            _ => Err(Unavailable::Unsupported("HugePages emptyDir")),
        }
    }

    /// The smallest of what the volume, the pod and the node allow.
    fn memory_size(&self, source: &EmptyDirVolumeSource) -> Option<u64> {
        let bytes = |text: &str| {
            let quantity = Quantity::parse(text).ok()?;
            u64::try_from(quantity.value()).ok().filter(|bytes| *bytes > 0)
        };
        let own = source.size_limit.as_ref().and_then(|limit| bytes(&limit.0));
        let node = bytes(&self.sources.allocatable().memory);
        [own, memory_limit(self.pod, bytes), node]
            .into_iter()
            .flatten()
            .min()
    }

    fn persistent(&self, volume: &api::Volume, claimed: &Claimed) -> Result<Volume, Failure> {
        let title = claimed.volume.metadata.name.clone().unwrap_or_default();
        if claimed.is_for_one_pod() && self.sources.is_used_by_another_pod(&claimed.name) {
            return Err(Failure::SetUp {
                volume: title,
                reason: "volume uses the ReadWriteOncePod access mode and is already in use by another pod"
                    .to_owned(),
            });
        }
        let source = self
            .persistent_source(&claimed.volume)
            .map_err(|error| Failure::set_up(&title, &error))?;
        Ok(Volume {
            name: volume.name.clone(),
            title,
            source,
            is_read_only: claimed.is_read_only,
        })
    }

    fn persistent_source(&self, volume: &PersistentVolume) -> Result<Source, Unavailable> {
        let Some(spec) = &volume.spec else {
            return Err(Unavailable::Unsupported("empty"));
        };
        if let Some(source) = &spec.host_path {
            let path = Path::new(&source.path);
            if path.parent() == Some(&self.ground.provisioned) && path.file_name().is_some() {
                return Ok(Source::Persistent {
                    path: path.to_owned(),
                    is_provisioned: true,
                });
            }
            return host(source);
        }
        if let Some(source) = &spec.local {
            return Ok(Source::Persistent {
                path: PathBuf::from(&source.path),
                is_provisioned: false,
            });
        }
        if let Some(source) = &spec.nfs {
            return Ok(share(source, spec.mount_options.as_deref()));
        }
        let is_csi = spec.csi.is_some();
        Err(Unavailable::Unsupported(if is_csi {
            "csi"
        } else {
            "such persistent"
        }))
    }
}

/// What the containers of a pod may use together, if all of them are limited.
fn memory_limit(pod: &Pod, bytes: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let containers = &pod.spec.as_ref()?.containers;
    let limits = containers.iter().map(|container| {
        let limits = container.resources.as_ref()?.limits.as_ref()?;
        bytes(&limits.get("memory")?.0)
    });
    limits.sum()
}

fn host(source: &HostPathVolumeSource) -> Result<Source, Unavailable> {
    let kind = HostPathType::parse(source.type_.as_deref());
    let kind = kind.ok_or_else(|| {
        let named = source.type_.as_deref().unwrap_or_default();
        Unavailable::Field(format!("{named} is an invalid volume type"))
    })?;
    Ok(Source::Host {
        path: PathBuf::from(&source.path),
        kind,
    })
}

fn share(source: &NFSVolumeSource, options: Option<&[String]>) -> Source {
    Source::Share(Share {
        server: source.server.clone(),
        path: source.path.clone(),
        options: options.unwrap_or_default().to_vec(),
    })
}

/// What users call a volume that we cannot make.
fn sort(volume: &api::Volume) -> &'static str {
    match volume {
        api::Volume { image: Some(_), .. } => "image",
        api::Volume { csi: Some(_), .. } => "csi",
        api::Volume {
            git_repo: Some(_), ..
        } => "gitRepo",
        api::Volume { iscsi: Some(_), .. } => "iscsi",
        api::Volume { fc: Some(_), .. } => "fc",
        _ => "such",
    }
}

#[cfg(test)]
mod tests;
