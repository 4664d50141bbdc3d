//! Staying with a job: what is heard when connections break, and how one goes.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use client_tests::{Server, Shell, User, binary, text};
use serde_json::Value;

use crate::{until, with_clusters};

/// Numbers its lines until it is told to stop, and says how many there were.
const COUNTS: &str = "i=0; while [ ! -e enough ]; do echo $i; i=$((i+1)); sleep 0.01; done; echo of $i";
/// Ends when it is told to, and not before.
const STAYS: &str = "trap 'exit 0' TERM; echo up; while :; do sleep 0.1; done";

fn trainyard(server: &Server, words: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command
        .args(words)
        .current_dir(server.home())
        .env("HOME", server.home())
        .env("KUBECONFIG", server.kubeconfig())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Starts a command, and waits for its first line.
fn started(command: &mut Command) -> (Child, BufReader<ChildStdout>, String) {
    let mut child = command.spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    output.read_line(&mut first).unwrap();
    (child, output, first)
}

fn counted<'a>(lines: impl Iterator<Item = &'a str>) {
    let lines: Vec<&str> = lines.collect();
    let (last, numbers) = lines.split_last().unwrap();
    let expected: Vec<String> = (0..numbers.len()).map(|number| number.to_string()).collect();
    assert_eq!(numbers, expected, "every line once");
    assert_eq!(*last, format!("of {}", numbers.len()));
}

#[test]
fn no_line_is_lost_or_doubled_when_the_server_is_killed_and_started_again() {
    for user in User::all() {
        let mut server = Server::start_with_pods(user);
        let run = ["run", "--name", "counts", "--", "sh", "-c", COUNTS];
        let (run, mut output, first) = started(&mut trainyard(&server, &run));
        let logs = ["logs", "-f", "counts", "--all", "-o", "json"];
        let (mut logs, mut objects, object) = started(&mut trainyard(&server, &logs));

        server.kill();
        server.start_again();
        let home = server.home().to_owned();
        fs::write(home.join("enough"), "").unwrap();

        let mut text = first;
        output.read_to_string(&mut text).unwrap();
        let ended = run.wait_with_output().unwrap();
        let told = client_tests::text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(0), "{told}");
        assert!(!told.contains("WARN") && !told.contains("ERROR"), "{told}");
        counted(text.lines());

        let mut json = object;
        objects.read_to_string(&mut json).unwrap();
        assert_eq!(logs.wait().unwrap().code(), Some(0));
        let objects: Vec<Value> = json
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        counted(objects.iter().map(|object| object["line"].as_str().unwrap()));
        assert_eq!(objects[0]["pod"], "counts-master-0");
        assert_eq!(objects[0]["container"], "pytorch");
        assert!(
            objects[0]["time"].as_str().unwrap().ends_with('Z'),
            "{}",
            objects[0]
        );
    }
}

#[test]
fn a_program_that_fails_and_is_started_again_is_heard_each_time() {
    const FAILS_ONCE: &str = "echo begin; [ -e once ] && exit; touch once; echo no; \
                              while [ ! -e enough ]; do sleep 0.05; done; exit 7";
    for user in User::all() {
        let server = Server::start_with_pods(user);
        let run = ["run", "--retries", "1", "--", "sh", "-c", FAILS_ONCE];
        let (run, mut output, mut heard) = started(&mut trainyard(&server, &run));
        output.read_line(&mut heard).unwrap();
        fs::write(server.home().join("enough"), "").unwrap();
        output.read_to_string(&mut heard).unwrap();
        let ended = run.wait_with_output().unwrap();
        assert_eq!(heard, "begin\nno\nbegin\n", "{}", text(&ended.stderr));
        assert_eq!(ended.status.code(), Some(0));
    }
}

