//! `mpirun` across pods, with `trainyard mpi-rsh` as its remote shell.

use client_tests::{OpenMpi, Release, Server, Shell, User, binary, kubectl, needed, openmpi};

use crate::{apply, sorted};

#[test]
fn mpirun_runs_a_program_on_four_pods() {
    with_workers(|shell, mpi| {
        let ring = format!("{} --allow-run-as-root -np 4 /program/ring", mpi.mpirun.display());
        launch(shell, "ring", "launcher", &ring);
        shell.ok("kubectl wait --for=condition=complete job/ring --timeout=90s");
        // mpirun itself may warn of a harmless race with its remote shells; its own lines begin with a bracket.
        assert_eq!(
            sorted(&shell.ok("kubectl logs job/ring | grep -v '^\\['")),
            [
                "0 of 4 on worker-0: the sum is 10",
                "1 of 4 on worker-1: the sum is 10",
                "2 of 4 on worker-2: the sum is 10",
                "3 of 4 on worker-3: the sum is 10",
                "the token comes back as 6",
            ]
        );
    });
}

#[test]
fn a_worker_that_dies_ends_the_run() {
    with_workers(|shell, mpi| {
        let forever = format!(
            "{} --allow-run-as-root -np 4 /program/ring forever",
            mpi.mpirun.display()
        );
        launch(shell, "forever", "launcher", &forever);
        shell.ok(&until("kubectl logs job/forever | grep 'the token comes back'"));
        shell.ok("kubectl delete pod worker-2");
        shell.ok("kubectl wait --for=condition=failed job/forever --timeout=90s");
        let log = shell.ok("kubectl logs job/forever");
        assert!(log.contains("worker-2"), "{log}");
    });
}

#[test]
fn the_remote_shell_is_like_any_other() {
    with_workers(|shell, _| {
        launch(shell, "client", "launcher", "sleep infinity");
        launch(shell, "stranger", "default", "sleep infinity");
        shell.ok("kubectl wait --for=condition=ready pod -l job-name=client --timeout=90s");
        shell.ok("kubectl wait --for=condition=ready pod -l job-name=stranger --timeout=90s");
        let rsh = |job: &str, rest: &str| {
            shell.run(&format!("kubectl exec -i job/{job} -- /trainyard mpi-rsh {rest}"))
        };

        let output = rsh("client", "worker-1.worker 'hostname; echo wrong >&2; exit 7'");
        assert_eq!((output.stdout.as_str(), output.code), ("worker-1\n", 7));
        assert!(output.stderr.starts_with("wrong\n"), "{}", output.stderr);

        let count =
            "head -c 1000000 /dev/zero | kubectl exec -i job/client -- /trainyard mpi-rsh worker-0 wc -c";
        assert_eq!(shell.ok(count), "1000000\n");
        let much = "worker-0 'head -c 1000000 /dev/zero' | wc -c";
        assert_eq!(rsh("client", much).success(), "1000000\n");

        let nobody = rsh("client", "worker-9 true");
        assert_eq!(nobody.code, 255);
        assert!(
            nobody.stderr.contains("pods \"worker-9\" not found"),
            "{}",
            nobody.stderr
        );

        let refused = rsh("stranger", "worker-0 true");
        assert_eq!(refused.code, 255);
        assert!(
            refused
                .stderr
                .contains("\"system:serviceaccount:default:default\" cannot get resource \"pods/exec\""),
            "{}",
            refused.stderr
        );

        let killed = shell.run(
            "(until kubectl exec worker-3 -- test -e /tmp/up; do :; done; kubectl delete pod worker-3) > /dev/null & \
             kubectl exec job/client -- /trainyard mpi-rsh worker-3 'touch /tmp/up; sleep 1000'; code=$?; wait; exit $code",
        );
        assert!([137, 255].contains(&killed.code), "{killed:?}");
    });
}

/// Does something where the workers are up, as everybody.
#[track_caller]
fn with_workers(test: impl Fn(&Shell<'_>, &OpenMpi)) {
    let (Some(kubectl), Some(mpi)) = (needed(kubectl(Release::Ours)), needed(openmpi())) else {
        return;
    };
    for user in User::all() {
        let server = Server::start_with_pods(user);
        let shell = Shell::new(&server, &[("kubectl", &kubectl)]);
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/ring.c");
        shell.ok(&format!("{} -O1 -o ring {source}", mpi.mpicc.display()));
        shell.ok("kubectl create configmap program --from-file=ring");
        shell.ok("for i in 0 1 2 3; do echo worker-$i slots=1; done > hostfile");
        shell.ok("kubectl create configmap hosts --from-file=hostfile");
        apply(&shell, "mpi-workers.yaml", &[("PROGRAM", program())]);
        shell.ok("kubectl rollout status statefulset/worker --timeout=90s");
        test(&shell, &mpi);
    }
}

#[track_caller]
fn launch(shell: &Shell<'_>, name: &str, account: &str, command: &str) {
    let values = [
        ("NAME", name),
        ("ACCOUNT", account),
        ("COMMAND", command),
        ("PROGRAM", program()),
    ];
    apply(shell, "mpi-launcher.yaml", &values);
}

fn program() -> &'static str {
    binary().to_str().expect("the path is text")
}

/// A command line that tries another until it succeeds.
fn until(command: &str) -> String {
    format!(
        "timeout 90 bash -c 'until {}; do sleep 0.1; done'",
        command.replace('\'', "'\\''")
    )
}
