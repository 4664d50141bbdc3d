//! What plain processes cannot be given, said before they run without it: they have no files, names or
//! settings of their own.

use k8s_openapi::api::core::v1::{Container, ContainerPort, Pod, Volume, VolumeMount};

use super::Rejection;
use crate::{images, lifecycle::roles};

/// Where every container has the token of its account, whether it wants it or not.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Why the pod cannot be plain processes, if it cannot. `host_images`: every image stands for this
/// machine's own file system.
pub(super) fn rejection(pod: &Pod, host_images: bool) -> Option<Rejection> {
    let what = of_pod(pod).or_else(|| {
        let mut containers = roles::init(pod).iter().chain(roles::work(pod));
        containers.find_map(|container| {
            let what = of_container(pod, container, host_images)?;
            Some(format!("container \"{}\" has {what}", container.name))
        })
    })?;
    Some(Rejection::new(
        "PodFeatureUnsupported",
        format!("{what}, which plain processes cannot have: this machine allows no namespaces"),
    ))
}

fn of_pod(pod: &Pod) -> Option<String> {
    let spec = roles::spec(pod);
    let context = spec.security_context.as_ref();
    let wishes = [
        (
            context.is_some_and(|context| is_some(context.sysctls.as_deref())),
            "sysctls",
        ),
        (is_some(spec.host_aliases.as_deref()), "host aliases"),
        (spec.dns_config.is_some(), "a DNS configuration"),
        (spec.host_users == Some(false), "users of its own"),
    ];
    let wish = wishes.into_iter().find(|(is_wanted, _)| *is_wanted)?;
    Some(format!("the pod has {}", wish.1))
}

fn is_some<T>(list: Option<&[T]>) -> bool {
    list.is_some_and(|list| !list.is_empty())
}

fn of_container(pod: &Pod, container: &Container, host_images: bool) -> Option<String> {
    let image = container.image.as_deref().unwrap_or_default();
    if !host_images && image != images::HOST {
        return Some(format!("the image \"{image}\""));
    }
    let context = container.security_context.as_ref();
    if context.is_some_and(|context| context.read_only_root_filesystem == Some(true)) {
        return Some("a read-only root".to_owned());
    }
    let mut ports = container.ports.iter().flatten();
    let elsewhere = |port: &&ContainerPort| port.host_port.is_some_and(|host| host != port.container_port);
    if let Some(port) = ports.find(elsewhere) {
        let host = port.host_port.unwrap_or_default();
        return Some(format!("host port {host} for its port {}", port.container_port));
    }
    let mut mounts = container.volume_mounts.iter().flatten();
    let mount = mounts.find(|mount| mount.mount_path != ACCOUNT && !is_there(pod, mount))?;
    Some(format!("a volume at {}", mount.mount_path))
}

/// A folder of the host at its own place needs no mount.
fn is_there(pod: &Pod, mount: &VolumeMount) -> bool {
    let mut volumes = roles::spec(pod).volumes.iter().flatten();
    let is_at_its_place = |volume: &Volume| {
        let source = volume.host_path.as_ref();
        source.is_some_and(|source| source.path == mount.mount_path)
    };
    let is_whole = mount.sub_path.is_none() && mount.sub_path_expr.is_none();
    let is_writable = mount.read_only != Some(true);
    is_whole && is_writable && volumes.any(|volume| volume.name == mount.name && is_at_its_place(volume))
}
