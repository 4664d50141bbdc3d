//! Unmodified helm 4 installs, upgrades, rolls back and removes a chart of ours.

use std::path::Path;

use client_tests::{Release, Server, Shell, check, helm, kubectl, needed};

#[test]
fn a_chart_lives_its_life() {
    session("release");
}

#[test]
fn mistakes_in_a_chart_are_reported() {
    session("mistakes");
}

#[track_caller]
fn session(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/helm");
    let Some(helm) = needed(helm()) else { return };
    let Some(kubectl) = needed(kubectl(Release::Newest)) else {
        return;
    };
    let server = Server::start();
    let shell = Shell::new(&server, &[("helm", &helm), ("kubectl", &kubectl)]);
    shell.ok(&format!("cp -r {}/chart chart", folder.display()));
    check(&shell, &folder.join(format!("{name}.session")));
}
