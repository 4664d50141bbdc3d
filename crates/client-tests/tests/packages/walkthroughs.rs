//! The packages under `examples/`, from their parameters to what their programs print: a session each, as
//! everybody who can run a cluster.

use std::path::Path;

use client_tests::{Release, Server, Shell, User, binary, check, is_real, kubectl, needed};

#[test]
fn a_package_with_setters_is_set_built_and_applied() {
    session("setters");
}

#[test]
fn a_pipeline_is_set_applied_and_deleted() {
    session("pipeline");
}

#[track_caller]
fn session(name: &str) {
    // What programs print is only to be read where pods run; `anywhere` has the rest.
    if is_real() {
        return;
    }
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let packages = here.join("../../examples/packages");
    for user in User::all() {
        let server = Server::start_with_pods(user);
        let shell = Shell::new(&server, &[("trainyard", binary()), ("kubectl", &kubectl)]);
        // Folders of the node are read and written by whoever runs it.
        shell.ok(&format!(
            "cp -r {} packages; mkdir results; chmod -R a+rwX packages results",
            packages.display()
        ));
        shell.ok("timeout 60 sh -c 'until kubectl wait --for=condition=Ready node --all; do :; done'");
        check(&shell, &here.join(format!("tests/packages/{name}.session")));
    }
}