#[test]
fn a_program_that_fails_at_once_is_heard_too() {
    const FAILS_ONCE: &str = "echo begin; [ -e once ] && exit; touch once; echo no; exit 7";
    for user in User::all() {
        let server = Server::start_with_pods(user);
        let run = ["run", "--retries", "1", "--", "sh", "-c", FAILS_ONCE];
        let ended = trainyard(&server, &run).output().unwrap();
        let heard = text(&ended.stdout);
        assert_eq!(heard, "begin\nno\nbegin\n", "{}", text(&ended.stderr));
        assert_eq!(ended.status.code(), Some(0));
    }
}

/// While a program waits to be started again, the run that has ended is the last and the one before the next at once.
#[test]
fn each_run_of_a_program_that_fails_again_and_again_is_heard() {
    const COUNTS: &str = "echo x >> runs; echo run $(wc -l < runs); exit 3";
    for user in User::all() {
        let server = Server::start_with_pods(user);
        let run = ["run", "--retries", "2", "--", "sh", "-c", COUNTS];
        let ended = trainyard(&server, &run).output().unwrap();
        let heard = text(&ended.stdout);
        // The first two follow so closely that the cluster may not keep the first until it is asked for.
        assert!(
            heard.ends_with("run 2\nrun 3\n"),
            "{heard}{}",
            text(&ended.stderr)
        );
        assert_eq!(ended.status.code(), Some(3));
    }
}

/// Follows a job that stays, goes by a signal, and finds that it goes on.
fn leave(server: &Server, shell: &Shell<'_>, name: &str, signal: &str, code: i32) {
    let words = ["run", "--name", name, "-o", "json", "--", "sh", "-c", STAYS];
    let mut run = trainyard(server, &words).spawn().unwrap();
    let mut told = BufReader::new(run.stderr.take().unwrap());
    let mut line = String::new();
    while line != "up\n" {
        line.clear();
        assert_ne!(told.read_line(&mut line).unwrap(), 0, "it ended too soon");
    }
    shell.ok(&format!("kill -{signal} {}", run.id()));
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    let ended = run.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(code), "{rest}");
    let json: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(json["exitCode"], code);
    assert!(rest.contains(&format!("detached; {name} goes on")), "{rest}");
    until(shell, &format!("trainyard ps | grep {name}"), "Running");
}

#[test]
fn whoever_goes_leaves_the_job_running() {
    with_clusters(|server, shell| {
        leave(server, shell, "interrupted", "INT", 130);
        leave(server, shell, "terminated", "TERM", 143);
        leave(server, shell, "hung-up", "HUP", 129);
        typed(server, shell);
        shell.ok("trainyard rm --all");
    });
}

/// Ctrl-C at a terminal, which goes to everything that runs there.
fn typed(server: &Server, shell: &Shell<'_>) {
    fs::write(server.home().join("stays.sh"), STAYS).unwrap();
    let line = format!("{} run --name typed -- sh stays.sh", binary().display());
    let mut terminal = Command::new("script")
        .args(["-qefc", &line, "/dev/null"])
        .current_dir(server.home())
        .env("HOME", server.home())
        .env("KUBECONFIG", server.kubeconfig())
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(terminal.stdout.take().unwrap());
    let mut seen = String::new();
    while !seen.ends_with("up\r\n") {
        assert_ne!(output.read_line(&mut seen).unwrap(), 0, "{seen}");
    }
    let mut keyboard = terminal.stdin.take().unwrap();
    keyboard.write_all(b"\x03").unwrap();
    keyboard.flush().unwrap();
    output.read_to_string(&mut seen).unwrap();
    assert_eq!(terminal.wait().unwrap().code(), Some(130), "{seen}");
    assert!(seen.contains("detached; typed goes on"), "{seen}");
    until(shell, "trainyard ps | grep typed", "Running");
}

