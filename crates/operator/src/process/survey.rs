//! Before anything is done: whether the cluster has the kinds, and whether we may do what has to be done.

use kube::Client;
use resources::Kind;
use training::Gang;

use super::{Connection, Election, Notice, ProcessError, ProcessOptions};
use crate::{
    Definitions, Options,
    definitions::{self, Found},
    pod_groups,
    rights::{self, Right},
};

/// Who places the pods of a job together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GangChoice {
    /// Whoever the cluster has.
    Detect,
    /// This one, which the cluster must have.
    Given(Gang),
}

pub(super) struct Prepared {
    pub operator: Options,
    pub election: Option<Election>,
}

pub(super) async fn prepare(
    connection: &Connection,
    options: ProcessOptions,
    tell: &impl Fn(Notice),
) -> Result<Prepared, ProcessError> {
    let survey = Survey { connection };
    let mut operator = options.operator;
    operator.settings.gang = survey.gang(options.gang).await?;
    survey.check_rights(&operator, options.election.as_ref()).await?;
    if options.workflows {
        survey.check(None, &rights::on_workflows()).await?;
    }
    if operator.definitions == Definitions::Await {
        operator.kinds = survey
            .kinds(&operator.kinds, options.are_kinds_named, tell)
            .await?;
    }
    tell(Notice::Follows {
        address: connection.address.clone(),
        kinds: operator.kinds.iter().map(|kind| kind.definition()).collect(),
        namespaces: operator.namespaces.clone(),
        beside: options.beside.as_ref().map(|beside| beside.name),
        gang: shown(&operator.settings.gang),
    });
    Ok(Prepared {
        operator,
        election: options.election,
    })
}

struct Survey<'a> {
    connection: &'a Connection,
}

impl Survey<'_> {
    fn client(&self) -> &Client {
        &self.connection.client
    }

    fn failed(&self, source: kube::Error) -> ProcessError {
        let address = self.connection.address.clone();
        ProcessError::Cluster { address, source }
    }

    async fn gang(&self, choice: GangChoice) -> Result<Gang, ProcessError> {
        let failed = |error| self.failed(error);
        match choice {
            GangChoice::Detect => pod_groups::detect(self.client()).await.map_err(failed),
            GangChoice::Given(gang) => {
                if pod_groups::is_known(self.client(), &gang).await.map_err(failed)? {
                    return Ok(gang);
                }
                Err(ProcessError::NoPodGroups {
                    address: self.connection.address.clone(),
                    scheduler: shown(&gang),
                })
            }
        }
    }

    async fn check_rights(&self, options: &Options, election: Option<&Election>) -> Result<(), ProcessError> {
        let on_jobs = rights::on_jobs(&options.kinds, &options.settings.gang);
        if options.namespaces.is_empty() {
            self.check(None, &on_jobs).await?;
        }
        for namespace in &options.namespaces {
            self.check(Some(namespace), &on_jobs).await?;
        }
        if let Some(election) = election {
            self.check(Some(&election.namespace), &rights::on_lease()).await?;
        }
        if options.definitions == Definitions::Install {
            self.check(None, &rights::on_definitions(true)).await?;
        }
        Ok(())
    }

    async fn check(&self, namespace: Option<&str>, rights: &[Right]) -> Result<(), ProcessError> {
        let missing = rights::missing(self.client(), namespace, rights).await;
        let missing = missing.map_err(|error| self.failed(error))?;
        if missing.is_empty() {
            return Ok(());
        }
        Err(ProcessError::Forbidden {
            what: missing,
            place: namespace.map_or_else(
                || "in all namespaces".to_owned(),
                |namespace| format!("in namespace {namespace}"),
            ),
        })
    }

    /// Those of the kinds that the cluster has. Kinds that somebody named must all be there.
    async fn kinds(
        &self,
        wanted: &[&'static Kind],
        are_named: bool,
        tell: &impl Fn(Notice),
    ) -> Result<Vec<&'static Kind>, ProcessError> {
        let (mut usable, mut reasons) = (Vec::new(), Vec::new());
        for kind in wanted {
            let found = definitions::find(self.client(), kind).await;
            let why = match found.map_err(|error| self.failed(error))? {
                Found::Usable => {
                    usable.push(*kind);
                    continue;
                }
                Found::Missing => "it is not installed",
                Found::Foreign => "its definition is another operator's and would drop parts of the status",
            };
            reasons.push(format!("{}: {why}", kind.definition()));
            if !are_named {
                tell(Notice::Skips {
                    kind: kind.definition(),
                    why: why.to_owned(),
                });
            }
        }
        if (usable.is_empty() && !wanted.is_empty()) || (are_named && !reasons.is_empty()) {
            let address = self.connection.address.clone();
            return Err(ProcessError::NoKinds { address, reasons });
        }
        Ok(usable)
    }
}

fn shown(gang: &Gang) -> String {
    match gang {
        Gang::None => "nobody".to_owned(),
        Gang::Embedded => "the embedded scheduler".to_owned(),
        Gang::Volcano => "volcano".to_owned(),
        Gang::SchedulerPlugins { scheduler } if scheduler.is_empty() => "scheduler-plugins".to_owned(),
        Gang::SchedulerPlugins { scheduler } => scheduler.clone(),
    }
}
