//! Server-side apply and the other ways to write.

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::{
    Api, Error, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions},
};
use serde_json::json;

use crate::{config_map, with_client};

#[test]
fn appliers_own_fields_and_conflict_over_them() {
    with_client(|client| async move {
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        let wanted = |value: &str| {
            Patch::Apply(json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}, "data": {"a": value}
            }))
        };
        let (first, second) = (PatchParams::apply("first"), PatchParams::apply("second"));
        let applied = maps.patch("shared", &first, &wanted("1")).await.unwrap();
        let again = maps.patch("shared", &first, &wanted("1")).await.unwrap();
        assert_eq!(
            applied.resource_version(),
            again.resource_version(),
            "the same again changes nothing"
        );

        let Err(Error::Api(conflict)) = maps.patch("shared", &second, &wanted("2")).await else {
            panic!("the field is the first one's")
        };
        assert_eq!((conflict.code, conflict.reason.as_str()), (409, "Conflict"));
        assert_eq!(
            conflict.message,
            "Apply failed with 1 conflict: conflict with \"first\": .data.a"
        );

        let forced = maps.patch("shared", &second.force(), &wanted("2")).await.unwrap();
        assert_eq!(forced.data.unwrap()["a"], "2");
    });
}

#[test]
fn versions_and_uids_guard_against_writing_over_others() {
    with_client(|client| async move {
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        let created = maps
            .create(&PostParams::default(), &config_map("guarded", "a", "1"))
            .await
            .unwrap();
        let change = Patch::Merge(json!({"data": {"a": "2"}}));
        maps.patch("guarded", &PatchParams::default(), &change)
            .await
            .unwrap();
        let stale = maps.replace("guarded", &PostParams::default(), &created).await;
        assert!(matches!(stale, Err(Error::Api(status)) if status.code == 409));

        let other = Preconditions {
            uid: Some("another".to_owned()),
            ..Preconditions::default()
        };
        let refused = maps
            .delete("guarded", &DeleteParams::default().preconditions(other))
            .await;
        assert!(matches!(refused, Err(Error::Api(status)) if status.code == 409));
        let missing = maps.get_opt("nothing").await.unwrap();
        assert!(missing.is_none());
    });
}

#[test]
fn a_deployment_has_a_status_and_a_scale_of_its_own() {
    with_client(|client| async move {
        let deployments: Api<Deployment> = Api::default_namespaced(client);
        let deployment: Deployment = serde_json::from_value(json!({
            "metadata": {"name": "web"},
            "spec": {
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "web", "image": "nginx"}]}
                }
            }
        }))
        .unwrap();
        deployments
            .create(&PostParams::default(), &deployment)
            .await
            .unwrap();
        let change = Patch::Merge(json!({"spec": {"replicas": 3}}));
        let scale = deployments
            .patch_scale("web", &PatchParams::default(), &change)
            .await
            .unwrap();
        assert_eq!(scale.spec.unwrap().replicas, Some(3));
        let change = Patch::Merge(json!({"status": {"replicas": 2}, "spec": {"replicas": 9}}));
        let patched = deployments
            .patch_status("web", &PatchParams::default(), &change)
            .await
            .unwrap();
        assert_eq!(patched.spec.unwrap().replicas, Some(3));
        assert_eq!(patched.status.unwrap().replicas, Some(2));
        let listed = deployments
            .list(&ListParams::default().fields("metadata.name=web"))
            .await
            .unwrap();
        assert_eq!(listed.items.len(), 1);
        assert!(
            listed
                .metadata
                .resource_version
                .is_some_and(|version| !version.is_empty())
        );
    });
}
