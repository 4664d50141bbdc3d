//! Names go, layers stay for as long as somebody needs them.

use images::Reference;

use crate::made::{Layer, Made, Place};

fn base() -> Layer {
    Layer::new().file("etc/base", "base").folder("closed", 0o500)
}

fn app(text: &str) -> Made {
    Made::new(vec![base(), Layer::new().file("app", text)])
}

fn name(text: &str) -> Reference {
    text.parse().unwrap()
}

#[test]
fn a_layer_goes_with_the_last_image_that_has_it() {
    let place = Place::new();
    place.import(&app("one"), "one").unwrap();
    place.import(&app("two"), "two").unwrap();
    assert_eq!(place.layer_count(), 3);
    let removed = place.store.remove(&name("one")).unwrap().unwrap();
    assert_eq!(removed.names, ["docker.io/library/one:latest"]);
    assert_eq!(removed.image, Some(app("one").id()));
    assert_eq!(place.layer_count(), 2);
    assert!(place.find("two").is_some());
    place.store.remove(&name("two")).unwrap().unwrap();
    assert_eq!(place.layer_count(), 0);
    assert_eq!(place.folders("blobs/sha256"), 0);
    assert_eq!(place.store.remove(&name("two")).unwrap(), None);
}

#[test]
fn an_image_stays_while_it_has_another_name() {
    let place = Place::new();
    place.import(&app("one"), "one:1").unwrap();
    place.import(&app("one"), "one:2").unwrap();
    let removed = place.store.remove(&name("one:1")).unwrap().unwrap();
    assert_eq!(removed.image, None);
    assert!(place.find("one:1").is_none());
    assert!(place.find("one:2").is_some());
    let gone = place.store.remove_id(&app("one").id()).unwrap().unwrap();
    assert_eq!(gone.names, ["docker.io/library/one:2"]);
    assert_eq!(place.layer_count(), 0);
}

#[test]
fn layers_in_use_outlive_their_names_and_their_process() {
    let place = Place::new();
    let image = place.import(&app("one"), "one").unwrap();
    assert!(place.store.lease("pod-1_main", &image).unwrap());
    let removed = place.store.remove(&name("one")).unwrap().unwrap();
    assert_eq!(removed.in_use_by, ["pod-1_main"]);
    assert!(place.find("one").is_none());
    let again = place.opened_again();
    assert!(image.layers.iter().all(|layer| layer.is_dir()));
    assert_eq!(again.leases().unwrap()[0].name, "pod-1_main");
    again.release("pod-1_main").unwrap();
    again.release("pod-1_main").unwrap();
    assert_eq!(place.layer_count(), 0);
}

#[test]
fn names_of_leases_are_names_of_files() {
    let place = Place::new();
    let image = place.import(&app("one"), "one").unwrap();
    for name in ["", "..", "a/b", ".x", "a b"] {
        assert!(place.store.lease(name, &image).is_err(), "{name:?}");
    }
}
