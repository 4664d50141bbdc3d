//! What this machine has, as its kernel tells.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, UdpSocket},
    path::Path,
    thread,
};

use crate::environment::Resources;

/// Read once, at the start.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) processors: usize,
    pub(crate) memory_bytes: i64,
    pub(crate) storage_bytes: u64,
    pub(crate) address: IpAddr,
    pub(crate) machine_id: String,
    pub(crate) boot_id: String,
    pub(crate) kernel: String,
    pub(crate) system: String,
}

impl Facts {
    pub(crate) fn read(data_dir: &Path) -> Self {
        let line = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        Self {
            processors: thread::available_parallelism().map_or(1, std::num::NonZero::get),
            memory_bytes: memory().unwrap_or_default(),
            storage_bytes: storage(data_dir),
            address: address(),
            machine_id: line("/etc/machine-id"),
            boot_id: line("/proc/sys/kernel/random/boot_id"),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            system: system().unwrap_or_else(|| "Linux".to_owned()),
        }
    }

    /// As quantities, for what a container without limits may use.
    pub(crate) fn resources(&self) -> Resources {
        Resources {
            cpu: self.processors.to_string(),
            memory: format!("{}Ki", self.memory_bytes / 1024),
            ephemeral_storage: format!("{}Ki", self.storage_bytes / 1024),
        }
    }
}

fn memory() -> Option<i64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: i64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

fn storage(path: &Path) -> u64 {
    rustix::fs::statvfs(path).map_or(0, |disk| disk.f_blocks * disk.f_frsize)
}

/// The free space of the disk of a folder, where that is so little that no pod can work; `None` where there is more, or
/// where that is not known.
pub(crate) fn last_space(path: &Path) -> Option<u64> {
    /// As little as the store and the files of one pod need.
    const LEAST: u64 = 1 << 20;
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize)).filter(|free| *free < LEAST)
}

/// The address from which this machine would reach others. No packet is sent.
fn address() -> IpAddr {
    let route = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9))?;
        socket.local_addr()
    };
    route().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |address| address.ip())
}

fn system() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}
