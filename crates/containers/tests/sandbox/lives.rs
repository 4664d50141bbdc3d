//! A container's life: start, output, end.

use std::fs;

use containers::{FailureKind, client::Error, spec::Log};

use super::pod::{Pod, text_of};

#[tokio::test]
async fn output_and_exit_code_are_kept() {
    let pod = Pod::new().await;
    let (text, exit) = pod.script("echo out; echo err >&2; exit 7").await;
    assert_eq!((exit.code, exit.signal), (7, None));
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["err", "out"]);
    assert!(pod.raw_log("main").contains(" stderr F err\n"));
    pod.stop().await;
}

#[tokio::test]
async fn a_killed_container_tells_its_signal() {
    let pod = Pod::new().await;
    pod.sandbox
        .start_container(&pod.container("main", "echo up; exec sleep 1000"))
        .await
        .unwrap();
    pod.wait_for_log("main", "up").await;
    pod.sandbox.signal("main", 9).await.unwrap();
    let end = pod.ended("main").await.end.unwrap();
    assert_eq!(
        (end.exit.code, end.exit.signal, end.out_of_memory),
        (137, Some(9), false)
    );
}

#[tokio::test]
async fn a_container_may_end_gracefully() {
    let pod = Pod::new().await;
    let script = "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.02; done";
    pod.sandbox
        .start_container(&pod.container("main", script))
        .await
        .unwrap();
    pod.wait_for_log("main", "up").await;
    pod.sandbox.signal("main", 15).await.unwrap();
    assert_eq!(pod.ended("main").await.end.unwrap().exit.code, 3);
    assert_eq!(pod.text("main"), "up\nbye\n");
}

#[tokio::test]
async fn a_missing_command_is_told_and_nothing_is_remembered() {
    let pod = Pod::new().await;
    let mut container = pod.container("main", "");
    container.argv = vec!["no-such-program".to_owned()];
    let Err(Error::Refused(failure)) = pod.sandbox.start_container(&container).await else {
        panic!("it ran")
    };
    assert_eq!(failure.kind, FailureKind::CommandNotFound);
    assert_eq!(
        failure.message,
        "exec: \"no-such-program\": executable file not found in $PATH"
    );
    container.argv = vec!["/etc/passwd".to_owned()];
    let Err(Error::Refused(failure)) = pod.sandbox.start_container(&container).await else {
        panic!("it ran")
    };
    assert_eq!(failure.kind, FailureKind::CommandNotExecutable);
    assert!(pod.sandbox.state().await.unwrap().containers.is_empty());
}

#[tokio::test]
async fn a_bad_working_directory_and_a_missing_volume_are_told() {
    let pod = Pod::new().await;
    let mut container = pod.container("main", "true");
    container.working_directory = Some("/no/such/folder".into());
    let error = pod.sandbox.start_container(&container).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("cannot enter the working directory `/no/such/folder`"),
        "{error}"
    );
}

#[tokio::test]
async fn attempts_follow_each_other_in_one_log() {
    let pod = Pod::new().await;
    for attempt in 0..3 {
        let mut container = pod.container("main", &format!("echo {attempt}; exit {attempt}"));
        container.attempt = attempt;
        let (_, exit) = pod.run(&container).await;
        assert_eq!(exit.code, i32::try_from(attempt).unwrap());
        assert_eq!(
            pod.sandbox.state().await.unwrap().containers["main"].attempt,
            attempt
        );
    }
    assert_eq!(pod.text("main"), "0\n1\n2\n");
}

#[tokio::test]
async fn rotation_loses_and_tears_no_line() {
    let pod = Pod::new().await;
    let mut container = pod.container(
        "main",
        "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done",
    );
    let path = pod.path("logs/main/0.log");
    container.log = Some(Log {
        path: path.clone(),
        max_bytes: 50_000,
        max_files: 1000,
    });
    pod.run(&container).await;
    let mut files: Vec<_> = fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    // The current file sorts first, being the shortest name.
    files.rotate_left(1);
    assert!(files.len() > 2, "{} files", files.len());
    let all: String = files
        .iter()
        .map(|file| text_of(&fs::read_to_string(file).unwrap()))
        .collect();
    let expected: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
    assert!(all == expected, "{} of {} bytes", all.len(), expected.len());
}

#[tokio::test]
async fn a_large_output_arrives_whole() {
    let pod = Pod::new().await;
    let (text, _) = pod
        .script("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end")
        .await;
    assert_eq!(text.len(), 3_000_000 + 1 + 4);
    assert!(text.ends_with("x\nend\n"));
}
