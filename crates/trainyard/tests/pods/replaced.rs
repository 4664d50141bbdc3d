//! The program's file is removed or replaced under a cluster that runs.

use std::{
    fs, io,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use serde_json::json;

use crate::cluster::{Cluster, Who};

/// The program under another name; a file system that has no second names has a second file.
fn another_name(path: &Path) -> io::Result<()> {
    let program = env!("CARGO_BIN_EXE_trainyard");
    fs::hard_link(program, path).or_else(|_| fs::copy(program, path).map(drop))
}

async fn pods_run_on_when_the_program_is_gone(who: Who) {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("trainyard");
    another_name(&program).unwrap();
    let cluster = Cluster::start_from(&program, who, &[]).await;
    let runs = async |name: &str| {
        let pod = cluster.run(name, "echo $0 runs", json!({})).await;
        cluster.until_phase(name, "Succeeded").await;
        cluster.until_text(&pod, "runs").await;
    };
    runs("before").await;
    fs::remove_file(&program).unwrap();
    runs("removed").await;
    symlink("/bin/false", &program).unwrap();
    runs("replaced").await;
}

#[tokio::test]
async fn a_cluster_goes_on_with_the_program_it_was_started_from() {
    pods_run_on_when_the_program_is_gone(Who::Us).await;
    if rustix::process::geteuid().is_root() {
        pods_run_on_when_the_program_is_gone(Who::Nobody).await;
    }
}
