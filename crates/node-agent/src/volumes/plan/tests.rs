use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service};
use serde_json::{Value, json};

use super::*;
use crate::{
    environment::{Resources, Sources},
    volumes::TokenRequest,
};

#[derive(Default)]
struct World {
    claims: BTreeMap<String, Value>,
    volumes: BTreeMap<String, Value>,
    is_used: bool,
}

impl Sources for World {
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
        Resources {
            memory: "1Gi".to_owned(),
            ..Resources::default()
        }
    }
}

impl VolumeSources for World {
    fn token(&self, _: &TokenRequest) -> Result<String, String> {
        Err("no".to_owned())
    }

    fn claim(&self, name: &str) -> Option<Arc<PersistentVolumeClaim>> {
        let value = self.claims.get(name)?.clone();
        Some(Arc::new(serde_json::from_value(value).unwrap()))
    }

    fn persistent_volume(&self, name: &str) -> Option<Arc<PersistentVolume>> {
        let value = self.volumes.get(name)?.clone();
        Some(Arc::new(serde_json::from_value(value).unwrap()))
    }

    fn is_used_by_another_pod(&self, _: &str) -> bool {
        self.is_used
    }
}

fn check(world: &World, volumes: Value) -> Result<Vec<Volume>, Vec<String>> {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "p", "namespace": "n", "uid": "pod-uid"},
        "spec": {"volumes": volumes, "containers": [
            {"name": "c", "resources": {"limits": {"memory": "64Mi"}}},
        ]},
    }))
    .unwrap();
    let ground = Ground {
        folder: "/data/pods/pod-uid/volumes".into(),
        provisioned: "/data/volumes".into(),
        data_dir: "/data".into(),
        tier: Tier::Root,
    };
    let plan = plan(&pod, world, &ground);
    plan.map(|plan| plan.volumes)
        .map_err(|failures| failures.iter().map(ToString::to_string).collect())
}

fn world(source: Value) -> World {
    let claim = json!({
        "metadata": {"name": "data", "uid": "claim-uid"},
        "spec": {"volumeName": "pv"}, "status": {"phase": "Bound"},
    });
    let mut volume = json!({"metadata": {"name": "pv"}, "spec": {"claimRef": {"uid": "claim-uid"}}});
    for (key, value) in source.as_object().unwrap() {
        volume["spec"][key] = value.clone();
    }
    World {
        claims: BTreeMap::from([("data".to_owned(), claim)]),
        volumes: BTreeMap::from([("pv".to_owned(), volume)]),
        is_used: false,
    }
}

