//! Unmodified kubectl: one session file per topic, run with every kubectl there is.

use std::path::Path;

use client_tests::{Server, Shell, check, clients, needed};

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
    let Some(clients) = needed(clients()) else { return };
    for kubectl in clients {
        println!("with {}", kubectl.display());
        let server = Server::start();
        check(&Shell::new(&server, &[("kubectl", &kubectl)]), &file);
    }
}
