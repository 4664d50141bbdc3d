use std::os::unix::fs::MetadataExt as _;

use containers::tier::Tier;

use super::*;
use crate::volumes::{File, HostPathType};

fn ground(folder: &Path) -> Ground {
    Ground {
        folder: folder.join("pods/uid/volumes"),
        provisioned: folder.join("volumes"),
        data_dir: folder.to_owned(),
        tier: Tier::Root,
    }
}

fn volume(name: &str, source: Source) -> Volume {
    Volume {
        name: name.to_owned(),
        title: name.to_owned(),
        source,
        is_read_only: false,
    }
}

fn file(text: &str) -> Source {
    Source::Files(vec![File {
        path: "key".to_owned(),
        bytes: text.as_bytes().to_vec(),
        mode: 0o600,
        owner: None,
    }])
}

#[test]
fn volumes_are_made_once_and_their_content_stays() {
    let folder = tempfile::tempdir().unwrap();
    let ground = ground(folder.path());
    let group = rustix::process::getegid().as_raw();
    let mut plan = Plan {
        volumes: vec![
            volume("empty", Source::Folder),
            volume("config", file("1")),
            volume(
                "claim",
                Source::Persistent {
                    path: ground.provisioned.join("pvc-1"),
                    is_provisioned: true,
                },
            ),
        ],
        ownership: Ownership {
            group: Some(group),
            ..Ownership::default()
        },
    };
    set_up(&plan, &ground, "one").unwrap();
    let empty = ground.folder.join("empty");
    assert_eq!(fs::metadata(&empty).unwrap().mode() & 0o7777, 0o2777);
    let token = ground.folder.join("config/key");
    assert_eq!(fs::metadata(&token).unwrap().mode() & 0o7777, 0o640);
    let claim = ground.provisioned.join("pvc-1");
    assert_eq!(fs::metadata(&claim).unwrap().mode() & 0o7777, 0o2777);
    fs::write(empty.join("kept"), "").unwrap();
    fs::write(claim.join("kept"), "").unwrap();

    plan.volumes[1].source = file("2");
    set_up(&plan, &ground, "two").unwrap();
    assert!(empty.join("kept").exists() && claim.join("kept").exists());
    assert_eq!(fs::read_to_string(&token).unwrap(), "2");
}

#[test]
fn every_volume_that_cannot_be_made_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut ground = ground(folder.path());
    ground.tier = Tier::Rootless;
    let share = crate::volumes::nfs::Share {
        server: "s".to_owned(),
        path: "/e".to_owned(),
        options: Vec::new(),
    };
    let elsewhere = tempfile::tempdir().unwrap();
    let missing = elsewhere.path().join("missing");
    let plan = Plan {
        volumes: vec![
            volume("ok", Source::Folder),
            volume(
                "host",
                Source::Host {
                    path: missing.clone(),
                    kind: HostPathType::File,
                },
            ),
            volume("share", Source::Share(share)),
            volume(
                "disk",
                Source::Persistent {
                    path: missing.clone(),
                    is_provisioned: false,
                },
            ),
        ],
        ownership: Ownership::default(),
    };
    let failures = set_up(&plan, &ground, "one").unwrap_err();
    let texts: Vec<String> = failures.iter().map(ToString::to_string).collect();
    let shown = missing.display();
    assert_eq!(
        texts,
        [
            format!(
                "MountVolume.SetUp failed for volume \"host\" : hostPath type check failed: {shown} is not a file"
            ),
            "MountVolume.SetUp failed for volume \"share\" : an NFS share can only be mounted by root, \
             and this node runs pods in the `rootless` tier"
                .to_owned(),
            format!("MountVolume.SetUp failed for volume \"disk\" : path \"{shown}\" does not exist"),
        ]
    );
    assert!(ground.folder.join("ok").is_dir());
}

#[test]
fn the_data_directory_is_refused_by_every_name() {
    let folder = tempfile::tempdir().unwrap();
    let (data, link) = (folder.path().join("data"), folder.path().join("link"));
    fs::create_dir(&data).unwrap();
    std::os::unix::fs::symlink(&data, &link).unwrap();
    let ground = ground(&data);
    let refusal = |source: Source| {
        let plan = Plan {
            volumes: vec![volume("v", source)],
            ownership: Ownership::default(),
        };
        let failures = set_up(&plan, &ground, "one").err().unwrap_or_default();
        failures.first().map(ToString::to_string).unwrap_or_default()
    };
    let host = |path: &Path| Source::Host {
        path: path.to_owned(),
        kind: HostPathType::DirectoryOrCreate,
    };
    let local = Source::Persistent {
        path: data.clone(),
        is_provisioned: false,
    };
    let sources = [host(&data), host(&link), host(&link.join("new/deep")), local];
    for source in sources {
        let text = refusal(source.clone());
        assert!(
            text.ends_with("lies in the data directory of this node, which no pod may see"),
            "{source:?}: {text}"
        );
    }
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
    assert_eq!(refusal(host(folder.path())), "");
    assert_eq!(refusal(host(&folder.path().join("data-too"))), "");
}
