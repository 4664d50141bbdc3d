//! A server on which jobs are played: made, looked at when nothing moves any more, and moved on step by step.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::{
    cases::{self, Case, Suite},
    glob, pods, scrub,
    story::{Action, State},
};
use crate::{operators::Running, processes::wait_until, servers::Kubectl};

/// What is seen, by where: `KIND/NAME/STEP`, and for children `/KIND/NAME`.
pub(super) type Snapshot = BTreeMap<String, Value>;

const PATIENCE: Duration = Duration::from_mins(2);
const PAUSE: Duration = Duration::from_millis(400);
/// What is the same at so many looks stays.
const QUIET_LOOKS: u32 = 6;
const MOST_LOOKS: u32 = 200;
const CHILDREN: &str = "pods,services,configmaps,secrets,serviceaccounts,jobs.batch,\
                        roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io,\
                        horizontalpodautoscalers.v2.autoscaling";

pub(super) struct Stage {
    kubectl: Kubectl,
    folder: PathBuf,
}

impl Stage {
    pub(super) fn new(kubeconfig: PathBuf, folder: &Path) -> Result<Self> {
        Ok(Self {
            kubectl: Kubectl::new(kubeconfig)?,
            folder: folder.to_owned(),
        })
    }

    /// What becomes of the jobs that were made, all at the same time, each with its own story.
    pub(super) fn play(&self, suites: &[&Suite]) -> Result<Snapshot> {
        let cases = || suites.iter().flat_map(|suite| &suite.cases);
        let steps = cases().map(|case| case.story.len()).max().unwrap_or_default();
        let mut seen = Snapshot::new();
        for step in 0..=steps {
            if step > 0 {
                self.act(suites, step - 1)?;
            }
            let world = self.settled(suites)?;
            fs::write(
                self.folder.join(format!("step-{step}.json")),
                serde_json::to_vec_pretty(&world.objects)?,
            )?;
            for case in cases().filter(|case| case.story.len() >= step) {
                seen.extend(world.snapshot(case, step));
            }
        }
        Ok(seen)
    }

    /// Waits until the operator has seen jobs of each suite; false where it ends instead.
    pub(super) fn until_begun(&self, suites: &[&Suite], operator: &mut Running) -> Result<bool> {
        for _ in 0..MOST_LOOKS {
            if self.look(suites)?.has_begun(suites) {
                return Ok(true);
            }
            if operator.check_alive().is_err() {
                return Ok(false);
            }
            std::thread::sleep(PAUSE);
        }
        bail!("no job is begun")
    }

    pub(super) fn make(&self, suite: &Suite) -> Result<()> {
        self.kubectl.run(&["create", "namespace", suite.name])?;
        wait_until("the namespace has an account", PATIENCE, || {
            let account = ["get", "serviceaccount", "default", "-n", suite.name];
            Ok(self.kubectl.run(&account).is_ok())
        })?;
        wait_until("the definitions are served", PATIENCE, || {
            let jobs = ["get", suite.resources, "-n", suite.name];
            Ok(self.kubectl.run(&jobs).is_ok())
        })?;
        let jobs: Vec<&Value> = suite.cases.iter().map(|case| &case.job).collect();
        // Jobs that are refused are seen by their absence.
        if let Err(refused) = self.with_file("create", &jobs, &["--validate=false"]) {
            eprintln!("{refused:#}");
        }
        Ok(())
    }

    /// Gives kubectl objects to do something with.
    fn with_file(&self, verb: &str, objects: &[&Value], arguments: &[&str]) -> Result<()> {
        let file = self.folder.join("objects.json");
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        fs::write(&file, list.to_string())?;
        let file = file.to_string_lossy();
        let arguments = [&[verb, "-f", &file], arguments].concat();
        self.kubectl.run(&arguments).map(drop)
    }

