//! The images the suite asks for, made of upstream's agnhost and a static busybox: one layer, seven names.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::{
    real_kubernetes::{self, Component},
    run,
};

const REGISTRY: &str = "registry.k8s.io";
const PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// An image by its name, and what it runs. Web servers are agnhost's own.
struct Image {
    name: &'static str,
    entrypoint: &'static [&'static str],
    command: &'static [&'static str],
}

const WEB: &[&str] = &["netexec", "--http-port=80", "--udp-port=-1"];
const AGNHOST: &[&str] = &["/agnhost"];
const IMAGES: [Image; 7] = [
    Image {
        name: "e2e-test-images/agnhost:2.56",
        entrypoint: AGNHOST,
        command: &["pause"],
    },
    Image {
        name: "e2e-test-images/busybox:1.37.0-1",
        entrypoint: &[],
        command: &["sh"],
    },
    Image {
        name: "e2e-test-images/httpd:2.4.38-4",
        entrypoint: AGNHOST,
        command: WEB,
    },
    Image {
        name: "e2e-test-images/httpd:2.4.39-4",
        entrypoint: AGNHOST,
        command: WEB,
    },
    Image {
        name: "e2e-test-images/nginx:1.14-4",
        entrypoint: AGNHOST,
        command: WEB,
    },
    Image {
        name: "e2e-test-images/nginx:1.15-4",
        entrypoint: AGNHOST,
        command: WEB,
    },
    Image {
        name: "pause:3.10.1",
        entrypoint: &["/agnhost", "pause"],
        command: &[],
    },
];

/// Users and groups some specs look up.
const USERS: &str = "root:x:0:0:root:/root:/bin/sh\ndefault-user:x:1000:1000::/home/default-user:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n";
const GROUPS: &str = "root:x:0:\nuser-group:x:1000:\nadded-group:x:50000:default-user\nnogroup:x:65534:\n";

/// The archive with all images, made now unless it is in the cache.
pub(super) fn ensure() -> Result<PathBuf> {
    let folder = run::cache()?.join("e2e-images").join(real_kubernetes::VERSION);
    let archive = folder.join("images.tar");
    if archive.is_file() {
        return Ok(archive);
    }
    let agnhost = real_kubernetes::ensure(Component::Agnhost)?;
    fs::create_dir_all(&folder)?;
    let work = tempfile::tempdir_in(&folder)?;
    let busybox = busybox(work.path())?;
    let root = work.path().join("root");
    make_root(&root, &agnhost, &busybox)?;
    let contents = work.path().join("archive");
    fs::create_dir(&contents)?;
    tar(&root, &contents.join("layer.tar"))?;
    write_manifests(&contents)?;
    let draft = work.path().join("images.tar");
    tar(&contents, &draft)?;
    fs::rename(&draft, &archive)?;
    Ok(archive)
}

/// A busybox without libraries: this machine's, or Debian's.
fn busybox(work: &Path) -> Result<PathBuf> {
    let installed = Path::new("/bin/busybox");
    let is_static = |path: &Path| {
        let linked = Command::new("ldd").arg(path).output();
        linked.is_ok_and(|output| !output.status.success())
    };
    if installed.is_file() && is_static(installed) {
        return Ok(installed.to_owned());
    }
    let mut download = Command::new("apt-get");
    run::check(download.args(["download", "busybox-static"]).current_dir(work))
        .context("the images need a static busybox: install busybox-static")?;
    let package = fs::read_dir(work)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .context("apt-get downloaded no package")?;
    let unpacked = work.join("busybox-static");
    run::check(Command::new("dpkg-deb").arg("-x").arg(package).arg(&unpacked))?;
    ["bin/busybox", "usr/bin/busybox"]
        .map(|path| unpacked.join(path))
        .into_iter()
        .find(|path| path.is_file())
        .context("the package has no busybox")
}

fn make_root(root: &Path, agnhost: &Path, busybox: &Path) -> Result<()> {
    for folder in ["bin", "etc", "home/default-user", "root", "tmp", "usr/bin", "var"] {
        fs::create_dir_all(root.join(folder))?;
    }
    fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777))?;
    fs::copy(agnhost, root.join("agnhost"))?;
    fs::copy(busybox, root.join("bin/busybox"))?;
    fs::write(root.join("etc/passwd"), USERS)?;
    fs::write(root.join("etc/group"), GROUPS)?;
    let applets = Command::new(busybox).arg("--list").output()?;
    for applet in String::from_utf8_lossy(&applets.stdout).lines() {
        if applet != "busybox" {
            symlink("busybox", root.join("bin").join(applet))?;
        }
    }
    Ok(())
}

fn tar(folder: &Path, archive: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--owner=0", "--group=0", "--numeric-owner", "-cf"]);
    run::check(tar.arg(archive).arg("-C").arg(folder).arg("."))
}

/// The manifest and configurations of `docker save`.
fn write_manifests(contents: &Path) -> Result<()> {
    let digest = sha256(&contents.join("layer.tar"))?;
    let mut manifest = Vec::new();
    for (number, image) in IMAGES.iter().enumerate() {
        let file = format!("config-{number}.json");
        let configuration = configuration(image, &digest);
        fs::write(contents.join(&file), configuration.to_string())?;
        manifest.push(json!({
            "Config": file,
            "RepoTags": [format!("{REGISTRY}/{}", image.name)],
            "Layers": ["layer.tar"],
        }));
    }
    fs::write(contents.join("manifest.json"), Value::Array(manifest).to_string())?;
    Ok(())
}

fn configuration(image: &Image, layer: &str) -> Value {
    json!({
        "architecture": "amd64",
        "os": "linux",
        "config": { "Env": [PATH], "Entrypoint": image.entrypoint, "Cmd": image.command },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer}")] },
        "history": [{ "created_by": image.name }],
    })
}

fn sha256(path: &Path) -> Result<String> {
    let output = Command::new("sha256sum").arg(path).output()?;
    let text = String::from_utf8(output.stdout)?;
    match text.split_once(' ') {
        Some((digest, _)) if digest.len() == 64 => Ok(digest.to_owned()),
        _ => bail!("sha256sum did not answer with a digest"),
    }
}
