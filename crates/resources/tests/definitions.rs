//! The checked-in definitions are those the types give, and the API server would accept them.
//! `UPDATE_DEFINITIONS=1` writes them anew.

use std::{fs, path::Path};

use manifests::yaml;
use resources::definitions;
use schemas::crd;
use serde_json::Value;

/// `kubectl apply` keeps a copy in an annotation, which may have 256 kB; we want far less.
const LARGEST: usize = 100_000;

fn name(definition: &Value) -> &str {
    definition["metadata"]["name"].as_str().unwrap_or_default()
}

#[test]
fn the_files_are_what_the_types_give() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    let update = std::env::var_os("UPDATE_DEFINITIONS").is_some();
    for definition in definitions::all() {
        let file = folder.join(format!("{}.yaml", name(&definition)));
        let text = yaml::to_string(&definition);
        assert!(
            text.len() < LARGEST,
            "{} has {} bytes",
            file.display(),
            text.len()
        );
        if update {
            fs::write(&file, &text).unwrap();
        }
        assert_eq!(
            fs::read_to_string(&file).unwrap_or_default(),
            text,
            "{} is old",
            file.display()
        );
    }
}

#[test]
fn the_api_server_accepts_them() {
    for mut definition in definitions::all() {
        crd::default(&mut definition);
        crd::prepare_for_create(&mut definition);
        let mut errors = Vec::new();
        crd::validate(&definition, &mut errors);
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", name(&definition));
    }
}

#[test]
fn the_versions_of_an_mpi_job_have_one_schema() {
    let definition = definitions::definition(&resources::kinds::MPI_JOB);
    let versions = definition["spec"]["versions"].as_array().unwrap();
    assert_eq!(versions.len(), 3);
    assert!(
        versions
            .iter()
            .all(|version| version["schema"] == versions[0]["schema"])
    );
}