#[test]
fn a_reader_that_goes_away_is_no_failure_but_a_full_disk_is() {
    with_clusters(|_, shell| {
        shell.ok("trainyard run --name many -- seq 20000");
        let line = |command: &str| format!("{command} | head -n 1 >first; echo ${{PIPESTATUS[0]}}");
        for command in [
            "trainyard logs many",
            "trainyard ps -a",
            "trainyard ps -a -o json",
        ] {
            let ended = shell.run(&line(command));
            assert_eq!(
                (ended.stdout.as_str(), ended.stderr.as_str()),
                ("0\n", ""),
                "{command}"
            );
        }
        // Output that a full disk does not take is missed, so that is one.
        for command in ["trainyard logs many", "trainyard ps -a -o json"] {
            let ended = shell.run(&format!("{command} >/dev/full; echo $?"));
            assert_eq!(ended.stdout, "2\n", "{command}");
            let words = "error: the output could not be written: No space left on device";
            assert!(ended.stderr.contains(words), "{command}: {}", ended.stderr);
        }
        assert_eq!(shell.ok("trainyard logs many | wc -l"), "20000\n");
        assert_eq!(shell.ok("trainyard logs many --tail 2"), "19999\n20000\n");
    });
}

#[test]
fn the_cluster_is_the_one_that_is_named_else_the_one_that_runs_here_else_everybodys_default() {
    let far = Server::start();
    let near = Server::start();
    let home = tempfile::tempdir().unwrap();
    let usual = home.path().join(".kube/config");
    fs::create_dir(home.path().join(".kube")).unwrap();
    let config = fs::read_to_string(far.kubeconfig()).unwrap();
    fs::write(&usual, config.replace("namespace: default", "namespace: far")).unwrap();
    let run = |words: &str, variable: Option<(&str, &Path)>| {
        let mut command = Command::new(binary());
        command
            .args(words.split(' '))
            .current_dir(home.path())
            .env("HOME", home.path());
        for name in ["KUBECONFIG", "TRAINYARD_DATA_DIR", "XDG_DATA_HOME"] {
            command.env_remove(name);
        }
        command.envs(variable);
        client_tests::run(&mut command, "")
    };
    let (here, data) = (near.kubeconfig(), near.data_dir());
    // The namespace of the context tells which one it was.
    for (words, variable, told) in [
        ("logs x", None, "in namespace `far`"),
        (
            "logs x",
            None,
            "note: no embedded cluster runs; this is about https://",
        ),
        (
            "logs x --context trainyard",
            Some(("XDG_DATA_HOME", home.path())),
            "in namespace `far`",
        ),
        ("logs x -n lab", None, "in namespace `lab`"),
        ("logs x", Some(("KUBECONFIG", &*here)), "in namespace `default`"),
        (
            "logs x",
            Some(("TRAINYARD_DATA_DIR", &*data)),
            "in namespace `default`",
        ),
        (
            "logs x --kubeconfig .kube/config",
            Some(("KUBECONFIG", &*here)),
            "in namespace `far`",
        ),
    ] {
        let output = run(words, variable);
        assert_eq!(output.code, 1, "{words} {variable:?}: {}", output.stderr);
        assert!(
            output.stderr.contains(told),
            "{words} {variable:?}: {}",
            output.stderr
        );
    }
    // What runs in the usual place comes before the default.
    std::os::unix::fs::symlink(&data, home.path().join("trainyard")).unwrap();
    let output = run("logs x", Some(("XDG_DATA_HOME", home.path())));
    assert!(
        output.stderr.contains("in namespace `default`"),
        "{}",
        output.stderr
    );

    let wide = run("rm --all", None);
    assert_eq!(wide.code, 2, "{}", wide.stderr);
    assert!(
        wide.stderr.contains("a cluster that was named"),
        "{}",
        wide.stderr
    );
    let absent = run("ps --context nowhere", None);
    assert_eq!(absent.code, 2, "{}", absent.stderr);
    assert!(absent.stderr.contains("nowhere"), "{}", absent.stderr);
    assert_eq!(
        text(run("ps", Some(("KUBECONFIG", &*here))).stdout.as_bytes()),
        "No jobs\n"
    );
}
