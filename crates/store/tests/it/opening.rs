//! What is found where a store should be, and what is said about it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use store::{OpenError, Options, Store};
use xxhash_rust::xxh3::xxh3_64;

use crate::samples::{Place, body, key, pods, revision};

fn refused(place: &Place) -> OpenError {
    Store::open(&place.path(), Options::default())
        .err()
        .expect("the store must not open")
}

#[tokio::test]
async fn a_missing_file_becomes_a_new_store_for_its_owner_only() {
    let place = Place::new();
    // What a crash during an earlier creation leaves behind.
    fs::write(place.path().with_file_name("store.db.new"), "half a file").unwrap();
    let store = place.open();
    revision(store.create(&pods(), key("a"), body("one")).await);
    assert_eq!(
        fs::metadata(place.path()).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(place.files(), ["store.db"]);
    store.close().await;
    assert!(place.open().get(&pods(), "default", "a").is_some());
}

#[test]
fn an_empty_file_is_damage_as_no_crash_leaves_one() {
    let place = Place::new();
    fs::write(place.path(), "").unwrap();
    let error = refused(&place);
    assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
    assert!(
        error.to_string().ends_with("is damaged: the file is empty"),
        "{error}"
    );
    assert_eq!(fs::read(place.path()).unwrap(), b"");
}

#[test]
fn of_many_who_create_a_store_at_once_exactly_one_has_it() {
    for round in 0..20 {
        let place = Place::in_memory();
        let opened: Vec<_> = std::thread::scope(|scope| {
            let open = || Store::open(&place.path(), Options::default());
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let refused: Vec<_> = opened.iter().filter_map(|opened| opened.as_ref().err()).collect();
        assert_eq!(refused.len(), 7, "round {round}: {refused:?}");
        for error in refused {
            assert!(
                matches!(error, OpenError::Locked { .. }),
                "round {round}: {error:?}"
            );
        }
        assert_eq!(place.files(), ["store.db"], "round {round}");
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
async fn a_store_of_another_version_is_not_touched() {
    let place = Place::new();
    place.open().close().await;
    for version in [1, 9] {
        let mut bytes = fs::read(place.path()).unwrap();
        bytes[16..20].copy_from_slice(&u32::to_le_bytes(version));
        let sum = xxh3_64(&bytes[..36]);
        bytes[36..44].copy_from_slice(&sum.to_le_bytes());
        fs::write(place.path(), &bytes).unwrap();
        let error = refused(&place);
        let OpenError::OtherFormat { found, supported, .. } = error else {
            panic!("{error:?}")
        };
        assert_eq!((found, supported), (version, 2));
        assert!(error.hint().unwrap().contains("version"));
        assert_eq!(fs::read(place.path()).unwrap(), bytes);
    }
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
