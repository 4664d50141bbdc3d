//! Volumes that a workflow brings along: claims that are made when it begins, and go when it has ended.

use serde_json::{Value, json};

use super::walk::Walk;
use crate::{
    names,
    node::Phase,
    tags::{self, Stage},
};

impl Walk<'_> {
    /// Whether all claims have been asked for.
    pub(super) fn make_claims(&mut self) -> bool {
        let templates = self.spec.volume_claim_templates.clone();
        if templates.len() == self.status.persistent_volume_claims.len() {
            return true;
        }
        for (index, template) in templates.iter().enumerate() {
            let Some(volume) = template["metadata"]["name"].as_str() else {
                let message =
                    format!("pvc create error: volumeClaimTemplates[{index}].metadata.name is required");
                self.complete(Phase::Error, message);
                return false;
            };
            let claim_name = format!("{}-{volume}", self.name);
            if let Some(refusal) = self.observed.refusals.get(&claim_name) {
                if refusal.is_passing {
                    let message = format!("Waiting for a PVC to be created. {}", refusal.message);
                    self.set_phase(Phase::Pending, message);
                } else {
                    self.complete(Phase::Error, format!("pvc create error: {}", refusal.message));
                    return false;
                }
            }
            let mut claim = match tags::replace(template, &self.globals, Stage::Lenient) {
                Ok(claim) => claim,
                Err(error) => {
                    self.complete(Phase::Error, format!("pvc create error: {error}"));
                    return false;
                }
            };
            claim["apiVersion"] = json!("v1");
            claim["kind"] = json!("PersistentVolumeClaim");
            claim["metadata"]["name"] = json!(claim_name);
            claim["metadata"]["namespace"] = json!(self.namespace);
            claim["metadata"]["labels"][names::WORKFLOW] = json!(self.name);
            claim["metadata"]["ownerReferences"] = json!([self.owner()]);
            if let Some(fields) = claim.as_object_mut() {
                fields.remove("status");
            }
            self.plan.make.push(claim);
            let known = &mut self.status.persistent_volume_claims;
            let entry = json!({"name": volume, "persistentVolumeClaim": {"claimName": claim_name}});
            if !known.contains(&entry) {
                known.push(entry);
            }
        }
        self.status.phase != Phase::Pending
    }

    /// The workflow as the owner of what is made for it.
    pub(super) fn owner(&self) -> Value {
        json!({
            "apiVersion": names::API_VERSION,
            "kind": "Workflow",
            "name": self.name,
            "uid": self.object["metadata"]["uid"],
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }
}
