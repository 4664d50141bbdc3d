//! What a container sees and may do.

use std::{fs, os::unix::fs::PermissionsExt as _};

use containers::{
    FailureKind,
    client::Error,
    spec::{
        Bind, Capabilities, MemoryFolder, Mount, Network, Part, Root, Seccomp, SyscallAction, SyscallProfile,
        SyscallRule,
    },
    tier::{Tier, probe_overlay},
};
use nix::sys::stat::{Mode, SFlag, mknod};

use super::pod::{Pod, is_root, tier};

/// The host's programs, for images that have none.
pub(crate) fn programs() -> Vec<Mount> {
    ["/bin", "/lib", "/lib64", "/usr"]
        .map(|path| {
            Mount::Bind(Bind {
                source: path.into(),
                target: path.into(),
                read_only: true,
            })
        })
        .to_vec()
}

#[tokio::test]
async fn the_hosts_file_system_cannot_be_written() {
    let pod = Pod::new().await;
    let script = "for folder in / /etc /usr /var; do touch $folder/x 2>/dev/null && echo $folder; done; \
                  echo private > /tmp/x && cat /tmp/x; touch /dev/shm/y && ls /dev/shm";
    assert_eq!(pod.script(script).await.0, "private\ny\n");
}

#[tokio::test]
#[ignore = "counts processes while one of them may have ended already; to be made exact"]
async fn a_process_sees_only_its_own() {
    let pod = Pod::with(|spec| spec.hostname = Some("worker-0".to_owned())).await;
    let script = "echo $$; ls -d /proc/[0-9]* | wc -l; hostname; ls /sys/class/net; id -u";
    let (text, _) = pod.script(script).await;
    // The shell, `ls` and `wc`.
    assert_eq!(text, "1\n3\nworker-0\nlo\n0\n");
}

#[tokio::test]
async fn volumes_appear_where_nothing_was() {
    let pod = Pod::new().await;
    let volume = pod.path("volume");
    fs::create_dir(&volume).unwrap();
    fs::write(volume.join("file"), "content\n").unwrap();
    let mut container = pod.container(
        "main",
        "cat /data/file /usr/share/deep/er/file /etc/one.conf; echo new > /data/new; echo no > /usr/share/deep/er/no; \
         ls /usr/share | wc -l; touch /usr/share/x; touch /memory/x && ls /memory",
    );
    let bind = |source: &str, target: &str, read_only| {
        Mount::Bind(Bind {
            source: pod.path(source),
            target: target.into(),
            read_only,
        })
    };
    container.mounts = vec![
        bind("volume", "/data", false),
        bind("volume", "/usr/share/deep/er", true),
        bind("volume/file", "/etc/one.conf", true),
        Mount::Memory {
            target: "/memory".into(),
            bytes: Some(1 << 20),
        },
    ];
    let (text, _) = pod.run(&container).await;
    let entries = fs::read_dir("/usr/share").unwrap().count() + 1;
    let lines: Vec<_> = text
        .lines()
        .filter(|line| !line.contains("Read-only file system"))
        .collect();
    assert_eq!(
        lines,
        ["content", "content", "content", &entries.to_string(), "x"],
        "{text}"
    );
    assert_eq!(text.matches("Read-only file system").count(), 2);
    assert_eq!(fs::read_to_string(volume.join("new")).unwrap(), "new\n");
}

#[tokio::test]
async fn a_folder_in_memory_is_shared_by_containers_and_seen_by_nobody_else() {
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().join("memory");
    let folder = MemoryFolder {
        path: path.clone(),
        bytes: Some(1 << 20),
        group: None,
    };
    let pod = Pod::with(|spec| spec.memory = vec![folder]).await;
    let bind = Mount::Bind(Bind {
        source: path.clone(),
        target: "/memory".into(),
        read_only: false,
    });
    let mut first = pod.container("first", "echo kept > /memory/file; stat -c %a /memory");
    let script =
        "cat /memory/file /part/file; stat -f -c %T /memory; head -c 2M /dev/zero > /memory/big 2>&1";
    let mut second = pod.container("second", script);
    first.mounts = vec![bind.clone()];
    second.mounts = vec![
        bind,
        Mount::Part(Part {
            volume: path.clone(),
            path: ".".into(),
            target: "/part".into(),
            read_only: true,
        }),
    ];
    assert_eq!(pod.run(&first).await.0, "777\n");
    let (text, exit) = pod.run(&second).await;
    assert!(
        text.starts_with("kept\nkept\ntmpfs\n") && exit.code != 0,
        "{text}"
    );
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    pod.stop().await;
}

