//! A small image, made by hand. Its programs are the host's, which pods mount.

use std::{fs, path::Path};

use images::Digest;
use serde_json::{Value, json};

pub(crate) struct Made {
    pub(crate) manifest: Vec<u8>,
    /// What the manifest speaks of.
    pub(crate) blobs: Vec<Vec<u8>>,
}

impl Made {
    /// An image with a file `/word` of one line.
    pub(crate) fn saying(word: &str) -> Self {
        let layer = layer(word);
        let machine = images::Platform::of_this_machine();
        let config = json!({
            "architecture": machine.architecture, "os": "linux",
            "config": {"Entrypoint": ["/bin/sh", "-c"], "Cmd": ["cat /word"], "Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [Digest::sha256(&layer)]},
        })
        .to_string()
        .into_bytes();
        let part = |kind: &str, bytes: &[u8]| {
            json!({
                "mediaType": format!("application/vnd.oci.image.{kind}"),
                "digest": Digest::sha256(bytes), "size": bytes.len(),
            })
        };
        let manifest = json!({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": part("config.v1+json", &config), "layers": [part("layer.v1.tar", &layer)],
        });
        Self {
            manifest: manifest.to_string().into_bytes(),
            blobs: vec![layer, config],
        }
    }

    /// Writes an OCI layout.
    pub(crate) fn write(&self, folder: &Path) {
        let blobs = folder.join("blobs/sha256");
        fs::create_dir_all(&blobs).unwrap();
        for bytes in self.blobs.iter().chain([&self.manifest]) {
            fs::write(blobs.join(Digest::sha256(bytes).hex()), bytes).unwrap();
        }
        let index = json!({"schemaVersion": 2, "manifests": [{
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": Digest::sha256(&self.manifest), "size": self.manifest.len(),
        }]});
        fs::write(folder.join("index.json"), index.to_string()).unwrap();
        fs::write(folder.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
    }
}

fn layer(word: &str) -> Vec<u8> {
    let mut layer = tar::Builder::new(Vec::new());
    let mut add = |kind: tar::EntryType, path: &str, target: &str, content: &str| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o755);
        header.set_size(content.len() as u64);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        if target.is_empty() {
            layer.append_data(&mut header, path, content.as_bytes()).unwrap();
        } else {
            layer.append_link(&mut header, path, target).unwrap();
        }
    };
    add(tar::EntryType::Directory, "usr", "", "");
    for name in ["bin", "lib", "lib64"] {
        add(tar::EntryType::Symlink, name, &format!("usr/{name}"), "");
    }
    add(tar::EntryType::Regular, "word", "", &format!("{word}\n"));
    layer.into_inner().unwrap()
}

/// A pod's specification that runs such an image.
pub(crate) fn running(image: &str) -> Value {
    json!({
        "restartPolicy": "Never",
        "volumes": [{"name": "programs", "hostPath": {"path": "/usr"}}],
        "containers": [{
            "name": "main", "image": image,
            "volumeMounts": [{"name": "programs", "mountPath": "/usr", "readOnly": true}],
        }],
    })
}
