//! What a container gets to see of GPUs: the device nodes it may open, and variables that name them.
//!
//! In namespaces the nodes decide: those that are not given are not there. The variables tell the
//! libraries, and are all there is where containers are plain processes.

use std::path::{Path, PathBuf};

use containers::spec::Device;

use super::reading::Gpu;

/// Nodes that every user of a GPU needs, where the driver has them.
const CONTROL: [&str; 4] = ["nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    pub devices: Vec<Device>,
    /// They replace variables of the same name.
    pub env: Vec<(String, String)>,
}

/// What a container with these GPUs gets. One without any is told so, on a machine that has some.
pub fn access(given: &[Gpu], dev: &Path) -> Access {
    let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    if given.is_empty() {
        let env = vec![
            variable("NVIDIA_VISIBLE_DEVICES", "void"),
            variable("CUDA_VISIBLE_DEVICES", ""),
        ];
        return Access {
            devices: Vec::new(),
            env,
        };
    }
    let uuids: Vec<&str> = given.iter().map(|gpu| gpu.uuid.as_str()).collect();
    let uuids = uuids.join(",");
    let own = given.iter().map(|gpu| format!("nvidia{}", gpu.minor));
    let control = CONTROL.iter().filter(|name| dev.join(name).exists());
    let names = own.chain(control.map(|name| (*name).to_owned()));
    Access {
        devices: names.map(|name| device(dev, &name)).collect(),
        env: vec![
            variable("NVIDIA_VISIBLE_DEVICES", &uuids),
            // By name: numbers count what a container sees, which differs from what the host sees.
            variable("CUDA_VISIBLE_DEVICES", &uuids),
        ],
    }
}

fn device(dev: &Path, name: &str) -> Device {
    Device {
        source: dev.join(name),
        target: PathBuf::from("/dev").join(name),
    }
}
