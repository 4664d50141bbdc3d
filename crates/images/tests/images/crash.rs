//! Processes killed in the middle of an import.

use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use images::Options;

use crate::made::{Layer, Made, Place, docker_archive, ownership, quiet};

const FOLDER: &str = "IMAGES_TEST_FOLDER";

fn large(number: usize) -> Made {
    let base = (0..40).fold(Layer::new(), |layer, file| {
        layer.file(&format!("base/{file}"), &file.to_string().repeat(4000))
    });
    let top = (0..40).fold(Layer::new(), |layer, file| {
        layer.file(&format!("top/{file}"), &format!("{number} ").repeat(4000))
    });
    Made::new(vec![base, top])
}

/// Not a test of its own: it is run, and killed, by the other.
#[test]
fn the_process_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let folder = std::path::PathBuf::from(folder);
    let store = images::Store::open(&folder.join("images"), Options::new(ownership())).unwrap();
    for round in 0.. {
        for number in 0..3 {
            store
                .import(&folder.join(format!("{number}.tar")), None, &quiet)
                .unwrap();
        }
        for number in 0..3 {
            let name = format!("app:{number}").parse().unwrap();
            if round % 2 == 0 {
                store.remove(&name).unwrap();
            }
        }
    }
}

#[test]
fn a_process_killed_at_any_moment_leaves_images_whole_or_absent() {
    if std::env::var_os(FOLDER).is_some() {
        return;
    }
    let place = Place::new();
    for number in 0..3 {
        let name = format!("app:{number}");
        let archive = docker_archive(&[(&[name.as_str()], &large(number))]);
        fs::write(place.path(&format!("{number}.tar")), archive).unwrap();
    }
    for round in 0..20 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["crash::the_process_that_is_killed", "--exact"])
            .env(FOLDER, place.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The moment is what is tested: it falls anywhere into the work.
        thread::sleep(Duration::from_millis(20 + 13 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let store = place.opened_again();
        assert_eq!(place.folders("work"), 0);
        for image in store.list().unwrap() {
            let top = &image.layers[0];
            assert_eq!(fs::read_dir(top.join("top")).unwrap().count(), 40);
            assert_eq!(fs::read_dir(image.layers[1].join("base")).unwrap().count(), 40);
        }
        let count = place.layer_count();
        let images = store.list().unwrap().len();
        assert_eq!(count, if images == 0 { 0 } else { images + 1 });
    }
    for number in 0..3 {
        place
            .store
            .import(&place.path(&format!("{number}.tar")), None, &quiet)
            .unwrap();
        assert_eq!(
            place.find(&format!("app:{number}")).unwrap().id,
            large(number).id()
        );
    }
}
