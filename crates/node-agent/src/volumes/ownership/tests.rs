use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::*;

fn of(spec: Value) -> Ownership {
    let pod: Pod = serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap();
    Ownership::of(&pod, Tier::Root)
}

#[test]
fn a_token_belongs_to_the_one_user_all_containers_run_as() {
    let container = |user: Value| json!({"name": "c", "securityContext": {"runAsUser": user}});
    let all = of(json!({"containers": [container(json!(7)), container(json!(7))]}));
    assert_eq!(all.user, Some(7));
    let two = of(json!({"containers": [container(json!(7)), container(json!(8))]}));
    assert_eq!(two.user, None);
    let inherited =
        json!({"securityContext": {"runAsUser": 7}, "containers": [container(json!(7)), {"name": "d"}]});
    assert_eq!(of(inherited).user, Some(7));
    let init = json!({"initContainers": [{"name": "i"}], "containers": [container(json!(7))]});
    assert_eq!(of(init).user, None);
}

#[test]
fn without_root_nothing_is_given_away() {
    let pod = json!({"metadata": {}, "spec": {"securityContext": {"fsGroup": 5}, "containers": []}});
    let pod: Pod = serde_json::from_value(pod).unwrap();
    assert_eq!(Ownership::of(&pod, Tier::Rootless), Ownership::default());
    assert_eq!(Ownership::of(&pod, Tier::Root).group, Some(5));
}

#[test]
fn a_volume_is_given_to_its_group_and_nothing_outside_is() {
    let folder = tempfile::tempdir().unwrap();
    let (volume, outside) = (folder.path().join("volume"), folder.path().join("outside"));
    fs::create_dir_all(volume.join("deep")).unwrap();
    fs::write(volume.join("deep/file"), "").unwrap();
    fs::write(&outside, "").unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(volume.join("deep/file"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&outside, volume.join("link")).unwrap();
    // Everybody may give files to a group of their own.
    let own = rustix::process::getegid().as_raw();
    let group = if rustix::process::geteuid().is_root() {
        4321
    } else {
        own
    };
    let ownership = Ownership {
        group: Some(group),
        ..Ownership::default()
    };
    give_to_group(&volume, &ownership, false).unwrap();
    let look = |path: &Path| {
        let metadata = fs::metadata(path).unwrap();
        (metadata.gid(), metadata.permissions().mode() & 0o7777)
    };
    assert_eq!(look(&volume.join("deep/file")), (group, 0o660));
    assert_eq!(look(&volume.join("deep")).1 & 0o2770, 0o2770);
    assert_eq!(look(&outside), (own, 0o600));

    fs::set_permissions(volume.join("deep/file"), fs::Permissions::from_mode(0o600)).unwrap();
    let trusting = Ownership {
        trusts_root: true,
        ..ownership
    };
    give_to_group(&volume, &trusting, false).unwrap();
    assert_eq!(look(&volume.join("deep/file")).1, 0o600);
    fs::set_permissions(&volume, fs::Permissions::from_mode(0o755)).unwrap();
    give_to_group(&volume, &trusting, false).unwrap();
    assert_eq!(look(&volume.join("deep/file")).1, 0o660);
}
