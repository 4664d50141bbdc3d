//! The manifests under `examples/`, as a person tries them: a session for each topic, as everybody who
//! can run a cluster.

#![expect(clippy::print_stdout, reason = "a failed test shows who it was run by")]

use std::{fs, path::Path};

use client_tests::{Release, Server, Shell, User, binary, check, kubectl, needed, openmpi};

macro_rules! sessions {
    ($($name:ident)*) => {
        const SESSIONS: &[&str] = &[$(stringify!($name)),*];

        $(
            #[test]
            fn $name() {
                session(stringify!($name));
            }
        )*
    };
}

sessions! {
    configuration
    containers
    cronjob
    daemonset
    deployment
    job
    mxnet
    probes
    statefulset
    training
    volumes
}

#[test]
fn every_example_is_tried() {
    let read = |name: &&str| fs::read_to_string(folder().join(format!("{name}.session"))).unwrap_or_default();
    let sessions: String = SESSIONS.iter().map(read).collect();
    for topic in ["", "pods/", "training/"] {
        let entries = fs::read_dir(examples().join(topic)).expect("there are examples");
        let manifests = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
        for manifest in manifests {
            let name = manifest.file_name().expect("it is a file").display();
            let name = format!("examples/{topic}{name}");
            assert!(sessions.contains(&name), "no session has {name}");
        }
    }
}

#[track_caller]
fn session(name: &str) {
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    // One of the examples is for those who have it.
    if name == "training" && needed(openmpi()).is_none() {
        return;
    }
    for user in User::all() {
        println!("run by {user:?}");
        let server = Server::start_with_pods(user);
        let shell = Shell::new(&server, &[("kubectl", &kubectl)]);
        shell.ok(&format!("ln -s {} examples", examples().display()));
        shell.ok(&format!("ln -s {} trainyard", binary().display()));
        // A person takes longer to type the first command than the node to be ready; a test does not, and
        // would find events about that.
        shell.ok("timeout 60 sh -c 'until kubectl wait --for=condition=Ready node --all; do :; done'");
        check(&shell, &folder().join(format!("{name}.session")));
    }
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/examples"))
}

fn examples() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"))
}
