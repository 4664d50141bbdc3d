//! A set played through: each step applies the plan, then every pod becomes ready or goes.

use serde_json::{Value, json};

use super::*;

struct Stage {
    set: StatefulSet,
    pods: Vec<Arc<Pod>>,
    revisions: Vec<Arc<ControllerRevision>>,
    claims: HashMap<String, Arc<PersistentVolumeClaim>>,
}

impl Stage {
    fn new(spec: Value) -> Self {
        let mut set: StatefulSet = serde_json::from_value(json!({
            "metadata": {"name": "db", "namespace": "n", "uid": "s", "generation": 1},
            "spec": {"replicas": 3, "serviceName": "dbs", "selector": {"matchLabels": {"app": "db"}},
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                "template": {"metadata": {"labels": {"app": "db"}},
                    "spec": {"containers": [{"name": "c", "image": "a"}]}}},
        }))
        .unwrap();
        let mut merged = json!(set.spec);
        for (key, value) in spec.as_object().unwrap() {
            merged[key] = value.clone();
        }
        set.spec = serde_json::from_value(merged).unwrap();
        Self {
            set,
            pods: Vec::new(),
            revisions: Vec::new(),
            claims: HashMap::new(),
        }
    }

    /// One reconcile; gives what was done, in short words.
    fn step(&mut self) -> Vec<String> {
        revisions::sort(&mut self.revisions);
        let observed = Observed {
            set: &self.set,
            pods: &self.pods,
            revisions: &self.revisions,
            claims: &self.claims,
        };
        let plan = plan(&observed, Timestamp::from_second(1000).unwrap());
        match &plan.revision {
            Update::Create(revision) => self.revisions.push(Arc::new((**revision).clone())),
            Update::Renumber(revision, number) => {
                let name = revision.metadata.name.clone();
                let known = self
                    .revisions
                    .iter_mut()
                    .find(|known| known.metadata.name == name);
                Arc::make_mut(known.unwrap()).revision = *number;
            }
            Update::Keep(_) => {}
        }
        self.set.status = Some(plan.status.clone());
        let mut done = Vec::new();
        for action in plan.actions {
            done.push(self.act(action));
        }
        done
    }

    fn act(&mut self, action: Action) -> String {
        let name = |pod: &Pod| pod.metadata.name.clone().unwrap();
        match action {
            Action::Create(mut pod) => {
                pod.metadata.uid = pod.metadata.name.clone();
                pod.status = serde_json::from_value(json!({"phase": "Pending"})).unwrap();
                let done = format!("+{}", name(&pod));
                self.pods.push(Arc::new(*pod));
                done
            }
            Action::Delete(pod) => {
                self.pods.retain(|known| known.metadata.name != pod.metadata.name);
                format!("-{}", name(&pod))
            }
            Action::Identify(pod, _) => format!("~{}", name(&pod)),
            Action::Claim(claims, _) => {
                let mut names = Vec::new();
                for claim in claims {
                    let name = claim.metadata.name.clone().unwrap();
                    self.claims.insert(name.clone(), Arc::new(claim));
                    names.push(name);
                }
                format!("claim {}", names.join(" "))
            }
            Action::Own(claim, owners) => {
                let kinds: Vec<_> = owners.iter().map(|owner| owner.kind.as_str()).collect();
                let done = format!("own {} {}", claim.metadata.name.clone().unwrap(), kinds.join(" "));
                let mut owned = (*claim).clone();
                owned.metadata.owner_references = Some(owners);
                self.claims
                    .insert(claim.metadata.name.clone().unwrap(), Arc::new(owned));
                done
            }
        }
    }

    fn ready(&mut self) {
        for pod in &mut self.pods {
            Arc::make_mut(pod).status = serde_json::from_value(json!({"phase": "Running",
                "conditions": [{"type": "Ready", "status": "True",
                    "lastTransitionTime": "1970-01-01T00:00:01Z"}]}))
            .unwrap();
        }
    }

    fn settle(&mut self) -> Vec<String> {
        let mut done = Vec::new();
        for _ in 0..20 {
            done.extend(self.step());
            self.ready();
        }
        assert!(self.step().is_empty());
        done
    }

    fn change(&mut self, image: &str) {
        let spec = self.set.spec.as_mut().unwrap();
        spec.template.spec.as_mut().unwrap().containers[0].image = Some(image.into());
    }

    fn resize(&mut self, replicas: i32) {
        self.set.spec.as_mut().unwrap().replicas = Some(replicas);
    }

    fn status(&self) -> &StatefulSetStatus {
        self.set.status.as_ref().unwrap()
    }
}

#[test]
fn replicas_come_one_after_the_other_and_go_in_reverse() {
    let mut stage = Stage::new(json!({}));
    assert_eq!(stage.step(), ["+db-0"]);
    assert!(stage.step().is_empty(), "the first is not ready yet");
    assert_eq!(stage.settle(), ["+db-1", "+db-2"]);
    stage.resize(1);
    assert_eq!(stage.step(), ["-db-2"]);
    assert_eq!(stage.settle(), ["-db-1"]);
}

#[test]
fn a_parallel_set_does_all_at_once() {
    let mut stage = Stage::new(json!({"podManagementPolicy": "Parallel"}));
    assert_eq!(stage.step(), ["+db-0", "+db-1", "+db-2"]);
    stage.resize(0);
    assert_eq!(stage.step(), ["-db-2", "-db-1", "-db-0"]);
}

