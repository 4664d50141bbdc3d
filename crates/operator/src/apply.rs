//! What a plan asks for, done at the server and put into the caches at once.

use futures_util::{StreamExt as _, future::join_all, stream::FuturesUnordered};
use k8s_openapi::api::{
    autoscaling::v2::HorizontalPodAutoscaler,
    batch::v1::Job,
    core::v1::{ConfigMap, Pod, Secret, Service, ServiceAccount},
    rbac::v1::{Role, RoleBinding},
};
use kube::{
    Resource as _,
    api::{DeleteParams, Preconditions},
    core::{DynamicObject, Status},
};
use reconcile::{
    Cached as _, Key,
    requests::{self, status},
};
use serde_json::{Value, json};
use tokio::time::Instant;
use training::{Child, Delete, Event, Gang, Make, Refusal};

use crate::{
    controller::Controller,
    metrics::{
        CREATED_POD_GROUPS, CREATED_PODS, DELETED_POD_GROUPS, DELETED_PODS, FAILED_PODS, FAILED_SERVICES,
        SERVICES_CREATED,
    },
    milestones,
    observe::has_begun,
    pod_groups::{PluginsGroup, VolcanoGroup},
    seen::{Seen, Watched},
    ssh_key,
    stages::{Stage, of_stage},
    stored_job::StoredJob,
};

/// What has come of making.
pub(crate) enum Made {
    All {
        but: Vec<Refusal>,
    },
    /// The pods of other jobs go before the rest of this one.
    PodsOnly,
}

/// What there is of a child after it was asked for.
enum Answer<K: Watched> {
    Created(Seen<K>),
    There(Seen<K>),
    /// What was to be changed is no more; the watch will tell.
    Gone,
}

/// So much of a job is made at a time.
const AT_A_TIME: usize = 32;

impl Controller {
    /// Makes one stage after the other; ends early where something is refused, as what makes the server refuse one
    /// usually makes it refuse all, or where nothing is to be begun any more.
    pub(crate) async fn make(&self, job: &StoredJob, children: &[Child]) -> kube::Result<Made> {
        let key = Key::new(job.namespace(), job.name());
        for stage in Stage::ALL {
            let wanted = of_stage(children, stage);
            if wanted.is_empty() {
                continue;
            }
            let is_late = matches!(stage, Stage::Rest | Stage::Launcher | Stage::Extra);
            let gives_way = || self.pods_first.gives_way(&key, Instant::now());
            if is_late && !has_begun(&self.world, job.uid()) && gives_way() {
                return Ok(Made::PodsOnly);
            }
            // There is an event of each; those can wait.
            let _working = self.recorder.at_work();
            let _making = (stage == Stage::Pods).then(|| self.pods_first.making(&key));
            // Rights are given to an account by what says which they are: each needs the one before.
            let is_in_order = wanted.iter().any(|child| child.kind() == "RoleBinding");
            let at_a_time = if is_in_order { 1 } else { AT_A_TIME };
            let refusals = self.make_some(job, wanted.into_iter(), at_a_time).await?;
            if !refusals.is_empty() {
                return Ok(Made::All { but: refusals });
            }
        }
        Ok(Made::All { but: Vec::new() })
    }

    async fn make_some(
        &self,
        job: &StoredJob,
        mut children: impl Iterator<Item = &Child>,
        at_a_time: usize,
    ) -> kube::Result<Vec<Refusal>> {
        let mut making = FuturesUnordered::new();
        let (mut refusals, mut failure) = (Vec::new(), None);
        loop {
            let is_enough = self.closing.is_said() || failure.is_some() || !refusals.is_empty();
            if making.len() < at_a_time
                && !is_enough
                && let Some(child) = children.next()
            {
                making.push(self.make_one(job, child));
                continue;
            }
            // What was sent is heard out, whatever happens to the rest.
            match making.next().await {
                Some(Ok(refusal)) => refusals.extend(refusal),
                Some(Err(error)) => failure = Some(error),
                None => return failure.map_or(Ok(refusals), Err),
            }
        }
    }

    async fn make_one(&self, job: &StoredJob, child: &Child) -> kube::Result<Option<Refusal>> {
        match child.kind() {
            "ConfigMap" => self.make_as::<ConfigMap>(job, child).await,
            "HorizontalPodAutoscaler" => self.make_as::<HorizontalPodAutoscaler>(job, child).await,
            "Job" => self.make_as::<Job>(job, child).await,
            "Pod" => self.make_as::<Pod>(job, child).await,
            "PodGroup" if self.settings.gang == Gang::Volcano => {
                self.make_as::<VolcanoGroup>(job, child).await
            }
            "PodGroup" => self.make_as::<PluginsGroup>(job, child).await,
            "Role" => self.make_as::<Role>(job, child).await,
            "RoleBinding" => self.make_as::<RoleBinding>(job, child).await,
            "Secret" => self.make_as::<Secret>(job, child).await,
            "Service" => self.make_as::<Service>(job, child).await,
            "ServiceAccount" => self.make_as::<ServiceAccount>(job, child).await,
            kind => Ok(Some(Refusal {
                name: child.name().to_owned(),
                message: format!("objects of kind {kind} are not made on this cluster"),
            })),
        }
    }

