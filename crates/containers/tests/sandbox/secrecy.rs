//! What a container cannot find out or reach, whatever way it tries.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use containers::spec::{Bind, Mount, Part, Root};

use super::{isolation::programs, pod::Pod};

#[tokio::test]
async fn the_data_directory_is_not_visible() {
    let pod = Pod::with(|_| {}).await;
    // Not below a private folder, so that only hiding hides it.
    let Ok(data) = tempfile::tempdir_in("/var/lib").or_else(|_| tempfile::tempdir_in("/var/tmp")) else {
        return;
    };
    fs::set_permissions(data.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(data.path().join("secret"), "the value").unwrap();
    let mut container = pod.container(
        "main",
        &format!("ls -A {0}; cat {0}/secret; touch {0}/x", data.path().display()),
    );
    container.hidden.push(data.path().to_owned());
    let (text, exit) = pod.run(&container).await;
    assert!(!text.contains("the value") && exit.code != 0, "{text}");
    assert!(text.contains("No such file"), "{text}");
}

#[tokio::test]
async fn no_volume_leads_to_what_is_hidden() {
    let pod = Pod::new().await;
    let (data, own) = (pod.path("data"), pod.path("data/own"));
    fs::create_dir_all(&own).unwrap();
    fs::write(data.join("secret"), "the value").unwrap();
    std::os::unix::fs::symlink(&data, pod.path("link")).unwrap();
    let volume = |source: PathBuf| {
        Mount::Bind(Bind {
            source,
            target: "/volume".into(),
            read_only: false,
        })
    };
    let part = Mount::Part(Part {
        volume: pod.folder.path().to_owned(),
        path: "data".into(),
        target: "/volume".into(),
        read_only: false,
    });
    let mut container = pod.container(
        "main",
        "ls -A /volume /volume/data; touch /volume/data/x /volume/x",
    );
    container.hidden = vec![data.clone()];
    for refused in [volume(pod.path("link")), part] {
        container.mounts = vec![refused];
        let error = pod.sandbox.start_container(&container).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("it lies in a folder that no pod may see"), "{text}");
    }
    container.mounts = vec![volume(pod.folder.path().to_owned())];
    let (text, _) = pod.run(&container).await;
    assert!(
        !text.contains("secret") && text.contains("Read-only file system"),
        "{text}"
    );
    assert!(pod.path("x").exists() && !data.join("x").exists());

    // What the pod has there itself is called by its name.
    let mut container = pod.container("own", "touch /volume/y");
    container.hidden = vec![data];
    container.mounts = vec![volume(own.clone())];
    assert_eq!(pod.run(&container).await.1.code, 0);
    assert!(own.join("y").exists());
}

#[tokio::test]
async fn the_home_of_a_containers_user_is_its_own() {
    let pod = Pod::new().await;
    let (text, _) = pod
        .script("ls -A $HOME; echo mine > $HOME/x && cat $HOME/x")
        .await;
    assert_eq!(text, "mine\n");
}

#[tokio::test]
async fn the_first_of_shared_processes_has_nothing_to_give() {
    let pod = Pod::with(|spec| spec.share_processes = true).await;
    let mut container = pod.container(
        "main",
        "cat /proc/1/environ; ls -l /proc/1/fd/; echo X > /proc/1/fd/2 && echo written; grep -E 'CapEff|Seccomp:' /proc/1/status",
    );
    // As far as a container can come.
    container.capabilities.add = vec!["SYS_PTRACE".to_owned()];
    let (text, _) = pod.run(&container).await;
    for leak in ["PATH=", "->", "written"] {
        assert!(!text.contains(leak), "{leak}: {text}");
    }
    assert!(
        text.contains("CapEff:\t0000000000000000\nSeccomp:\t2\n"),
        "{text}"
    );
}

#[tokio::test]
async fn a_device_that_was_not_given_is_of_no_use() {
    let pod = Pod::new().await;
    for folder in [
        "volume",
        "image/bin",
        "image/lib",
        "image/lib64",
        "image/usr",
        "image/dev",
    ] {
        fs::create_dir_all(pod.path(folder)).unwrap();
    }
    let script = "mkdir -p /tmp; for folder in / /dev /tmp /volume; do \
                  mknod $folder/made c 1 5 && head -c 3 $folder/made | tr '\\0' z; done 2>/dev/null; \
                  head -c 3 /dev/zero | tr '\\0' z; echo";
    let volume = Mount::Bind(Bind {
        source: pod.path("volume"),
        target: "/volume".into(),
        read_only: false,
    });
    let mut on_host = pod.container("host", script);
    on_host.mounts = vec![volume.clone()];
    assert_eq!(pod.run(&on_host).await.0, "zzz\n");
    let mounting = "mount -t tmpfs none /mnt; mknod /mnt/made c 1 5 && head -c 3 /mnt/made | tr '\\0' z; \
                  mknod /mnt/mark c 0 0; mkfifo /mnt/pipe && echo piped";
    let mut administrator = pod.container("administrator", mounting);
    administrator.capabilities.add = vec!["SYS_ADMIN".to_owned()];
    let (text, _) = pod.run(&administrator).await;
    assert!(!text.contains('z') && text.ends_with("piped\n"), "{text}");
    assert!(!text.contains("mark"), "{text}");
    let _ = fs::remove_file(pod.path("volume/made"));
    let mut on_image = pod.container("image", script);
    on_image.root = Root::Directory(pod.path("image"));
    on_image.mounts = programs();
    on_image.mounts.push(volume);
    assert_eq!(pod.run(&on_image).await.0, "zzz\n");
}
