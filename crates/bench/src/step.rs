//! The kinds of work, in the order in which a round does them.

mod watching;

use std::time::Instant;

use anyhow::{Result, ensure};

use crate::{
    pods,
    site::Site,
    statistics::{milliseconds, quantile},
};

/// Pods in the namespace that is listed, watched and emptied.
pub(crate) const PODS: usize = 2_000;
const SINGLE_CREATES: usize = 300;
const GETS: usize = 4_000;
const LISTS: usize = 10;
const SELECTED_LISTS: usize = 30;
const CLIENTS: usize = 16;

#[derive(Clone, Copy)]
pub(crate) enum Step {
    CreateAlone,
    Create,
    Get,
    List,
    ListSelected,
    Watch { watchers: usize },
    DeleteCollection,
}

/// The name of what was measured, and the value.
pub(crate) type Figure = (String, f64);

impl Step {
    pub(crate) const ALL: [Self; 8] = [
        Self::CreateAlone,
        Self::Create,
        Self::Get,
        Self::List,
        Self::ListSelected,
        Self::Watch { watchers: 20 },
        Self::Watch { watchers: 50 },
        Self::DeleteCollection,
    ];

    /// Does the work in the round's two namespaces: one where a client creates alone, and the main one.
    pub(crate) async fn run(self, alone: &Site<'_>, site: &Site<'_>) -> Result<Vec<Figure>> {
        match self {
            Self::CreateAlone => {
                let took = alone.create(1, SINGLE_CREATES).await?;
                Ok(vec![rate("creates_1", SINGLE_CREATES, took)])
            }
            Self::Create => {
                let took = site.create(CLIENTS, PODS).await?;
                Ok(vec![rate("creates_16", PODS, took)])
            }
            Self::Get => {
                let get = async |client: &mut crate::client::Client, number| {
                    client.get(&site.pod(number % PODS)).await?;
                    Ok(())
                };
                let took = site.share_out(CLIENTS, GETS, get).await?;
                Ok(vec![rate("gets_16", GETS, took)])
            }
            Self::List => list(site, "list", &site.pods(), LISTS).await,
            Self::ListSelected => {
                let path = format!("{}?labelSelector={}", site.pods(), pods::SELECTOR);
                list(site, "list_selected", &path, SELECTED_LISTS).await
            }
            Self::Watch { watchers } => watching::run(site, watchers).await,
            Self::DeleteCollection => delete_collection(site).await,
        }
    }
}

pub(crate) fn rate(name: &str, count: usize, took: std::time::Duration) -> Figure {
    (name.to_owned(), count as f64 / took.as_secs_f64())
}

async fn list(site: &Site<'_>, name: &str, path: &str, times: usize) -> Result<Vec<Figure>> {
    let mut client = site.client().await?;
    let mut bytes = client.get(path).await?.len();
    let mut samples = Vec::with_capacity(times);
    for _ in 0..times {
        let started = Instant::now();
        bytes = client.get(path).await?.len();
        samples.push(started.elapsed());
    }
    Ok(vec![
        (format!("{name}_p50"), milliseconds(quantile(&mut samples, 0.5))),
        (format!("{name}_bytes"), bytes as f64 / 1e6),
    ])
}

async fn delete_collection(site: &Site<'_>) -> Result<Vec<Figure>> {
    let mut client = site.client().await?;
    let started = Instant::now();
    client.delete(&site.pods()).await?;
    let took = started.elapsed();
    let left = client.get(&site.pods()).await?.json()?;
    ensure!(
        left["items"].as_array().is_some_and(Vec::is_empty),
        "pods are left over"
    );
    Ok(vec![("delete_collection".to_owned(), milliseconds(took))])
}
