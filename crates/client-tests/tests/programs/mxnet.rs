//! MXNet's distributed training: a scheduler, servers and workers that know each other by the name of a
//! service.

use std::path::Path;

use client_tests::{Release, Server, Shell, User, kubectl, needed, packages};

use crate::{apply, sorted};

/// The last release there is; it needs a NumPy of its time.
const REQUIREMENTS: [&str; 2] = ["mxnet==1.9.1", "numpy==1.23.5"];

#[test]
fn two_jobs_train_at_once_on_the_same_port() {
    let (Some(kubectl), Some(packages)) = (
        needed(kubectl(Release::Ours)),
        needed(packages("mxnet", &REQUIREMENTS)),
    ) else {
        return;
    };
    for user in User::all() {
        let server = Server::start_with_pods(user);
        let shell = Shell::new(&server, &[("kubectl", &kubectl)]);
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/train.py");
        shell.ok(&format!("kubectl create configmap train --from-file={source}"));
        // Where the packages are kept, not everybody may look. Links take no time.
        let (from, to) = (packages.display(), server.home().join("packages"));
        shell.ok(&format!("cp -al {from} packages || cp -r {from} packages"));
        start(&shell, "first", "None", &to);
        start(&shell, "second", "", &to);
        shell.ok("kubectl wait --for=condition=complete job --all --timeout=180s");
        for name in ["first", "second"] {
            let log = shell.ok(&format!("kubectl logs -l job={name},role=worker"));
            assert_eq!(
                sorted(&log),
                [
                    "worker 0 of 2: total 3, weight 3.00",
                    "worker 1 of 2: total 3, weight 3.00"
                ]
            );
        }
    }
}

#[track_caller]
fn start(shell: &Shell<'_>, name: &str, address: &str, packages: &Path) {
    apply(
        shell,
        "mxnet-service.yaml",
        &[("NAME", name), ("ADDRESS", address)],
    );
    let packages = packages.to_str().expect("the path is text");
    for (role, count) in [("scheduler", "1"), ("server", "1"), ("worker", "2")] {
        let values = [
            ("NAME", name),
            ("ROLE", role),
            ("COUNT", count),
            ("PACKAGES", packages),
        ];
        apply(shell, "mxnet-role.yaml", &values);
    }
}
