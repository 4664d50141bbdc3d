//! A launcher that is a batch Job: stopped with its job, and made to go on with it.
//!
//! The template of a batch Job may change only while it is suspended and has never run, and then only in where its
//! pods are to go. One that cannot become what is wanted any more is replaced by another, in steps: what it has used
//! of the restarts is written down, it is deleted, and its successor is made when it is gone.

use kinds::{decode, internal_form, pods::template, types};
use serde_json::{Value, json};

use super::{Delete, Draft, mend};
use crate::{
    Child,
    account::{Account, Role},
    children,
    observed::{BatchJob, Phase, Pod},
    restarts, why,
};

/// The type of a template, in long and for comparisons.
const TEMPLATE: (&str, &str) = ("io.k8s.api.core.v1.PodTemplateSpec", "PodTemplateSpec");
/// What says where pods go. Of their affinity only that to nodes.
const PLACEMENT: [(&str, &str); 6] = [
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("spec", "nodeSelector"),
    ("spec", "tolerations"),
    ("spec", "schedulingGates"),
    ("spec", "affinity"),
];
/// Labels that a batch Job's pods are known by, which the API server adds to its template.
const OF_BATCH: [&str; 4] = [
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "job-name",
];

impl Draft<'_> {
    /// A launcher that is a batch Job is suspended with its job, and goes on with it.
    pub(crate) fn suspend_launcher(&mut self, account: &Account<'_>, suspend: bool) {
        let Some(role) = account.roles.iter().find(|role| role.replica.role == "Launcher") else {
            return;
        };
        // One that is made when its workers run is not made before, and goes on no sooner; one that runs is stopped.
        let is_early = role.launcher.is_none() || (!suspend && !workers_run(account));
        if !self.job.launches_by_batch_job() || (self.launcher_waits() && is_early) {
            return;
        }
        let Some(launcher) = role.launcher else {
            if suspend && self.used_by_vanished_launcher(account) == 0 {
                let object = children::replica_object(self.job, role.replica, 0, self.settings);
                self.make.push(Child::create(object));
            }
            return;
        };
        if launcher.is_suspended == suspend || launcher.is_over() || launcher.is_being_deleted {
            return;
        }
        // It deletes its pods when it is told to stop.
        let stops = role.pods.iter().filter(|pod| suspend && is_alive(pod));
        if stops.filter(|pod| !self.is_written_down(pod)).count() > 0 {
            return;
        }
        let object = children::replica_object(self.job, role.replica, 0, self.settings);
        let fields = if suspend {
            Some(json!({"suspend": true}))
        } else {
            self.resumed(account, role, &object["spec"])
        };
        let patch = fields.map(|fields| mend::patch(&object, &launcher.uid, json!({"spec": fields})));
        self.make.extend(patch);
    }

    /// What a launcher that stands still lacks to go on as is wanted; nothing while it cannot, or where another has
    /// to be made.
    fn resumed(&mut self, account: &Account<'_>, role: &Role<'_>, wanted: &Value) -> Option<Value> {
        // There are never two. What runs from before is ended by its Job; were it deleted, it would count as failed.
        if role.pods.iter().any(|pod| is_alive(pod)) {
            return None;
        }
        let launcher = role.launcher?;
        let fields = resumption(launcher, wanted);
        if fields.is_none() {
            self.replace_launcher(account, launcher);
        }
        fields
    }

    /// Writes down that a launcher makes room for another, and what it has used of the restarts.
    pub(super) fn replace_launcher(&mut self, account: &Account<'_>, launcher: &BatchJob) {
        if restarts::is_launcher_replaced(self.job, self.status.restarts.as_ref(), launcher) {
            return;
        }
        let is_new = |pod: &&Pod| !restarts::is_replaced_by(self.job, self.status.restarts.as_ref(), pod);
        let pods = account
            .pods()
            .filter(|pod| pod.controller.as_ref() == Some(&launcher.uid));
        let by_kubelet: i32 = pods.filter(is_new).map(|pod| pod.restarts).sum();
        let known = self.status.restarts.get_or_insert_default();
        if launcher.failed + by_kubelet > 0 {
            known.count += launcher.failed + by_kubelet;
            known.cause = restarts::last_cause(self.job, account);
        }
        known.replaced.push(launcher.uid.clone());
    }

    /// Deletes a launcher of which it is written down that it makes room for another.
    pub(super) fn delete_replaced_launcher(&mut self, account: &Account<'_>) {
        if let Some(launcher) = account.launcher()
            && restarts::is_launcher_replaced(self.job, self.job.status.restarts.as_ref(), launcher)
        {
            self.delete_batch_job(launcher);
        }
    }

    /// A batch Job waits for the end of its pod, which a lost node never tells.
    pub(super) fn give_up_lost_launchers(&mut self, account: &Account<'_>) {
        let launched = account.roles.iter().filter(|role| role.launcher.is_some());
        let pods = launched.flat_map(|role| role.pods.iter().copied());
        let stopping = pods.filter(|pod| pod.is_deleted());
        // Those that are counted go as all others do.
        for pod in stopping.filter(|pod| !restarts::is_replaced(self.job, pod)) {
            if self.is_given_up(pod) {
                // Nothing else tells why its Job makes another.
                self.status.restarts.get_or_insert_default().cause = why::ending(self.job, pod);
            }
            self.delete_pod(pod);
        }
        for pod in self.observed.former.iter().filter(|pod| is_alive(pod)) {
            if self.is_given_up(pod) {
                self.delete_pod(pod);
            }
        }
    }

    /// Somebody has deleted the batch Job of a launcher, at once: what it had used of the restarts, as it was counted
    /// last, stays used.
    pub(super) fn count_vanished_launcher(&mut self, account: &Account<'_>) {
        let used = self.used_by_vanished_launcher(account);
        if used > 0 {
            let restarts = self.status.restarts.get_or_insert_default();
            restarts.count = restarts.count.saturating_add(used);
        }
    }

    pub(super) fn used_by_vanished_launcher(&self, account: &Account<'_>) -> i32 {
        // Of a specification without a launcher it is not known whether its Job is there.
        let is_known = self.job.launches_by_batch_job() && self.job.replica("Launcher").is_some();
        if !is_known || account.launcher().is_some() {
            return 0;
        }
        let counted = self.job.status.replica_statuses.get("Launcher");
        counted.map_or(0, |counted| counted.failed)
    }

    pub(crate) fn delete_batch_job(&mut self, launcher: &BatchJob) {
        if !launcher.is_being_deleted {
            let (name, uid) = (launcher.name.clone(), launcher.uid.clone());
            self.delete.push(Delete {
                kind: "Job",
                name,
                uid,
                force: false,
                tell_failed: false,
            });
        }
    }

    /// Whether the launcher is to come after its workers.
    pub(super) fn launcher_waits(&self) -> bool {
        self.job.mpi().is_some_and(|mpi| mpi.launcher_waits)
    }
}

