//! A short run of every target: its corpus and a fixed number of inputs made of it, the same each
//! time. `cargo xtask fuzz` goes further.

use fuzz_targets::{TARGETS, fuzz, target};

fn run(name: &str, inputs: u64) {
    let target = target(name).expect("the target is listed");
    let finding = fuzz(target, 1, |progress| progress.inputs < inputs).err();
    let input = finding.map(|finding| String::from_utf8_lossy(&finding.input).into_owned());
    assert_eq!(input, None);
}

macro_rules! short_runs {
    ($($name:ident: $inputs:literal,)*) => {
        $(#[test]
        fn $name() {
            run(stringify!($name), $inputs);
        })*

        #[test]
        fn every_target_has_a_short_run() {
            let run = [$(stringify!($name)),*];
            let all: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(run.as_slice(), all);
        }
    };
}

short_runs! {
    json: 4000,
    yaml: 2000,
    protobuf: 4000,
    kinds: 2000,
    json_patch: 4000,
    merge_patch: 4000,
    strategic_merge: 2000,
    apply: 1000,
    selectors: 4000,
    cel: 2000,
    json_path: 4000,
    quantities: 4000,
    setters: 2000,
    kustomizations: 2000,
    templates: 3000,
    custom: 1000,
}
