//! Files that were made up, every checksum in them being right.

use std::fs;

use store::{OpenError, Options, Store};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::samples::{Place, body, key, pods, revision};

const SLOTS: [usize; 2] = [512, 1024];

/// Sequence, length, revision and run of the machine.
type Slot = [u64; 4];

fn slot(bytes: &[u8], at: usize) -> Slot {
    let number = |index: usize| {
        let at = at + 8 * index;
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
    };
    [number(0), number(1), number(2), number(3)]
}

fn set_slot(bytes: &mut [u8], at: usize, slot: Slot) {
    let parts = slot.map(u64::to_le_bytes).concat();
    bytes[at..at + 32].copy_from_slice(&parts);
    bytes[at + 32..at + 40].copy_from_slice(&xxh3_64(&parts).to_le_bytes());
}

/// A store of two commits, and its slots, the older one first.
async fn specimen(place: &Place) -> (Vec<u8>, [usize; 2]) {
    let store = place.open();
    for name in ["a", "b"] {
        revision(store.create(&pods(), key(name), body(name)).await);
    }
    store.close().await;
    let bytes = fs::read(place.path()).unwrap();
    let mut slots = SLOTS;
    slots.sort_by_key(|at| slot(&bytes, *at)[0]);
    (bytes, slots)
}

fn assert_refused(place: &Place, bytes: &[u8], what: &str) {
    fs::write(place.path(), bytes).unwrap();
    for boot_id in [Options::default().boot_id, "the next run".to_owned()] {
        let options = Options {
            boot_id,
            drop_damaged: true,
            ..Options::default()
        };
        let error = Store::open(&place.path(), options).err();
        assert!(
            matches!(error, Some(OpenError::Damaged { .. })),
            "{what}: {error:?}"
        );
        assert_eq!(fs::read(place.path()).unwrap(), bytes, "{what}: it was changed");
    }
}

#[tokio::test]
async fn impossible_slots_are_damage() {
    let place = Place::in_memory();
    let (bytes, [older, newer]) = specimen(&place).await;
    let [sequence, length, revision, boot] = slot(&bytes, newer);
    let both = [
        ("a length within the header", [sequence, 4095, revision, boot]),
        ("no length", [sequence, 0, revision, boot]),
        ("a length beyond the file", [sequence, length + 1, revision, boot]),
        ("a length without end", [sequence, u64::MAX, revision, boot]),
        ("a length within a commit", [sequence, length - 1, revision, boot]),
        ("no next sequence", [u64::MAX, length, revision, boot]),
        ("no next revision", [sequence, length, u64::MAX, boot]),
        (
            "a revision before its commit's",
            [sequence, length, revision - 1, boot],
        ),
    ];
    for (what, impossible) in both {
        let mut hostile = bytes.clone();
        set_slot(&mut hostile, newer, impossible);
        set_slot(&mut hostile, older, impossible);
        assert_refused(&place, &hostile, what);
    }
    let one = [
        (
            "two states of one sequence",
            [sequence, length, revision + 1, boot],
        ),
        (
            "a sequence that was skipped",
            [sequence + 2, length, revision, boot],
        ),
    ];
    for (what, impossible) in one {
        let mut hostile = bytes.clone();
        set_slot(&mut hostile, older, impossible);
        assert_refused(&place, &hostile, what);
    }
}

#[tokio::test]
async fn a_commit_whose_records_cannot_be_told_apart_is_damage_whatever_its_checksum() {
    let place = Place::in_memory();
    let (bytes, slots) = specimen(&place).await;
    let [sequence, _, revision, boot] = slot(&bytes, slots[1]);
    let huge_key = [&[1_u8][..], &u32::MAX.to_le_bytes(), &[0; 64]].concat();
    for records in [&b"?"[..], &[0; 37], &[0; 4096], &huge_key] {
        let mut hostile = bytes.clone();
        hostile.extend(b"commit\n\0");
        let sum = xxh3_64_with_seed(records, revision + 1);
        for number in [records.len() as u64, revision + 1, sum] {
            hostile.extend(number.to_le_bytes());
        }
        hostile.extend(records);
        let length = hostile.len() as u64;
        for at in slots {
            set_slot(&mut hostile, at, [sequence, length, revision + 1, boot]);
        }
        assert_refused(&place, &hostile, "records that are none");
    }
}
