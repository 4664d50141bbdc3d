//! Commands in pods that somebody looks at: kubectl's terminal, attached and as a visitor.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::json;

use crate::cluster::{Cluster, as_everybody, container};

/// A person at a terminal: runs a command, waits for a word, makes the window larger, waits for another.
const TERMINAL: &str = r#"
import fcntl, os, pty, select, struct, sys, termios, time
first, second = sys.argv[1:3]
child, terminal = pty.fork()
if child == 0:
    os.execvp(sys.argv[3], sys.argv[3:])
def resize(rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
seen, deadline = b"", time.time() + 90
def until(word):
    global seen
    while word.encode() not in seen:
        if time.time() > deadline:
            sys.exit("no %s in %r" % (word, seen))
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                seen += os.read(terminal, 4096)
            except OSError:
                break
resize(31, 101)
until(first)
resize(41, 121)
until(second)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"#;

/// Waits for both sizes of the window, and says so.
const SIZES: &str = "until [ \"$(stty size)\" = '31 101' ]; do sleep 0.05; done; echo small; \
                     until [ \"$(stty size)\" = '41 121' ]; do sleep 0.05; done; echo large; exit 6";

/// What kubectl is asked, at a terminal whose size changes; its exit code.
fn at_terminal(cluster: &Cluster, arguments: &[&str]) -> Option<i32> {
    let kubectl = cluster.kubectl()?;
    let mut person = Command::new("python3");
    person
        .args(["-c", TERMINAL, "small", "large"])
        .arg(kubectl.get_program())
        .args(arguments);
    for (name, value) in kubectl.get_envs() {
        person.env(name, value.unwrap_or_default());
    }
    let output = person.output().unwrap();
    assert!(
        !String::from_utf8_lossy(&output.stderr).contains("no "),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.status.code()
}

#[tokio::test]
async fn what_is_typed_reaches_an_attached_container_and_its_answers_come_back() {
    as_everybody(async |cluster| {
        let Some(mut kubectl) = cluster.kubectl() else {
            return;
        };
        let listens = json!({"containers": [{"stdin": true, "stdinOnce": true}]});
        let script = "while read line; do echo heard $line; done";
        cluster.run("listens", script, listens).await;
        cluster.until_phase("listens", "Running").await;
        let mut kubectl = kubectl
            .args(["attach", "-i", "listens"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = kubectl.stdin.take().unwrap();
        input.write_all(b"one\ntwo\n").unwrap();
        drop(input);
        let output = kubectl.wait_with_output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "heard one\nheard two\n",
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        cluster.until_phase("listens", "Succeeded").await;
    })
    .await;
}

#[tokio::test]
async fn a_command_at_a_terminal_knows_its_size_and_hears_of_changes() {
    if client_tests::needed(client_tests::python3()).is_none() {
        return;
    }
    as_everybody(async |cluster| {
        cluster
            .run("shell", "sleep 1000", json!({"terminationGracePeriodSeconds": 0}))
            .await;
        cluster.until_phase("shell", "Running").await;
        let code = at_terminal(&cluster, &["exec", "-it", "shell", "--", "sh", "-c", SIZES]);
        assert!(matches!(code, None | Some(6)), "{code:?}");
    })
    .await;
}

#[tokio::test]
async fn a_container_with_a_terminal_is_attached_to_with_its_size() {
    if client_tests::needed(client_tests::python3()).is_none() {
        return;
    }
    as_everybody(async |cluster| {
        let terminal = json!({"containers": [{"stdin": true, "tty": true}]});
        cluster.run("terminal", SIZES, terminal).await;
        cluster.until_phase("terminal", "Running").await;
        if at_terminal(&cluster, &["attach", "-it", "terminal"]).is_none() {
            return;
        }
        let over = cluster.until_phase("terminal", "Failed").await;
        assert_eq!(container(&over, "main")["state"]["terminated"]["exitCode"], 6);
    })
    .await;
}

#[tokio::test]
async fn a_visitor_sees_the_processes_of_the_container_it_visits() {
    as_everybody(async |cluster| {
        let Some(mut kubectl) = cluster.kubectl() else {
            return;
        };
        let pod = cluster
            .run(
                "visited",
                "exec sleep 4242",
                json!({"terminationGracePeriodSeconds": 0}),
            )
            .await;
        cluster.until_phase("visited", "Running").await;
        let look = "tr '\\0' ' ' < /proc/1/cmdline; echo; exit 3";
        let output = kubectl
            .args([
                "debug",
                "visited",
                "--image=host",
                "--target=main",
                "-c",
                "visitor",
                "--",
            ])
            .args(["sh", "-c", look])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let after = cluster
            .until("visited", "visited", |pod| {
                !container(pod, "visitor")["state"]["terminated"].is_null()
            })
            .await;
        assert_eq!(container(&after, "visitor")["state"]["terminated"]["exitCode"], 3);
        assert_eq!(cluster.text(&pod, "visitor", 0), "sleep 4242 \n");
        assert_eq!(container(&after, "main")["restartCount"], 0);
    })
    .await;
}
