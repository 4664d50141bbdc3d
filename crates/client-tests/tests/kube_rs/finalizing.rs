//! `finalizer()`: cleaning up before an object goes.

use std::{convert::Infallible, sync::Arc};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, PostParams},
    runtime::{
        controller::Action,
        finalizer::{Event, finalizer},
    },
};

use crate::{config_map, with_client};

const NAME: &str = "example.com/clean-up";

#[test]
fn an_object_goes_when_it_has_been_cleaned_up() {
    with_client(|client| async move {
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        maps.create(&PostParams::default(), &config_map("tidy", "a", "1"))
            .await
            .unwrap();
        // The first pass only adds the finalizer, the second one works.
        assert_eq!(pass(&maps).await, None);
        assert_eq!(maps.get("tidy").await.unwrap().finalizers(), [NAME]);
        assert_eq!(pass(&maps).await, Some("apply"));

        maps.delete("tidy", &DeleteParams::default()).await.unwrap();
        assert!(
            maps.get("tidy")
                .await
                .unwrap()
                .metadata
                .deletion_timestamp
                .is_some()
        );
        assert_eq!(pass(&maps).await, Some("clean up"));
        assert!(maps.get_opt("tidy").await.unwrap().is_none());
    });
}

/// One reconciliation; says which half of it ran.
async fn pass(maps: &Api<ConfigMap>) -> Option<&'static str> {
    let object = Arc::new(maps.get("tidy").await.unwrap());
    let mut ran = None;
    finalizer(maps, NAME, object, |event| {
        ran = Some(match event {
            Event::Apply(_) => "apply",
            Event::Cleanup(_) => "clean up",
        });
        async { Ok::<_, Infallible>(Action::await_change()) }
    })
    .await
    .unwrap();
    ran
}
