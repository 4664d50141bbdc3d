//! A deployment played through: each step applies the plan as the server and the sets' controller would.

use serde_json::{Value, json};

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn deployment(replicas: i32, image: &str, strategy: Value) -> Deployment {
    serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "n", "uid": "d", "generation": 1},
        "spec": {
            "replicas": replicas, "progressDeadlineSeconds": 600, "revisionHistoryLimit": 10,
            "selector": {"matchLabels": {"app": "web"}}, "strategy": strategy,
            "template": {"metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": image}]}},
        },
    }))
    .unwrap()
}

fn rolling(surge: i32, unavailable: i32) -> Value {
    let limits = json!({"maxSurge": surge, "maxUnavailable": unavailable});
    json!({"type": "RollingUpdate", "rollingUpdate": limits})
}

/// A deployment with its sets, in a world where everything happens at once.
struct Stage {
    deployment: Deployment,
    sets: Vec<Arc<ReplicaSet>>,
    clock: i64,
}

impl Stage {
    fn new(deployment: Deployment) -> Self {
        Self {
            deployment,
            sets: Vec::new(),
            clock: 0,
        }
    }

    fn step(&mut self) -> Plan {
        self.clock += 1;
        let observed = Observed {
            deployment: &self.deployment,
            sets: &self.sets,
            running: &HashSet::new(),
        };
        let plan = plan(&observed, at(self.clock));
        for (_, after) in &plan.update {
            let known = self
                .sets
                .iter_mut()
                .find(|set| set.metadata.name == after.metadata.name);
            *known.unwrap() = Arc::new(after.clone());
        }
        if let Some(mut set) = plan.create.clone() {
            set.metadata.uid = set.metadata.name.clone();
            set.metadata.creation_timestamp = Some(crate::status::time(at(self.clock)));
            self.sets.push(Arc::new(set));
        }
        let gone: Vec<_> = plan.delete.iter().map(|set| set.metadata.name.clone()).collect();
        self.sets.retain(|set| !gone.contains(&set.metadata.name));
        self.deployment.status = Some(plan.status.clone());
        plan
    }

    /// The sets' controller makes and deletes pods, and all become available.
    fn settle(&mut self) {
        for set in &mut self.sets {
            let mut settled = (**set).clone();
            let size = replicas(&settled);
            settled.status = serde_json::from_value(
                json!({"replicas": size, "readyReplicas": size, "availableReplicas": size}),
            )
            .unwrap();
            *set = Arc::new(settled);
        }
    }

    fn finish(&mut self) -> usize {
        for step in 1..100 {
            let plan = self.step();
            let is_idle = plan.create.is_none() && plan.update.is_empty();
            if is_idle && status::is_complete(&self.deployment, &plan.status) {
                return step;
            }
            self.settle();
        }
        panic!("the rollout does not end: {:?}", self.sizes());
    }

    fn sizes(&self) -> Vec<i32> {
        self.sets.iter().map(|set| replicas(set)).collect()
    }

    fn change(&mut self, image: &str) {
        self.deployment.metadata.generation = self.deployment.metadata.generation.map(|number| number + 1);
        let template = &mut self.deployment.spec.as_mut().unwrap().template;
        template.spec.as_mut().unwrap().containers[0].image = Some(image.into());
    }

    fn reason(&self, type_: &str) -> &str {
        let status = self.deployment.status.as_ref().unwrap();
        let condition = conditions::find(status, type_).unwrap();
        condition.reason.as_deref().unwrap()
    }

    fn resize(&mut self, replicas: i32) {
        self.deployment.spec.as_mut().unwrap().replicas = Some(replicas);
    }
}

#[test]
fn the_first_rollout_makes_one_set_with_a_name_from_its_template() {
    let mut stage = Stage::new(deployment(3, "a", rolling(1, 1)));
    let plan = stage.step();
    let set = plan.create.unwrap();
    let hash = set.metadata.labels.as_ref().unwrap()[TEMPLATE_HASH].clone();
    assert_eq!(set.metadata.name, Some(format!("web-{hash}")));
    let spec = set.spec.unwrap();
    assert_eq!(spec.replicas, Some(3));
    assert_eq!(spec.selector.match_labels.unwrap()[TEMPLATE_HASH], hash);
    assert_eq!(
        json!(set.metadata.annotations),
        json!({
            "deployment.kubernetes.io/revision": "1",
            "deployment.kubernetes.io/desired-replicas": "3",
            "deployment.kubernetes.io/max-replicas": "4",
        })
    );
    assert_eq!(plan.revision.as_deref(), Some("1"));
    assert_eq!(stage.reason("Progressing"), "NewReplicaSetCreated");
    assert_eq!(stage.reason("Available"), "MinimumReplicasUnavailable");
}

#[test]
fn a_finished_rollout_says_so_and_rests() {
    let mut stage = Stage::new(deployment(3, "a", rolling(1, 1)));
    stage.finish();
    assert_eq!(stage.reason("Progressing"), "NewReplicaSetAvailable");
    assert_eq!(stage.reason("Available"), "MinimumReplicasAvailable");
    let before = stage.deployment.status.clone();
    let plan = stage.step();
    assert!(plan.update.is_empty() && plan.next == Next::Wait);
    assert_eq!(stage.deployment.status, before);
}

#[test]
fn an_update_stays_within_its_limits_at_every_step() {
    for (surge, unavailable) in [(1, 0), (0, 1), (3, 2), (10, 10)] {
        let mut stage = Stage::new(deployment(10, "a", rolling(surge, unavailable)));
        stage.finish();
        stage.change("b");
        for _ in 0..60 {
            let available: i32 = stage.sets.iter().map(|set| replicas(set)).sum();
            assert!(available >= 10 - unavailable);
            stage.step();
            assert!(stage.sizes().iter().sum::<i32>() <= 10 + surge);
            stage.settle();
        }
        assert_eq!(stage.sizes(), [0, 10]);
    }
}

