//! The manifests that our first users have in their repositories, as they are. Their images are nowhere to
//! be had, so this is about what is made of them. They are a part of the corpus: `cargo xtask corpus` runs this.

use std::{
    fs,
    path::{Path, PathBuf},
};

use client_tests::User;
use serde_json::{Deserializer, Value};

use client_tests::team::{Team, names, play_as, state};

fn corpus() -> PathBuf {
    let folder = std::env::var_os("TRAINYARD_CORPUS").expect("TRAINYARD_CORPUS says where the corpus is");
    folder.into()
}

#[test]
#[ignore = "needs the corpus: cargo xtask corpus"]
fn the_manifests_of_the_corpus_become_what_their_operators_made_of_them() {
    play_as(
        User::Us,
        &[("packages", packages), ("mxnet", mxnet), ("examples", examples)],
    );
}

/// Everything in a file that `kubectl` reads, but volumes: they are the cluster's, and of one name in all
/// packages.
fn objects(team: &Team<'_>, file: &Path) -> Vec<Value> {
    let file = file.display();
    let json = team
        .shell
        .ok(&format!("kubectl create --dry-run=client -o json -f {file}"));
    let objects = Deserializer::from_str(&json).into_iter::<Value>();
    let objects: Vec<Value> = objects.collect::<Result<_, _>>().expect("kubectl prints JSON");
    let objects = objects
        .into_iter()
        .flat_map(|object| match object["items"].as_array() {
            Some(items) => items.clone(),
            None => vec![object],
        });
    objects
        .filter(|object| object["kind"] != "PersistentVolume")
        .collect()
}

/// Submits a file and gives back its jobs; each file has a namespace, as names are the same in many.
fn submit(team: &Team<'_>, number: usize, file: &Path) -> (String, Vec<Value>) {
    let namespace = format!("{}-{number}", team.namespace);
    team.shell.ok(&format!("kubectl create namespace {namespace}"));
    let mut jobs = Vec::new();
    for mut object in objects(team, file) {
        object["metadata"]["namespace"] = namespace.clone().into();
        let text = object.to_string();
        team.shell.ok(&format!("kubectl apply -f - <<'END'\n{text}\nEND"));
        if ["MPIJob", "MxJob"].contains(&object["kind"].as_str().unwrap_or_default()) {
            jobs.push(object);
        }
    }
    (namespace, jobs)
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = corpus().join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    // The first version of MPIJobs was gone before anybody here had one.
    let is_wanted = |text: String| text.contains("kind: MPIJob") && !text.contains("kubeflow.org/v1alpha1");
    files.retain(|file| fs::read_to_string(file).is_ok_and(is_wanted));
    files.sort();
    files
}

/// The quickstart packages: MPIJobs of version v1alpha2 with everything around them.
fn packages(team: &Team<'_>) {
    let mut count = 0;
    for (number, file) in files("000/derived/kubectl-kustomize-5.5.0").iter().enumerate() {
        // Packages whose variables nobody has filled in name no image.
        if fs::read_to_string(file).is_ok_and(|text| text.contains("image: $(")) {
            continue;
        }
        let (namespace, jobs) = submit(team, number, file);
        for job in jobs {
            check_mpi(team, &namespace, &job);
            count += 1;
        }
    }
    assert!(count >= 3, "{count} jobs");
}

fn examples(team: &Team<'_>) {
    for folder in ["v1", "v1alpha2", "horovod", "mxnet"] {
        let folder = format!("000/mpi-operator-v0.2.3/examples/{folder}");
        for (number, file) in files(&folder).iter().enumerate() {
            let (namespace, jobs) = submit(team, number + 100 * folder.len(), file);
            for job in &jobs {
                check_mpi(team, &namespace, job);
            }
        }
    }
}

fn check_mpi(team: &Team<'_>, namespace: &str, job: &Value) {
    let team = Team { namespace, ..*team };
    let name = job["metadata"]["name"].as_str().expect("jobs have names");
    let replicas = &job["spec"]["mpiReplicaSpecs"];
    let workers = replicas["Worker"]["replicas"]
        .as_u64()
        .expect("the workers are counted");
    let stored = team.until(&format!("mpijobs/{name}"), |job| !state(job).is_empty());
    assert_eq!(state(&stored), "Created", "{}", stored["status"]);
    for worker in 0..workers {
        team.until(&format!("pods/{name}-worker-{worker}"), Value::is_object);
    }
    let launcher = if job["apiVersion"] == "kubeflow.org/v1" {
        "pods"
    } else {
        "jobs"
    };
    team.until(&format!("{launcher}/{name}-launcher"), Value::is_object);
    team.until(&format!("configmaps/{name}-config"), Value::is_object);
    for kind in ["serviceaccounts", "roles", "rolebindings"] {
        team.until(&format!("{kind}/{name}-launcher"), Value::is_object);
    }
}

/// The examples of the MXNet operator, and the one in its README.
fn mxnet(team: &Team<'_>) {
    let corpus = corpus();
    let cases = [
        ("002/mxnet-operator-c377703/examples/mx_job_dist.yaml", 6),
        ("002/mxnet-operator-c377703/examples/mx_job_local.yaml", 1),
        ("002/mxnet-operator-679c42c/examples/mx_job_dist.yaml", 6),
        ("002/from-seed/mxjob-smoke-gpu.readme-example.yaml", 1),
    ];
    for (number, (file, count)) in cases.into_iter().enumerate() {
        let (namespace, jobs) = submit(team, number, &corpus.join(file));
        let team = Team {
            namespace: &namespace,
            ..*team
        };
        assert_eq!(jobs.len(), 1, "{file}");
        let made = team.until("jobs", |jobs| names(jobs).len() == count);
        let job = jobs[0]["metadata"]["name"].as_str().expect("jobs have names");
        assert!(names(&made).iter().all(|name| name.starts_with(job)), "{file}");
    }
}
