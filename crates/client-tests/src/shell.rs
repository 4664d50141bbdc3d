//! A shell with a home of its own, exactly the clients it was given, and one cluster or none.

use std::{
    ffi::OsString,
    fs,
    os::unix::{fs::symlink, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Output, Server, User, run, server::NOBODY};

/// Runs commands as a user would type them.
#[derive(Debug)]
pub struct Shell<'a> {
    home: &'a Path,
    path: OsString,
    /// The cluster it sees; a shell without one also sees none of the developer's.
    kubeconfig: Option<PathBuf>,
    user: User,
    /// Variables and the working directory after the last command, for a shell that keeps them.
    state: Option<PathBuf>,
}

impl<'a> Shell<'a> {
    /// A shell in the server's home with these programs, by the names users know them by.
    #[track_caller]
    pub fn new(server: &'a Server, programs: &[(&str, &Path)]) -> Self {
        Self {
            home: server.home(),
            path: path(&server.home().join("bin"), programs),
            kubeconfig: Some(server.kubeconfig()),
            user: User::Us,
            state: None,
        }
    }

    /// A terminal of a new user: no cluster, and `cd` and `export` last from one command to the next.
    #[track_caller]
    pub fn terminal(home: &'a Path, user: User, programs: &[(&str, &Path)]) -> Self {
        Self {
            home,
            path: path(&home.join(".cargo/bin"), programs),
            kubeconfig: None,
            user,
            state: Some(home.join(".terminal")),
        }
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
        let line = match &self.state {
            None => line.to_owned(),
            Some(state) => remembering(line, state),
        };
        command
            .args(["-o", "pipefail", "-c", &line])
            .current_dir(self.home)
            .env("PATH", &self.path)
            .env("HOME", self.home)
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC");
        // What a developer has set for their own clusters does not reach the tests.
        for name in [
            "KUBECONFIG",
            "KUBECACHEDIR",
            "KUBE_EDITOR",
            "EDITOR",
            "KUBECTL_EXTERNAL_DIFF",
            "HELM_NAMESPACE",
            "TRAINYARD_DATA_DIR",
            "TRAINYARD_SERVICE",
            "TRAINYARD_TOKEN",
            "XDG_CACHE_HOME",
            "XDG_DATA_HOME",
        ] {
            command.env_remove(name);
        }
        if let Some(kubeconfig) = &self.kubeconfig {
            command.env("KUBECONFIG", kubeconfig);
        }
        if self.user == User::Nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

/// PATH with a folder of links to these programs in front.
#[track_caller]
fn path(bin: &Path, programs: &[(&str, &Path)]) -> OsString {
    fs::create_dir_all(bin).expect("a folder can be made");
    for (name, program) in programs {
        let _ = fs::remove_file(bin.join(name));
        symlink(program, bin.join(name)).expect("a program can be linked");
    }
    let mut path = bin.as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    path
}

/// The command, after the state of the one before it and with its own state saved.
fn remembering(line: &str, state: &Path) -> String {
    let state = state.display();
    format!(
        "[ ! -e '{state}' ] || . '{state}'\n{line}\ncode=$?\n\
         {{ export -p; printf 'cd %q\\n' \"$PWD\"; }} > '{state}'\nexit $code"
    )
}
