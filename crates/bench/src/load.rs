//! Rounds of work. Each kind is done on every server before the next one, and rounds differ in who
//! goes first, so that what else the machine does meets them alike.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::Serialize;

use crate::{
    rest::at_rest,
    server::Server,
    site::Site,
    step::{Figure, Step},
};

/// The samples of each figure by server, one per round.
#[derive(Default, Serialize)]
#[serde(transparent)]
pub(crate) struct Samples(BTreeMap<String, BTreeMap<String, Vec<f64>>>);

impl Samples {
    pub(crate) fn add(&mut self, server: &str, (name, value): Figure) {
        let by_server = self.0.entry(name).or_default();
        by_server.entry(server.to_owned()).or_default().push(value);
    }
}

pub(crate) async fn run(servers: &[Server], rounds: usize) -> Result<Samples> {
    let mut samples = Samples::default();
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        let mut order: Vec<&Server> = servers.iter().collect();
        if round % 2 == 1 {
            order.reverse();
        }
        run_round(&order, round, &mut samples).await?;
    }
    Ok(samples)
}

async fn run_round(servers: &[&Server], round: usize, samples: &mut Samples) -> Result<()> {
    let mut sites = Vec::new();
    for server in servers {
        let alone = Site::open(server, &format!("alone-{round}")).await?;
        let main = Site::open(server, &format!("round-{round}")).await?;
        sites.push((alone, main));
    }
    for step in Step::ALL {
        for (alone, site) in &sites {
            at_rest().await;
            let figures = step
                .run(alone, site)
                .await
                .with_context(|| format!("`{}` failed", site.server()))?;
            for figure in figures {
                samples.add(site.server(), figure);
            }
        }
    }
    Ok(())
}
