//! Watchers, with a list first and with a list that streams.

use std::pin::pin;

use futures_util::{Stream, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    core::PartialObjectMeta,
    runtime::{
        metadata_watcher,
        watcher::{self, Config, Event, watcher},
    },
};
use serde_json::json;

use crate::{config_map, with_client};

#[test]
fn a_watcher_sees_what_is_there_and_every_change() {
    with_client(|client| follow(client, Config::default()));
}

#[test]
fn a_watcher_that_streams_its_list_sees_the_same() {
    with_client(|client| follow(client, Config::default().streaming_lists()));
}

#[test]
fn a_watcher_that_lists_in_pages_sees_the_same() {
    with_client(|client| follow(client, Config::default().page_size(1)));
}

#[test]
fn a_watcher_of_metadata_sees_names_only() {
    with_client(|client| async move {
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        maps.create(&PostParams::default(), &labelled("before"))
            .await
            .unwrap();
        let mut stream = pin!(metadata_watcher(maps, Config::default().labels("watched=yes")));
        let mut names = Vec::new();
        while let Some(event) = stream.try_next().await.unwrap() {
            match event {
                Event::InitApply(PartialObjectMeta { metadata, types, .. }) => {
                    names.push((metadata.name.unwrap(), types.map(|types| types.kind)));
                }
                Event::InitDone => break,
                _ => {}
            }
        }
        let kind = Some("PartialObjectMetadata".to_owned());
        assert_eq!(names, [("before".to_owned(), kind)]);
    });
}

async fn follow(client: Client, config: Config) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    for name in ["first", "second"] {
        maps.create(&PostParams::default(), &labelled(name))
            .await
            .unwrap();
    }
    let mut stream = pin!(watcher(maps.clone(), config.labels("watched=yes")));
    assert_eq!(next(&mut stream).await, "init");
    assert_eq!(next(&mut stream).await, "there first");
    assert_eq!(next(&mut stream).await, "there second");
    assert_eq!(next(&mut stream).await, "all there");

    maps.create(&PostParams::default(), &labelled("third"))
        .await
        .unwrap();
    assert_eq!(next(&mut stream).await, "now third");
    let change = Patch::Merge(json!({"data": {"a": "2"}}));
    maps.patch("first", &PatchParams::default(), &change)
        .await
        .unwrap();
    assert_eq!(next(&mut stream).await, "now first");
    // An object that leaves the selection is gone for its watchers.
    let change = Patch::Merge(json!({"metadata": {"labels": {"watched": null}}}));
    maps.patch("first", &PatchParams::default(), &change)
        .await
        .unwrap();
    assert_eq!(next(&mut stream).await, "gone first");
    maps.delete("second", &DeleteParams::default()).await.unwrap();
    assert_eq!(next(&mut stream).await, "gone second");
}

async fn next(stream: &mut (impl Stream<Item = watcher::Result<Event<ConfigMap>>> + Unpin)) -> String {
    match stream.try_next().await.unwrap().unwrap() {
        Event::Init => "init".to_owned(),
        Event::InitApply(object) => format!("there {}", object.name_any()),
        Event::InitDone => "all there".to_owned(),
        Event::Apply(object) => format!("now {}", object.name_any()),
        Event::Delete(object) => format!("gone {}", object.name_any()),
    }
}

fn labelled(name: &str) -> ConfigMap {
    let mut object = config_map(name, "a", "1");
    object.labels_mut().insert("watched".to_owned(), "yes".to_owned());
    object
}
