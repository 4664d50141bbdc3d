use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

#[test]
fn everything_of_the_pod_goes_and_what_links_lead_to_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (volumes, outside) = (folder.path().join("volumes"), folder.path().join("outside"));
    fs::create_dir_all(volumes.join("data/deep")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "").unwrap();
    symlink(&outside, volumes.join("data/link")).unwrap();
    symlink(outside.join("kept"), volumes.join("data/deep/link")).unwrap();
    // A container may close its folders to us.
    fs::create_dir_all(volumes.join("data/closed/inner")).unwrap();
    fs::set_permissions(volumes.join("data/closed"), fs::Permissions::from_mode(0o000)).unwrap();
    tear_down(&volumes).unwrap();
    assert!(!volumes.exists());
    assert!(outside.join("kept").exists());
    tear_down(&volumes).unwrap();
}

#[test]
fn a_link_in_place_of_the_folder_is_removed_itself() {
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "").unwrap();
    symlink(&outside, folder.path().join("volumes")).unwrap();
    tear_down(&folder.path().join("volumes")).unwrap();
    assert!(outside.join("kept").exists());
}

#[test]
fn only_what_was_provisioned_is_removed_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("volumes");
    fs::create_dir_all(root.join("pvc-1/deep")).unwrap();
    for path in ["", "pvc-1/deep", "..", "../other"] {
        let path = root.join(path);
        assert!(matches!(
            remove_provisioned(&root, &path),
            Err(TearDownError::Outside { .. })
        ));
    }
    remove_provisioned(&root, &root.join("pvc-1")).unwrap();
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
}

#[test]
fn mount_points_are_read_as_the_kernel_writes_them() {
    let text = "22 1 0:21 / /proc rw shared:5 - proc proc rw\n23 1 8:1 /x /with\\040space\\134 rw - ext4 /dev/sda rw\n";
    let points: Vec<_> = mount_points(text).collect();
    assert_eq!(points, [PathBuf::from("/proc"), PathBuf::from("/with space\\")]);
}

#[test]
fn mounts_are_undone_and_never_emptied() {
    let folder = tempfile::tempdir().unwrap();
    let (volumes, outside) = (folder.path().join("volumes"), folder.path().join("outside"));
    fs::create_dir_all(volumes.join("share")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "").unwrap();
    let mounted = rustix::mount::mount_bind(&outside, volumes.join("share"));
    if mounted.is_err() {
        println!("skipped: only root can mount");
        return;
    }
    assert!(mounts_below(&volumes).contains(&volumes.join("share")));
    // Were it not unmounted first, it would not be entered.
    assert!(remove(&volumes).is_err());
    assert!(outside.join("kept").exists());
    tear_down(&volumes).unwrap();
    assert!(!volumes.exists() && outside.join("kept").exists());
}
