//! Real files with flipped bits, torn pages and missing ends: an error or the right data, never
//! anything else.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use store::{OpenError, Options, Store};

use crate::samples::{Place, body, key, pods, revision, value};

/// What is written and lost together.
const PAGE: usize = 4096;

type State = BTreeMap<String, String>;

fn state(store: &Store) -> State {
    let list = store.list(&pods(), None, None, None);
    list.items
        .iter()
        .map(|object| (object.key().to_string(), value(object)))
        .collect()
}

/// A store with some history, and its file both as a clean close and as a crash leave it.
async fn specimen() -> (State, Vec<u8>, Vec<u8>) {
    let place = Place::in_memory();
    let store = place.open();
    for number in 0..60 {
        let value = format!("{number}-").repeat(100 + number);
        revision(
            store
                .create(&pods(), key(&number.to_string()), body(&value))
                .await,
        );
    }
    for number in (0..60).step_by(7) {
        revision(store.delete(&pods(), key(&number.to_string()), None).await);
    }
    let current = store.get(&pods(), "default", "8").unwrap();
    revision(
        store
            .update(&pods(), key("8"), current.revision(), body("the last write"))
            .await,
    );
    let state = state(&store);
    let crashed = fs::read(place.path()).unwrap();
    store.close().await;
    let closed = fs::read(place.path()).unwrap();
    (state, closed, crashed)
}

/// One thing that can happen to a file at rest.
#[derive(Clone, Debug)]
enum Damage {
    None,
    FlippedBit(usize),
    CutTo(usize),
    Zeroed(Range<usize>),
    /// The first page is found again at this offset.
    MisplacedPage(usize),
}

impl Damage {
    fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        match self.clone() {
            Self::None => {}
            Self::FlippedBit(bit) => bytes[bit / 8] ^= 1 << (bit % 8),
            Self::CutTo(length) => bytes.truncate(length),
            Self::Zeroed(range) => bytes[range].fill(0),
            Self::MisplacedPage(at) => {
                let length = PAGE.min(bytes.len() - at);
                bytes.copy_within(PAGE..PAGE + length, at);
            }
        }
        bytes
    }
}

/// Opens the bytes as a store: what it holds, or why it does not open.
async fn attempt(path: &Path, bytes: &[u8]) -> Result<State, OpenError> {
    fs::write(path, bytes).unwrap();
    open(path).await
}

async fn open(path: &Path) -> Result<State, OpenError> {
    let store = Store::open(path, Options::default())?;
    let state = state(&store);
    store.close().await;
    Ok(state)
}

/// Does every damage to both files. Returns how many were noticed, and how many there were.
async fn check(damages: impl Fn(&[u8]) -> Vec<Damage>) -> (usize, usize) {
    let (expected, closed, crashed) = specimen().await;
    let place = Place::in_memory();
    let (mut refused, mut total) = (0, 0);
    for (origin, bytes) in [("closed", &closed), ("crashed", &crashed)] {
        for damage in damages(bytes) {
            total += 1;
            match attempt(&place.path(), &damage.apply(bytes)).await {
                Ok(found) => assert!(found == expected, "{origin} file, {damage:?}: wrong data"),
                Err(OpenError::Damaged { .. } | OpenError::NotAStore { .. }) => {
                    refused += 1;
                    // Having refused once must not have made the file acceptable.
                    let again = open(&place.path()).await;
                    assert!(
                        again.is_err(),
                        "{origin} file, {damage:?}: opened at the second try"
                    );
                }
                Err(other) => panic!("{origin} file, {damage:?}: {other:?}"),
            }
        }
    }
    (refused, total)
}

/// The offsets of the pages that have ever been written, the header's aside.
fn pages(bytes: &[u8]) -> impl Iterator<Item = usize> + use<> {
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    (PAGE..used).step_by(PAGE)
}

#[tokio::test]
async fn an_undamaged_file_opens_whether_closed_or_crashed() {
    assert_eq!(check(|_| vec![Damage::None]).await, (0, 2));
}

#[tokio::test]
async fn no_flipped_bit_of_the_header_gives_wrong_data() {
    // What the file is, and the two slots that say how far it is written.
    let parts = [0..44, 512..552, 1024..1064];
    let bits = || {
        parts
            .clone()
            .into_iter()
            .flatten()
            .flat_map(|byte| (0..8).map(move |bit| byte * 8 + bit))
    };
    let (refused, total) = check(|_| bits().map(Damage::FlippedBit).collect()).await;
    assert_eq!(refused, total);
}

