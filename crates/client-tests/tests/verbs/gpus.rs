//! `run --gpus`: the note on a machine with GPUs, and `all` of them. A simulated node has the GPUs here.

use client_tests::{Server, Shell, User, binary, get};
use serde_json::Value;

/// The GPUs that the master of a job asks for.
fn limit(server: &Server, job: &str) -> Option<String> {
    let path = format!("/apis/kubeflow.org/v1/namespaces/default/pytorchjobs/{job}");
    let answer = get(&server.address(), &path, Some(&server.token()));
    let object: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let container = &object["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0];
    container["resources"]["limits"]["nvidia.com/gpu"]
        .as_str()
        .map(str::to_owned)
}

#[test]
fn a_job_sees_the_gpus_it_asks_for_and_is_told_of_those_it_does_not() {
    let options = [
        "--simulated-nodes",
        "1",
        "--simulated-capacity",
        "nvidia.com/gpu=4",
    ];
    let server = Server::start_with_options(User::Us, &options);
    let shell = Shell::new(&server, &[("trainyard", binary())]);

    let none = shell.run("trainyard run --detach --name none -- true");
    assert_eq!((none.code, limit(&server, "none")), (0, None), "{none:?}");
    let note = "note: this machine has 4 GPUs, and the job will see none: `--gpus N` or `--gpus all` asks for them\n";
    assert!(none.stderr.contains(note), "{none:?}");

    for (asked, expected) in [("0", None), ("2", Some("2")), ("all", Some("4"))] {
        let run = shell.run(&format!(
            "trainyard run --detach --gpus {asked} --name with-{asked} -- true"
        ));
        assert!(run.code == 0 && !run.stderr.contains("note:"), "{run:?}");
        assert_eq!(limit(&server, &format!("with-{asked}")).as_deref(), expected);
    }
}

#[test]
fn all_of_no_gpus_or_of_another_cluster_is_an_error_with_a_hint() {
    let server = Server::start_with_pods(User::Us);
    let shell = Shell::new(&server, &[("trainyard", binary())]);
    let other = format!(
        "cp {} other && trainyard run --kubeconfig other --image x",
        server.kubeconfig().display()
    );
    for (command, problem, hint) in [
        ("trainyard run", "this machine has no GPU", "leave `--gpus` out"),
        (
            "trainyard run --dry-run",
            "`--dry-run` asks no cluster",
            "`--gpus N`",
        ),
        (other.as_str(), "is for the embedded cluster", "`--gpus N`"),
    ] {
        let run = shell.run(&format!("{command} --gpus all -- true"));
        assert_eq!(run.code, 125, "{run:?}");
        assert!(
            run.stderr.contains(problem) && run.stderr.contains(hint),
            "{run:?}"
        );
    }
}
