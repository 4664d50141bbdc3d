//! Starting a container: its image, its environment, its files, its process, its postStart hook.

use std::{
    fs::{self, Permissions},
    io,
    net::IpAddr,
    os::unix::fs::PermissionsExt as _,
    sync::Arc,
    time::Duration,
};

use containers::{client, spec, tier::Tier};
use images::policy::Waiting;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, Pod};
use tokio::{sync::mpsc::UnboundedSender, task::AbortHandle};

use super::{
    Happening, Live, Stage, Worker, hooks, last_words, observe, prepare, reach::Reach, sources, volumes,
};
use crate::{
    agent::Agent,
    container::{self, Start},
    container_id, environment,
    folders::PodFolder,
    gpus::Access,
    images::{Image, Wish, pull_policy},
    lifecycle::{Ended, Record, Records, State},
    sandbox,
    volumes::Plan,
};

/// How soon a container that could not even be tried is tried again.
const REFUSED: SignedDuration = SignedDuration::from_secs(5);

/// What became of an attempt to start a container.
pub(super) enum Launched {
    /// It runs, and its postStart hook has passed.
    Running,
    /// It runs, but its postStart hook failed.
    Condemned,
    /// It could not even be tried.
    Refused { reason: String, message: String },
    /// It was tried and its program did not start.
    Failed { message: String },
}

/// The start of a container that is under way.
pub(super) struct Launching {
    pub(super) container: String,
    attempt: u32,
    /// The sandbox was told to start it.
    is_told: bool,
    task: AbortHandle,
}

impl Launching {
    pub(super) fn abort(self) {
        self.task.abort();
    }

    /// Whether its program may run without anybody having seen it: whoever ends the pod now would end the
    /// program without its hook and without a signal.
    pub(super) fn may_run_unseen(&self, records: &Records) -> bool {
        let seen = records.get(&self.container).map_or(0, |record| record.attempts);
        self.is_told && seen <= self.attempt
    }
}

struct Launch {
    agent: Arc<Agent>,
    pod: Arc<Pod>,
    container: Container,
    attempt: u32,
    live: Live,
    volumes: Arc<Plan>,
    folder: PodFolder,
}

impl Worker {
    pub(super) fn start(&mut self, name: &str, attempt: u32, now: Timestamp) {
        if self.launching.is_some() || self.stage == Stage::Releasing {
            return;
        }
        let (Some(live), Some(volumes)) = (self.live.clone(), self.volumes.plan.clone()) else {
            return self.prepare(now);
        };
        let Some(container) = container::find(&self.pod, name) else {
            return;
        };
        let host = self.agent.address();
        let address = live.address.map_or(host, IpAddr::V4);
        let launch = Launch {
            agent: self.agent.clone(),
            pod: prepare::with_addresses(&self.pod, address, host),
            container,
            attempt,
            live,
            volumes,
            folder: self.folder.clone(),
        };
        let (tell, name) = (self.tell.clone(), name.to_owned());
        let container = name.clone();
        let task = self.jobs.spawn(async move {
            let outcome = Box::pin(launch.run(&tell)).await;
            let _ = tell.send(Happening::Launched {
                container,
                attempt,
                outcome,
            });
        });
        self.launching = Some(Launching {
            container: name,
            attempt,
            is_told: false,
            task,
        });
    }

    /// Written down before the program runs: it may be over before anybody looks.
    pub(super) fn starting(&mut self, name: &str, image_id: String, stop_signal: i32) {
        let record = self.book.records.entry(name.to_owned()).or_default();
        record.image_id = image_id;
        self.book.stop_signals.insert(name.to_owned(), stop_signal);
        if let Some(launching) = self
            .launching
            .as_mut()
            .filter(|launching| launching.container == name)
        {
            launching.is_told = true;
        }
    }

    /// Whether a container runs whose launch is over in the next moment, which makes it ready: both are told at once.
    /// A hook may take longer than that.
    pub(super) fn is_about_to_be_ready(&self) -> bool {
        let Some(launching) = &self.launching else {
            return false;
        };
        let record = self.book.records.get(&launching.container);
        let runs = |record: &Record| record.attempts > launching.attempt && record.is_running();
        let container = container::find(&self.pod, &launching.container);
        let hook = |container: Container| container.lifecycle?.post_start;
        record.is_some_and(runs) && container.and_then(hook).is_none()
    }

