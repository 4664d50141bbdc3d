//! Layouts and archives, in every form they have.

use std::fs;

use images::{Digest, Options, Platform};
use serde_json::json;

use crate::made::{
    Layer, Made, Packing, Place, archive_of, chain, docker_archive, ownership, pack, quiet, write_layout,
};

fn hello(text: &str) -> Made {
    Made::new(vec![
        Layer::new().file("etc/base", "base\n"),
        Layer::new().file("hello", text),
    ])
}

#[test]
fn a_layout_is_imported_from_a_folder_however_its_layers_are_packed() {
    for packing in [Packing::Plain, Packing::Gzip, Packing::Zstd] {
        let place = Place::new();
        let made = hello("from a layout");
        write_layout(&place.path("layout"), &[("example.com/hello:1", &made)], packing);
        let images = place.store.import(&place.path("layout"), None, &quiet).unwrap();
        assert_eq!(images.len(), 1);
        let image = place.find("example.com/hello:1").unwrap();
        assert_eq!(image.id, made.id());
        assert_eq!(image.layers.len(), 2);
        assert_eq!(
            fs::read_to_string(image.layers[0].join("hello")).unwrap(),
            "from a layout"
        );
        assert_eq!(
            fs::read_to_string(image.layers[1].join("etc/base")).unwrap(),
            "base\n"
        );
        assert_eq!(image.config.config.cmd, ["/bin/sh"]);
        let (manifest, _) = made.manifest(packing);
        let by_digest = format!("example.com/hello@{}", Digest::sha256(&manifest));
        assert_eq!(image.image_id(), by_digest);
        assert!(place.find(&by_digest).is_some());
    }
}

#[test]
fn a_layout_is_imported_from_an_archive_packed_or_not() {
    for packing in [Packing::Plain, Packing::Gzip, Packing::Zstd] {
        let place = Place::new();
        let (one, other) = (hello("one"), hello("other"));
        let names = [("docker.io/library/one:latest", &one), ("other:2", &other)];
        write_layout(&place.path("layout"), &names, Packing::Gzip);
        let archive = pack(&archive_of(&place.path("layout")), packing);
        fs::write(place.path("images.tar"), archive).unwrap();
        let images = place
            .store
            .import(&place.path("images.tar"), None, &quiet)
            .unwrap();
        assert_eq!(images.len(), 2);
        assert_eq!(place.find("one").unwrap().id, one.id());
        assert_eq!(place.find("other:2").unwrap().id, other.id());
        // The base is there once.
        assert_eq!(place.layer_count(), 3);
    }
}

#[test]
fn what_docker_saves_is_imported_with_all_its_images_and_names() {
    let place = Place::new();
    let (one, other) = (hello("one"), hello("other"));
    let archive = docker_archive(&[(&["one:1", "one:latest"], &one), (&["quay.io/x/other:2"], &other)]);
    fs::write(place.path("saved.tar"), archive).unwrap();
    let images = place
        .store
        .import(&place.path("saved.tar"), None, &quiet)
        .unwrap();
    assert_eq!(
        images[0].names,
        ["docker.io/library/one:1", "docker.io/library/one:latest"]
    );
    assert_eq!(place.find("one").unwrap().id, one.id());
    assert_eq!(place.find("quay.io/x/other:2").unwrap().id, other.id());
    assert_eq!(place.layer_count(), 3);
    assert_eq!(place.store.list().unwrap().len(), 2);
}

#[test]
fn newer_docker_archives_have_both_forms() {
    let place = Place::new();
    let made = hello("both");
    let layout = place.path("layout");
    write_layout(&layout, &[("1.0", &made)], Packing::Plain);
    let layers: Vec<_> = made
        .layers
        .iter()
        .map(|layer| format!("blobs/sha256/{}", Digest::sha256(layer).hex()))
        .collect();
    let list = json!([{
        "Config": format!("blobs/sha256/{}", made.id().hex()),
        "RepoTags": ["both:1.0"],
        "Layers": layers,
    }]);
    fs::write(layout.join("manifest.json"), list.to_string()).unwrap();
    let images = place.store.import(&layout, None, &quiet).unwrap();
    assert_eq!(images.len(), 1);
    assert_eq!(images[0].names, ["docker.io/library/both:1.0"]);
}

