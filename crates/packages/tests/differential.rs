//! Random packages, built by us and by kustomize: the same verdict and the same bytes. Where there is no kustomize,
//! nothing is checked. A process of the reference for each package is what this costs (some 30 ms of a core), and
//! is what makes each comparison stand for itself: kustomize keeps schemas for the life of its process.
//! `TRAINYARD_DIFFERENTIAL` says how many packages, `TRAINYARD_SEED` where the seeds begin.

#![expect(
    clippy::print_stdout,
    reason = "a test says what it skips, and how much it compared"
)]

#[path = "support/damage.rs"]
mod damage;
#[path = "support/disk.rs"]
mod disk;
#[path = "support/generator.rs"]
mod generator;
#[path = "support/reference.rs"]
mod reference;
#[path = "support/sound/package.rs"]
mod sound;

use std::{collections::BTreeMap, path::Path, sync::Mutex};

use disk::Disk;
use packages::{Options, build};
use reference::{Reference, Verdict, compare, in_folder, last_words};

#[test]
fn random_packages_build_as_in_the_reference() {
    compare(|reference, seed| in_folder(&generator::package(seed), |folder| same_result(reference, folder)));
}

#[test]
fn packages_that_people_write_build_as_in_the_reference() {
    let built = Mutex::new(BTreeMap::<&str, u64>::new());
    let tried = compare(|reference, seed| {
        let package = sound::package(seed);
        let verdict = in_folder(&package.files, |folder| same_result(reference, folder));
        if verdict == Ok(true) {
            let mut built = built.lock().expect("no thread panics with the lock");
            for feature in package.features {
                *built.entry(feature).or_default() += 1;
            }
        }
        verdict
    });
    let Some(tried) = tried else {
        return;
    };
    let built = built.into_inner().expect("no thread panicked with the lock");
    println!("features of those that build: {built:?}");
    // A comparison of what neither builds says little.
    assert!(tried.built * 10 >= tried.packages * 8, "too few of them build");
}

#[test]
fn broken_packages_are_refused_as_in_the_reference() {
    compare(|reference, seed| {
        let (package, damage) = damage::damaged(&generator::package(seed), seed);
        in_folder(&package, |folder| same_result(reference, folder))
            .map_err(|failure| format!("{damage}: {failure}"))
    });
}

fn same_result(reference: &Reference, folder: &Path) -> Verdict {
    let top = folder.join("top");
    let expected = reference.build(&top).map_err(|error| error.to_string())?;
    match (expected.status.success(), build(&Disk, &top, &Options::default())) {
        // Of a package that is not there no place can be told.
        (false, Err(error)) if error.place.is_none() && top.join("kustomization.yaml").is_file() => {
            Err(format!("it is not said where: {error}"))
        }
        (false, Err(_)) => Ok(false),
        (true, Ok(built)) if built.to_yaml().as_bytes() == expected.stdout => Ok(true),
        (true, Ok(built)) => Err(first_difference(&expected.stdout, &built.to_yaml())),
        (true, Err(error)) => Err(format!("we refuse it: {error}")),
        (false, Ok(_)) => Err(format!("we build it, but: {}", last_words(&expected.stderr))),
    }
}

fn first_difference(expected: &[u8], actual: &str) -> String {
    let expected = String::from_utf8_lossy(expected);
    let lines = expected.lines().zip(actual.lines()).enumerate();
    let different = lines.into_iter().find(|(_, (left, right))| left != right);
    match different {
        Some((line, (left, right))) => format!("line {}: `{left}`, but ours `{right}`", line + 1),
        None => "one is longer".to_owned(),
    }
}