#[test]
fn pods_that_never_become_available_do_not_take_the_old_ones_with_them() {
    let mut stage = Stage::new(deployment(10, "a", rolling(3, 2)));
    stage.finish();
    stage.change("b");
    for _ in 0..10 {
        stage.step();
        let old = Arc::make_mut(&mut stage.sets[0]);
        let size = replicas(old);
        old.status = serde_json::from_value(json!({"replicas": size, "availableReplicas": size})).unwrap();
    }
    assert_eq!(stage.sizes(), [8, 5]);
}

#[test]
fn going_back_uses_the_old_set_again_under_a_new_revision() {
    let mut stage = Stage::new(deployment(2, "a", rolling(1, 0)));
    stage.finish();
    stage.change("b");
    stage.finish();
    stage.change("a");
    stage.finish();
    assert_eq!(stage.sizes(), [2, 0]);
    let annotations = stage.sets[0].metadata.annotations.as_ref().unwrap();
    assert_eq!(annotations[revision::REVISION], "3");
    assert_eq!(annotations["deployment.kubernetes.io/revision-history"], "1");
}

#[test]
fn recreate_waits_until_no_old_pod_is_left() {
    let mut stage = Stage::new(deployment(2, "a", json!({"type": "Recreate"})));
    stage.finish();
    stage.change("b");
    stage.step();
    assert_eq!(stage.sizes(), [0], "the old pods go first");
    stage.step();
    assert_eq!(stage.sizes(), [0], "the old set still counts its pods");
    stage.settle();
    let old = stage.sets[0].metadata.uid.clone().unwrap();
    let observed = Observed {
        deployment: &stage.deployment,
        sets: &stage.sets,
        running: &HashSet::from([old]),
    };
    assert!(plan(&observed, at(50)).create.is_none(), "a pod is still ending");
    stage.finish();
    assert_eq!(stage.sizes(), [0, 2]);
}

#[test]
fn a_resize_in_the_middle_of_a_rollout_is_shared_out() {
    let mut stage = Stage::new(deployment(10, "a", rolling(3, 2)));
    stage.finish();
    stage.change("b");
    stage.step();
    stage.settle();
    stage.step();
    let before = stage.sizes();
    assert!(before.iter().all(|size| *size > 0));
    stage.resize(30);
    stage.step();
    let after = stage.sizes();
    assert_eq!(after.iter().sum::<i32>(), 33);
    assert!(
        after[0] > before[0] && after[1] > before[1],
        "{before:?} {after:?}"
    );
    stage.finish();
    assert_eq!(stage.sizes(), [0, 30]);
}

#[test]
fn a_paused_deployment_can_be_resized_but_makes_no_set() {
    let mut stage = Stage::new(deployment(2, "a", rolling(1, 0)));
    stage.finish();
    stage.change("b");
    stage.resize(4);
    stage.deployment.spec.as_mut().unwrap().paused = Some(true);
    stage.step();
    assert_eq!(stage.sizes(), [4]);
    assert_eq!(stage.reason("Progressing"), "DeploymentPaused");
    stage.deployment.spec.as_mut().unwrap().paused = Some(false);
    stage.step();
    assert_eq!(stage.sets.len(), 2);
}

#[test]
fn a_rollout_without_progress_times_out_at_its_deadline() {
    let mut stage = Stage::new(deployment(1, "a", rolling(1, 0)));
    let plan = stage.step();
    assert_eq!(plan.next, Next::After(std::time::Duration::from_secs(601)));
    stage.clock = 500;
    stage.step();
    assert_eq!(stage.reason("Progressing"), "NewReplicaSetCreated");
    stage.clock = 602;
    let plan = stage.step();
    assert_eq!(stage.reason("Progressing"), "ProgressDeadlineExceeded");
    assert_eq!(plan.next, Next::Wait);
    stage.settle();
    stage.step();
    assert_eq!(stage.reason("Progressing"), "NewReplicaSetAvailable");
}

#[test]
fn the_history_is_limited() {
    let mut stage = Stage::new(deployment(1, "a", rolling(1, 0)));
    stage.deployment.spec.as_mut().unwrap().revision_history_limit = Some(2);
    for image in ["a", "b", "c", "d", "e"] {
        stage.change(image);
        stage.finish();
        stage.step();
    }
    let revisions: Vec<_> = stage.sets.iter().filter_map(|set| revision::of(set)).collect();
    assert_eq!(revisions, [3, 4, 5]);
}

#[test]
fn a_sets_failure_becomes_the_deployments() {
    let mut stage = Stage::new(deployment(1, "a", rolling(1, 0)));
    stage.step();
    let set = Arc::make_mut(&mut stage.sets[0]);
    set.status = serde_json::from_value(json!({"replicas": 0, "conditions": [
        {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota"}]}))
    .unwrap();
    stage.step();
    assert_eq!(stage.reason("ReplicaFailure"), "FailedCreate");
    stage.settle();
    stage.step();
    let status = stage.deployment.status.as_ref().unwrap();
    assert!(conditions::find(status, "ReplicaFailure").is_none());
}

#[test]
fn a_collision_gives_another_name() {
    let one = new_set(&deployment(1, "a", json!({})), None);
    let other = new_set(&deployment(1, "a", json!({})), Some(1));
    assert_ne!(one.metadata.name, other.metadata.name);
}
