//! Damaged archives: any number of them, none of which may do more than fail.

use std::fs;

use crate::made::{Layer, Made, Place, docker_archive, quiet};

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// Some of everything a layer can hold.
fn layer() -> Vec<u8> {
    Layer::new()
        .folder("a", 0o755)
        .file("a/file", "content")
        .symlink("a/link", "../../..")
        .hard_link("a/hard", "a/file")
        .extended(&[
            ("path", b"a/pax"),
            ("SCHILY.xattr.user.x", b"y"),
            ("mtime", b"1.5"),
        ])
        .file("x", "pax")
        .extended(&[("GNU.sparse.map", b"0,3"), ("GNU.sparse.size", b"4096")])
        .file("sparse", "abc")
        .long_file(&"long/".repeat(40), "gnu")
        .file("a/.wh.gone", "")
        .file("b/.wh..wh..opq", "")
        .bytes()
}

/// Puts right the check sums of all headers, so that damage gets past them.
fn with_sums(bytes: &mut [u8]) {
    for block in bytes.as_chunks_mut::<512>().0 {
        if &block[257..262] == b"ustar" {
            block[148..156].fill(b' ');
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
    }
}

#[test]
fn a_damaged_layer_does_nothing_but_fail() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("untouched"), "x").unwrap();
    let place = Place::new();
    let whole = layer();
    let mut dice = Dice(7);
    for round in 0..400 {
        let mut bytes = whole.clone();
        for _ in 0..=dice.roll(8) {
            let position = dice.roll(bytes.len());
            bytes[position] = match dice.roll(4) {
                0 => b'.',
                1 => b'/',
                2 => b'0' + dice.roll(8) as u8,
                _ => dice.roll(256) as u8,
            };
        }
        if dice.roll(4) == 0 {
            bytes.truncate(dice.roll(bytes.len()));
        }
        with_sums(&mut bytes);
        let mut made = Made::new(Vec::new());
        made.config["rootfs"]["diff_ids"] = serde_json::json!([images::Digest::sha256(&bytes)]);
        made.layers = vec![bytes];
        if let Ok(image) = place.import(&made, "damaged") {
            place.store.remove_id(&image.id).unwrap();
        }
        assert_eq!(place.layer_count(), 0, "round {round}");
        assert_eq!(place.folders("work"), 0, "round {round}");
    }
    assert!(outside.path().join("untouched").exists());
}

#[test]
fn a_damaged_archive_does_nothing_but_fail() {
    let place = Place::new();
    let made = Made::new(vec![Layer::new().file("a", "b")]);
    let whole = docker_archive(&[(&["x"], &made)]);
    let mut dice = Dice(11);
    for _ in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..=dice.roll(6) {
            let position = dice.roll(bytes.len());
            bytes[position] = dice.roll(256) as u8;
        }
        if dice.roll(3) == 0 {
            bytes.truncate(dice.roll(bytes.len()));
        }
        with_sums(&mut bytes);
        fs::write(place.path("archive.tar"), bytes).unwrap();
        let _ = place.store.import(&place.path("archive.tar"), None, &quiet);
        assert_eq!(place.folders("work"), 0);
    }
}
