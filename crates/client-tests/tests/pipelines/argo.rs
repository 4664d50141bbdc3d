//! Argo's own command line, as its users have it: it talks to the Kubernetes API and writes into workflows what it
//! wants of their controller. `cargo xtask frameworks argo` tries it.

use std::path::Path;

use client_tests::{Release, Server, Shell, User, argo, check, kubectl, needed, team::ready};

#[test]
#[ignore = "large: cargo xtask frameworks argo"]
fn workflows_are_submitted_and_followed() {
    session("submitting");
}

#[test]
#[ignore = "large: cargo xtask frameworks argo"]
fn what_waits_goes_on_and_what_runs_is_stopped() {
    session("waiting");
}

#[test]
#[ignore = "large: cargo xtask frameworks argo"]
fn what_failed_is_tried_again() {
    session("trying_again");
}

#[test]
#[ignore = "large: cargo xtask frameworks argo"]
fn templates_and_schedules_are_kept() {
    session("templates");
}

#[track_caller]
fn session(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pipelines/argo");
    let Some(argo) = needed(argo()) else { return };
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let server = Server::start_with_options(User::Us, &["--images", "host"]);
    let shell = Shell::new(&server, &[("argo", &argo), ("kubectl", &kubectl)]);
    ready(&shell);
    shell.ok(&format!("cp {}/manifests/*.yaml .", folder.display()));
    check(&shell, &folder.join(format!("{name}.session")));
}