#[test]
fn links_between_layers_of_old_archives_are_followed() {
    let place = Place::new();
    let made = hello("linked");
    let mut archive = tar::Builder::new(Vec::new());
    let mut add = |path: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, path, bytes).unwrap();
    };
    add("config.json", &made.config_bytes());
    add("a/layer.tar", &made.layers[0]);
    add("c/layer.tar", &made.layers[1]);
    let list =
        json!([{ "Config": "config.json", "RepoTags": null, "Layers": ["b/layer.tar", "c/layer.tar"] }]);
    add("manifest.json", list.to_string().as_bytes());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    archive
        .append_link(&mut header, "b/layer.tar", "../a/layer.tar")
        .unwrap();
    fs::write(place.path("old.tar"), archive.into_inner().unwrap()).unwrap();
    let images = place.store.import(&place.path("old.tar"), None, &quiet).unwrap();
    assert!(images[0].names.is_empty());
    assert!(place.store.find_id(&made.id()).unwrap().is_some());
}

#[test]
fn a_name_can_be_given_to_one_image_but_not_to_two() {
    let place = Place::new();
    let name = "mine:7".parse().unwrap();
    let path = place.path("saved.tar");
    fs::write(&path, docker_archive(&[(&["one"], &hello("one"))])).unwrap();
    place.store.import(&path, Some(&name), &quiet).unwrap();
    assert!(place.find("mine:7").is_some());
    assert!(place.find("one").is_none());
    let two = docker_archive(&[(&["one"], &hello("one")), (&["two"], &hello("two"))]);
    fs::write(&path, two).unwrap();
    let error = place.store.import(&path, Some(&name), &quiet).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there are 2 images here, and one name for them"
    );
}

#[test]
fn a_name_moves_to_the_image_imported_last() {
    let place = Place::new();
    let (old, new) = (hello("old"), hello("new"));
    place.import(&old, "app").unwrap();
    place.import(&new, "app").unwrap();
    assert_eq!(place.find("app").unwrap().id, new.id());
    assert!(place.store.find_id(&old.id()).unwrap().unwrap().names.is_empty());
}

#[test]
fn an_image_for_another_machine_is_refused() {
    let mut options = Options::new(ownership());
    options.platform = Platform {
        os: "linux".into(),
        architecture: "riscv64".into(),
        variant: None,
    };
    let place = Place::with(options);
    let error = place.import(&hello("x"), "x").unwrap_err();
    let own = Platform::of_this_machine();
    assert_eq!(
        error.to_string(),
        format!("the image is for {own}, this machine is linux/riscv64")
    );
}

#[test]
fn damaged_content_is_named() {
    let place = Place::new();
    let made = hello("x");
    let layout = place.path("layout");
    write_layout(&layout, &[("x:1", &made)], Packing::Plain);
    let layer = Digest::sha256(&made.layers[0]);
    let file = layout.join("blobs/sha256").join(layer.hex());
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).unwrap();
    let error = place.store.import(&layout, None, &quiet).unwrap_err();
    assert!(
        error.to_string().contains(&format!("layer {layer} is damaged")),
        "{}",
        chain(&error)
    );
    assert!(place.find("x:1").is_none());
    assert_eq!(place.layer_count(), 0);

    fs::write(layout.join("blobs/sha256").join(made.id().hex()), "{}").unwrap();
    let error = place.store.import(&layout, None, &quiet).unwrap_err();
    assert!(error.to_string().contains("is damaged"), "{error}");
}

#[test]
fn what_is_no_archive_is_said_to_be_none_and_not_shown() {
    let place = Place::new();
    let secret = "password: hunter2\n".repeat(100);
    for (name, content) in [
        ("long.yaml", secret.as_str()),
        ("short.yaml", "password: hunter2\n"),
        ("empty", ""),
    ] {
        let path = place.path(name);
        fs::write(&path, content).unwrap();
        let error = place.store.import(&path, None, &quiet).unwrap_err();
        assert_eq!(chain(&error), format!("`{}` is no archive", path.display()));
    }
}

#[test]
fn what_is_no_image_is_said_to_be_none() {
    let place = Place::new();
    fs::create_dir(place.path("empty")).unwrap();
    let error = place
        .store
        .import(&place.path("empty"), None, &quiet)
        .unwrap_err();
    assert!(error.to_string().contains("holds no image"), "{error}");
    assert!(place.store.import(&place.path("absent"), None, &quiet).is_err());
}

#[test]
fn what_is_stored_is_found_by_the_next_process() {
    let place = Place::new();
    place.import(&hello("kept"), "kept").unwrap();
    let again = place.opened_again();
    let image = again.find(&"kept".parse().unwrap()).unwrap().unwrap();
    assert!(image.layers.iter().all(|layer| layer.is_dir()));
    assert_eq!(place.folders("work"), 0);
}
