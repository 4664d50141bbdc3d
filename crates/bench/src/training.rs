//! Training jobs: from the first that is submitted until an operator has made the pods of all, and what it
//! asked of the server for them.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::{client::Client, load::Samples, server::Server, site::Site, unaided::Children};

const CLIENTS: usize = 16;
/// As many as our operator has requests under way: 16 jobs of four pods.
const UNAIDED_CLIENTS: usize = 64;
const PATIENCE: Duration = Duration::from_mins(15);
/// An operator that is to work at all has made the pods of one job by then.
const BEGINNING: Duration = Duration::from_mins(2);
const PAUSE: Duration = Duration::from_millis(50);
/// Between two looks at how many pods there are, and as a part of the time that has gone by.
const FINEST: Duration = Duration::from_millis(5);
const COARSEST: Duration = Duration::from_millis(250);
const COARSEST_PART: u32 = 10;
/// Who has asked nothing for so long has done what there was to do.
const QUIET: Duration = Duration::from_secs(3);

/// Kinds that the original operators know too.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Kind {
    Pytorch,
    Mpi,
}

impl Kind {
    fn folder(self, namespace: &str) -> String {
        let (version, plural) = match self {
            Self::Pytorch => ("v1", "pytorchjobs"),
            Self::Mpi => ("v2beta1", "mpijobs"),
        };
        format!("/apis/kubeflow.org/{version}/namespaces/{namespace}/{plural}")
    }

    /// A job of so many pods. The launcher of an MPIJob is a batch Job beside them.
    fn job(self, name: &str, pods: usize) -> Value {
        let replica = |count: usize, container: &str, command: &[&str]| {
            let container = json!({"name": container, "image": "none", "command": command});
            json!({"replicas": count, "template": {"spec": {"containers": [container]}}})
        };
        match self {
            Self::Pytorch => json!({
                "apiVersion": "kubeflow.org/v1",
                "kind": "PyTorchJob",
                "metadata": {"name": name},
                "spec": {"pytorchReplicaSpecs": {
                    "Master": replica(1, "pytorch", &["train"]),
                    "Worker": replica(pods - 1, "pytorch", &["train"]),
                }},
            }),
            Self::Mpi => json!({
                "apiVersion": "kubeflow.org/v2beta1",
                "kind": "MPIJob",
                "metadata": {"name": name},
                "spec": {"mpiReplicaSpecs": {
                    "Launcher": replica(1, "mpi", &["mpirun"]),
                    "Worker": replica(pods, "mpi", &["/usr/sbin/sshd", "-De"]),
                }},
            }),
        }
    }
}

fn text(job: &Value) -> Bytes {
    job.to_string().into()
}

/// The first of the jobs that are submitted.
pub(crate) fn first(kind: Kind, pods: usize, namespace: &str) -> Value {
    let mut job = kind.job("job-0000", pods);
    job["metadata"]["namespace"] = namespace.into();
    job
}

/// So many jobs of so many pods.
#[derive(Clone, Copy)]
pub(crate) struct Jobs {
    pub(crate) kind: Kind,
    pub(crate) jobs: usize,
    pub(crate) pods: usize,
}

