//! A namespace on a server: where one round of work is done.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use futures_util::future::try_join_all;
use serde_json::json;

use crate::{client::Client, pods, server::Server};

/// How long a server's own caches may take to know a new namespace.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Site<'a> {
    server: &'a Server,
    namespace: String,
}

impl<'a> Site<'a> {
    /// Makes the namespace and waits until it takes pods.
    pub(crate) async fn open(server: &'a Server, namespace: &str) -> Result<Self> {
        let site = Self {
            server,
            namespace: namespace.to_owned(),
        };
        let mut client = site.client().await?;
        let body = json!({"metadata": {"name": namespace}}).to_string();
        client
            .post("/api/v1/namespaces", body.into())
            .await?
            .expect(201)?;
        // Its account comes from a controller, which not every server has beside it.
        let account = json!({"metadata": {"name": "default"}}).to_string();
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
        let answer = client.post(&path, account.into()).await?;
        if answer.status != 409 {
            answer.expect(201)?;
        }
        site.until_it_takes_pods(&mut client).await?;
        Ok(site)
    }

    pub(crate) fn server(&self) -> &str {
        &self.server.name
    }

    pub(crate) async fn client(&self) -> Result<Client> {
        Client::open(self.server).await
    }

    pub(crate) fn pods(&self) -> String {
        format!("/api/v1/namespaces/{}/pods", self.namespace)
    }

    pub(crate) fn jobs(&self) -> String {
        format!("/apis/batch/v1/namespaces/{}/jobs", self.namespace)
    }

    /// The request for everything that happens to the pods, and the version that stands for now.
    pub(crate) async fn watch_path(&self, client: &mut Client) -> Result<(String, String)> {
        let pods = self.pods();
        let list = client.get(&format!("{pods}?limit=1")).await?.json()?;
        let revision = list["metadata"]["resourceVersion"]
            .as_str()
            .context("a list without a revision")?;
        Ok((format!("{pods}?watch=true"), revision.to_owned()))
    }

    pub(crate) fn pod(&self, number: usize) -> String {
        format!("{}/{}", self.pods(), pods::name(number))
    }

    /// Creates pods from number 0 on with several clients at a time. Returns how long it took.
    pub(crate) async fn create(&self, clients: usize, count: usize) -> Result<Duration> {
        let path = self.pods();
        self.share_out(clients, count, async |client, number| {
            client.post(&path, pods::pod(number)).await?.expect(201)?;
            Ok(())
        })
        .await
    }

    /// Does something once per number, each client taking the next one that is left. Returns how
    /// long it took, connecting aside.
    pub(crate) async fn share_out(
        &self,
        clients: usize,
        count: usize,
        work: impl AsyncFn(&mut Client, usize) -> Result<()>,
    ) -> Result<Duration> {
        let mut connected = try_join_all((0..clients).map(|_| self.client())).await?;
        let next = Cell::new(0);
        let started = Instant::now();
        try_join_all(connected.iter_mut().map(async |client| {
            while next.get() < count {
                work(client, next.replace(next.get() + 1)).await?;
            }
            Result::<_>::Ok(())
        }))
        .await?;
        Ok(started.elapsed())
    }

    async fn until_it_takes_pods(&self, client: &mut Client) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let path = format!("{}?dryRun=All", self.pods());
        while client.post(&path, pods::pod(0)).await?.status != 201 {
            if Instant::now() > deadline {
                bail!("`{}` does not take pods", self.server.name);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}