#[tokio::test]
async fn a_part_of_a_volume_is_made_and_never_leads_out_of_it() {
    let pod = Pod::new().await;
    let (volume, outside) = (pod.path("volume"), pod.path("outside"));
    for folder in [&volume, &outside] {
        fs::create_dir(folder).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let part = |path: &str| {
        vec![Mount::Part(Part {
            volume: volume.clone(),
            path: path.into(),
            target: "/part".into(),
            read_only: false,
        })]
    };
    let mut container = pod.container("first", "echo 1 > /part/file; stat -c %a /part");
    container.mounts = part("made/deep");
    assert_eq!(pod.run(&container).await.0, "777\n");
    assert_eq!(fs::read_to_string(volume.join("made/deep/file")).unwrap(), "1\n");

    std::os::unix::fs::symlink(&outside, volume.join("escape")).unwrap();
    let mut container = pod.container("second", "echo 2 > /part/file");
    container.mounts = part("escape");
    let error = pod.sandbox.start_container(&container).await.unwrap_err();
    assert!(
        matches!(&error, Error::Refused(failure) if failure.kind == FailureKind::Part),
        "{error:?}"
    );
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    pod.stop().await;
}

#[tokio::test]
async fn a_container_has_the_user_it_asked_for() {
    let pod = Pod::new().await;
    let mut container = pod.container(
        "main",
        "id -u; id -g; touch /tmp/x && stat -c %u /tmp/x; echo > /dev/stdout",
    );
    (container.user, container.group) = (1234, 5678);
    assert_eq!(pod.run(&container).await.0, "1234\n5678\n1234\n\n");
    container.argv[2] = "exec sleep 1000".to_owned();
    pod.sandbox.start_container(&container).await.unwrap();
    assert_eq!(pod.exec(&["id", "-u"]).await.unwrap().0, "1234\n");
}

#[tokio::test]
async fn groups_are_added_where_there_are_any() {
    if tier() != Tier::Root {
        println!("skipped: supplementary groups need root");
        return;
    }
    let pod = Pod::new().await;
    let mut container = pod.container("main", "id -G");
    (container.user, container.group, container.groups) = (1000, 1000, vec![2000, 3000]);
    assert_eq!(pod.run(&container).await.0, "1000 2000 3000\n");
}

#[tokio::test]
async fn capabilities_are_dropped() {
    let pod = Pod::new().await;
    let script = "grep -E 'Cap(Prm|Eff|Bnd|Inh|Amb)|NoNewPrivs|Seccomp:' /proc/self/status | tr -d '\\t'";
    let mut container = pod.container("main", script);
    container.no_new_privileges = true;
    let (text, _) = pod.run(&container).await;
    let usual = "00000000a80425fb";
    let expected = format!(
        "CapInh:0000000000000000\nCapPrm:{usual}\nCapEff:{usual}\nCapBnd:{usual}\nCapAmb:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n"
    );
    assert_eq!(text, expected);

    let mut container = pod.container("bare", script);
    container.capabilities = Capabilities {
        add: vec!["NET_BIND_SERVICE".to_owned()],
        drop: vec!["ALL".to_owned()],
    };
    let (text, _) = pod.run(&container).await;
    assert!(
        text.contains("CapEff:0000000000000400\n") && text.contains("CapBnd:0000000000000400\n"),
        "{text}"
    );
}

#[tokio::test]
async fn dangerous_system_calls_are_refused() {
    let pod = Pod::new().await;
    let mut container = pod.container(
        "main",
        "unshare -U true && echo made; mount -t tmpfs x /mnt && echo mounted",
    );
    container.capabilities.add = vec!["SYS_PTRACE".to_owned()];
    let (text, _) = pod.run(&container).await;
    assert!(!text.contains("made") && !text.contains("mounted"), "{text}");
}

#[tokio::test]
async fn containers_of_a_pod_share_memory_and_network_but_not_processes_or_tmp() {
    let pod = Pod::new().await;
    pod.sandbox
        .start_container(&pod.container(
            "one",
            "echo shared > /dev/shm/x; echo own > /tmp/x; echo up; exec sleep 1000",
        ))
        .await
        .unwrap();
    pod.wait_for_log("one", "up").await;
    let (text, _) = pod
        .script("cat /dev/shm/x; cat /tmp/x; echo $$; readlink /proc/self/ns/net")
        .await;
    let network = fs::read_link(format!("/proc/{}/ns/net", pod.sandbox.pid())).unwrap();
    let lines: Vec<_> = text
        .lines()
        .filter(|line| !line.contains("No such file"))
        .collect();
    assert_eq!(lines, ["shared", "1", network.to_str().unwrap()]);
}

#[tokio::test]
async fn a_shared_process_namespace_shows_the_others() {
    let pod = Pod::with(|spec| spec.share_processes = true).await;
    pod.sandbox
        .start_container(&pod.container("one", "sleep 1000 & echo up; wait"))
        .await
        .unwrap();
    pod.wait_for_log("one", "up").await;
    let (text, _) = pod
        .script("cat /proc/[0-9]*/cmdline | tr '\\0' ' '; ls /proc/1/root/ 2>&1")
        .await;
    assert!(text.contains("sleep 1000"), "{text}");
    assert!(!text.contains("etc"), "{text}");
    let (text, _) = pod.exec_in("one", &["sh", "-c", "echo $$"]).await.unwrap();
    assert_ne!(text.trim(), "1");
    // Ending the first process ends what it left behind.
    pod.sandbox.signal("one", 9).await.unwrap();
    pod.ended("one").await;
    let (text, _) = pod
        .run(&pod.container("two", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"))
        .await;
    assert!(!text.contains("sleep 1000"), "{text}");
}

#[tokio::test]
async fn a_volume_cannot_take_the_place_of_the_root() {
    let pod = Pod::new().await;
    fs::create_dir(pod.path("volume")).unwrap();
    let mut container = pod.container("main", "ls /");
    container.mounts = vec![Mount::Bind(Bind {
        source: pod.path("volume"),
        target: "/usr/..".into(),
        read_only: false,
    })];
    let error = pod.sandbox.start_container(&container).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("cannot mount a volume at `/usr/..`: it is the container's root"),
        "{text}"
    );
}

#[tokio::test]
async fn a_volume_may_take_the_place_of_the_devices() {
    let pod = Pod::new().await;
    let volume = pod.path("volume");
    fs::create_dir(&volume).unwrap();
    fs::set_permissions(&volume, fs::Permissions::from_mode(0o777)).unwrap();
    let mut container = pod.container("first", "echo 1 > /dev/file; ls /dev; wc -c < /proc/keys");
    container.mounts = vec![Mount::Bind(Bind {
        source: volume,
        target: "/dev".into(),
        read_only: false,
    })];
    assert_eq!(pod.run(&container).await.0, "file\n0\n");
    pod.stop().await;
}

#[tokio::test]
async fn an_image_is_made_of_layers() {
    let pod = Pod::new().await;
    // A tiny image: the host's programs are mounted, the rest is its own.
    let layers = [pod.path("upper-layer"), pod.path("lower-layer")];
    for (index, layer) in layers.iter().enumerate() {
        fs::create_dir_all(layer.join("app")).unwrap();
        fs::write(layer.join("app/which"), format!("layer {index}\n")).unwrap();
    }
    for folder in ["bin", "lib", "lib64", "usr", "etc"] {
        fs::create_dir_all(layers[1].join(folder)).unwrap();
    }
    let mut container = pod.container(
        "main",
        "cat /app/which; echo changed > /app/which; cat /app/which; pwd; ls /",
    );
    container.root = Root::Layers {
        lower: layers.to_vec(),
        upper: pod.path("changes"),
        work: pod.path("work"),
    };
    container.working_directory = Some("/work/place".into());
    container.mounts = programs();
    let (text, exit) = pod.run(&container).await;
    let folders = "app bin dev etc lib lib64 proc sys usr work".replace(' ', "\n");
    assert_eq!(text, format!("layer 0\nchanged\n/work/place\n{folders}\n"));
    assert_eq!(exit.code, 0);
    assert_eq!(
        fs::read_to_string(pod.path("lower-layer/app/which")).unwrap(),
        "layer 1\n"
    );
    assert_eq!(
        fs::read_to_string(pod.path("changes/app/which")).unwrap(),
        "changed\n"
    );

    container.read_only_root = true;
    container.name = "again".to_owned();
    container.log = pod.container("again", "").log;
    container.argv[2] = "cat /app/which; touch /app/x && echo written".to_owned();
    let (text, _) = pod.run(&container).await;
    assert!(
        text.starts_with("changed\n") && text.contains("Read-only file system"),
        "{text}"
    );
}

#[tokio::test]
async fn a_volume_in_the_place_of_a_private_folder_can_be_written_though_the_root_cannot() {
    let pod = Pod::new().await;
    fs::create_dir(pod.path("volume")).unwrap();
    let mut container = pod.container("c", "touch /var/tmp/x; echo volume > /tmp/x; cat /tmp/x");
    container.read_only_root = true;
    container.mounts = vec![Mount::Bind(Bind {
        source: pod.path("volume"),
        target: "/tmp".into(),
        read_only: false,
    })];
    let (text, _) = pod.run(&container).await;
    assert!(
        text.contains("'/var/tmp/x': Read-only file system") && text.ends_with("volume\n"),
        "{text}"
    );
}

#[tokio::test]
async fn an_image_is_copied_where_overlayfs_cannot_be_had() {
    let pod = Pod::new().await;
    let layers = [pod.path("upper-layer"), pod.path("lower-layer")];
    for folder in ["bin", "lib", "lib64", "usr", "etc", "app/kept", "gone/deep"] {
        fs::create_dir_all(layers[1].join(folder)).unwrap();
    }
    for file in ["app/removed", "app/replaced", "app/kept/file", "gone/deep/file"] {
        fs::write(layers[1].join(file), "below\n").unwrap();
    }
    fs::hard_link(layers[1].join("app/kept/file"), layers[1].join("app/kept/twin")).unwrap();
    fs::create_dir_all(layers[0].join("app")).unwrap();
    fs::write(layers[0].join("app/replaced"), "above\n").unwrap();
    fs::set_permissions(layers[0].join("app/replaced"), fs::Permissions::from_mode(0o4750)).unwrap();
    std::os::unix::fs::symlink("replaced", layers[0].join("app/link")).unwrap();
    for removed in ["app/removed", "gone"] {
        let whiteout = layers[0].join(removed);
        mknod(&whiteout, SFlag::S_IFCHR, Mode::empty(), 0).unwrap();
    }
    let mut container = pod.container(
        "main",
        "cd /app; ls; ls kept; cat link kept/twin; stat -c %a:%h replaced kept/twin; echo changed > link; ls -d /gone",
    );
    container.root = Root::image(layers.to_vec(), &pod.path("container"), false);
    container.mounts = programs();
    let (text, _) = pod.run(&container).await;
    let expected = "kept\nlink\nreplaced\nfile\ntwin\nabove\nbelow\n4750:1\n644:2\n";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("'/gone': No such file"), "{text}");
    assert_eq!(
        fs::read_to_string(layers[0].join("app/replaced")).unwrap(),
        "above\n"
    );

    // A second run finds what the first one changed.
    container.name = "again".to_owned();
    container.log = pod.container("again", "").log;
    container.argv[2] = "cat /app/link".to_owned();
    let (text, _) = pod.run(&container).await;
    assert_eq!(text, "changed\n");
}

#[tokio::test]
async fn more_layers_than_a_page_of_paths_can_be_mounted() {
    let pod = Pod::new().await;
    let deep = pod.path(&"a,long:name-".repeat(12));
    let layers: Vec<_> = (0..100).map(|number| deep.join(number.to_string())).collect();
    for (number, layer) in layers.iter().enumerate() {
        fs::create_dir_all(layer.join("app")).unwrap();
        fs::write(layer.join(format!("app/{number}")), "x").unwrap();
    }
    for folder in ["bin", "lib", "lib64", "usr"] {
        fs::create_dir_all(layers[0].join(folder)).unwrap();
    }
    let mut container = pod.container("main", "ls /app | wc -l");
    container.root = Root::image(layers, &deep.join("container"), true);
    container.mounts = programs();
    let (text, _) = pod.run(&container).await;
    assert_eq!(text, "100\n");
}

#[test]
fn whether_overlayfs_can_be_had_is_tried() {
    let folder = tempfile::tempdir().unwrap();
    probe_overlay(folder.path(), tier()).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let refused = probe_overlay(folder.path(), Tier::Process);
    assert!(refused.is_err());
}

#[tokio::test]
async fn devices_and_proc_are_harmless() {
    let pod = Pod::new().await;
    let script = "ls /dev | tr '\\n' ' '; echo x > /dev/null && head -c 2 /dev/zero | wc -c; \
                  head -c 4 /proc/kcore | wc -c; echo 1 > /proc/sys/kernel/hostname; mkdir /sys/x";
    let (text, _) = pod.script(script).await;
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("fd full "), "{first}");
    assert!(!first.contains("vda") && !first.contains("kmsg"), "{first}");
    assert!(text.contains("\n2\n") || first.ends_with('2'), "{text}");
    assert_eq!(text.matches("Read-only file system").count(), 2, "{text}");
    assert!(is_root() || tier() == Tier::Rootless);
}