    pub(super) fn launched(&mut self, name: &str, attempt: u32, outcome: Launched) {
        self.launching = None;
        let id = self.container_id(name, attempt);
        let now = Timestamp::now();
        let record = self.book.records.entry(name.to_owned()).or_default();
        match outcome {
            Launched::Running => self.probe(name, false),
            Launched::Condemned => record.doom = Some("FailedPostStartHook".to_owned()),
            Launched::Refused { reason, message } => {
                if let State::Ended(ended) = &record.state {
                    record.previous = Some(ended.clone());
                }
                record.state = State::Refused {
                    reason,
                    message,
                    retry: now.saturating_add(REFUSED).unwrap_or(now),
                };
            }
            Launched::Failed { message } => {
                observe::begin(record, attempt, now, id.clone());
                record.state = State::Ended(Ended {
                    started: None,
                    at: now,
                    exit_code: 128,
                    signal: None,
                    reason: "StartError".to_owned(),
                    message,
                    container_id: id,
                });
            }
        }
    }

    /// Takes in what the sandbox says its containers do.
    pub(super) fn absorb(&mut self, state: &containers::state::State) {
        let uid = self.pod.metadata.uid.clone().unwrap_or_default();
        let news = observe::absorb(&mut self.book.records, state, |name, attempt| {
            container_id::of_run(&uid, name, attempt)
        });
        for name in news.begun {
            let events = &self.agent.events;
            events.of_container(&self.pod, &name, "Started", format!("Started container {name}"));
        }
        for name in news.ended {
            self.probes.remove(&name);
            let Some(container) = container::find(&self.pod, &name) else {
                continue;
            };
            let Some(record) = self.book.records.get_mut(&name) else {
                continue;
            };
            let attempt = record.attempts.saturating_sub(1);
            if let State::Ended(ended) = &mut record.state {
                ended.message = last_words::read(&self.folder, &container, attempt, ended.exit_code);
            }
        }
    }

    fn container_id(&self, name: &str, attempt: u32) -> String {
        let uid = self.pod.metadata.uid.as_deref().unwrap_or_default();
        container_id::of_run(uid, name, attempt)
    }
}

/// `SIGUSR1` and the like, as pods name them.
fn signal_named(name: &str) -> i32 {
    let mut config = images::Config::default();
    name.clone_into(&mut config.config.stop_signal);
    config.stop_signal()
}

/// Says which part of a volume could not be mounted.
fn part_problem(container: &Container, cause: &str) -> String {
    let is_given = |path: &Option<String>| path.as_deref().is_some_and(|path| !path.is_empty());
    let mounts = container.volume_mounts.iter().flatten();
    let parts = mounts.filter(|mount| is_given(&mount.sub_path) || is_given(&mount.sub_path_expr));
    let names: Vec<String> = parts.map(|mount| format!("\"{}\"", mount.name)).collect();
    format!(
        "failed to prepare subPath for volumeMount {} of container \"{}\": {cause}",
        names.join(", "),
        container.name
    )
}

impl Launch {
    async fn run(self, tell: &UnboundedSender<Happening>) -> Launched {
        let image = match self.image().await {
            Ok(image) => image,
            Err(waiting) => {
                return Launched::Refused {
                    reason: waiting.reason.to_owned(),
                    message: waiting.message,
                };
            }
        };
        let spec = match self.specification(&image).await {
            Ok(spec) => spec,
            Err((reason, message)) => {
                self.warn("Failed", format!("Error: {message}"));
                return Launched::Refused {
                    reason: reason.to_owned(),
                    message,
                };
            }
        };
        self.tell("Created", format!("Created container: {}", self.container.name));
        let _ = tell.send(Happening::Starting {
            container: self.container.name.clone(),
            stop_signal: self.stop_signal(&image),
            image_id: image.id,
        });
        match self.live.sandbox.start_container(&spec).await {
            Ok(()) => {}
            // An agent before us was faster; what it started is what we wanted.
            Err(client::Error::Refused(failure))
                if failure.kind == containers::FailureKind::AlreadyRunning => {}
            // The program was never to run: it is tried again, which is no restart.
            Err(client::Error::Refused(failure)) if failure.kind == containers::FailureKind::Part => {
                let message = part_problem(&self.container, &failure.message);
                self.warn("Failed", format!("Error: {message}"));
                return Launched::Refused {
                    reason: "CreateContainerConfigError".to_owned(),
                    message,
                };
            }
            Err(client::Error::Refused(failure)) => {
                self.warn("Failed", format!("Error: {failure}"));
                return Launched::Failed {
                    message: failure.to_string(),
                };
            }
            Err(error) => {
                let message = error.to_string();
                self.warn("Failed", format!("Error: {message}"));
                return Launched::Refused {
                    reason: "RunContainerError".to_owned(),
                    message,
                };
            }
        }
        // Whoever hears that it was launched must know what became of it: it may have ended already.
        if let Ok(state) = self.live.sandbox.state().await {
            let _ = tell.send(Happening::State(state));
        }
        self.after_start().await
    }

