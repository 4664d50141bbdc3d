use std::sync::Arc;

use containers::tier::Tier;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, Service};
use serde_json::{Value, json};

use super::*;
use crate::{
    environment::{self, Resources, Sources},
    volumes::Ownership,
};

struct Nothing;

impl Sources for Nothing {
    fn config_map(&self, _: &str) -> Option<Arc<ConfigMap>> {
        None
    }

    fn secret(&self, _: &str) -> Option<Arc<Secret>> {
        None
    }

    fn services(&self) -> Vec<Arc<Service>> {
        Vec::new()
    }

    fn allocatable(&self) -> Resources {
        Resources::default()
    }
}

fn check(mount: Value) -> Result<Mount, MountError> {
    let container = json!({
        "name": "c", "env": [{"name": "WHO", "value": "me"}], "volumeMounts": [mount],
    });
    let container: Container = serde_json::from_value(container).unwrap();
    let environment = environment::environment(&Pod::default(), &container, &Nothing).unwrap();
    let volume = |name: &str, source: Source, is_read_only: bool| Volume {
        name: name.to_owned(),
        title: name.to_owned(),
        source,
        is_read_only,
    };
    let plan = Plan {
        volumes: vec![
            volume("data", Source::Folder, false),
            volume("config", Source::Files(Vec::new()), true),
            volume("memory", Source::Memory { bytes: Some(9) }, false),
        ],
        ownership: Ownership::default(),
    };
    let ground = Ground {
        folder: "/pod/volumes".into(),
        provisioned: "/volumes".into(),
        data_dir: "/".into(),
        tier: Tier::Root,
    };
    let memory = memory(&plan, &ground);
    assert_eq!(memory.len(), 1);
    assert_eq!(memory[0].path, Path::new("/pod/volumes/memory"));
    mounts(&plan, &ground, &container, &environment).map(|mut mounts| mounts.remove(0))
}

#[test]
fn whole_volumes_are_bound_and_files_of_the_api_are_read_only() {
    let data = check(json!({"name": "data", "mountPath": "/d"})).unwrap();
    let expected = Bind {
        source: "/pod/volumes/data".into(),
        target: "/d".into(),
        read_only: false,
    };
    assert_eq!(data, Mount::Bind(expected));
    let config = check(json!({"name": "config", "mountPath": "relative"})).unwrap();
    assert!(matches!(config, Mount::Bind(bind) if bind.read_only && bind.target == Path::new("/relative")));
}

#[test]
fn a_volume_cannot_be_the_root() {
    for path in ["/", "/.", "/usr/..", "//"] {
        let error = check(json!({"name": "data", "mountPath": path})).unwrap_err();
        let expected =
            format!("volume \"data\" cannot be mounted at \"{path}\": that is the container's root");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn parts_are_expanded_from_the_environment() {
    let mount =
        |key: &str, path: &str| json!({"name": "data", "mountPath": "/d", "readOnly": true, key: path});
    let part = |mount: Value| match check(mount) {
        Ok(Mount::Part(part)) => Ok(part.path.display().to_string()),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    };
    assert_eq!(part(mount("subPath", "a/$(WHO)")).unwrap(), "a/$(WHO)");
    assert_eq!(part(mount("subPathExpr", "a/$(WHO)")).unwrap(), "a/me");
    assert_eq!(
        part(mount("subPathExpr", "$(NOBODY)")).unwrap_err(),
        "missing value for \"NOBODY\""
    );
    assert_eq!(
        part(mount("subPath", "/etc")).unwrap_err(),
        "error SubPath `/etc` must not be an absolute path"
    );
    assert_eq!(
        part(mount("subPath", "a/../..")).unwrap_err(),
        "unable to provision SubPath `a/../..`: must not contain '..'"
    );
}

#[test]
fn a_volume_that_is_not_there_is_named() {
    let error = check(json!({"name": "other", "mountPath": "/d"})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot find volume \"other\" to mount into container \"c\""
    );
}
