//! Files that are not what was written: the program names them and says what can be done.

use std::fs;

use serde_json::json;

use crate::{
    client::Version,
    server::{Place, Refusal},
};

const PATH: &str = "/api/v1/namespaces/default/configmaps";
const OBJECTS: usize = 40;

/// A place with some objects in it.
async fn stocked() -> Place {
    let place = Place::new();
    let server = place.start();
    let connection = server.client.connect(Version::Http2).await.unwrap();
    for number in 0..OBJECTS {
        let marks = format!("mark-{number}-").repeat(20);
        let object = json!({ "metadata": { "name": format!("c-{number}") }, "data": { "marks": marks } });
        connection.post(PATH, &object).await.unwrap().ok();
    }
    server.stop();
    place
}

/// The objects a server started here serves, or why there is none.
async fn objects(place: &Place, arguments: &[&str]) -> Result<usize, Refusal> {
    let server = place.try_start(place.command().args(arguments))?;
    let connection = server.client.connect(Version::Http2).await.unwrap();
    let list = connection.get(PATH).await.unwrap().ok();
    let items = list["items"].as_array().unwrap();
    Ok(items
        .iter()
        .filter(|item| item["data"]["marks"].is_string())
        .count())
}

fn assert_clear(refusal: &Refusal, file: &str) {
    assert_eq!(refusal.status.code(), Some(2), "{refusal:?}");
    assert!(refusal.error.starts_with("error: "), "{refusal:?}");
    assert!(refusal.error.contains(file), "{refusal:?}");
    assert!(!refusal.error.contains("panicked"), "{refusal:?}");
}

#[tokio::test]
async fn a_damaged_store_is_reported_with_its_name_and_with_advice() {
    let place = stocked().await;
    let path = place.file("store.db");
    let whole = fs::read(&path).unwrap();
    let mut damages: Vec<Vec<u8>> = [1, 2, 3, 5, 8]
        .map(|part| whole[..whole.len() * part / 9].to_vec())
        .into();
    for page in (0..whole.len() / 4096).step_by(whole.len() / 4096 / 12) {
        let mut flipped = whole.clone();
        for byte in &mut flipped[page * 4096 + 64..page * 4096 + 96] {
            *byte ^= 0x55;
        }
        damages.push(flipped);
    }
    let mut refused = 0;
    for damage in &damages {
        fs::write(&path, damage).unwrap();
        match objects(&place, &[]).await {
            Ok(found) => assert_eq!(found, OBJECTS),
            Err(refusal) => {
                refused += 1;
                assert_clear(&refusal, "store.db` is damaged");
                assert!(
                    refusal
                        .error
                        .contains("hint: nothing was changed; restore a copy"),
                    "{refusal:?}"
                );
            }
        }
    }
    assert!(refused >= 5, "only {refused} of {} were noticed", damages.len());
    fs::write(&path, &whole).unwrap();
    assert_eq!(objects(&place, &[]).await.unwrap(), OBJECTS);
}

#[tokio::test]
async fn a_damaged_record_is_named_and_can_be_left_out() {
    let place = stocked().await;
    let path = place.file("store.db");
    let mut bytes = fs::read(&path).unwrap();
    let needle = b"mark-7-mark-7-";
    let at = bytes.windows(needle.len()).rposition(|window| window == needle);
    bytes[at.unwrap()] = b'?';
    fs::write(&path, &bytes).unwrap();

    let refusal = objects(&place, &[]).await.unwrap_err();
    assert_clear(
        &refusal,
        "records fail their checksum (`/configmaps default c-7`)",
    );
    assert!(refusal.error.contains("`--drop-damaged`"), "{refusal:?}");
    assert_eq!(objects(&place, &["--drop-damaged"]).await.unwrap(), OBJECTS - 1);
    assert!(place.file("store.db.damaged").exists());
    assert_eq!(objects(&place, &[]).await.unwrap(), OBJECTS - 1);
}

#[tokio::test]
async fn damaged_keys_and_certificates_are_named() {
    let place = stocked().await;
    for name in ["ca.key", "ca.crt", "service-account.key"] {
        let path = place.file("pki").join(name);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let refusal = objects(&place, &[]).await.unwrap_err();
        assert_clear(&refusal, name);
        fs::write(&path, &whole).unwrap();
    }
    fs::write(place.file("kubeconfig"), "torn").unwrap();
    fs::write(place.file("instance.json"), "torn").unwrap();
    assert_eq!(objects(&place, &[]).await.unwrap(), OBJECTS);
}