#[test]
fn ordinals_start_where_they_are_told_to() {
    let mut stage = Stage::new(json!({"ordinals": {"start": 5}, "replicas": 2}));
    assert_eq!(stage.settle(), ["+db-5", "+db-6"]);
}

#[test]
fn a_replica_has_a_name_of_its_own() {
    let mut stage = Stage::new(json!({"replicas": 1}));
    stage.settle();
    let pod = &stage.pods[0];
    let revision = stage.status().current_revision.clone().unwrap();
    assert_eq!(
        json!(pod.metadata.labels),
        json!({"app": "db", "apps.kubernetes.io/pod-index": "0", "controller-revision-hash": revision,
            "statefulset.kubernetes.io/pod-name": "db-0"})
    );
    let spec = pod.spec.as_ref().unwrap();
    assert_eq!(
        (spec.hostname.as_deref(), spec.subdomain.as_deref()),
        (Some("db-0"), Some("dbs"))
    );
}

#[test]
fn an_update_replaces_the_last_first_and_waits_for_each() {
    let mut stage = Stage::new(json!({}));
    stage.settle();
    let before = stage.status().current_revision.clone();
    stage.change("b");
    assert_eq!(stage.step(), ["-db-2"]);
    assert_eq!(stage.status().current_revision, before);
    assert_eq!(stage.settle(), ["+db-2", "-db-1", "+db-1", "-db-0", "+db-0"]);
    let status = stage.status();
    assert_eq!(status.current_revision, status.update_revision);
    assert_ne!(status.current_revision, before);
    assert_eq!(
        (status.updated_replicas, status.available_replicas),
        (Some(3), Some(3))
    );
}

#[test]
fn replicas_below_the_partition_stay_as_they_are() {
    let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}});
    let mut stage = Stage::new(json!({ "updateStrategy": rolling }));
    stage.settle();
    stage.change("b");
    assert_eq!(stage.settle(), ["-db-2", "+db-2"]);
    stage
        .pods
        .retain(|pod| pod.metadata.name.as_deref() != Some("db-0"));
    stage.settle();
    let status = stage.status();
    assert_eq!(
        (status.current_replicas, status.updated_replicas),
        (Some(2), Some(1))
    );
}

#[test]
fn on_delete_leaves_the_time_to_the_user() {
    let mut stage = Stage::new(json!({"updateStrategy": {"type": "OnDelete"}}));
    stage.settle();
    stage.change("b");
    assert!(stage.settle().is_empty());
    stage.pods.remove(0);
    assert_eq!(stage.settle(), ["+db-0"]);
    assert_eq!(stage.status().updated_replicas, Some(1));
}

#[test]
fn going_back_uses_the_old_revision_again() {
    let mut stage = Stage::new(json!({"replicas": 1}));
    stage.settle();
    let first = stage.status().current_revision.clone();
    stage.change("b");
    stage.settle();
    stage.change("a");
    stage.settle();
    assert_eq!(stage.status().current_revision, first);
    assert_eq!(stage.revisions.len(), 2);
}

#[test]
fn a_failed_replica_is_made_again() {
    let mut stage = Stage::new(json!({"replicas": 1}));
    stage.settle();
    Arc::make_mut(&mut stage.pods[0]).status.as_mut().unwrap().phase = Some("Failed".into());
    assert_eq!(stage.step(), ["-db-0"]);
    assert_eq!(stage.step(), ["+db-0"]);
}

#[test]
fn claims_come_with_the_replica_and_stay_when_it_goes() {
    let templates = json!([{"metadata": {"name": "data"}, "spec": {}}]);
    let mut stage = Stage::new(json!({"replicas": 1, "volumeClaimTemplates": templates}));
    assert_eq!(stage.step(), ["claim data-db-0", "+db-0"]);
    stage.ready();
    let volumes = stage.pods[0].spec.as_ref().unwrap().volumes.clone().unwrap();
    assert_eq!(
        volumes[0].persistent_volume_claim.as_ref().unwrap().claim_name,
        "data-db-0"
    );
    stage.resize(0);
    assert_eq!(stage.settle(), ["-db-0"]);
    assert_eq!(stage.claims.len(), 1);
}

#[test]
fn claims_follow_the_set_or_the_surplus_replica_as_the_policy_says() {
    let templates = json!([{"metadata": {"name": "data"}, "spec": {}}]);
    let policy = json!({"whenDeleted": "Delete", "whenScaled": "Delete"});
    let mut stage = Stage::new(json!({"replicas": 1, "volumeClaimTemplates": templates,
        "persistentVolumeClaimRetentionPolicy": policy}));
    assert_eq!(
        stage.settle(),
        ["claim data-db-0", "+db-0", "own data-db-0 StatefulSet"]
    );
    stage.resize(0);
    assert_eq!(stage.step(), ["own data-db-0 Pod", "-db-0"]);
    stage.resize(1);
    assert!(
        stage.step().is_empty(),
        "the claim still goes with the former replica"
    );
}

#[test]
fn a_replica_that_became_ready_lately_is_looked_at_again() {
    let mut stage = Stage::new(json!({"replicas": 2, "minReadySeconds": 2000}));
    stage.step();
    stage.ready();
    assert!(stage.step().is_empty());
    assert_eq!(stage.status().available_replicas, Some(0));
}
