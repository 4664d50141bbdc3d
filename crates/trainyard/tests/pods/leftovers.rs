//! What must not be there when a cluster is down.

use std::{fs, path::Path, time::Duration};

/// No process, mount or control group that belongs to a cluster.
pub(crate) fn assert_none(data_dir: &Path) {
    let place = data_dir.display().to_string();
    // The kernel clears away processes and groups a moment after they are killed.
    for _ in 0..500 {
        if found(&place).is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("left behind: {:#?}", found(&place));
}

fn found(place: &str) -> Vec<String> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let is_internal = line.contains("__sandbox") || line.contains("__network");
        if is_internal && line.contains(place) {
            found.push(format!("process {}", line.trim()));
        }
        let mounts = fs::read_to_string(process.path().join("mountinfo")).unwrap_or_default();
        found.extend(
            mounts
                .lines()
                .filter(|line| line.contains(place))
                .map(|line| format!("mount {line}")),
        );
    }
    found
}
