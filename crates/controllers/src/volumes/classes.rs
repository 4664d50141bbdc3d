//! The StorageClasses of the built-in provisioner. Made once: who changes or deletes them means it.

use std::sync::Arc;

use k8s_openapi::{api::storage::v1::StorageClass, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{Api, api::PostParams};

use super::{claims::DEFAULT_CLASS, provision::PROVISIONER};
use crate::world::World;

pub(super) async fn ensure(world: Arc<World>, names: Vec<String>) {
    world.storage_classes.synced().await;
    let api: Api<StorageClass> = Api::all(world.client.clone());
    let is_first = world.storage_classes.is_empty();
    for (position, name) in names.iter().enumerate() {
        let class = make(name, position == 0 && is_first);
        match api.create(&PostParams::default(), &class).await {
            Ok(class) => world.storage_classes.wrote(class),
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => tracing::warn!(class = name, %error, "cannot make the storage class"),
        }
    }
}

fn make(name: &str, is_default: bool) -> StorageClass {
    StorageClass {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            annotations: is_default.then(|| [(DEFAULT_CLASS.to_owned(), "true".to_owned())].into()),
            ..ObjectMeta::default()
        },
        provisioner: PROVISIONER.to_owned(),
        reclaim_policy: Some("Delete".into()),
        volume_binding_mode: Some("Immediate".into()),
        allow_volume_expansion: Some(true),
        ..StorageClass::default()
    }
}