    /// Everything there is when it stays as it is. Looks are counted and not the time, as a machine that does
    /// something else meanwhile lets no operator go on either.
    fn settled(&self, suites: &[&Suite]) -> Result<World> {
        let (mut last, mut quiet) = (self.look(suites)?, 0);
        for _ in 0..MOST_LOOKS {
            std::thread::sleep(PAUSE);
            let world = self.look(suites)?;
            if world.essence() == last.essence() {
                quiet += 1;
            } else {
                (last, quiet) = (world, 0);
            }
            if quiet >= QUIET_LOOKS {
                return Ok(last);
            }
        }
        bail!("the jobs do not come to rest")
    }

    fn look(&self, suites: &[&Suite]) -> Result<World> {
        let mut objects = Vec::new();
        for suite in suites {
            let mut resources = format!("{CHILDREN},{}", suite.resources);
            if let Some(groups) = suite.gangs.groups() {
                resources.push(',');
                resources.push_str(&groups);
            }
            let text = self
                .kubectl
                .run(&["get", &resources, "-n", suite.name, "-o", "json"])?;
            let mut list: Value = serde_json::from_str(&text).context("kubectl prints no JSON")?;
            objects.append(list["items"].as_array_mut().unwrap_or(&mut Vec::new()));
        }
        Ok(World { objects })
    }

