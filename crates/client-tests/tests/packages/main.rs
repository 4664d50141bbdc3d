//! Packages as their users work with them: built, parameterised and edited with the program itself.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod anywhere;
mod applying;
mod building;
mod busy;
mod checking;
mod editing;
mod elsewhere;
mod mistakes;
mod pruning;
mod safety;
mod setting;
mod walkthroughs;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use client_tests::{Output, binary, run};

/// A folder with a package in it, and the program.
struct Workbench {
    folder: tempfile::TempDir,
}

impl Workbench {
    fn new(files: &[(&str, &str)]) -> Self {
        let bench = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for (path, text) in files {
            bench.write(path, text);
        }
        bench
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Runs `trainyard pkg` with the words of a line; words in single quotes are one.
    #[track_caller]
    fn pkg(&self, line: &str) -> Output {
        self.pkg_in("", line)
    }

    #[track_caller]
    fn pkg_in(&self, folder: &str, line: &str) -> Output {
        let mut command = Command::new("bash");
        command
            .args(["-c", &format!("\"$TRAINYARD\" pkg {line}")])
            .current_dir(self.path(folder))
            .env("TRAINYARD", binary());
        run(&mut command, "")
    }

    /// Every file there is, with what is in it.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(self.folder.path(), &mut files);
        files
    }
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            collect(&path, files);
        } else {
            let content = fs::read(&path).unwrap_or_default();
            files.insert(path, content);
        }
    }
}

/// Definitions of two setters and a substitution.
const KRMFILE: &str = r#"apiVersion: config.k8s.io/v1alpha1
kind: Krmfile
openAPI:
  definitions:
    io.k8s.cli.setters.replicas:
      description: how many workers there are
      type: integer
      x-k8s-cli:
        setter:
          name: replicas
          value: "3"
          setBy: alice
          required: true
    io.k8s.cli.setters.tag:
      x-k8s-cli:
        setter:
          name: tag
          value: "1.8"
    io.k8s.cli.substitutions.image:
      x-k8s-cli:
        substitution:
          name: image
          pattern: trainer:${tag}
          values:
          - marker: ${tag}
            ref: '#/definitions/io.k8s.cli.setters.tag'
"#;

/// Indented, quoted and commented as no YAML library would write it.
const DEPLOYMENT: &str = r#"# The trainer.
apiVersion: apps/v1
kind: Deployment
metadata:
    name:   trainer

spec:
    replicas: 3   # {"$openapi":"replicas"}
    template:
        spec:
            containers:
                -   name: 'trainer'
                    image: trainer:1.8 # {"$openapi":"image"}
                    args: [ "--epochs",   '10' ]
"#;

/// A package with setters.
fn with_setters() -> Workbench {
    Workbench::new(&[("Krmfile", KRMFILE), ("deployment.yaml", DEPLOYMENT)])
}
