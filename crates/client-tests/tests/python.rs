//! The official Python client, typed and dynamic.

use std::path::Path;

use client_tests::{Server, Shell, check, needed, python};

/// The newest release, which is what `pip install kubernetes` gives people.
const REQUIREMENTS: [&str; 1] = ["kubernetes==37.0.2"];

#[test]
fn the_typed_client_reads_and_writes() {
    script("typed");
}

#[test]
fn the_dynamic_client_reads_and_writes() {
    script("dynamic");
}

#[test]
fn custom_objects_come_and_go() {
    script("custom_objects");
}

#[track_caller]
fn script(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python");
    let Some(python) = needed(python(&REQUIREMENTS)) else {
        return;
    };
    let server = Server::start();
    let shell = Shell::new(&server, &[]);
    shell.ok(&format!("cp {}/{name}.py {name}.py", folder.display()));
    // A link to an interpreter would leave its virtual environment behind.
    shell.ok(&format!(
        "printf '#!/bin/sh\\nexec {} \"$@\"' > bin/python; chmod +x bin/python",
        python.display()
    ));
    check(&shell, &folder.join(format!("{name}.session")));
}
