//! What must not be there: of pods that are gone, and of a cluster that is down.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;

/// No process, mount or control group that belongs to a cluster.
pub(crate) fn assert_none(data_dir: &Path) {
    let place = data_dir.display().to_string();
    // The kernel clears away processes and groups a moment after they are killed.
    for _ in 0..500 {
        if of_cluster(&place).is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("left behind: {:#?}", of_cluster(&place));
}

fn of_cluster(place: &str) -> Vec<String> {
    let mut found = Vec::new();
    for process in processes() {
        let line = command_line(&process);
        let is_internal = line.contains("__sandbox") || line.contains("__network");
        if is_internal && line.contains(place) {
            found.push(format!("process {}", line.trim()));
        }
        found.extend(mounts(&process, place));
    }
    found
}

/// What pods hold of a cluster that runs: counted before there are any and after they are gone.
#[derive(Debug)]
pub(crate) struct Held {
    /// Sandboxes, and everything whose command line has the mark of this test's containers.
    processes: Vec<String>,
    mounts: Vec<String>,
    control_groups: Vec<PathBuf>,
    network_namespaces: BTreeSet<PathBuf>,
    interfaces: BTreeSet<String>,
    addresses: Value,
    gpus: Value,
    folders: Vec<PathBuf>,
}

impl Held {
    /// Whether nothing is held that was not held before. What was on its way out then may be gone now.
    pub(crate) fn is_within(&self, before: &Self) -> bool {
        let both = |held: fn(&Self) -> &[PathBuf]| held(self).iter().all(|one| held(before).contains(one));
        self.processes.iter().all(|one| before.processes.contains(one))
            && self.mounts.iter().all(|one| before.mounts.contains(one))
            && both(|held| &held.control_groups)
            && both(|held| &held.folders)
            && self.network_namespaces.is_subset(&before.network_namespaces)
            && self.interfaces.is_subset(&before.interfaces)
            && self.addresses == before.addresses
            && self.gpus == before.gpus
    }

    /// `pods` are the uids of those there were.
    pub(crate) fn count(data_dir: &Path, pods: &[String], mark: &str) -> Self {
        let place = data_dir.display().to_string();
        let read = |file: &str| -> Value {
            let text = fs::read(data_dir.join(file)).unwrap_or_default();
            serde_json::from_slice(&text).unwrap_or_default()
        };
        let network = read("network/state.json");
        let is_ours = |line: &str| line.contains(&place) || line.contains(mark);
        let ours: Vec<PathBuf> = processes()
            .into_iter()
            .filter(|process| is_ours(&command_line(process)))
            .collect();
        Self {
            processes: ours
                .iter()
                .map(|process| command_line(process))
                .filter(|line| line.contains("__sandbox") || line.contains(mark))
                .collect(),
            mounts: processes()
                .iter()
                .flat_map(|process| mounts(process, &place))
                .filter(|mount| pods.iter().any(|pod| mount.contains(pod)))
                .collect(),
            control_groups: control_groups(Path::new("/sys/fs/cgroup"), pods),
            network_namespaces: ours.iter().flat_map(|process| namespaces(process)).collect(),
            interfaces: interfaces(&network["pid"]),
            addresses: network["addresses"].clone(),
            gpus: read("gpus.json")["pods"].clone(),
            folders: ["pods", "logs"]
                .iter()
                .flat_map(|name| fs::read_dir(data_dir.join(name)).into_iter().flatten().flatten())
                .map(|entry| entry.path())
                .collect(),
        }
    }
}

fn processes() -> Vec<PathBuf> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let is_process = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_process))
        .map(|entry| entry.path())
        .collect()
}

fn command_line(process: &Path) -> String {
    let line = fs::read(process.join("cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

fn mounts(process: &Path, place: &str) -> Vec<String> {
    let mounts = fs::read_to_string(process.join("mountinfo")).unwrap_or_default();
    let of_place = mounts.lines().filter(|line| line.contains(place));
    of_place.map(|line| format!("mount {line}")).collect()
}

fn control_groups(folder: &Path, pods: &[String]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            let name = entry.file_name().to_string_lossy().into_owned();
            if pods.iter().any(|pod| name.contains(pod)) {
                found.push(entry.path());
            }
            folders.push(entry.path());
        }
    }
    found
}

/// The network namespaces of a process: each of its threads may be in another.
fn namespaces(process: &Path) -> Vec<PathBuf> {
    let threads = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
    threads
        .filter_map(|thread| fs::read_link(thread.path().join("ns/net")).ok())
        .collect()
}

/// The interfaces that the network of a cluster has, wherever it has them.
fn interfaces(process: &Value) -> BTreeSet<String> {
    let tasks = format!("/proc/{process}/task");
    let threads = fs::read_dir(tasks).into_iter().flatten().flatten();
    let mut found = BTreeSet::new();
    for thread in threads {
        let table = fs::read_to_string(thread.path().join("net/dev")).unwrap_or_default();
        let names = table.lines().skip(2).filter_map(|line| line.split(':').next());
        found.extend(names.map(|name| name.trim().to_owned()));
    }
    found
}
