//! Unmodified kubectl: one session file per topic, run with the kubectl of our release and the newest.

#![expect(
    clippy::print_stdout,
    reason = "a failed test shows which client it was run with"
)]

use std::path::Path;

use client_tests::{Release, Server, Shell, check, kubectl, needed};

macro_rules! sessions {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                session(stringify!($name));
            }
        )*
    };
}

sessions! {
    annotate_and_label
    apply_client_side
    apply_kustomization
    apply_server_side
    authorization
    autoscale
    certificates
    cluster_information
    create
    custom_resources
    delete
    describe
    diff_and_dry_run
    edit
    events
    explain
    get
    nodes
    patch
    replace
    rollout
    run_and_expose
    scale
    set
    wait
    watch
}

#[track_caller]
fn session(name: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/kubectl")
        .join(format!("{name}.session"));
    for release in Release::ALL {
        let Some(kubectl) = needed(kubectl(release)) else {
            return;
        };
        println!("with {}", kubectl.display());
        let server = Server::start();
        check(&Shell::new(&server, &[("kubectl", &kubectl)]), &file);
    }
}