#[tokio::test]
async fn a_pod_may_live_in_the_namespaces_of_another() {
    let first = Pod::new().await;
    let namespace = |kind: &str| format!("/proc/{}/ns/{kind}", first.sandbox.pid());
    let second = Pod::with(|spec| {
        spec.network = Network::Join(namespace("net").into());
        spec.user_namespace = (tier() == Tier::Rootless).then(|| namespace("user").into());
    })
    .await;
    let (text, _) = second
        .script("readlink /proc/self/ns/net /proc/self/ns/user; id -u")
        .await;
    let expected = ["net", "user"].map(|kind| fs::read_link(namespace(kind)).unwrap().display().to_string());
    assert_eq!(text, format!("{}\n{}\n0\n", expected[0], expected[1]));
}

#[tokio::test]
async fn own_system_call_profiles_hold() {
    let pod = Pod::new().await;
    let mut container = pod.container("main", "mkdir /tmp/x; echo still here");
    let rule = SyscallRule {
        names: ["mkdir", "mkdirat", "no_such_call"].map(str::to_owned).to_vec(),
        action: SyscallAction::Errno,
    };
    container.seccomp = Seccomp::Profile(SyscallProfile {
        default_action: SyscallAction::Allow,
        syscalls: vec![rule],
    });
    let (text, _) = pod.run(&container).await;
    assert!(
        text.contains("Operation not permitted") && text.ends_with("still here\n"),
        "{text}"
    );
}

#[tokio::test]
async fn a_privileged_container_may_mount() {
    if tier() != Tier::Root {
        println!("skipped: privileged containers need root");
        return;
    }
    let pod = Pod::new().await;
    let mut container = pod.container(
        "main",
        "mount -t tmpfs none /mnt && touch /mnt/x && ls /mnt; ls -d /dev/kmsg",
    );
    container.privileged = true;
    assert_eq!(pod.run(&container).await.0, "x\n/dev/kmsg\n");
}

#[tokio::test]
async fn the_hosts_processes_are_seen_only_on_request() {
    let pod = Pod::with(|spec| spec.host_pid = true).await;
    let (text, exit) = pod
        .script(&format!("test -d /proc/{} && echo seen", std::process::id()))
        .await;
    assert_eq!((text.as_str(), exit.code), ("seen\n", 0));
    pod.stop().await;
}
