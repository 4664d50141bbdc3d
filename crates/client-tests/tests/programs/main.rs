//! Distributed programs as people have them, in pods: what they need of a cluster is addresses, names,
//! volumes and a way to start each other.

mod mpi;
mod mxnet;

use std::{fs, path::Path};

use client_tests::Shell;

/// Applies a manifest of this folder after putting values where `${NAME}` stands.
#[track_caller]
fn apply(shell: &Shell<'_>, name: &str, values: &[(&str, &str)]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut text = fs::read_to_string(folder.join(name)).expect("the manifest is in this folder");
    for (word, value) in values {
        text = text.replace(&format!("${{{word}}}"), value);
    }
    shell.ok(&format!("kubectl apply -f - <<'END'\n{text}\nEND"));
}

/// The lines of a text, in an order that does not depend on who was first.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}