#[tokio::test]
async fn no_flipped_bit_of_a_page_gives_wrong_data() {
    let spread =
        |page: usize| [3, 50, 400, 900, 1700, 2500, 3300, 4090].map(|byte| (page + byte) * 8 + byte % 8);
    let (refused, total) = check(|bytes| {
        let bits = pages(bytes).flat_map(spread).filter(|bit| *bit < bytes.len() * 8);
        bits.map(Damage::FlippedBit).collect()
    })
    .await;
    assert!(refused > 100, "{refused} of {total}");
}

#[tokio::test]
async fn no_lost_or_zeroed_end_gives_wrong_data() {
    check(|bytes| {
        let lengths = (1..bytes.len())
            .step_by(bytes.len() / 40)
            .chain([9, 320, PAGE, bytes.len() - 1]);
        lengths
            .flat_map(|length| [Damage::CutTo(length), Damage::Zeroed(length..bytes.len())])
            .collect()
    })
    .await;
}

#[tokio::test]
async fn no_torn_or_misplaced_page_gives_wrong_data() {
    check(|bytes| {
        let torn = |page| {
            let half = bytes.len().min(page + PAGE / 2);
            [Damage::Zeroed(page..half), Damage::MisplacedPage(page)]
        };
        pages(bytes).flat_map(torn).collect()
    })
    .await;
}

/// The file with one letter of one record changed.
fn with_damaged_record(bytes: &[u8]) -> Vec<u8> {
    let needle = b"12-12-12-12-";
    let at = bytes
        .windows(needle.len())
        .rposition(|window| window == needle)
        .unwrap();
    let mut damaged = bytes.to_vec();
    damaged[at] = b'?';
    damaged
}