/// Submits jobs and waits for their pods, which somebody makes, or this client itself where it has their children.
pub(crate) async fn run(
    server: &Server,
    Jobs { kind, jobs, pods }: Jobs,
    namespace: &str,
    children: Option<&Children>,
) -> Result<Samples> {
    ensure!(pods > 1, "a job has at least two pods");
    let site = Site::open(server, namespace).await?;
    let mut client = site.client().await?;
    let before = until_quiet(&mut client).await?;
    let folder = kind.folder(namespace);
    let started = Instant::now();
    let clients = if children.is_some() {
        UNAIDED_CLIENTS
    } else {
        CLIENTS
    };
    let submitting = site.share_out(clients, jobs, async |client, number| {
        if children.is_some() {
            client.accept_metadata_alone();
        }
        let name = format!("job-{number:04}");
        let made = client
            .post(&folder, text(&kind.job(&name, pods)))
            .await?
            .expect(201)?;
        let Some(children) = children else { return Ok(()) };
        let uid = made.json()?["metadata"]["uid"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        for (path, child) in children.requests(namespace, &name, &uid)? {
            client.post_protobuf(&path, child).await?.expect(201)?;
        }
        Ok(())
    });
    let made = async {
        tokio::time::timeout(PATIENCE, until_made(&mut client, &site.pods(), jobs * pods))
            .await
            .context("the pods are not made")??;
        Result::<_>::Ok(started.elapsed())
    };
    let (submitted, made) = tokio::try_join!(submitting, made)?;
    let asked = until_quiet(&mut client).await? - before - jobs as f64;
    let mut samples = Samples::default();
    let seconds = made.as_secs_f64();
    for (name, value) in [
        ("seconds", seconds),
        ("submitted_seconds", submitted.as_secs_f64()),
        ("pods_per_second", (jobs * pods) as f64 / seconds),
        ("requests_per_job", asked / jobs as f64),
    ] {
        samples.add(&server.name, (name.to_owned(), value));
    }
    Ok(samples)
}

/// A first job: whoever has made its pods and come to rest is ready for more.
pub(crate) async fn warm_up(server: &Server, kind: Kind) -> Result<()> {
    let site = Site::open(server, "first").await?;
    let mut client = site.client().await?;
    let folder = kind.folder("first");
    let deadline = Instant::now() + BEGINNING;
    while client.try_get(&folder).await?.status != 200 {
        ensure!(Instant::now() < deadline, "`{folder}` is not served");
        tokio::time::sleep(PAUSE).await;
    }
    client
        .post(&folder, text(&kind.job("first", 2)))
        .await?
        .expect(201)?;
    loop {
        let list = client.get(&site.pods()).await?.json()?;
        if list["items"].as_array().map_or(0, Vec::len) == 2 {
            until_quiet(&mut client).await?;
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "nobody makes the pods of a job");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Until there are so many pods. A watch would tell at once, but a real server has to write every pod for it, which is a
/// tenth of what making them takes: it is counted instead, the oftener the fewer are missing.
async fn until_made(client: &mut Client, pods: &str, wanted: usize) -> Result<()> {
    let started = Instant::now();
    loop {
        let made = count(client, pods).await?;
        if made >= wanted {
            return Ok(());
        }
        tokio::time::sleep(until_half(wanted - made, made, started.elapsed())).await;
    }
}

async fn count(client: &mut Client, pods: &str) -> Result<usize> {
    let list = client.get(&format!("{pods}?limit=1")).await?.json()?;
    let rest = list["metadata"]["remainingItemCount"]
        .as_u64()
        .unwrap_or_default();
    Ok(list["items"].as_array().map_or(0, Vec::len) + rest as usize)
}

/// When half of what is missing is there, if it comes as fast as what has come.
fn until_half(missing: usize, made: usize, elapsed: Duration) -> Duration {
    let share = missing as f64 / made.max(1) as f64 / 2.0;
    let coarsest = COARSEST.min(elapsed / COARSEST_PART).max(FINEST);
    elapsed.mul_f64(share).clamp(FINEST, coarsest)
}

/// How often the server was asked about objects of jobs, once nobody asks any more.
async fn until_quiet(client: &mut Client) -> Result<f64> {
    let deadline = Instant::now() + PATIENCE;
    let (mut last, mut since) = (asked(client).await?, Instant::now());
    while since.elapsed() < QUIET {
        tokio::time::sleep(PAUSE * 10).await;
        let now = asked(client).await?;
        if now > last {
            (last, since) = (now, Instant::now());
        }
        if Instant::now() > deadline {
            bail!("the server does not come to rest");
        }
    }
    Ok(last)
}

/// What operators ask about.
const RESOURCES: [&str; 12] = [
    "configmaps",
    "events",
    "jobs",
    "mpijobs",
    "podgroups",
    "pods",
    "pytorchjobs",
    "rolebindings",
    "roles",
    "secrets",
    "serviceaccounts",
    "services",
];
/// Lists and watches are there once, however many jobs there are.
const ONCE: [&str; 3] = ["LIST", "WATCH", "CONNECT"];

async fn asked(client: &mut Client) -> Result<f64> {
    let text = client.get("/metrics").await?.text();
    Ok(text.lines().filter_map(sample).sum())
}

fn sample(line: &str) -> Option<f64> {
    let (labels, value) = line.strip_prefix("apiserver_request_total{")?.split_once("} ")?;
    let label = |name: &str| {
        labels
            .split(',')
            .find_map(|label| label.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"'))
    };
    let is_counted =
        RESOURCES.contains(&label("resource")?) && !ONCE.contains(&label("verb")?.to_uppercase().as_str());
    is_counted.then(|| value.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_about_objects_are_counted_and_lists_are_not() {
        let real =
            "apiserver_request_total{code=\"201\",component=\"apiserver\",resource=\"pods\",verb=\"POST\"} 7";
        assert_eq!(sample(real), Some(7.0));
        let ours = "apiserver_request_total{verb=\"list\",resource=\"pods\",code=\"200\"} 7";
        assert_eq!(sample(ours), None);
        assert_eq!(
            sample("apiserver_request_total{verb=\"PUT\",resource=\"leases\",code=\"200\"} 7"),
            None
        );
    }

    #[test]
    fn it_is_looked_the_oftener_the_fewer_are_missing() {
        let second = Duration::from_secs(1);
        assert_eq!(until_half(4000, 0, FINEST), FINEST);
        assert_eq!(until_half(4000, 0, second), second / 10);
        assert_eq!(until_half(2000, 2000, second * 8), COARSEST);
        assert_eq!(until_half(100, 4000, second * 8), second / 10);
        assert_eq!(until_half(1, 4000, second * 8), FINEST);
    }

    #[test]
    fn jobs_have_as_many_pods_as_wanted() {
        let job = Kind::Pytorch.job("j", 4);
        assert_eq!(job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"], 3);
    }
}
