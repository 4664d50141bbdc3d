//! What layers look like on disk, and what no layer may do.

use std::{
    fs,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use images::{Image, Limits, Options};
use tar::EntryType;

use crate::made::{Layer, Made, Place, chain, is_root, ownership};

fn import(layers: Vec<Layer>) -> (Place, Image) {
    let place = Place::new();
    let image = place.import(&Made::new(layers), "test").unwrap();
    (place, image)
}

fn refused(layers: Vec<Layer>) -> String {
    let place = Place::new();
    let error = place.import(&Made::new(layers), "test").unwrap_err();
    assert!(place.find("test").is_none());
    assert_eq!(place.folders("work"), 0);
    chain(&error)
}

fn is_whiteout(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_char_device() && it.rdev() == 0)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn modes_times_and_owners_are_those_of_the_archive() {
    let layer = Layer::new()
        .folder("sticky", 0o1777)
        .folder("closed", 0o555)
        .file("closed/inside", "x")
        .file_with("su", b"#!", |header| {
            header.set_mode(0o4755);
            header.set_uid(12);
            header.set_gid(34);
        })
        .file_with("secret", b"x", |header| header.set_mode(0))
        .entry(EntryType::Fifo, "pipe", "", |_| {})
        .symlink("link", "/etc/shadow");
    let (_place, image) = import(vec![layer]);
    let at = |name: &str| fs::symlink_metadata(image.layers[0].join(name)).unwrap();
    assert_eq!(at("sticky").mode() & 0o7777, 0o1777);
    assert_eq!(at("closed").mode() & 0o7777, 0o555);
    assert_eq!(at("closed").mtime(), 1_000_000_000);
    assert_eq!(at("su").mode() & 0o7777, 0o4755);
    assert_eq!(at("secret").mode() & 0o7777, 0);
    assert_eq!(at("link").mtime(), 1_000_000_000);
    assert!(at("pipe").file_type().is_fifo());
    let own = fs::metadata(image.layers[0].parent().unwrap()).unwrap();
    let expected = if is_root() {
        (12, 34)
    } else {
        (own.uid(), own.gid())
    };
    assert_eq!((at("su").uid(), at("su").gid()), expected);
    assert_eq!(at("").mode() & 0o7777, 0o755);
}

#[test]
fn long_names_of_both_kinds_are_kept() {
    let long = "folder/".repeat(20) + &"n".repeat(200);
    let pax = format!("{}/pax", "p".repeat(180));
    let layer = Layer::new()
        .long_file(&long, "gnu")
        .extended(&[("path", pax.as_bytes()), ("mtime", b"12.5"), ("uid", b"3000000")])
        .file("short", "pax");
    let (_place, image) = import(vec![layer]);
    let root = &image.layers[0];
    assert_eq!(fs::read_to_string(root.join(&long)).unwrap(), "gnu");
    assert_eq!(fs::read_to_string(root.join(&pax)).unwrap(), "pax");
    let metadata = fs::metadata(root.join(&pax)).unwrap();
    assert_eq!((metadata.mtime(), metadata.mtime_nsec()), (12, 500_000_000));
    if is_root() {
        assert_eq!(metadata.uid(), 3_000_000);
    }
}

#[test]
fn attributes_are_kept_but_for_those_of_overlayfs() {
    // May be `cap_dac_override,cap_fowner=ep`: the capabilities' byte is a line end.
    let capabilities = [1, 0, 0, 2, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let layer = Layer::new()
        .extended(&[
            ("SCHILY.xattr.user.note", b"kept"),
            ("SCHILY.xattr.security.capability", &capabilities),
            ("SCHILY.xattr.trusted.overlay.redirect", b"/etc"),
            ("SCHILY.xattr.user.overlay.opaque", b"y"),
        ])
        .file("tool", "x");
    let (_place, image) = import(vec![layer]);
    let file = image.layers[0].join("tool");
    let get = |name: &str| {
        let mut buffer = vec![0; 256];
        let length = rustix::fs::getxattr(&file, name, &mut buffer[..]).ok()?;
        buffer.truncate(length);
        Some(buffer)
    };
    assert_eq!(get("user.note").as_deref(), Some(&b"kept"[..]));
    assert_eq!(get("user.overlay.opaque"), None);
    assert_eq!(get("trusted.overlay.redirect"), None);
    if is_root() {
        assert_eq!(get("security.capability").as_deref(), Some(&capabilities[..]));
    }
}

#[test]
fn removed_files_are_whiteouts_only_where_there_is_something_to_remove() {
    let base = Layer::new()
        .file("a/gone", "x")
        .file("a/stays", "x")
        .file("b/one", "x")
        .file("b/two/deep", "x")
        .file("b/three", "x")
        .file("c/old", "x");
    let top = Layer::new()
        .file("a/.wh.gone", "")
        .file("a/.wh.never", "")
        .file("b/.wh..wh..opq", "")
        .file("b/one", "new")
        .file("b/two/new", "new")
        .file(".wh.c", "")
        .file("c/new", "new");
    let (_place, image) = import(vec![base, top]);
    let top = &image.layers[0];
    assert!(is_whiteout(&top.join("a/gone")));
    assert_eq!(names(&top.join("a")), ["gone"]);
    assert_eq!(names(&top.join("b")), ["one", "three", "two"]);
    assert!(is_whiteout(&top.join("b/three")));
    assert!(is_whiteout(&top.join("b/two/deep")));
    assert!(!is_whiteout(&top.join("b/two/new")));
    assert_eq!(names(&top.join("c")), ["new", "old"]);
    assert!(is_whiteout(&top.join("c/old")));
    assert_eq!(image.read(Path::new("a/gone")).unwrap(), None);
    assert_eq!(image.read(Path::new("b/one")).unwrap().unwrap(), b"new");
}

#[test]
fn folders_that_a_layer_does_not_mention_are_like_those_below() {
    let base = Layer::new()
        .folder("srv", 0o750)
        .folder("usr", 0o755)
        .folder("usr/bin", 0o711)
        .symlink("bin", "usr/bin");
    let top = Layer::new().file("srv/x", "x").file("bin/tool", "x");
    let (_place, image) = import(vec![base, top]);
    let top = &image.layers[0];
    let mode = |name: &str| fs::symlink_metadata(top.join(name)).unwrap().mode() & 0o7777;
    assert_eq!(mode("srv"), 0o750);
    assert_eq!(mode("usr/bin"), 0o711);
    assert_eq!(names(top), ["srv", "usr"]);
    assert_eq!(image.read(Path::new("bin/tool")).unwrap().unwrap(), b"x");
}

#[test]
fn links_lead_nowhere_outside() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().display().to_string();
    let layer = Layer::new()
        .symlink("out", &target)
        .symlink("up", "../../../../../..")
        .file("out/file", "x")
        .file("up/etc/file", "y");
    let (_place, image) = import(vec![layer]);
    assert_eq!(names(outside.path()), [""; 0]);
    let inside: PathBuf = target.trim_start_matches('/').into();
    assert!(image.layers[0].join(inside).join("file").is_file());
    assert!(image.layers[0].join("etc/file").is_file());
}

#[test]
fn hard_links_share_a_file_of_this_layer_or_bring_up_one_from_below() {
    let base = Layer::new().file_with("bin/busybox", b"tool", |header| header.set_mode(0o755));
    let top = Layer::new()
        .hard_link("bin/sh", "bin/busybox")
        .file("a", "x")
        .hard_link("b", "/a")
        .hard_link("b", "b");
    let (_place, image) = import(vec![base, top]);
    let inode = |name: &str| fs::metadata(image.layers[0].join(name)).unwrap().ino();
    assert_eq!(inode("a"), inode("b"));
    assert_eq!(inode("bin/sh"), inode("bin/busybox"));
    assert_eq!(fs::read(image.layers[0].join("bin/sh")).unwrap(), b"tool");
}

#[test]
fn later_entries_replace_earlier_ones() {
    let layer = Layer::new()
        .file("x/y/z", "folder")
        .file("x", "file")
        .symlink("l", "x")
        .file("l", "no link")
        .folder("f", 0o700)
        .folder("f", 0o711);
    let (_place, image) = import(vec![layer]);
    let root = &image.layers[0];
    assert_eq!(fs::read_to_string(root.join("x")).unwrap(), "file");
    assert_eq!(fs::read_to_string(root.join("l")).unwrap(), "no link");
    assert_eq!(fs::metadata(root.join("f")).unwrap().mode() & 0o777, 0o711);
}

#[test]
fn sparse_files_have_their_holes() {
    let mut map = b"2\n0\n5\n1048576\n3\n".to_vec();
    map.resize(512, 0);
    map.extend(b"helloend");
    let layer = Layer::new()
        .extended(&[
            ("GNU.sparse.major", b"1"),
            ("GNU.sparse.minor", b"0"),
            ("GNU.sparse.name", b"big"),
            ("GNU.sparse.realsize", b"2097152"),
        ])
        .file_with("GNUSparseFile.1/big", &map, |_| {})
        .extended(&[("GNU.sparse.map", b"4096,3"), ("GNU.sparse.size", b"8192")])
        .file("older", "mid")
        .file_with("zeros", &vec![0; 1 << 20], |_| {});
    let (_place, image) = import(vec![layer]);
    let root = &image.layers[0];
    let big = fs::read(root.join("big")).unwrap();
    assert_eq!(big.len(), 2 << 20);
    assert_eq!(&big[..5], b"hello");
    assert_eq!(&big[1 << 20..][..4], b"end\0");
    assert_eq!(&fs::read(root.join("older")).unwrap()[4095..4100], b"\0mid\0");
    let zeros = fs::metadata(root.join("zeros")).unwrap();
    assert_eq!((zeros.len(), zeros.blocks()), (1 << 20, 0));
}

#[test]
fn devices_are_for_root() {
    let layer = Layer::new().entry(EntryType::Char, "null", "", |header| {
        header.set_device_major(1).unwrap();
        header.set_device_minor(3).unwrap();
    });
    let (_place, image) = import(vec![layer]);
    let device = fs::symlink_metadata(image.layers[0].join("null"));
    match device {
        Ok(device) => assert!(is_root() && device.rdev() == 0x103),
        Err(_) => assert!(!is_root()),
    }
}

#[test]
fn what_is_wrong_names_the_entry() {
    let out = refused(vec![Layer::new().file("good", "").file("../evil", "x")]);
    assert!(
        out.contains("cannot unpack `../evil`: its name leads out of the layer"),
        "{out}"
    );
    let link = refused(vec![Layer::new().hard_link("x", "../../etc/passwd")]);
    assert!(link.contains("cannot unpack `x`"), "{link}");
    let link = refused(vec![Layer::new().hard_link("x", "etc/passwd")]);
    assert!(link.contains("`etc/passwd`, which is not there"), "{link}");
    let through = refused(vec![Layer::new().file("f", "x").file("f/g", "x")]);
    assert!(through.contains("`f`, which is no folder"), "{through}");
    let round = refused(vec![
        Layer::new().symlink("a", "b").symlink("b", "a").file("a/x", ""),
    ]);
    assert!(round.contains("too many symbolic links"), "{round}");
    let device = refused(vec![Layer::new().entry(EntryType::Char, "w", "", |_| {})]);
    assert!(device.contains("would remove a file"), "{device}");
}

#[test]
fn layers_have_limits() {
    let mut options = Options::new(ownership());
    options.limits = Limits {
        bytes: 1000,
        entries: 3,
    };
    let place = Place::with(options);
    let big = Made::new(vec![Layer::new().file("big", &"x".repeat(1001))]);
    let error = chain(&place.import(&big, "x").unwrap_err());
    assert!(
        error.contains("cannot unpack `big`: layers with more than 1000 bytes"),
        "{error}"
    );
    let many = Made::new(vec![
        Layer::new()
            .file("1", "")
            .file("2", "")
            .file("3", "")
            .file("4", ""),
    ]);
    let error = chain(&place.import(&many, "x").unwrap_err());
    assert!(
        error.contains("cannot unpack `4`: layers with more than 3 entries"),
        "{error}"
    );
}

/// A kilobyte of headers may not become a gigabyte of memory.
#[test]
fn headers_have_a_limit_of_their_own() {
    let value = vec![b'x'; 2 << 20];
    let layer = Layer::new().extended(&[("comment", &value)]).file("x", "");
    let error = refused(vec![layer]);
    assert!(error.contains("headers of one member are too long"), "{error}");
}
