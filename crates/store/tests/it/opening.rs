//! What is found where a store should be, and what is said about it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use redb::{Database, TableDefinition};
use store::{OpenError, Options, Store};

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
        fs::write(place.path().with_file_name("store.redb.new"), "half a file").unwrap();
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
        assert!(
            error.to_string().ends_with("store.redb` is not a store"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(place.path()).unwrap(), content);
    }
    fs::remove_file(place.path()).unwrap();
    fs::create_dir(place.path()).unwrap();
    assert!(matches!(refused(&place), OpenError::Io { .. }));
}

#[test]
fn a_database_of_another_program_is_not_a_store() {
    let place = Place::new();
    let database = Database::create(place.path()).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction
        .open_table(TableDefinition::<u64, u64>::new("theirs"))
        .unwrap()
        .insert(1, 2)
        .unwrap();
    transaction.commit().unwrap();
    drop(database);
    assert!(matches!(refused(&place), OpenError::NotAStore { .. }));
}

#[tokio::test]
async fn a_store_of_a_newer_version_is_not_touched() {
    let place = Place::new();
    place.open().close().await;
    let database = Database::open(place.path()).unwrap();
    let transaction = database.begin_write().unwrap();
    let meta = TableDefinition::<&str, &[u8]>::new("meta");
    transaction
        .open_table(meta)
        .unwrap()
        .insert("format", 9_u32.to_le_bytes().as_slice())
        .unwrap();
    transaction.commit().unwrap();
    drop(database);
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
    let path = place.path().join("deeper/store.redb");
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

#[tokio::test]
async fn space_left_by_deleted_objects_is_given_back_at_the_next_start() {
    let place = Place::new();
    let store = place.open();
    let large = "x".repeat(900_000);
    for number in 0..60 {
        revision(
            store
                .create(&pods(), key(&number.to_string()), body(&large))
                .await,
        );
    }
    for number in 1..60 {
        revision(store.delete(&pods(), key(&number.to_string()), None).await);
    }
    store.close().await;
    let before = fs::metadata(place.path()).unwrap().len();
    let store = place.open();
    assert!(store.get(&pods(), "default", "0").is_some());
    store.close().await;
    let after = fs::metadata(place.path()).unwrap().len();
    assert!(after < 8 << 20, "{before} bytes became {after}");
}
