//! Containers that may mount: what they were given stays as it is.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use containers::spec::{Bind, Container, Mount};

use super::pod::Pod;

/// Everything that takes a mount away or loosens it.
fn attack(hidden: &Path) -> String {
    let seen = Path::new("/parent").join(hidden.file_name().unwrap());
    let (hidden, seen) = (hidden.display(), seen.display());
    format!(
        "for place in /tmp {hidden} {seen} /parent; do umount $place; umount -l $place; mount --move $place /mnt; done 2>/dev/null; \
         cat {hidden}/secret {seen}/secret; \
         mount -o remount,rw /etc; mount -o remount,bind,rw /etc; touch /etc/trainyard-test && echo written; \
         mount --bind / /mnt && cat /mnt/{hidden}/secret; mount --rbind / /mnt && cat /mnt/{hidden}/secret; \
         umount -l /mnt/{hidden}; cat /mnt/{hidden}/secret; umount -l /mnt; \
         mount -t tmpfs none /mnt && touch /mnt/own && umount /mnt && test ! -e /mnt/own && echo over"
    )
}

async fn try_with(change: impl FnOnce(&mut Container)) {
    let pod = Pod::new().await;
    // Outside of the private folders where that is possible, so that only hiding hides it.
    let data = tempfile::tempdir_in("/var/lib")
        .or_else(|_| tempfile::tempdir_in("/tmp"))
        .unwrap();
    fs::set_permissions(data.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(data.path().join("secret"), "the value").unwrap();
    let mut container = pod.container("main", &attack(data.path()));
    container.hidden.push(data.path().to_owned());
    container.mounts.push(Mount::Bind(Bind {
        source: data.path().parent().unwrap().to_owned(),
        target: "/parent".into(),
        read_only: false,
    }));
    change(&mut container);
    let (text, exit) = pod.run(&container).await;
    let _ = fs::remove_file("/etc/trainyard-test");
    assert!(!text.contains("the value") && !text.contains("written"), "{text}");
    assert!(text.ends_with("over\n") && exit.code == 0, "{text}");
}

#[tokio::test]
async fn whoever_may_administer_finds_nothing_below_its_mounts() {
    try_with(|container| container.capabilities.add = vec!["SYS_ADMIN".to_owned()]).await;
}

#[tokio::test]
async fn a_privileged_container_finds_nothing_below_its_mounts() {
    try_with(|container| container.privileged = true).await;
}