#[tokio::test]
async fn a_damaged_record_is_named_and_can_be_dropped() {
    let (mut expected, closed, _) = specimen().await;
    let place = Place::in_memory();
    let damaged = with_damaged_record(&closed);
    fs::write(place.path(), &damaged).unwrap();

    let error = Store::open(&place.path(), Options::default()).err().unwrap();
    let OpenError::Damaged { records, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(records, &["/pods default 12"]);
    assert!(
        error
            .to_string()
            .ends_with("is damaged: records fail their checksum (`/pods default 12`)"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("restore a copy"));

    let store = dropping(&place).unwrap();
    expected.remove("default/12");
    assert_eq!(state(&store), expected);
    assert!(
        store.revision() > 1_000_000,
        "revisions that were handed out must not come again"
    );
    revision(store.create(&pods(), key("12"), body("again")).await);
    store.close().await;
    assert_eq!(place.files(), ["store.db", "store.db.damaged"]);
    assert!(place.open().get(&pods(), "default", "12").is_some());
}

#[tokio::test]
async fn each_damaged_file_is_set_aside_for_its_owner_under_a_name_of_its_own() {
    let (_, closed, _) = specimen().await;
    let place = Place::in_memory();
    let copies = ["store.db.damaged", "store.db.damaged-2", "store.db.damaged-3"];
    for (number, copy) in copies.into_iter().enumerate() {
        let mut damaged = with_damaged_record(&closed);
        // What is behind the end has no meaning, and tells the copies apart.
        damaged.push(number as u8);
        fs::write(place.path(), &damaged).unwrap();
        dropping(&place).unwrap().close().await;
        let copy = place.path().with_file_name(copy);
        assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read(copy).unwrap(), damaged);
    }
    assert_eq!(
        fs::read(place.path().with_file_name(copies[0])).unwrap().last(),
        Some(&0)
    );
}

fn dropping(place: &Place) -> Result<Store, OpenError> {
    let options = Options {
        drop_damaged: true,
        ..Options::default()
    };
    Store::open(&place.path(), options)
}

#[tokio::test]
async fn a_record_whose_key_is_damaged_is_not_taken_for_another() {
    let (_, closed, _) = specimen().await;
    let place = Place::in_memory();
    let needle = b"/pods\0default\x0012";
    let at = closed.windows(needle.len()).position(|window| window == needle);
    let at = at.unwrap();
    for bit in at * 8..(at + needle.len()) * 8 {
        fs::write(place.path(), Damage::FlippedBit(bit).apply(&closed)).unwrap();
        for opened in [Store::open(&place.path(), Options::default()), dropping(&place)] {
            let error = opened.err().unwrap();
            let is_whole = matches!(&error, OpenError::Damaged { records, .. } if records.is_empty());
            assert!(is_whole, "bit {}: {error:?}", bit - at * 8);
        }
    }
}

#[tokio::test]
async fn a_slot_of_zeros_is_damage_unless_the_power_failed() {
    let (expected, closed, _) = specimen().await;
    let place = Place::in_memory();
    // One file whose slots differ, and one whose slots are the same.
    assert_eq!(attempt(&place.path(), &closed).await.unwrap(), expected);
    let reopened = fs::read(place.path()).unwrap();
    assert_ne!(closed[512..552], closed[1024..1064]);
    assert_eq!(reopened[512..552], reopened[1024..1064]);
    for (bytes, slot) in [
        (&closed, 512),
        (&closed, 1024),
        (&reopened, 512),
        (&reopened, 1024),
    ] {
        let zeroed = Damage::Zeroed(slot..slot + 40).apply(bytes);
        let error = attempt(&place.path(), &zeroed).await.unwrap_err();
        assert!(error.to_string().ends_with("its header is unreadable"), "{error}");
        let store = place.open_with(run_of_the_machine("the next run"));
        assert_eq!(state(&store), expected);
        store.close().await;
    }
}

#[tokio::test]
async fn a_commit_that_was_durable_before_the_power_failed_is_not_given_up() {
    let (expected, closed, _) = specimen().await;
    let place = Place::in_memory();
    assert_eq!(attempt(&place.path(), &closed).await.unwrap(), expected);
    let mut damaged = fs::read(place.path()).unwrap();
    let needle = b"the last write";
    let at = damaged.windows(needle.len()).position(|window| window == needle);
    damaged[at.unwrap()] ^= 1;
    fs::write(place.path(), damaged).unwrap();
    let error = Store::open(&place.path(), run_of_the_machine("the next run")).err();
    let Some(OpenError::Damaged { records, .. }) = error else {
        panic!("{error:?}")
    };
    assert_eq!(records, ["/pods default 8"]);
}

fn run_of_the_machine(boot_id: &str) -> Options {
    Options {
        boot_id: boot_id.to_owned(),
        ..Options::default()
    }
}

/// The file with one more commit, written in some run of the machine.
async fn with_another_commit(place: &Place, bytes: &[u8], boot_id: &str) -> Vec<u8> {
    fs::write(place.path(), bytes).unwrap();
    let store = place.open_with(run_of_the_machine(boot_id));
    revision(
        store
            .create(&pods(), key("lost"), body(&"lost".repeat(3000)))
            .await,
    );
    store.close().await;
    fs::read(place.path()).unwrap()
}

#[tokio::test]
async fn a_commit_that_a_power_failure_cut_short_is_undone_but_not_without_one() {
    let (expected, closed, _) = specimen().await;
    let place = Place::in_memory();
    let whole = with_another_commit(&place, &closed, "one run").await;
    let missing = closed.len()..whole.len();
    let middle = closed.len() + PAGE..closed.len() + 2 * PAGE;
    for damage in [
        Damage::CutTo(closed.len()),
        Damage::CutTo(whole.len() - 1),
        Damage::Zeroed(missing),
        Damage::Zeroed(middle),
    ] {
        let torn = damage.apply(&whole);
        fs::write(place.path(), &torn).unwrap();
        // In the run that wrote it nothing is cut short, so it was whole once.
        for _ in 0..2 {
            let error = Store::open(&place.path(), run_of_the_machine("one run"));
            let error = error.err().unwrap();
            assert!(matches!(error, OpenError::Damaged { .. }), "{damage:?}: {error}");
        }
        assert_eq!(fs::read(place.path()).unwrap(), torn, "it was changed");
        let store = place.open_with(run_of_the_machine("the next run"));
        assert_eq!(state(&store), expected, "{damage:?}");
        revision(store.create(&pods(), key("new"), body("new")).await);
        store.close().await;
        let store = place.open_with(run_of_the_machine("the next run"));
        assert_eq!(state(&store).len(), expected.len() + 1, "{damage:?}");
        store.close().await;
    }
}

#[tokio::test]
async fn a_commit_without_the_slot_that_vouches_for_it_is_kept_if_it_may_have_been_acknowledged() {
    let (expected, closed, _) = specimen().await;
    let place = Place::in_memory();
    let whole = with_another_commit(&place, &closed, "one run").await;
    let slots = [512..552, 1024..1064];
    let newest = slots
        .into_iter()
        .find(|slot| whole[slot.clone()] != closed[slot.clone()]);
    let mut damaged = whole.clone();
    damaged[newest.clone().unwrap().start + 20] ^= 1;
    fs::write(place.path(), &damaged).unwrap();
    let store = place.open_with(run_of_the_machine("the next run"));
    assert_eq!(state(&store).len(), expected.len() + 1);
    store.close().await;
    // A commit that no slot ever vouched for was cut short by the end of the process.
    let mut unfinished = whole;
    unfinished[newest.clone().unwrap()].copy_from_slice(&closed[newest.unwrap()]);
    assert_eq!(attempt(&place.path(), &unfinished).await.unwrap(), expected);
}
