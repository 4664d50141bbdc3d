//! What a plan asks for, done at the server and put into the caches at once.

use futures_util::future::join_all;
use k8s_openapi::api::{
    autoscaling::v2::HorizontalPodAutoscaler,
    batch::v1::Job,
    core::v1::{ConfigMap, Pod, Secret, Service, ServiceAccount},
    rbac::v1::{Role, RoleBinding},
};
use kube::{
    Resource as _,
    api::{DeleteParams, Preconditions},
};
use reconcile::Key;
use serde_json::{Value, json};
use training::{Child, Delete, Event, Make, Refusal};

use crate::{
    controller::Controller,
    requests::{self, status},
    seen::{Seen, Watched},
    ssh_key,
    stored_job::StoredJob,
};

/// So much is made at a time; what makes the server refuse one usually makes it refuse all.
const AT_A_TIME: usize = 16;

/// Kinds of which a job has one a replica.
const MANY: [&str; 3] = ["Service", "Pod", "Job"];

impl Controller {
    /// Makes what pods need, then pods; ends early where something is refused.
    pub(crate) async fn make(&self, job: &StoredJob, children: &[Child]) -> kube::Result<Vec<Refusal>> {
        let of =
            |kinds: &'static [&'static str]| children.iter().filter(|child| kinds.contains(&child.kind()));
        let is_many = |child: &&Child| MANY.contains(&child.kind());
        // Of these there are a few, and one may need another.
        for child in children.iter().filter(|child| !is_many(child)) {
            if let Some(refusal) = self.make_one(job, child).await? {
                return Ok(vec![refusal]);
            }
        }
        let services: Vec<&Child> = of(&["Service"]).collect();
        let replicas: Vec<&Child> = of(&["Pod", "Job"]).collect();
        for round in services.chunks(AT_A_TIME).chain(replicas.chunks(AT_A_TIME)) {
            let made = join_all(round.iter().map(|child| self.make_one(job, child))).await;
            let made = made.into_iter().collect::<kube::Result<Vec<_>>>()?;
            let refusals: Vec<Refusal> = made.into_iter().flatten().collect();
            if !refusals.is_empty() {
                return Ok(refusals);
            }
        }
        Ok(Vec::new())
    }

    async fn make_one(&self, job: &StoredJob, child: &Child) -> kube::Result<Option<Refusal>> {
        match child.kind() {
            "ConfigMap" => self.make_as::<ConfigMap>(job, child).await,
            "HorizontalPodAutoscaler" => self.make_as::<HorizontalPodAutoscaler>(job, child).await,
            "Job" => self.make_as::<Job>(job, child).await,
            "Pod" => self.make_as::<Pod>(job, child).await,
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
            Ok(made) => {
                K::informer(&self.world).wrote(made);
                if child.make != Make::Apply {
                    let note = format!("Created {}: {name}", kind.to_lowercase());
                    self.recorder.normal(
                        job.reference(&self.resource),
                        &format!("SuccessfulCreate{kind}"),
                        note,
                    );
                }
                return Ok(None);
            }
            Err(error) => error,
        };
        let Some(status) = status(&error).filter(|status| matches!(status.code, 400 | 403 | 413 | 422))
        else {
            return Err(error);
        };
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

    async fn request<K: Watched>(&self, job: &StoredJob, child: &Child) -> kube::Result<Seen<K>> {
        let (client, folder) = (&self.world.client, K::url_path(&(), Some(job.namespace())));
        let created = match child.make {
            Make::Apply => return requests::apply(client, &folder, child.name(), &child.object).await,
            Make::Create => requests::create(client, &folder, &child.object).await,
            Make::CreateWithSshKey => requests::create(client, &folder, &with_key(&child.object)?).await,
        };
        match created {
            // Ours from before, or somebody else's: the next look tells.
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
                requests::get(client, &folder, child.name()).await
            }
            made => made,
        }
    }

    pub(crate) async fn delete(&self, job: &StoredJob, deletes: &[Delete]) -> kube::Result<()> {
        for round in deletes.chunks(AT_A_TIME) {
            let deleted = join_all(round.iter().map(|delete| self.delete_one(job, delete))).await;
            deleted.into_iter().collect::<kube::Result<Vec<()>>>()?;
        }
        Ok(())
    }

    async fn delete_one(&self, job: &StoredJob, delete: &Delete) -> kube::Result<()> {
        match delete.kind {
            "Pod" => self.delete_as::<Pod>(job, delete).await,
            "Job" => self.delete_as::<Job>(job, delete).await,
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
        let folder = K::url_path(&(), Some(job.namespace()));
        let mut parameters = DeleteParams::background();
        if !delete.uid.is_empty() {
            parameters = parameters.preconditions(only(&delete.uid));
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
        let note = format!("Deleted {}: {}", delete.kind.to_lowercase(), delete.name);
        let reason = format!("SuccessfulDelete{}", delete.kind);
        self.recorder.normal(job.reference(&self.resource), &reason, note);
        Ok(())
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
        let folder = StoredJob::url_path(&self.resource, Some(job.namespace()));
        match requests::replace_status(&self.world.client, &folder, job.name(), &object).await {
            Ok(written) => {
                self.jobs.wrote(written);
                Ok(true)
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn delete_job(&self, job: &StoredJob) -> kube::Result<()> {
        let folder = StoredJob::url_path(&self.resource, Some(job.namespace()));
        let parameters = DeleteParams::background().preconditions(only(job.uid()));
        match requests::delete::<Value>(&self.world.client, &folder, job.name(), &parameters).await {
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            answer => answer.map(drop),
        }
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

fn with_key(secret: &Value) -> kube::Result<Value> {
    let key = ssh_key::generate().map_err(|error| kube::Error::Service(error.into()))?;
    let mut secret = secret.clone();
    secret["stringData"] = json!({"ssh-privatekey": key.private, "ssh-publickey": key.public});
    Ok(secret)
}
