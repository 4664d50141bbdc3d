//! What is found where a store should be, and what is said about it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use store::{OpenError, Options, Store};
use xxhash_rust::xxh3::xxh3_64;

use crate::samples::{Place, body, key, pods, revision};

fn refused(place: &Place) -> OpenError {
    Store::open(&place.path(), Options::default())
        .err()
        .expect("the store must not open")
}

#[tokio::test]
async fn a_missing_or_empty_file_becomes_a_new_store_for_its_owner_only() {
    for empty in [false, true] {
        let place = Place::new();
        if empty {
            fs::write(place.path(), "").unwrap();
        }
        // What a crash during an earlier creation leaves behind.
        fs::write(place.path().with_file_name("store.db.new"), "half a file").unwrap();
        let store = place.open();
        revision(store.create(&pods(), key("a"), body("one")).await);
        assert_eq!(
            fs::metadata(place.path()).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(fs::read_dir(place.path().parent().unwrap()).unwrap().count(), 1);
        store.close().await;
        assert!(place.open().get(&pods(), "default", "a").is_some());
    }
}

#[test]
fn something_else_in_its_place_is_left_alone() {
    let place = Place::new();
    for content in ["x".to_owned(), "not a database\n".repeat(1000)] {
        fs::write(place.path(), &content).unwrap();
        let error = refused(&place);
        assert!(matches!(error, OpenError::NotAStore { .. }), "{error:?}");
        assert!(error.to_string().ends_with("store.db` is not a store"), "{error}");
        assert_eq!(fs::read_to_string(place.path()).unwrap(), content);
    }
    fs::remove_file(place.path()).unwrap();
    fs::create_dir(place.path()).unwrap();
    assert!(matches!(refused(&place), OpenError::Io { .. }));
}

#[tokio::test]
async fn a_store_of_a_newer_version_is_not_touched() {
    let place = Place::new();
    place.open().close().await;
    let mut bytes = fs::read(place.path()).unwrap();
    bytes[16..20].copy_from_slice(&9_u32.to_le_bytes());
    let sum = xxh3_64(&bytes[..36]);
    bytes[36..44].copy_from_slice(&sum.to_le_bytes());
    fs::write(place.path(), &bytes).unwrap();
    let error = refused(&place);
    assert!(
        matches!(
            error,
            OpenError::NewerFormat {
                found: 9,
                supported: 1,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(error.hint().unwrap().contains("version"));
}

#[tokio::test]
async fn a_store_that_is_open_cannot_be_opened_again() {
    let place = Place::new();
    let store = place.open();
    let error = refused(&place);
    assert!(matches!(error, OpenError::Locked { .. }), "{error:?}");
    store.close().await;
    place.open();
}

#[test]
fn a_place_that_cannot_be_reached_is_named() {
    let place = Place::new();
    let path = place.path().join("deeper/store.db");
    let error = Store::open(&path, Options::default()).err().unwrap();
    assert!(
        matches!(&error, OpenError::Io { path: named, .. } if named.starts_with(place.path())),
        "{error}"
    );
}

#[tokio::test]
async fn a_file_without_permission_is_an_error_with_advice() {
    let place = Place::new();
    place.open().close().await;
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o000)).unwrap();
    let is_root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|id| id.stdout == b"0\n");
    if is_root {
        // Permissions do not bind root.
        place.open().close().await;
        return;
    }
    assert!(refused(&place).hint().unwrap().contains("readable"));
}

/// Writes until the file is smaller than a limit.
async fn write_until_smaller(store: &Store, place: &Place, limit: u64) {
    for number in 0..10_000 {
        let name = format!("small-{}", number % 10);
        let _ = store.delete(&pods(), key(&name), None).await;
        revision(store.create(&pods(), key(&name), body(&number.to_string())).await);
        if fs::metadata(place.path()).unwrap().len() < limit {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("the file was never compacted");
}

#[tokio::test]
async fn space_left_by_deleted_objects_is_given_back_while_others_are_written() {
    let place = Place::new();
    let store = place.open();
    let large = "x".repeat(900_000);
    for number in 0..30 {
        revision(
            store
                .create(&pods(), key(&number.to_string()), body(&large))
                .await,
        );
    }
    for number in 1..30 {
        revision(store.delete(&pods(), key(&number.to_string()), None).await);
    }
    write_until_smaller(&store, &place, 8 << 20).await;
    let expected = names_and_revisions(&store);
    revision(store.create(&pods(), key("last"), body("last")).await);
    store.close().await;
    assert_eq!(fs::read_dir(place.path().parent().unwrap()).unwrap().count(), 1);
    let store = place.open();
    revision(store.delete(&pods(), key("last"), None).await);
    assert_eq!(names_and_revisions(&store), expected);
    assert!(matches!(refused(&place), OpenError::Locked { .. }));
}

fn names_and_revisions(store: &Store) -> Vec<(String, u64)> {
    let list = store.list(&pods(), None, None, None);
    list.items
        .iter()
        .map(|object| (object.key().to_string(), object.revision()))
        .collect()
}
