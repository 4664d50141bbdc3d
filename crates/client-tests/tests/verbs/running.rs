//! `run`, and `ps`, `logs`, `stop`, `resume` and `rm` on what it made.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use client_tests::{binary, needed, openmpi, python3, text};
use serde_json::Value;

use crate::{until, with_clusters};

#[test]
fn a_program_runs_in_the_folder_of_its_caller_and_its_end_is_the_commands() {
    with_clusters(|server, shell| {
        let home = server.home().display().to_string();
        shell.ok("echo words > read");
        let run =
            shell.run("trainyard run --name good --env WORD -- sh -c 'pwd; cat read; echo $WORD >written'");
        assert_eq!(
            (run.code, run.stderr.contains("no variable `WORD`")),
            (125, true),
            "{run:?}"
        );
        let run = shell.run(
            "WORD=hi trainyard run --name good --env WORD -- sh -c 'pwd; cat read; echo $WORD \"$0\" >written' '$(HOME)'",
        );
        assert_eq!(
            (run.code, run.stdout),
            (0, format!("{home}\nwords\n")),
            "{}",
            run.stderr
        );
        let written = fs::read_to_string(server.home().join("written")).unwrap();
        assert_eq!(written, "hi $(HOME)\n");

        let run = shell.run("trainyard run --name bad -- sh -c 'echo no; exit 3'");
        assert_eq!((run.code, run.stdout.as_str()), (3, "no\n"), "{}", run.stderr);
        assert!(run.stderr.contains("master-0 exit 3: no"), "{}", run.stderr);
        let absent = shell.run("trainyard run --name absent -- no-such-program");
        assert_eq!(absent.code, 127, "{}", absent.stderr);
        assert_eq!(shell.ok("trainyard rm absent -o json | grep -c removed"), "1\n");
        let taken = shell.run("trainyard run --name bad -- true");
        assert_eq!(taken.code, 125);
        assert!(
            taken.stderr.contains("there is a PyTorchJob `bad` already"),
            "{}",
            taken.stderr
        );

        assert_eq!(shell.ok("trainyard ps"), "No jobs\n");
        let jobs: Value = serde_json::from_str(&shell.ok("trainyard ps -a -o json")).unwrap();
        let states: Vec<_> = jobs
            .as_array()
            .unwrap()
            .iter()
            .map(|job| (&job["name"], &job["state"]))
            .collect();
        assert_eq!(
            states,
            [
                (&"bad".into(), &"Failed".into()),
                (&"good".into(), &"Succeeded".into())
            ]
        );
        assert_eq!(shell.ok("trainyard logs pytorchjob/bad"), "no\n");
        assert_eq!(shell.run("trainyard logs bad --replica worker-7").code, 1);
        assert_eq!(shell.run("trainyard stop bad").code, 1);
        assert_eq!(shell.run("trainyard rm good gone").code, 1, "nothing is removed");
        assert_eq!(
            shell.ok("trainyard rm good bad"),
            "PyTorchJob/good removed\nPyTorchJob/bad removed\n"
        );
        assert_eq!(shell.ok("trainyard ps -a"), "No jobs\n");
    });
}

#[test]
fn nodes_find_each_other_and_all_of_them_are_heard() {
    const MEET: &str = "
import os, socket, time
rank, world = int(os.environ['RANK']), int(os.environ['WORLD_SIZE'])
address = (os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT']))
if rank == 0:
    server = socket.create_server(('', address[1]))
    for _ in range(world - 1):
        server.accept()[0].recv(1)
else:
    while True:
        try:
            socket.create_connection(address).close()
            break
        except OSError:
            time.sleep(0.1)
print('rank', rank, 'of', world)
";
    if needed(python3()).is_none() {
        return;
    }
    with_clusters(|server, shell| {
        fs::write(server.home().join("meet.py"), MEET).unwrap();
        let run = shell.run("trainyard run --nodes 2 --all -- python3 meet.py");
        assert_eq!(run.code, 0, "{run:?}");
        let mut lines: Vec<&str> = run.stdout.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["[master-0] rank 0 of 2", "[worker-0] rank 1 of 2"]);
        let name = shell.ok("trainyard ps -a -o json | grep -o '\"name\": \"meet-....\"'");
        assert!(!name.is_empty());
    });
}

#[test]
fn programs_are_started_by_mpirun_on_every_node() {
    if needed(openmpi()).is_none() {
        return;
    }
    with_clusters(|_, shell| {
        let run = shell.run("trainyard run --nodes 2 --framework mpi --name ring -- hostname");
        assert_eq!(run.code, 0, "{run:?}");
        let mut lines: Vec<&str> = run
            .stdout
            .lines()
            .filter(|line| line.starts_with("ring-"))
            .collect();
        lines.sort_unstable();
        assert_eq!(lines, ["ring-worker-0", "ring-worker-1"], "{run:?}");
    });
}

/// What nodes are told of each other, in the words of their framework.
#[test]
fn every_framework_tells_its_nodes_who_they_are() {
    let told = [
        ("tensorflow", "TF_CONFIG", "[worker-1] ", "\"index\":1"),
        ("jax", "PROCESS_ID", "[worker-1] ", "1"),
        ("mxnet", "DMLC_ROLE", "[scheduler-0] ", "scheduler"),
    ];
    with_clusters(|_, shell| {
        for (framework, variable, replica, expected) in told {
            let run = shell.run(&format!(
                "trainyard run --framework {framework} --nodes 2 --all -- sh -c 'echo ${variable}'"
            ));
            assert_eq!(run.code, 0, "{run:?}");
            let line = run.stdout.lines().find_map(|line| line.strip_prefix(replica));
            assert!(line.is_some_and(|line| line.contains(expected)), "{run:?}");
        }
        let job = shell.ok("trainyard run --framework jax --gpus 2 --dry-run -o json -- train");
        let job: Value = serde_json::from_str(&job).unwrap();
        let container = &job["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0];
        assert_eq!(container["resources"]["limits"]["nvidia.com/gpu"], "2");
    });
}

/// Ends when it is told to, and not before.
const STAYS: &str = "trap 'exit 0' TERM; echo up; while :; do sleep 0.1; done";

#[test]
fn an_interrupt_detaches_and_the_job_can_be_stopped_resumed_and_removed() {
    with_clusters(|server, shell| {
        let mut run = Command::new(binary())
            .args(["run", "--name", "stays", "--", "sh", "-c", STAYS])
            .current_dir(server.home())
            .env("KUBECONFIG", server.kubeconfig())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        let stdout = run.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut first).unwrap();
        assert_eq!(first, "up\n");
        shell.ok(&format!("kill -INT {}", run.id()));
        let ended = run.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(130));
        let told = text(&ended.stderr);
        assert!(told.contains("detached; stays goes on"), "{told}");
        assert!(
            told.contains("logs -f stays") && told.contains("stop stays"),
            "{told}"
        );

        until(shell, "trainyard ps", "Running");
        assert_eq!(shell.ok("trainyard logs stays"), "up\n");
        assert_eq!(shell.ok("trainyard stop stays"), "PyTorchJob/stays stopped\n");
        assert!(shell.ok("trainyard ps").contains("Suspended"));
        let why = shell.run("trainyard why stays");
        assert_eq!(why.code, 1);
        assert!(why.stdout.contains("it is suspended"), "{}", why.stdout);
        shell.ok("trainyard resume stays");
        until(shell, "trainyard logs stays", "up");
        assert_eq!(shell.ok("trainyard rm --all -o json | grep -c removed"), "1\n");
    });
}
