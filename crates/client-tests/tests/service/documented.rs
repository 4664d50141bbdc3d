//! The commands of docs/service.md, as a reader pastes them.

use std::{fs, net::TcpListener, path::Path};

use client_tests::{Release, Server, Shell, User, binary, is_real, kubectl, needed};

/// The first block of commands below a heading.
#[track_caller]
fn block(text: &str, heading: &str) -> String {
    let (_, below) = text.split_once(heading).expect("the page has the heading");
    let (_, block) = below.split_once("```sh\n").expect("there are commands below it");
    block.split_once("```").expect("the block ends").0.to_owned()
}

#[test]
fn the_page_of_the_service_can_be_pasted() {
    if is_real() {
        return;
    }
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let page = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/service.md"));
    let page = fs::read_to_string(page).unwrap();
    let server = Server::start_with_options(User::Us, &["--images", "host"]);
    let shell = Shell::new(&server, &[("kubectl", &kubectl), ("trainyard", binary())]);
    client_tests::team::ready(&shell);
    crate::address(&server);
    crate::admin_token(&server);

    // The cluster is there already, and the port of the receiver is one that nothing else has.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let walk = block(&page, "## A task from start to end").replace("6484", &port.to_string());
    let (up, walk) = walk.split_once('\n').unwrap();
    assert!(up.starts_with("trainyard up --detach --images host"), "{up}");
    // The page means the cluster of the reader's own data directory.
    let here = format!("export TRAINYARD_DATA_DIR='{}'", server.data_dir().display());
    // A reader leaves the receiver running until it was called; one that outlives a failure would keep the output open.
    let called =
        "kubectl wait callbackdeliveries --all --for=jsonpath={.status.phase}=Delivered --timeout=60s";
    let output = shell.run(&format!(
        "set -e; trap 'kill $(jobs -p) 2> /dev/null || :' EXIT\n{here}\n{walk}\n{called}"
    ));
    assert_eq!(output.code, 0, "{}{}", output.stdout, output.stderr);
    for expected in ["event: end", "\"phase\":\"Succeeded\"", "10", "task.succeeded"] {
        assert!(output.stdout.contains(expected), "{expected}: {}", output.stdout);
    }

    let token = shell.run(&format!("{here}\n{}", block(&page, "## Who may")));
    assert_eq!(token.code, 0, "{}{}", token.stdout, token.stderr);

    // The engine has made policies of its own; both sets of manifests agree with them, in either order and again.
    let manifests = block(&page, "## On a cluster of your own");
    for _ in 0..2 {
        let applied = shell.run(&format!("set -e -o pipefail\n{manifests}"));
        assert_eq!(applied.code, 0, "{}{}", applied.stdout, applied.stderr);
    }
}
