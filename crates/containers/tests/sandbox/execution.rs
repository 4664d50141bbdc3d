//! Further processes, terminals and attaching.

use containers::{Exec, FailureKind, client::Error, spec::Stdin};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::pod::{Pod, within};

async fn idle() -> Pod {
    let pod = Pod::new().await;
    let mut container = pod.container("main", "echo up; exec sleep 1000");
    container.env = vec![("COLOUR".to_owned(), "green".to_owned())];
    container.stdin = Stdin::None;
    pod.sandbox.start_container(&container).await.unwrap();
    pod
}

#[tokio::test]
async fn exec_gives_output_and_exit_code() {
    let pod = idle().await;
    let (output, exit) = pod
        .exec(&["sh", "-c", "echo $COLOUR; echo bad >&2; exit 5"])
        .await
        .unwrap();
    assert_eq!((output.as_str(), exit.code), ("green\nbad\n", 5));
}

#[tokio::test]
async fn exec_sees_the_container_it_runs_in() {
    let pod = idle().await;
    let (output, _) = pod
        .exec(&["sh", "-c", "cat /proc/1/cmdline | tr '\\0' ' '"])
        .await
        .unwrap();
    assert_eq!(output, "sleep 1000 ");
}

#[tokio::test]
async fn exec_of_a_missing_command_is_told() {
    let pod = idle().await;
    let Err(Error::Refused(failure)) = pod.exec(&["nothing"]).await else {
        panic!("it ran")
    };
    assert_eq!(
        (failure.kind, failure.exit_code()),
        (FailureKind::CommandNotFound, 127)
    );
}

#[tokio::test]
async fn exec_passes_input_to_its_end() {
    let pod = idle().await;
    let argv = ["wc", "-c"].map(str::to_owned).to_vec();
    let exec = Exec {
        container: "main".to_owned(),
        argv,
        stdin: true,
        stdout: true,
        ..Exec::default()
    };
    let mut execution = pod.sandbox.exec(&exec).await.unwrap();
    let mut stdin = execution.stdin.take().unwrap();
    within(stdin.write_all(&vec![b'x'; 300_000])).await.unwrap();
    drop(stdin);
    let mut output = String::new();
    within(execution.stdout.take().unwrap().read_to_string(&mut output))
        .await
        .unwrap();
    assert_eq!(output.trim(), "300000");
    assert_eq!(within(execution.wait()).await.unwrap().code, 0);
}

#[tokio::test]
async fn exec_with_a_terminal_has_a_size_and_a_name() {
    let pod = idle().await;
    let script = "tty; read answer; stty size; echo got $answer; exit 9";
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    let exec = Exec {
        container: "main".to_owned(),
        argv,
        tty: true,
        stdin: true,
        stdout: true,
        ..Exec::default()
    };
    let mut execution = pod.sandbox.exec(&exec).await.unwrap();
    execution.resize(33, 77).unwrap();
    within(execution.stdin.as_mut().unwrap().write_all(b"blue\n"))
        .await
        .unwrap();
    let mut output = String::new();
    within(execution.stdout.as_mut().unwrap().read_to_string(&mut output))
        .await
        .unwrap();
    assert!(output.contains("/dev/pts/"), "{output}");
    assert!(
        output.contains("33 77") && output.contains("got blue"),
        "{output}"
    );
    assert_eq!(within(execution.wait()).await.unwrap().code, 9);
}

#[tokio::test]
async fn exec_can_be_killed() {
    let pod = idle().await;
    let argv = ["sleep", "1000"].map(str::to_owned).to_vec();
    let exec = Exec {
        container: "main".to_owned(),
        argv,
        ..Exec::default()
    };
    let mut execution = pod.sandbox.exec(&exec).await.unwrap();
    execution.kill().await.unwrap();
    assert_eq!(within(execution.wait()).await.unwrap().signal, Some(9));
}

#[tokio::test]
async fn attaching_gives_output_from_now_on_and_takes_input() {
    let pod = Pod::new().await;
    let mut container = pod.container("main", "while read line; do echo \"<$line>\"; done; echo end");
    container.stdin = Stdin::Once;
    pod.sandbox.start_container(&container).await.unwrap();
    let mut attachment = pod.sandbox.attach("main").await.unwrap();
    within(attachment.stdin.as_mut().unwrap().write_all(b"one\ntwo\n"))
        .await
        .unwrap();
    drop(attachment.stdin.take());
    let mut output = String::new();
    within(attachment.stdout.read_to_string(&mut output))
        .await
        .unwrap();
    assert_eq!(output, "<one>\n<two>\nend\n");
    pod.ended("main").await;
    assert_eq!(pod.text("main"), output);
}

#[tokio::test]
async fn a_container_with_a_terminal_is_logged_and_attached() {
    let pod = Pod::new().await;
    let mut container = pod.container("main", "read x; test -t 0 && test -t 1 && echo terminal $x");
    (container.tty, container.stdin) = (true, Stdin::Open);
    pod.sandbox.start_container(&container).await.unwrap();
    let mut attachment = pod.sandbox.attach("main").await.unwrap();
    assert!(attachment.tty && attachment.stderr.is_none());
    within(attachment.stdin.as_mut().unwrap().write_all(b"hello\n"))
        .await
        .unwrap();
    assert_eq!(pod.ended("main").await.end.unwrap().exit.code, 0);
    assert!(
        pod.text("main").contains("terminal hello"),
        "{}",
        pod.text("main")
    );
}
