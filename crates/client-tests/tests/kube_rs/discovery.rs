//! Finding out what the server serves.

use kube::{
    Api, Client, Discovery, ResourceExt as _,
    api::{DynamicObject, GroupVersionKind, ListParams, PostParams},
    discovery::{self, Scope, verbs},
};
use serde_json::json;

use crate::with_client;

#[test]
fn both_ways_of_discovery_find_the_same_kinds() {
    with_client(|client| async move {
        let legacy = Discovery::new(client.clone()).run().await.unwrap();
        let aggregated = Discovery::new(client).run_aggregated().await.unwrap();
        assert_eq!(kinds(&legacy), kinds(&aggregated));
        let (deployment, capabilities) = aggregated.resolve_gvk(&kind("apps", "Deployment")).unwrap();
        assert_eq!(deployment.plural, "deployments");
        assert!(matches!(capabilities.scope, Scope::Namespaced));
        assert!(capabilities.supports_operation(verbs::WATCH));
        let subresources: Vec<&str> = capabilities
            .subresources
            .iter()
            .map(|(resource, _)| resource.plural.as_str())
            .collect();
        assert!(
            subresources.iter().any(|name| name.ends_with("scale")),
            "{subresources:?}"
        );
    });
}

#[test]
fn a_kind_found_by_discovery_is_used_without_types() {
    with_client(|client: Client| async move {
        let (resource, _) = discovery::pinned_kind(&client, &kind("batch", "Job"))
            .await
            .unwrap();
        let jobs: Api<DynamicObject> = Api::default_namespaced_with(client, &resource);
        let job = DynamicObject::new("once", &resource).data(json!({
            "spec": {"template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]
            }}}
        }));
        let created = jobs.create(&PostParams::default(), &job).await.unwrap();
        assert_eq!(created.data["spec"]["backoffLimit"], 6);
        let listed = jobs.list(&ListParams::default()).await.unwrap();
        assert_eq!(listed.items[0].name_any(), "once");
    });
}

fn kinds(discovery: &Discovery) -> Vec<String> {
    let resources = discovery
        .groups()
        .flat_map(discovery::ApiGroup::recommended_resources);
    let mut kinds: Vec<String> = resources
        .map(|(resource, _)| format!("{} {}", resource.api_version, resource.kind))
        .collect();
    kinds.sort();
    kinds
}

fn kind(group: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind::gvk(group, "v1", kind)
}