    fn stop_signal(&self, image: &Image) -> i32 {
        let lifecycle = self.container.lifecycle.as_ref();
        lifecycle
            .and_then(|lifecycle| lifecycle.stop_signal.as_deref())
            .map_or_else(|| image.config.stop_signal(), signal_named)
    }

    async fn after_start(&self) -> Launched {
        let lifecycle = self.container.lifecycle.as_ref();
        let reach = Reach::new(&self.agent, &self.pod, &self.live);
        if let Some(hook) = lifecycle.and_then(|lifecycle| lifecycle.post_start.as_ref())
            && let Err(problem) = hooks::run(&reach, &self.container, hook, Duration::MAX).await
        {
            self.warn("FailedPostStartHook", format!("PostStartHook failed: {problem}"));
            return Launched::Condemned;
        }
        Launched::Running
    }

    async fn image(&self) -> Result<Image, Waiting> {
        let name = self.container.image.as_deref().unwrap_or_default();
        let keyring = sources::keyring(&self.agent, &self.pod).await;
        let wish = Wish {
            pod: self.pod.metadata.uid.as_deref().unwrap_or_default(),
            container: &self.container.name,
            image: name,
            policy: pull_policy(&self.container),
            keyring: &keyring,
        };
        let tell = |event: &images::policy::Event| {
            if event.is_warning {
                self.warn(event.reason, event.message.clone());
            } else {
                self.tell(event.reason, event.message.clone());
            }
        };
        self.agent.images.obtain(&wish, tell).await
    }

    async fn specification(&self, image: &Image) -> Result<spec::Container, (&'static str, String)> {
        let misconfigured = |problem: String| ("CreateContainerConfigError", problem);
        let sources = sources::for_environment(&self.agent, &self.pod, &self.container)
            .await
            .map_err(|error| misconfigured(error.to_string()))?;
        let environment = environment::environment(&self.pod, &self.container, &sources)
            .map_err(|missing| misconfigured(missing.to_string()))?;
        let ground = volumes::ground(&self.agent, &self.folder);
        let mounts = crate::volumes::mounts(&self.volumes, &ground, &self.container, &environment)
            .map_err(|error| misconfigured(error.to_string()))?;
        self.make_files()
            .map_err(|error| ("CreateContainerError", error.to_string()))?;
        container::container(Start {
            pod: &self.pod,
            container: &self.container,
            attempt: self.attempt,
            image,
            environment,
            mounts,
            folder: &self.folder,
            data_dir: &self.agent.settings.data_dir,
            machine: self.agent.machine(),
            profiles: &self.agent.profiles,
            gpus: self.gpus(),
            hostname: &sandbox::hostname(&self.pod),
            is_plain: self.agent.tier.tier == Tier::Process,
            own_program: self.agent.own_program(),
        })
        .map_err(|unfit| (unfit.reason(), unfit.to_string()))
    }

    fn gpus(&self) -> Access {
        let uid = self.pod.metadata.uid.as_deref().unwrap_or_default();
        let pool = self.agent.gpus.as_ref();
        pool.map(|pool| pool.access(uid, &self.container.name))
            .unwrap_or_default()
    }

    /// Whoever the container runs as may leave a message.
    fn make_files(&self) -> io::Result<()> {
        let message = self
            .folder
            .termination_message(&self.container.name, self.attempt);
        fs::create_dir_all(self.folder.container(&self.container.name))?;
        fs::write(&message, "")?;
        fs::set_permissions(&message, Permissions::from_mode(0o666))?;
        let log = self.folder.log(&self.container.name, self.attempt);
        log.parent().map_or(Ok(()), fs::create_dir_all)
    }

    fn tell(&self, reason: &str, note: String) {
        let events = &self.agent.events;
        events.of_container(&self.pod, &self.container.name, reason, note);
    }

    fn warn(&self, reason: &str, note: String) {
        let events = &self.agent.events;
        events.warning_of_container(&self.pod, &self.container.name, reason, note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::Record;

    #[tokio::test]
    async fn what_was_told_to_start_may_run_until_it_was_seen() {
        let mut launching = Launching {
            container: "main".to_owned(),
            attempt: 1,
            is_told: false,
            task: tokio::spawn(async {}).abort_handle(),
        };
        let after = |attempts: u32| {
            let record = Record {
                attempts,
                ..Record::default()
            };
            Records::from([("main".to_owned(), record)])
        };
        // An image that is still pulled holds nobody up.
        assert!(!launching.may_run_unseen(&after(1)));
        launching.is_told = true;
        assert!(launching.may_run_unseen(&after(1)));
        assert!(!launching.may_run_unseen(&after(2)));
        launching.attempt = 0;
        assert!(launching.may_run_unseen(&Records::new()));
    }
}
