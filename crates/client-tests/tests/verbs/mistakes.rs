//! Bad input: told clearly, and nothing is changed.

use std::process::Command;

use client_tests::{Output, binary, run};

#[test]
fn bad_input_is_refused_and_nothing_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let trainyard = |line: &str| -> Output {
        let words = line.split(' ').map(|word| if word == "''" { "" } else { word });
        let mut command = Command::new(binary());
        command
            .args(words)
            .current_dir(folder.path())
            .env("TRAINYARD_DATA_DIR", folder.path().join("data"))
            .env_remove("KUBECONFIG");
        run(&mut command, "")
    };
    let long = format!("run --name {} -- true", "x".repeat(70));
    for (line, code, words) in [
        ("run --framework caffe -- true", 2, "invalid value 'caffe'"),
        ("run --nodes -1 -- true", 2, "--nodes"),
        ("run --nodes 0 -- true", 2, "0 is not in 1..="),
        ("run --gpus=-1 -- true", 2, "--gpus"),
        ("run --cpus none -- true", 2, "an amount above zero is meant"),
        ("run", 2, "COMMAND"),
        ("run -- ''", 125, "the command is empty"),
        (
            "run --name Bad_Name -- true",
            125,
            "`Bad_Name` cannot be the name of a job",
        ),
        (&long, 125, "cannot be the name of a job"),
        (
            "run --env NO_SUCH_THING -- true",
            125,
            "no variable `NO_SUCH_THING`",
        ),
        ("run --mount gone -- true", 125, "there is no `gone` to mount"),
        ("run --kubeconfig gone -- true", 125, "needs an image"),
        (
            "run --kubeconfig gone --image x -- true",
            125,
            "`gone` is no kubeconfig",
        ),
        ("ps", 2, "no cluster runs in"),
        ("logs x", 2, "no cluster runs in"),
        ("why x", 2, "up --detach` starts it"),
        ("stop x", 2, "no cluster runs in"),
        ("rm", 2, "required"),
        ("rm --all", 2, "no cluster runs in"),
        ("render -f gone.yaml", 2, "cannot read `gone.yaml`"),
        (
            "operator --leader-elect-lease-duration 10s",
            2,
            "must be longer than --leader-elect-renew-deadline",
        ),
        ("demo --workers 0", 2, "0 is not in 1..="),
    ] {
        let output = trainyard(line);
        assert_eq!(output.code, code, "{line}: {}", output.stderr);
        assert!(output.stderr.contains(words), "{line}: {}", output.stderr);
        assert!(!output.stderr.contains("panicked"), "{line}: {}", output.stderr);
    }
    let dry = trainyard("run --nodes 2 --name x --dry-run -o yaml -- ./train --fast");
    assert_eq!(dry.code, 0, "{dry:?}");
    assert!(
        dry.stdout.contains("kind: PyTorchJob") && dry.stdout.contains("- --fast"),
        "{}",
        dry.stdout
    );
    assert!(
        dry.stdout.contains("cleanPodPolicy: Running"),
        "nobody stays with it: {}",
        dry.stdout
    );
    assert!(!folder.path().join("data").exists(), "nothing was started");
}