    fn act(&self, suites: &[&Suite], step: usize) -> Result<()> {
        let world = self.look(suites)?;
        let (mut changed, mut deleted) = (Vec::new(), Vec::new());
        let cases = suites
            .iter()
            .flat_map(|suite| suite.cases.iter().map(move |case| (*suite, case)));
        for (suite, case) in cases {
            for action in case.story.get(step).into_iter().flat_map(|step| &step.actions) {
                match action {
                    Action::Specification(spec) => self.change(case, spec)?,
                    Action::Group(phase) => self.move_group(suite, case, phase)?,
                    Action::Pods { pattern, state } => {
                        let list = if *state == State::Gone {
                            &mut deleted
                        } else {
                            &mut changed
                        };
                        list.extend(
                            world
                                .pods_like(case, pattern)
                                .into_iter()
                                .map(|pod| moved(pod, *state)),
                        );
                    }
                }
            }
        }
        if !deleted.is_empty() {
            self.with_file("delete", &deleted.iter().collect::<Vec<_>>(), &["--wait=false"])?;
        }
        if !changed.is_empty() {
            let arguments = ["--subresource=status"];
            // What becomes of one pod may be the end of another.
            match self.with_file("replace", &changed.iter().collect::<Vec<_>>(), &arguments) {
                Err(error) if !error.to_string().contains("(NotFound)") => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// What its scheduler would say of the job's PodGroup.
    fn move_group(&self, suite: &Suite, case: &Case, phase: &str) -> Result<()> {
        let groups = suite
            .gangs
            .groups()
            .context("a job without a gang has no group")?;
        let name = case.job["metadata"]["name"].as_str().unwrap_or_default();
        let patch = json!({"status": {"phase": phase}}).to_string();
        let what = [
            "patch",
            &groups,
            name,
            "-n",
            suite.name,
            "--type=merge",
            "-p",
            &patch,
        ];
        self.kubectl.run(&what).map(drop)
    }

    fn change(&self, case: &Case, spec: &Value) -> Result<()> {
        let patch = json!({"spec": spec}).to_string();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let version = text(&case.job["apiVersion"]);
        let version = version.rsplit('/').next().unwrap_or_default().to_owned();
        let resource = format!(
            "{}s.{version}.kubeflow.org",
            text(&case.job["kind"]).to_lowercase()
        );
        let (name, namespace) = (
            text(&case.job["metadata"]["name"]),
            text(&case.job["metadata"]["namespace"]),
        );
        let arguments = [
            "patch",
            &resource,
            &name,
            "-n",
            &namespace,
            "--type=merge",
            "-p",
            &patch,
        ];
        self.kubectl.run(&arguments).map(drop)
    }
}

fn moved(pod: &Value, state: State) -> Value {
    let mut pod = pod.clone();
    pod["status"] = pods::status(&pod, state);
    // Whoever wrote it meanwhile wrote no status.
    if let Some(meta) = pod["metadata"].as_object_mut() {
        meta.remove("resourceVersion");
    }
    pod
}

/// All objects at a time.
struct World {
    objects: Vec<Value>,
}

impl World {
    /// What of it counts as a change.
    fn essence(&self) -> Vec<Value> {
        let essence = |object: &Value| {
            let meta = &object["metadata"];
            let name = json!([object["kind"], meta["namespace"], meta["name"], meta["uid"]]);
            json!([
                name,
                scrub::child(object),
                scrub::job(object)["status"],
                scrub::outline(object)
            ])
        };
        self.objects.iter().map(essence).collect()
    }

    /// Whether the operator has seen a job of each suite.
    fn has_begun(&self, suites: &[&Suite]) -> bool {
        let seen: BTreeSet<&str> = self
            .objects
            .iter()
            .filter(|object| is_training_job(object) && object["status"]["conditions"].is_array())
            .filter_map(|job| job["metadata"]["namespace"].as_str())
            .collect();
        let mut suites = suites.iter().filter(|suite| !suite.cases.is_empty());
        suites.all(|suite| seen.contains(suite.name))
    }

    fn snapshot(&self, case: &Case, step: usize) -> Snapshot {
        let mut seen = Snapshot::new();
        let id = cases::id(&case.job);
        let Some(job) = self.objects.iter().find(|object| cases::id(object) == id) else {
            return seen;
        };
        let mut own = scrub::job(job);
        // It does not change by itself.
        if step > 0 {
            own["spec"] = json!({});
            scrub::selectors(&mut own["status"]);
        }
        seen.insert(format!("{id}/{step}"), own);
        for child in self.children(job) {
            let kind = child["kind"].as_str().unwrap_or_default();
            let shown = if step == 0 {
                scrub::child(child)
            } else {
                scrub::outline(child)
            };
            let mut place = format!("{id}/{step}/{kind}/{}", name(child));
            // A batch Job may have made several.
            while seen.contains_key(&place) {
                place.push_str("-again");
            }
            seen.insert(place, shown);
        }
        seen
    }

    /// The job's pods of such names that have not ended.
    fn pods_like(&self, case: &Case, pattern: &str) -> Vec<&Value> {
        let id = cases::id(&case.job);
        let job = self.objects.iter().find(|object| cases::id(object) == id);
        let mut pods = job.map(|job| self.children(job)).unwrap_or_default();
        let prefix = format!("{}-", case.job["metadata"]["name"].as_str().unwrap_or_default());
        pods.retain(|pod| {
            let name = name(pod);
            let name = name.strip_prefix(&prefix).unwrap_or(&name);
            let name = name.strip_suffix(RANDOM).unwrap_or(name);
            pod["kind"] == "Pod" && !pods::is_finished(pod) && glob::matches(pattern, name)
        });
        pods
    }

    /// What the job owns, and what its batch Job owns.
    fn children<'a>(&'a self, job: &'a Value) -> Vec<&'a Value> {
        let mut found: Vec<&Value> = Vec::new();
        let mut owners = vec![&job["metadata"]["uid"]];
        while let Some(owner) = owners.pop() {
            for object in &self.objects {
                let mut of = object["metadata"]["ownerReferences"]
                    .as_array()
                    .into_iter()
                    .flatten();
                if of.any(|reference| reference["uid"] == *owner) {
                    owners.push(&object["metadata"]["uid"]);
                    found.push(object);
                }
            }
        }
        found.sort_by_key(|object| object["metadata"]["creationTimestamp"].to_string());
        found
    }
}

fn is_training_job(object: &Value) -> bool {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    version.starts_with("kubeflow.org/")
}

/// What stands for the end of a name that is chance.
const RANDOM: &str = "-random";

fn name(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str();
    match text("generateName") {
        Some(start) => format!("{}{RANDOM}", start.trim_end_matches('-')),
        None => text("name").unwrap_or_default().to_owned(),
    }
}
