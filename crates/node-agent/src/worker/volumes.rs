//! A pod's volumes: set up before it starts, brought up to date while it runs.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;

use super::{Happening, Stage, Worker, prepare::Trouble, sources};
use crate::{
    agent::Agent,
    folders::PodFolder,
    volumes::{self, Failure, Ground, Plan},
};

#[derive(Debug)]
pub(super) struct SetUp {
    pub(super) plan: Arc<Plan>,
    /// For how long the tokens in them will do.
    good_for: Option<Duration>,
}

/// The volumes of one pod, as its worker knows them.
#[derive(Debug, Default)]
pub(super) struct Volumes {
    /// What they are, once they are set up.
    pub(super) plan: Option<Arc<Plan>>,
    /// When they have to be brought up to date whatever happens: tokens expire.
    expire: Option<Timestamp>,
    pub(super) is_refreshing: bool,
    /// Something has changed while they were made.
    is_stale: bool,
}

impl Worker {
    /// Looks after volumes that have to change by themselves.
    pub(super) fn keep_volumes(&mut self) {
        if self.is_over() {
            return;
        }
        match self.volumes.expire {
            Some(when) if when <= Timestamp::now() => self.refresh_volumes(),
            when => self.look_at(when),
        }
    }

    /// Brings the volumes of a running pod up to date.
    pub(super) fn refresh_volumes(&mut self) {
        if self.live.is_none() || self.stage == Stage::Releasing || self.is_over() {
            return;
        }
        // What is being made now may be out of date before it is there.
        if self.volumes.is_refreshing || self.volumes.plan.is_none() {
            self.volumes.is_stale = true;
            return;
        }
        self.volumes.is_refreshing = true;
        let (agent, pod, folder) = (self.agent.clone(), self.pod.clone(), self.folder.clone());
        let tell = self.tell.clone();
        self.jobs.spawn(async move {
            let outcome = set_up(&agent, &pod, &folder).await;
            let _ = tell.send(Happening::Refreshed(outcome));
        });
    }

    pub(super) fn refreshed(&mut self, outcome: Result<SetUp, Trouble>) {
        self.volumes.is_refreshing = false;
        match outcome {
            Ok(set_up) => {
                self.volumes.plan = Some(set_up.plan);
                self.volumes.expire = set_up
                    .good_for
                    .and_then(|wait| SignedDuration::try_from(wait).ok())
                    .and_then(|wait| Timestamp::now().saturating_add(wait).ok());
            }
            // What the containers see stays as it was.
            Err(trouble) => {
                let events = &self.agent.events;
                events.warning(&self.pod, trouble.reason, trouble.message);
            }
        }
        if std::mem::take(&mut self.volumes.is_stale) {
            self.refresh_volumes();
        }
    }
}

pub(super) fn ground(agent: &Agent, folder: &PodFolder) -> Ground {
    Ground {
        folder: folder.volumes(),
        provisioned: agent.folders.provisioned(),
        data_dir: agent.settings.data_dir.clone(),
        tier: agent.tier.tier,
    }
}

/// Makes the volumes, or makes them anew from what the API says now.
pub(super) async fn set_up(agent: &Agent, pod: &Arc<Pod>, folder: &PodFolder) -> Result<SetUp, Trouble> {
    let good_for = agent.tokens.refresh(pod, Timestamp::now()).await;
    let sources = sources::for_volumes(agent, pod)
        .await
        .map_err(|error| unmounted(error.to_string()))?;
    let ground = ground(agent, folder);
    let plan = volumes::plan(pod, &sources, &ground).map_err(all_of)?;
    let plan = Arc::new(plan);
    let (to_do, stamp) = (plan.clone(), Timestamp::now().as_nanosecond().to_string());
    let work = move || volumes::set_up(&to_do, &ground, &stamp);
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome.map_err(all_of)?,
        Err(error) => return Err(unmounted(error.to_string())),
    }
    Ok(SetUp { plan, good_for })
}

fn all_of(failures: Vec<Failure>) -> Trouble {
    let messages: Vec<String> = failures.iter().map(ToString::to_string).collect();
    unmounted(messages.join("\n"))
}

fn unmounted(message: String) -> Trouble {
    Trouble {
        reason: Failure::REASON,
        message,
        is_final: false,
    }
}
