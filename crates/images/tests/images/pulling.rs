//! Images from a registry on this machine.

use std::{fs, sync::Arc};

use images::{Credential, Digest, Image, Keyring, PullError, Reference, Reporter};

use crate::{
    made::{Layer, Made, Packing, Place, quiet},
    registry::{Asks, PASSWORD, Registry, USER},
};

fn silent() -> Reporter {
    Arc::new(quiet)
}

/// Bytes that do not pack well, so that a layer is longer than one piece on the wire.
fn noise(length: usize) -> String {
    let mut state = 1_u64;
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'a' + ((state >> 33) % 26) as u8)
        })
        .collect()
}

fn app() -> Made {
    Made::new(vec![
        Layer::new().file("etc/base", &noise(300_000)),
        Layer::new().file("app", "hello").file("etc/.wh.base", ""),
    ])
}

fn keyring(registry: &Registry, password: &str) -> Keyring {
    let mut keyring = Keyring::new();
    let credential = Credential {
        username: USER.to_owned(),
        password: password.to_owned(),
    };
    keyring.add(&registry.address.to_string(), credential);
    keyring
}

async fn pull(place: &Place, name: &str, keyring: &Keyring) -> Result<Image, PullError> {
    let reference: Reference = name.parse().unwrap();
    place.store.pull(&reference, keyring, silent()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_pulled_by_tag_and_by_digest() {
    let registry = Registry::start(Asks::Nothing);
    let digest = registry.push("team/app", "1", &app());
    let place = Place::new();
    let name = registry.name("team/app:1");
    let image = pull(&place, &name, &Keyring::new()).await.unwrap();
    assert_eq!(image.id, app().id());
    assert_eq!(fs::read_to_string(image.layers[0].join("app")).unwrap(), "hello");
    let by_digest = registry.name(&format!("team/app@{digest}"));
    assert_eq!(image.image_id(), by_digest);
    assert!(place.find(&name).is_some());
    assert_eq!(place.folders("downloads"), 0);
    assert_eq!(place.folders("work"), 0);

    let other = Place::new();
    let image = pull(&other, &by_digest, &Keyring::new()).await.unwrap();
    assert!(image.names.is_empty());
    assert!(other.find(&by_digest).is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_here_is_not_downloaded_again() {
    let registry = Registry::start(Asks::Nothing);
    registry.push("app", "1", &app());
    let place = Place::new();
    pull(&place, &registry.name("app:1"), &Keyring::new())
        .await
        .unwrap();
    let before = registry.blob_requests();
    pull(&place, &registry.name("app:1"), &Keyring::new())
        .await
        .unwrap();
    assert_eq!(registry.blob_requests(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_want_the_same_at_once_share_one_download() {
    let registry = Registry::start(Asks::Nothing);
    registry.push("app", "1", &app());
    let place = Place::new();
    let pulls: Vec<_> = (0..8)
        .map(|_| {
            let (store, name) = (place.store.clone(), registry.name("app:1"));
            tokio::spawn(async move {
                let reference: Reference = name.parse().unwrap();
                store.pull(&reference, &Keyring::new(), silent()).await
            })
        })
        .collect();
    for pull in pulls {
        pull.await.unwrap().unwrap();
    }
    let layers = registry.blob_requests();
    // Two layers once each, and the configuration at most once for each.
    assert!(layers <= 2 + 8, "{layers}");
    assert_eq!(place.layer_count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn passwords_and_tokens_are_given_to_whoever_asks() {
    for asks in [Asks::Password, Asks::Token] {
        let registry = Registry::start(asks);
        registry.push("app", "1", &app());
        registry.redirect_blobs();
        let place = Place::new();
        let name = registry.name("app:1");
        pull(&place, &name, &keyring(&registry, PASSWORD)).await.unwrap();
        let error = pull(&place, &name, &keyring(&registry, "wrong"))
            .await
            .unwrap_err();
        assert!(error.message().contains("authoriz"), "{}", error.message());
        assert!(!error.message().contains("wrong"), "{}", error.message());
        let error = pull(&place, &name, &Keyring::new()).await.unwrap_err();
        assert!(!error.is_unreachable(), "{}", error.message());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_credential_is_tried() {
    let registry = Registry::start(Asks::Token);
    registry.push("app", "1", &app());
    let place = Place::new();
    let mut keyring = keyring(&registry, "old password");
    let credential = Credential {
        username: USER.to_owned(),
        password: PASSWORD.to_owned(),
    };
    keyring.add(&registry.address.to_string(), credential);
    pull(&place, &registry.name("app:1"), &keyring).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_download_goes_on_where_it_was() {
    let registry = Registry::start(Asks::Nothing);
    let made = Made::new(vec![Layer::new().file("big", &noise(2_000_000))]);
    registry.push("app", "1", &made);
    registry.break_after(700_000);
    let place = Place::new();
    pull(&place, &registry.name("app:1"), &Keyring::new())
        .await
        .unwrap();
    assert_eq!(registry.ranges(), ["bytes=700000-"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_goes_on_after_its_process_was_killed() {
    let registry = Registry::start(Asks::Nothing);
    registry.push("app", "1", &app());
    let (_, blobs) = app().manifest(Packing::Gzip);
    let place = Place::new();
    let file = format!("sha256-{}", Digest::sha256(&blobs[0]).hex());
    fs::write(place.path("images/downloads").join(file), &blobs[0][..1000]).unwrap();
    pull(&place, &registry.name("app:1"), &Keyring::new())
        .await
        .unwrap();
    assert_eq!(registry.ranges(), ["bytes=1000-"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn content_that_is_not_what_it_says_is_refused_and_not_kept() {
    let registry = Registry::start(Asks::Nothing);
    registry.push("app", "1", &app());
    let (_, blobs) = app().manifest(Packing::Gzip);
    let mut damaged = blobs[0].clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    registry.put("app", "blobs", &Digest::sha256(&blobs[0]).to_string(), &damaged);
    let place = Place::new();
    let error = pull(&place, &registry.name("app:1"), &Keyring::new())
        .await
        .unwrap_err();
    assert!(
        error.message().contains("the registry's content for"),
        "{}",
        error.message()
    );
    assert!(place.find(&registry.name("app:1")).is_none());
    registry.put("app", "blobs", &Digest::sha256(&blobs[0]).to_string(), &blobs[0]);
    pull(&place, &registry.name("app:1"), &Keyring::new())
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_and_who_is_not_there_are_told_apart() {
    let registry = Registry::start(Asks::Nothing);
    let place = Place::new();
    let name = registry.name("app:none");
    let error = pull(&place, &name, &Keyring::new()).await.unwrap_err();
    assert_eq!(
        error.message(),
        format!(
            "failed to pull and unpack image \"{name}\": failed to resolve reference \"{name}\": {name}: not found"
        )
    );
    let error = pull(&place, "127.0.0.1:1/x:1", &Keyring::new())
        .await
        .unwrap_err();
    assert!(error.is_unreachable());
    let message = error.message();
    assert!(
        message.contains("dial tcp 127.0.0.1:1: connect: connection refused"),
        "{message}"
    );
    assert!(message.contains("trainyard image import"), "{message}");
}