pub(super) fn is_alive(pod: &Pod) -> bool {
    matches!(pod.phase, Phase::Pending | Phase::Running)
}

pub(super) fn workers_run(account: &Account<'_>) -> bool {
    account.role("Worker").is_none_or(Role::all_run)
}

/// The changes to the specification of a launcher that stands still by which it goes on as is wanted, if there are
/// any that it can take.
fn resumption(launcher: &BatchJob, wanted: &Value) -> Option<Value> {
    let mut fields = json!({"suspend": false, "activeDeadlineSeconds": wanted["activeDeadlineSeconds"]});
    if !wanted["backoffLimit"].is_null() {
        fields["backoffLimit"] = wanted["backoffLimit"].clone();
    }
    let there: Value = serde_json::from_str(&launcher.template).unwrap_or_default();
    let wanted = as_stored(&wanted["template"], &there);
    let same = |one: &Value| internal_form::same(one, &wanted, TEMPLATE.1);
    if same(&there) {
        return Some(fields);
    }
    if launcher.started.is_some() || !same(&placed_as(&there, &wanted)) {
        return None;
    }
    for (part, field) in PLACEMENT {
        if let Some(change) = mend::difference(&there[part][field], &wanted[part][field]) {
            fields["template"][part][field] = change;
        }
    }
    Some(fields)
}