    async fn make_as<K: Watched>(&self, job: &StoredJob, child: &Child) -> kube::Result<Option<Refusal>> {
        let (kind, name) = (child.kind(), child.name());
        let error = match self.request::<K>(job, child).await {
            Ok(answer) => {
                if matches!(answer, Answer::Created(_)) {
                    self.count_made(kind, true);
                    let note = format!("Created {}: {name}", kind.to_lowercase());
                    self.recorder.normal(
                        job.reference(&self.resource),
                        &format!("SuccessfulCreate{kind}"),
                        note,
                    );
                }
                if let Answer::Created(now) | Answer::There(now) = answer {
                    K::informer(&self.world).wrote(now);
                }
                return Ok(None);
            }
            Err(error) => error,
        };
        let Some(status) = status(&error).filter(|status| matches!(status.code, 400 | 403 | 413 | 422))
        else {
            return Err(error);
        };
        self.count_made(kind, false);
        let note = format!("Error creating: {}", status.message);
        self.recorder.warning(
            job.reference(&self.resource),
            &format!("FailedCreate{kind}"),
            note,
        );
        Ok(Some(Refusal {
            name: name.to_owned(),
            message: status.message.clone(),
        }))
    }

    /// What is to be created never changes anything, and what is to be changed is never created: a patch says
    /// too little for an object, and whose it is not at all.
    async fn request<K: Watched>(&self, job: &StoredJob, child: &Child) -> kube::Result<Answer<K>> {
        let (client, folder) = (&self.world.client, K::url_path(&(), Some(job.namespace())));
        let name = child.name();
        let with_key = match child.make {
            Make::Patch => {
                return match requests::merge(client, &folder, name, &child.object).await {
                    Err(kube::Error::Api(status)) if has_missed(&status) => Ok(Answer::Gone),
                    patched => patched.map(Answer::There),
                };
            }
            Make::Create => None,
            Make::CreateWithSshKey => Some(with_key(&child.object)?),
        };
        let object = with_key.as_ref().unwrap_or(&child.object);
        let created = if K::IS_TOLD_BY_METADATA {
            requests::create_for_metadata(client, &folder, object).await
        } else {
            requests::create(client, &folder, object).await
        };
        match created {
            // Ours from before, or somebody else's: the next look tells.
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
                requests::get(client, &folder, name).await.map(Answer::There)
            }
            made => made.map(Answer::Created),
        }
    }

    pub(crate) async fn delete(&self, job: &StoredJob, deletes: &[Delete]) -> kube::Result<()> {
        for round in deletes.chunks(AT_A_TIME).take_while(|_| !self.closing.is_said()) {
            let deleted = join_all(round.iter().map(|delete| self.delete_one(job, delete))).await;
            deleted.into_iter().collect::<kube::Result<Vec<()>>>()?;
        }
        Ok(())
    }

    async fn delete_one(&self, job: &StoredJob, delete: &Delete) -> kube::Result<()> {
        match delete.kind {
            "Pod" => self.delete_as::<Pod>(job, delete).await,
            "Job" => self.delete_as::<Job>(job, delete).await,
            "PodGroup" if self.settings.gang == Gang::Volcano => {
                self.delete_as::<VolcanoGroup>(job, delete).await
            }
            "PodGroup" => self.delete_as::<PluginsGroup>(job, delete).await,
            "Service" => self.delete_as::<Service>(job, delete).await,
            kind => {
                tracing::warn!(kind, name = delete.name, "objects of this kind are not deleted");
                Ok(())
            }
        }
    }

    async fn delete_as<K: Watched>(&self, job: &StoredJob, delete: &Delete) -> kube::Result<()> {
        let informer = K::informer(&self.world);
        let known = informer.get(&Key::new(job.namespace(), &delete.name));
        let known = known.filter(|known| known.uid() == delete.uid);
        let folder = K::url_path(&(), Some(job.namespace()));
        // The name of a launcher is free for another when its pods have ended: there are never two.
        let parameters = match delete.kind {
            "Job" => DeleteParams::foreground(),
            _ => DeleteParams::background(),
        };
        let mut parameters = parameters.preconditions(only(&delete.uid));
        if delete.tell_failed {
            self.write_lost(&folder, delete).await?;
        }
        if delete.force {
            parameters = parameters.grace_period(0);
        }
        let answer: Option<Seen<K>> =
            match requests::delete(&self.world.client, &folder, &delete.name, &parameters).await {
                Ok(answer) => answer,
                // Gone already, or its name has passed to another.
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => return Ok(()),
                Err(error) => return Err(error),
            };
        match answer {
            Some(stopping) => informer.wrote(stopping),
            None => known.iter().for_each(|known| informer.removed(known)),
        }
        match delete.kind {
            "Pod" => self.metrics.count(&DELETED_PODS, &[]),
            "PodGroup" => self.metrics.count(&DELETED_POD_GROUPS, &[]),
            _ => {}
        }
        let note = format!("Deleted {}: {}", delete.kind.to_lowercase(), delete.name);
        let reason = format!("SuccessfulDelete{}", delete.kind);
        self.recorder.normal(job.reference(&self.resource), &reason, note);
        Ok(())
    }

    /// A pod on a lost node will not say that it has ended, and whoever counts ends, as a batch Job does, waits for it:
    /// it is said as the API's own collector of such pods says it.
    async fn write_lost(&self, folder: &str, delete: &Delete) -> kube::Result<()> {
        let message = "Its node is lost: it has not said that the pod has stopped.";
        let patch = json!({
            "metadata": {"uid": delete.uid},
            "status": {"phase": "Failed", "reason": "NodeLost", "message": message},
        });
        let name = format!("{}/status", delete.name);
        match requests::merge::<Value>(&self.world.client, folder, &name, &patch).await {
            Err(kube::Error::Api(status)) if has_missed(&status) => Ok(()),
            answer => answer.map(drop),
        }
    }

    /// Whether the job was still the one the status was decided for.
    pub(crate) async fn write_status(&self, job: &StoredJob, new: &Value) -> kube::Result<bool> {
        let meta = &job.object["metadata"];
        let object = json!({
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {
                "name": meta["name"],
                "namespace": meta["namespace"],
                "uid": meta["uid"],
                "resourceVersion": meta["resourceVersion"],
            },
            "spec": job.object["spec"],
            "status": new,
        });
        let folder = DynamicObject::url_path(&self.resource, Some(job.namespace()));
        match requests::replace_status(&self.world.client, &folder, job.name(), &object).await {
            Ok(written) => {
                self.jobs.wrote(written);
                let before = &job.object["status"];
                milestones::count(&self.metrics, self.kind, job.namespace(), before, new);
                Ok(true)
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn delete_job(&self, job: &StoredJob) -> kube::Result<()> {
        let folder = DynamicObject::url_path(&self.resource, Some(job.namespace()));
        let parameters = DeleteParams::background().preconditions(only(job.uid()));
        match requests::delete::<Value>(&self.world.client, &folder, job.name(), &parameters).await {
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            answer => answer.map(drop),
        }
    }

    fn count_made(&self, kind: &str, is_made: bool) {
        let family = match (kind, is_made) {
            ("Pod", true) => &CREATED_PODS,
            ("Pod", false) => &FAILED_PODS,
            ("PodGroup", true) => &CREATED_POD_GROUPS,
            ("Service", true) => &SERVICES_CREATED,
            ("Service", false) => &FAILED_SERVICES,
            _ => return,
        };
        self.metrics.count(family, &[]);
    }

    pub(crate) fn tell(&self, job: &StoredJob, events: &[Event]) {
        for event in events {
            let (about, note) = (job.reference(&self.resource), event.message.clone());
            match event.severity {
                "Warning" => self.recorder.warning(about, &event.reason, note),
                _ => self.recorder.normal(about, &event.reason, note),
            }
        }
    }
}

fn only(uid: &str) -> Preconditions {
    Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: None,
    }
}

/// Whether a patch has not found the object it was for: there is none of its name, or another.
fn has_missed(status: &Status) -> bool {
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    matches!(status.code, 404 | 409) || causes.any(|cause| cause.field == "metadata.uid")
}

fn with_key(secret: &Value) -> kube::Result<Value> {
    let key = ssh_key::generate().map_err(|error| kube::Error::Service(error.into()))?;
    let mut secret = secret.clone();
    secret["stringData"] = json!({"ssh-privatekey": key.private, "ssh-publickey": key.public});
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(code: u16, field: &str) -> Status {
        let causes = json!([{"reason": "FieldValueInvalid", "message": "m", "field": field}]);
        let status = json!({"status": "Failure", "code": code, "details": {"causes": causes}});
        serde_json::from_value(status).unwrap()
    }

    #[test]
    fn a_patch_misses_what_is_gone_or_has_become_another() {
        assert!(has_missed(&answered(404, "")));
        assert!(has_missed(&answered(409, "")));
        assert!(has_missed(&answered(422, "metadata.uid")));
        assert!(!has_missed(&answered(422, "spec.minReplicas")));
        assert!(!has_missed(&answered(403, "")));
    }
}
