//! What users get wrong.

use std::{fs, net::TcpListener, process::Command};

use client_tests::{Output, binary, run};

use crate::{refused, trained};

fn serve(words: &[&str]) -> Output {
    run(Command::new(binary()).arg("serve").args(words), "")
}

#[test]
fn a_folder_without_a_model_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    refused(
        &serve(&[&format!("{path}/gone"), "--port", "0"]),
        &["gone` is no folder that can be read"],
    );
    refused(
        &serve(&[path, "--port", "0"]),
        &["has no version of a model", "hint: export a model there"],
    );
    fs::create_dir(folder.path().join("1")).unwrap();
    fs::write(folder.path().join("1/saved_model.pb"), "no model at all").unwrap();
    refused(
        &serve(&[path, "--port", "0"]),
        &["version 1: `saved_model.pb` is damaged or no SavedModel"],
    );
}

#[test]
fn a_port_that_is_taken_is_told() {
    let model = trained().copy();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    refused(
        &serve(&[model.path().to_str().unwrap(), "--port", &port]),
        &[
            &format!("cannot listen on 127.0.0.1:{port}"),
            "hint: choose other ports with --port",
        ],
    );
}

#[test]
fn data_that_is_not_for_the_model_is_told() {
    let model = trained().copy();
    let served = model.serve(&[]);
    let asked = |model: &str, signature: &str, data: &str| {
        let server = served.address();
        let mut command = Command::new(binary());
        command.args(["bench-serving", "-s", &server, "-b", "2", "--no-shuffle"]);
        command.args(["--model", model, "--signature", signature, "-d", data]);
        run(&mut command, "")
    };
    let table = |name: &str, text: &str| {
        let path = model.beside(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let pixels = format!("3{}\n", ",0.5".repeat(256));
    let seed = format!("1{}{}\n", ",0.5".repeat(13), ",68fd1e64".repeat(26));
    for (data, words, hint) in [
        (table("empty.csv", ""), "the data has no rows", "the label first"),
        (
            table("seed.csv", &seed),
            "the data has 39 columns beside the label",
            "--columns",
        ),
        (
            table("words.csv", &pixels.replace("0.5", "x")),
            "line 1 of the data: `pixels` is \"x\"",
            "the label first",
        ),
        (
            table("label.csv", &format!("a{}", &pixels[1..])),
            "the label is \"a\"",
            "no header",
        ),
        (
            table("short.csv", &format!("{pixels}{seed}")),
            "line 2 of the data has 40 cells, not 257",
            "the label first",
        ),
        (
            model.path().to_str().unwrap().to_owned(),
            "is a folder, not a table",
            "-d names a file",
        ),
    ] {
        refused(&asked("digits", "predict", &data), &[words, hint]);
    }
    let exam = trained().exam();
    for (model, signature, words) in [
        (
            "digits",
            "guess",
            "the model `digits` has no signature `guess`; it has `predict`, `serving_default`",
        ),
        (
            "wide-and-deep",
            "predict",
            "there is no model `wide-and-deep` here",
        ),
    ] {
        refused(&asked(model, signature, exam.to_str().unwrap()), &[words]);
    }
}

#[test]
fn wrong_words_are_told() {
    for (words, told) in [
        (&["bench-serving"][..], "--data-file"),
        (
            &["bench-serving", "-d", "x.csv", "-s", "localhost"][..],
            "a host and a port are meant",
        ),
        (
            &["bench-serving", "-d", "x.csv", "-b", "0"][..],
            "0 is not in 1..",
        ),
        (
            &["bench-serving", "-d", "/gone.csv"][..],
            "cannot read the data `/gone.csv`",
        ),
        (&["serve"][..], "MODEL_DIR"),
        (
            &["serve", "x", "--version-label", "stable"][..],
            "such as stable=3",
        ),
    ] {
        refused(&run(Command::new(binary()).args(words), ""), &[told]);
    }
}