fn claimed() -> Value {
    json!([{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
}

#[test]
fn memory_is_as_large_as_volume_pod_and_node_allow() {
    let size = |limit: Value| {
        let volumes = json!([{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": limit}}]);
        match &check(&World::default(), volumes).unwrap()[0].source {
            Source::Memory { bytes } => *bytes,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(size(json!("1Mi")), Some(1 << 20));
    assert_eq!(size(json!("1Gi")), Some(64 << 20));
    assert_eq!(size(json!(null)), Some(64 << 20));
}

#[test]
fn every_volume_that_is_not_ready_is_told() {
    let volumes = json!([
        {"name": "a", "configMap": {"name": "absent"}},
        {"name": "b", "secret": {"secretName": "hidden"}},
        {"name": "c", "emptyDir": {}},
        {"name": "d", "projected": {"sources": [
            {"configMap": {"name": "x"}}, {"serviceAccountToken": {"path": "token"}},
        ]}},
        {"name": "e", "image": {"reference": "busybox"}},
    ]);
    let failures = check(&World::default(), volumes).unwrap_err();
    let expected = [
        r#"MountVolume.SetUp failed for volume "a" : configmap "absent" not found"#,
        r#"MountVolume.SetUp failed for volume "b" : secret "hidden" not found"#,
        r#"MountVolume.SetUp failed for volume "d" : [configmap "x" not found, failed to fetch token: no]"#,
        r#"MountVolume.SetUp failed for volume "e" : image volumes are not supported"#,
    ];
    assert_eq!(failures, expected);
}

#[test]
fn a_claim_leads_to_the_folder_behind_it() {
    let provisioned =
        world(json!({"hostPath": {"path": "/data/volumes/pvc-1", "type": "DirectoryOrCreate"}}));
    let volumes = check(&provisioned, claimed()).unwrap();
    assert_eq!(volumes[0].title, "pv");
    let expected = Source::Persistent {
        path: "/data/volumes/pvc-1".into(),
        is_provisioned: true,
    };
    assert_eq!(volumes[0].source, expected);

    let volumes = check(
        &world(json!({"hostPath": {"path": "/data/volumes-other"}})),
        claimed(),
    )
    .unwrap();
    assert!(matches!(&volumes[0].source, Source::Host { .. }));
    let volumes = check(&world(json!({"local": {"path": "/mnt/disk"}})), claimed()).unwrap();
    assert!(matches!(
        &volumes[0].source,
        Source::Persistent {
            is_provisioned: false,
            ..
        }
    ));
    let nfs = json!({"nfs": {"server": "s", "path": "/e"}, "mountOptions": ["hard"]});
    let volumes = check(&world(nfs), claimed()).unwrap();
    assert!(matches!(&volumes[0].source, Source::Share(share) if share.options == ["hard"]));
}

#[test]
fn a_claim_that_cannot_be_used_yet_is_explained() {
    let prefix = "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], \
                  failed to process volumes=[v]: error processing PVC n/data: ";
    let reason = |world: &World| {
        let failure = check(world, claimed()).unwrap_err().remove(0);
        failure.strip_prefix(prefix).map(str::to_owned).unwrap_or(failure)
    };
    let good = || world(json!({"local": {"path": "/mnt"}}));
    assert_eq!(
        reason(&World::default()),
        "failed to fetch PVC from API server: persistentvolumeclaims \"data\" not found"
    );
    let mut unbound = good();
    unbound.claims.get_mut("data").unwrap()["status"]["phase"] = json!("Pending");
    assert_eq!(reason(&unbound), "PVC is not bound");
    let mut stolen = good();
    stolen.volumes.get_mut("pv").unwrap()["spec"]["claimRef"]["uid"] = json!("other");
    assert_eq!(
        reason(&stolen),
        "found PV object pv but its pv.Spec.ClaimRef.UID other does not point to claim.UID claim-uid"
    );
    let mut lonely = world(json!({"local": {"path": "/mnt"}, "accessModes": ["ReadWriteOncePod"]}));
    check(&lonely, claimed()).unwrap();
    lonely.is_used = true;
    assert_eq!(
        reason(&lonely),
        "MountVolume.SetUp failed for volume \"pv\" : \
         volume uses the ReadWriteOncePod access mode and is already in use by another pod"
    );
    let csi = world(json!({"csi": {"driver": "x", "volumeHandle": "y"}}));
    assert_eq!(
        reason(&csi),
        "MountVolume.SetUp failed for volume \"pv\" : csi volumes are not supported"
    );
}

#[test]
fn an_ephemeral_claim_must_be_the_pods_own() {
    let volumes = json!([{"name": "v", "ephemeral": {}}]);
    let mut world = world(json!({"local": {"path": "/mnt"}}));
    let mut claim = world.claims["data"].clone();
    world.claims.insert("p-v".to_owned(), claim.clone());
    let failure = check(&world, volumes.clone()).unwrap_err().remove(0);
    assert!(
        failure.ends_with("PVC n/p-v was not created for pod n/p (pod is not owner)"),
        "{failure}"
    );
    claim["metadata"]["ownerReferences"] = json!([
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "pod-uid", "controller": true},
    ]);
    world.claims.insert("p-v".to_owned(), claim);
    check(&world, volumes).unwrap();
}
