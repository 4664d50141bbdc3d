//! A sandbox in a folder of its own, for one test.

use std::{fs, path::PathBuf, time::Duration};

use containers::{
    Exec,
    client::{Error, Sandbox},
    spec::{self, Container, Log, Root},
    state::{ContainerState, Exit},
    tier::{self, Tier},
};
use tempfile::TempDir;
use this_program::Program;
use tokio::{io::AsyncReadExt as _, time::timeout};

/// Nothing here takes longer, however busy the machine is.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Pod {
    pub(crate) folder: TempDir,
    pub(crate) sandbox: Sandbox,
}

/// The strongest tier of this user.
pub(crate) fn tier() -> Tier {
    tier::decide(&tier::probe()).tier
}

pub(crate) fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// The program that calls `containers::sandbox::main`.
pub(crate) fn binary() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let binary = tests.parent().unwrap().parent().unwrap().join("examples/sandbox");
    assert!(
        binary.exists(),
        "`{}` is missing: cargo build -p containers --examples",
        binary.display()
    );
    binary
}

impl Pod {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut spec::Sandbox)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let id = format!("test-{}", folder.path().file_name().unwrap().display());
        let mut spec = spec::Sandbox::new(id.replace('.', ""), tier());
        change(&mut spec);
        let dir = folder.path().join("pod");
        let sandbox = within(Sandbox::start(&Program::at(binary()), &dir, &spec))
            .await
            .unwrap();
        Self { folder, sandbox }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A container on the host's file system that runs a shell script.
    pub(crate) fn container(&self, name: &str, script: &str) -> Container {
        Container {
            name: name.to_owned(),
            root: Root::host(None),
            hidden: vec![self.folder.path().to_owned()],
            argv: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
            log: Some(Log::at(self.path(&format!("logs/{name}/0.log")))),
            ..Container::default()
        }
    }

    /// Runs a container to its end; what it wrote, and how it ended.
    pub(crate) async fn run(&self, container: &Container) -> (String, Exit) {
        within(self.sandbox.start_container(container)).await.unwrap();
        let state = self.ended(&container.name).await;
        (self.text(&container.name), state.end.unwrap().exit)
    }

    pub(crate) async fn script(&self, script: &str) -> (String, Exit) {
        self.run(&self.container("main", script)).await
    }

    pub(crate) async fn ended(&self, name: &str) -> ContainerState {
        let mut states = self.sandbox.states().await.unwrap();
        let is_over = |state: &containers::state::State| {
            state
                .containers
                .get(name)
                .is_some_and(|state| !state.is_running())
        };
        within(states.until(is_over)).await.unwrap().containers[name].clone()
    }

    pub(crate) fn raw_log(&self, name: &str) -> String {
        fs::read_to_string(self.path(&format!("logs/{name}/0.log"))).unwrap_or_default()
    }

    /// The log without times, streams and tags.
    pub(crate) fn text(&self, name: &str) -> String {
        text_of(&self.raw_log(name))
    }

    pub(crate) async fn wait_for_log(&self, name: &str, wanted: &str) {
        within(async {
            while !self.text(name).contains(wanted) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }

    pub(crate) async fn exec(&self, argv: &[&str]) -> Result<(String, Exit), Error> {
        self.exec_in("main", argv).await
    }

    pub(crate) async fn exec_in(&self, container: &str, argv: &[&str]) -> Result<(String, Exit), Error> {
        let exec = Exec {
            container: container.to_owned(),
            argv: argv.iter().map(|text| (*text).to_owned()).collect(),
            stdout: true,
            stderr: true,
            ..Exec::default()
        };
        let mut execution = within(self.sandbox.exec(&exec)).await?;
        let mut output = String::new();
        within(execution.stdout.take().unwrap().read_to_string(&mut output))
            .await
            .unwrap();
        within(execution.stderr.take().unwrap().read_to_string(&mut output))
            .await
            .unwrap();
        Ok((output, within(execution.wait()).await?))
    }

    pub(crate) async fn stop(self) {
        within(self.sandbox.stop()).await.unwrap();
    }
}

impl Drop for Pod {
    /// A failed test leaves nothing behind.
    fn drop(&mut self) {
        let dir = self.sandbox.dir().to_owned();
        let bury = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            let _ = runtime.block_on(containers::client::bury(&dir));
        };
        // A runtime cannot wait inside another.
        let _ = std::thread::spawn(bury).join();
    }
}

pub(crate) fn text_of(log: &str) -> String {
    log.lines()
        .map(|line| {
            let mut fields = line.splitn(4, ' ').skip(2);
            let end = if fields.next() == Some("F") { "\n" } else { "" };
            format!("{}{end}", fields.next().unwrap_or_default())
        })
        .collect()
}

pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    timeout(PATIENCE, future).await.expect("this takes too long")
}
