use containers::spec::{Capabilities, Cpu, Seccomp};
use serde_json::{Value, json};

use super::*;
use crate::folders::Folders;

fn pod(spec: Value) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": "p", "namespace": "n", "uid": "u"},
        "spec": spec,
        "status": {"qosClass": "Burstable"},
    }))
    .unwrap()
}

fn with(container: Value, security: Value, image: &Image) -> Result<spec::Container, Unfit> {
    let pod = pod(json!({"containers": [container], "securityContext": security}));
    let folders = Folders::new(Path::new("/data"));
    super::container(Start {
        pod: &pod,
        container: &roles::work(&pod)[0],
        attempt: 3,
        image,
        environment: Environment::default(),
        mounts: Vec::new(),
        folder: &folders.pod(&pod),
        data_dir: "/data".as_ref(),
        machine: Machine { memory_bytes: 1000 },
        profiles: &Profiles {
            folder: "/data/seccomp".into(),
        },
        gpus: Access::default(),
        hostname: "p",
        is_plain: false,
        own_program: None,
    })
}

fn image() -> Image {
    let config = json!({
        "architecture": "amd64", "os": "linux",
        "config": {"Entrypoint": ["/serve"], "Cmd": ["--port"], "User": "1000:2000"},
    });
    Image {
        config: serde_json::from_value(config).unwrap(),
        passwd: "app:x:7:70::/home:/bin/sh\n".into(),
        group: "app:x:70:\nvideo:x:44:app\n".into(),
        ..Image::default()
    }
}

fn spec_of(container: Value) -> spec::Container {
    with(container, json!({}), &image()).unwrap()
}

#[test]
fn the_images_command_runs_unless_the_container_has_its_own() {
    assert_eq!(spec_of(json!({"name": "c"})).argv, ["/serve", "--port"]);
    assert_eq!(
        spec_of(json!({"name": "c", "args": ["-v"]})).argv,
        ["/serve", "-v"]
    );
    assert_eq!(spec_of(json!({"name": "c", "command": ["/x"]})).argv, ["/x"]);
    let error = with(json!({"name": "c"}), json!({}), &Image::default()).unwrap_err();
    assert_eq!(
        (error.reason(), error.to_string()),
        ("CreateContainerError", "no command specified".into())
    );
}

#[test]
fn the_pod_says_who_runs_and_the_image_where_it_does_not() {
    let of_image = spec_of(json!({"name": "c"}));
    assert_eq!((of_image.user, of_image.group), (1000, 2000));
    let asked = with(
        json!({"name": "c", "securityContext": {"runAsUser": 7}}),
        json!({"runAsUser": 5, "runAsGroup": 6, "fsGroup": 9, "supplementalGroups": [8]}),
        &image(),
    )
    .unwrap();
    assert_eq!((asked.user, asked.group, asked.groups), (7, 6, vec![8, 9, 44]));
}

#[test]
fn groups_of_the_image_are_left_out_if_the_pod_is_strict() {
    let strict = json!({"runAsUser": 7, "supplementalGroups": [8], "supplementalGroupsPolicy": "Strict"});
    let asked = with(json!({"name": "c"}), strict, &image()).unwrap();
    assert_eq!((asked.user, asked.group, asked.groups), (7, 70, vec![8]));
}

#[test]
fn who_must_not_be_root_is_refused_in_the_kubelets_words() {
    let refused = |security: Value, user: &str| {
        let mut image = image();
        image.config.config.user = user.into();
        with(json!({"name": "c"}), security, &image)
            .map(drop)
            .map_err(|error| error.to_string())
    };
    let root = refused(json!({"runAsNonRoot": true}), "");
    assert_eq!(
        root.unwrap_err(),
        "container has runAsNonRoot and image will run as root (pod: \"p_n(u)\", container: c)"
    );
    let asked = refused(json!({"runAsNonRoot": true, "runAsUser": 0}), "1000");
    assert_eq!(
        asked.unwrap_err(),
        "container's runAsUser breaks non-root policy (pod: \"p_n(u)\", container: c)"
    );
    let named = refused(json!({"runAsNonRoot": true}), "app");
    assert!(named.unwrap_err().contains("non-numeric user (app)"));
    assert!(refused(json!({"runAsNonRoot": true}), "1000").is_ok());
}

#[test]
fn resources_become_shares_quota_and_bytes() {
    let spec = spec_of(json!({"name": "c", "resources": {
        "requests": {"cpu": "500m", "memory": "100"}, "limits": {"cpu": "2", "memory": "64Mi"},
    }}));
    assert_eq!(spec.limits.cpu_shares, Some(512));
    assert_eq!(
        spec.limits.cpu,
        Some(Cpu {
            quota: 200_000,
            period: 100_000
        })
    );
    assert_eq!(spec.limits.memory_bytes, Some(64 << 20));
    assert_eq!(spec.oom_score_adjustment, Some(900));
}

#[test]
fn rights_are_taken_as_asked() {
    let spec = spec_of(json!({"name": "c", "securityContext": {
        "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
        "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
        "seccompProfile": {"type": "Unconfined"},
    }}));
    assert!(spec.no_new_privileges && spec.read_only_root && !spec.privileged);
    let expected = Capabilities {
        add: vec!["NET_ADMIN".into()],
        drop: vec!["ALL".into()],
    };
    assert_eq!(spec.capabilities, expected);
    assert_eq!(spec.seccomp, Seccomp::Unconfined);
}

#[test]
fn a_profile_outside_its_folder_is_refused() {
    let escaping = json!({"name": "c", "securityContext": {
        "seccompProfile": {"type": "Localhost", "localhostProfile": "../x.json"},
    }});
    let error = with(escaping, json!({}), &image()).unwrap_err();
    assert_eq!(error.reason(), "CreateContainerConfigError");
}

#[test]
fn a_volume_in_place_of_a_file_of_ours_wins() {
    let spec = spec_of(json!({"name": "c", "volumeMounts": [{"name": "v", "mountPath": "/etc/hosts"}]}));
    let targets: Vec<_> = spec
        .mounts
        .iter()
        .map(|mount| mount.target().display().to_string())
        .collect();
    assert_eq!(
        targets,
        ["/etc/hostname", "/etc/resolv.conf", "/dev/termination-log"]
    );
}
