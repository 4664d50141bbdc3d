//! A shell that sees one server: its kubeconfig, a home of its own, and exactly the clients it was
//! given.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use crate::{Output, Server, run};

/// Runs commands as a user would type them.
#[derive(Debug)]
pub struct Shell<'a> {
    server: &'a Server,
    path: std::ffi::OsString,
}

impl<'a> Shell<'a> {
    /// A shell in the server's home with these programs, by the names users know them by.
    #[track_caller]
    pub fn new(server: &'a Server, programs: &[(&str, &Path)]) -> Self {
        let bin = server.home().join("bin");
        fs::create_dir_all(&bin).expect("a folder can be made");
        for (name, program) in programs {
            let _ = fs::remove_file(bin.join(name));
            symlink(program, bin.join(name)).expect("a program can be linked");
        }
        let mut path = bin.into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        Self { server, path }
    }

    /// Runs a command line to its end.
    #[track_caller]
    pub fn run(&self, line: &str) -> Output {
        run(&mut self.command(line), "")
    }

    /// The output of a command line that must succeed.
    #[track_caller]
    pub fn ok(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(
            output.code == 0,
            "$ {line}\n{}{}? {}",
            output.stdout,
            output.stderr,
            output.code
        );
        output.stdout
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("bash");
        command
            .args(["-o", "pipefail", "-c", line])
            .current_dir(self.server.home())
            .env("PATH", &self.path)
            .env("HOME", self.server.home())
            .env("KUBECONFIG", self.server.kubeconfig())
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC");
        // What a developer has set for their own clusters does not reach the tests.
        for name in [
            "KUBECACHEDIR",
            "KUBE_EDITOR",
            "EDITOR",
            "KUBECTL_EXTERNAL_DIFF",
            "HELM_NAMESPACE",
            "XDG_CACHE_HOME",
        ] {
            command.env_remove(name);
        }
        command
    }
}