/// A template as the API server would store it in the Job that has the other one.
fn as_stored(template: &Value, other: &Value) -> Value {
    let mut stored = template.clone();
    if let Some(ty) = types::by_name(TEMPLATE.0) {
        // What is no template is refused when it is made.
        let _ = decode::normalize(ty, &mut stored);
    }
    template::default(&mut stored);
    for label in OF_BATCH {
        let value = &other["metadata"]["labels"][label];
        if !value.is_null() {
            stored["metadata"]["labels"][label] = value.clone();
        }
    }
    stored
}

/// A template whose pods go where those of the other do, as far as a Job can be told so.
fn placed_as(template: &Value, other: &Value) -> Value {
    let mut placed = template.clone();
    for (part, field) in PLACEMENT {
        let is_allowed = field != "affinity" || to_pods(template) == to_pods(other);
        if is_allowed {
            placed[part][field] = other[part][field].clone();
        }
    }
    placed
}

/// The affinity of a template's pods to other pods.
fn to_pods(template: &Value) -> [&Value; 2] {
    let affinity = &template["spec"]["affinity"];
    [&affinity["podAffinity"], &affinity["podAntiAffinity"]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(placement: Value) -> Value {
        let mut template = json!({
            "metadata": {"labels": {"app": "j"}},
            "spec": {"restartPolicy": "Never", "containers": [{
                "name": "l", "image": "i", "env": [{"name": "A", "value": "1"}], "resources": {"limits": {"cpu": 0.5}},
            }]},
        });
        for (field, value) in placement.as_object().into_iter().flatten() {
            template["spec"][field] = value.clone();
        }
        template
    }

    /// A launcher as the API server has stored it.
    fn launcher(template: &Value, has_started: bool) -> BatchJob {
        let mut stored = as_stored(template, &Value::Null);
        stored["metadata"]["labels"]["job-name"] = json!("j-launcher");
        BatchJob {
            is_suspended: true,
            started: has_started.then_some(jiff::Timestamp::UNIX_EPOCH),
            template: stored.to_string(),
            ..BatchJob::default()
        }
    }

    fn resumed(there: &Value, has_started: bool, wanted: &Value) -> Option<Value> {
        let spec = resumption(&launcher(there, has_started), &json!({"template": wanted}))?;
        Some(spec["template"].clone())
    }

    #[test]
    fn one_that_is_as_wanted_goes_on_as_it_is() {
        let same = template(json!({"nodeSelector": {"zone": "a"}}));
        for has_started in [false, true] {
            assert_eq!(resumed(&same, has_started, &same), Some(Value::Null));
        }
    }

    #[test]
    fn one_that_never_ran_is_placed_anew_and_keeps_nothing_of_where_it_was() {
        let before = template(json!({
            "nodeSelector": {"zone": "a", "pool": "old"},
            "tolerations": [{"key": "old", "operator": "Exists"}],
            "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
        }));
        let mut after = template(json!({"nodeSelector": {"zone": "b"}}));
        after["metadata"]["labels"] = json!({"team": "t"});
        let expected = json!({
            "metadata": {"labels": {"app": null, "team": "t"}},
            "spec": {"nodeSelector": {"zone": "b", "pool": null}, "tolerations": null, "affinity": null},
        });
        assert_eq!(resumed(&before, false, &after), Some(expected));
    }

    #[test]
    fn one_that_has_run_is_placed_elsewhere_by_another() {
        let after = template(json!({"nodeSelector": {"zone": "b"}}));
        assert_eq!(resumed(&template(json!({})), true, &after), None);
    }

    #[test]
    fn what_is_to_run_is_never_changed() {
        let before = template(json!({}));
        let mut image = before.clone();
        image["spec"]["containers"][0]["image"] = json!("another");
        let mut fewer = before.clone();
        fewer["spec"]["containers"][0]["env"] = json!([]);
        let to_pods = json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "t"}]}});
        for after in [image, fewer, template(json!({"affinity": to_pods}))] {
            assert_eq!(resumed(&before, false, &after), None, "{after}");
        }
    }

    #[test]
    fn one_of_which_nothing_is_known_is_replaced() {
        let launcher = BatchJob::default();
        assert_eq!(
            resumption(&launcher, &json!({"template": template(json!({}))})),
            None
        );
    }
}
