//! A disk that fills up in the middle of things, and the time after.

use std::fs;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use store::{Options, Store, WriteError};

use crate::child;
use crate::samples::{Place, body, key, pods, revision, value};

#[test]
fn a_full_disk_fails_writes_cleanly_and_is_forgotten_when_space_returns() {
    let place = Place::new();
    let status = child::command("full_disk::survives_a_full_disk", &place.path())
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn a_store_on_a_full_disk_can_be_read_and_is_written_when_space_returns() {
    let place = Place::new();
    let status = child::command("full_disk::starts_on_a_full_disk", &place.path())
        .status()
        .unwrap();
    assert!(status.success());
}

/// No file of this process can be written beyond this many bytes.
fn limit_file_size(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(
        Resource::Fsize,
        Rlimit {
            current: bytes.or(maximum),
            maximum,
        },
    )
    .unwrap();
}

#[test]
fn survives_a_full_disk() {
    let Some(path) = child::path() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut expected = Vec::new();
        let size = |path| fs::metadata(path).unwrap().len();
        // First the file cannot grow, then it is longer than a file may be.
        for (round, space) in [|size| size, |size| size / 2].into_iter().enumerate() {
            let store = Store::open(&path, Options::default()).unwrap();
            limit_file_size(Some(space(size(&path))));
            let written = fill(&store, round).await;
            assert_unchanged(&store, &written).await;
            limit_file_size(None);
            expected.extend(written);
            expected.push(recover(&store, round).await);
            store.close().await;
        }
        let store = Store::open(&path, Options::default()).unwrap();
        expected.sort();
        let names: Vec<_> = store
            .list(&pods(), None, None, None)
            .items
            .iter()
            .map(|pod| value(pod))
            .collect();
        assert_eq!(names, expected);
    });
}

/// Writes until there is no space. Returns what was acknowledged.
async fn fill(store: &Store, round: usize) -> Vec<String> {
    let mut written = Vec::new();
    for number in 0..5000 {
        let name = format!("{round}-{number:04}-{}", "x".repeat(20_000));
        match store.create(&pods(), key(&name[..6]), body(&name)).await {
            Ok(_) => written.push(name),
            Err(WriteError::Disk(error)) => {
                assert!(error.is_full(), "{error:?}");
                return written;
            }
            Err(other) => panic!("{other}"),
        }
    }
    panic!("the disk never filled up");
}

/// While the disk is full nothing changes, for as long as one tries.
async fn assert_unchanged(store: &Store, written: &[String]) {
    let before = store.revision();
    let mut watcher = store.watch(&pods(), None, before).unwrap();
    for attempt in 0..4 {
        let name = format!("late-{attempt}-{}", "x".repeat(400_000));
        let result = store.create(&pods(), key("late"), body(&name)).await;
        assert!(matches!(result, Err(WriteError::Disk(_))), "{result:?}");
        tokio::time::sleep(Duration::from_millis(80)).await;
    }
    assert_eq!(store.revision(), before);
    assert!(store.get(&pods(), "default", "late").is_none());
    assert!(
        tokio::time::timeout(Duration::from_millis(10), watcher.next())
            .await
            .is_err()
    );
    for name in written {
        assert!(store.get(&pods(), "default", &name[..6]).is_some());
    }
}

async fn recover(store: &Store, round: usize) -> String {
    let before = store.revision();
    let name = format!("{round}-after");
    for _ in 0..100 {
        match store.create(&pods(), key(&name), body(&name)).await {
            Ok(object) => {
                assert_eq!(object.revision(), before + 1);
                let other = format!("{round}-gone");
                revision(store.create(&pods(), key(&other), body(&other)).await);
                revision(store.delete(&pods(), key(&other), None).await);
                return name;
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
    panic!("the store did not recover");
}

#[test]
fn starts_on_a_full_disk() {
    let Some(path) = child::path() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = Store::open(&path, Options::default()).unwrap();
        revision(store.create(&pods(), key("before"), body("before")).await);
        store.close().await;
        limit_file_size(Some(4096));
        let another_run = Options {
            boot_id: "another run of the machine".to_owned(),
            ..Options::default()
        };
        let store = Store::open(&path, another_run).unwrap();
        assert!(store.get(&pods(), "default", "before").is_some());
        let result = store.create(&pods(), key("during"), body("during")).await;
        assert!(matches!(result, Err(WriteError::Disk(_))), "{result:?}");
        limit_file_size(None);
        recover(&store, 0).await;
        store.close().await;
    });
}
