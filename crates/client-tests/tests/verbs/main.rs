//! The commands people type for training, as they type them: a program that runs as a job, what is told of
//! it, and how it is stopped.

mod demo;
mod elsewhere;
mod explaining;
mod following;
mod gpus;
mod mistakes;
mod mxjobs;
mod rendering;
mod running;
mod waiting;

use std::path::Path;

use client_tests::{Output, Server, Shell, User, binary};

/// A whole cluster, and a shell in a folder that its pods may write to. `KUBECONFIG` names the cluster.
fn with_clusters(test: impl Fn(&Server, &Shell<'_>)) {
    for user in User::all() {
        let server = Server::start_with_pods(user);
        let shell = Shell::new(&server, &[("trainyard", binary())]);
        test(&server, &shell);
    }
}

/// Repeats a command until its output has these words.
#[track_caller]
fn until(shell: &Shell<'_>, command: &str, words: &str) -> Output {
    let line = format!(
        "for i in $(seq 600); do out=$({command} 2>&1); code=$?; case $out in *'{words}'*) break;; esac; sleep 0.1; done; \
         printf '%s' \"$out\"; exit $code"
    );
    let output = shell.run(&line);
    assert!(output.stdout.contains(words), "$ {command}\n{}", output.stdout);
    output
}

fn example(name: &str) -> String {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/training"));
    folder.join(name).display().to_string()
}
