//! The Kubernetes API, with the rights of the step's own account.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;
use kube::{Client, Config, core::ApiResource};
use reconcile::requests;
use resources::workflows::WORKFLOW_TASK_RESULT;
use serde_json::{Value, json};
use workflows::{
    names,
    report::{Order, Report},
};

use crate::Broken;

const MANAGER: &str = "trainyard-step";

pub(crate) struct Cluster {
    client: Client,
    pub namespace: String,
}

/// What the server made of an action.
pub(crate) enum Answer {
    Object(Value),
    Missing,
}

impl Cluster {
    pub(crate) fn connect() -> Result<Self, Broken> {
        let config = Config::incluster()
            .map_err(|error| Broken(format!("the step has no account of the cluster: {error}")))?;
        let namespace = config.default_namespace.clone();
        let client = Client::try_from(config)
            .map_err(|error| Broken(format!("the cluster cannot be asked: {error}")))?;
        Ok(Self { client, namespace })
    }

    /// The path of the objects of an object's kind.
    pub(crate) async fn folder(&self, object: &Value, namespace: Option<&str>) -> Result<String, Broken> {
        let (Some(api_version), Some(kind)) = (object["apiVersion"].as_str(), object["kind"].as_str()) else {
            return Err(Broken::new("the manifest has no apiVersion or kind"));
        };
        let listed = self.kinds(api_version).await?;
        let found = listed
            .iter()
            .find(|row| row.kind == kind && !row.name.contains('/'))
            .ok_or_else(|| Broken(format!("the cluster has no kind {kind} in {api_version}")))?;
        Ok(self.path(api_version, found, namespace))
    }

    /// The same by a word that people use for a kind: `pods`, `pod`, `po`, `deployments.apps`.
    pub(crate) async fn folder_of(&self, word: &str, namespace: Option<&str>) -> Result<String, Broken> {
        let (word, group) = match word.split_once('.') {
            Some((word, group)) => (word, Some(group)),
            None => (word, None),
        };
        let groups = self.client.list_api_groups().await;
        let groups = groups.map_err(|error| Broken(format!("no kinds are told: {}", told(&error))))?;
        let named = groups.groups.into_iter().filter_map(|group| {
            let version = group
                .preferred_version
                .or_else(|| group.versions.first().cloned())?;
            Some((group.name, version.group_version))
        });
        let all = [(String::new(), "v1".to_owned())].into_iter().chain(named);
        for (_, api_version) in all.filter(|(name, _)| group.is_none_or(|group| name == group)) {
            let kinds = self.kinds(&api_version).await?;
            if let Some(found) = kinds.iter().find(|row| is_called(row, word)) {
                return Ok(self.path(&api_version, found, namespace));
            }
        }
        Err(Broken(format!("the cluster has no kind `{word}`")))
    }

    async fn kinds(&self, api_version: &str) -> Result<Vec<APIResource>, Broken> {
        let listed = if api_version.contains('/') {
            self.client.list_api_group_resources(api_version).await
        } else {
            self.client.list_core_api_resources(api_version).await
        };
        let listed = listed.map_err(|error| Broken(format!("no {api_version} here: {}", told(&error))))?;
        Ok(listed.resources)
    }

    fn path(&self, api_version: &str, kind: &APIResource, namespace: Option<&str>) -> String {
        let root = if api_version.contains('/') { "apis" } else { "api" };
        let plural = &kind.name;
        if !kind.namespaced {
            return format!("/{root}/{api_version}/{plural}");
        }
        let namespace = namespace.unwrap_or(&self.namespace);
        format!("/{root}/{api_version}/namespaces/{namespace}/{plural}")
    }

    pub(crate) async fn get(&self, folder: &str, name: &str) -> Result<Answer, Broken> {
        answer(requests::get(&self.client, folder, name).await)
    }

    pub(crate) async fn create(&self, folder: &str, object: &Value) -> Result<Answer, Broken> {
        answer(requests::create(&self.client, folder, object).await)
    }

    pub(crate) async fn apply(&self, folder: &str, name: &str, object: &Value) -> Result<Answer, Broken> {
        answer(requests::apply(&self.client, MANAGER, folder, name, object).await)
    }

    pub(crate) async fn replace(&self, folder: &str, name: &str, object: &Value) -> Result<Answer, Broken> {
        answer(requests::replace(&self.client, folder, name, object).await)
    }

    pub(crate) async fn merge(&self, folder: &str, name: &str, patch: &Value) -> Result<Answer, Broken> {
        answer(requests::merge(&self.client, folder, name, patch).await)
    }

    pub(crate) async fn patch_strategic(
        &self,
        folder: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Answer, Broken> {
        use kube::{
            api::{Patch, PatchParams},
            core::Request,
        };
        let request = Request::new(folder).patch(name, &PatchParams::default(), &Patch::Strategic(patch));
        let request = request.map_err(|error| Broken(error.to_string()))?;
        answer(self.client.request(request).await)
    }

    pub(crate) async fn delete(&self, folder: &str, name: &str) -> Result<Answer, Broken> {
        let parameters = kube::api::DeleteParams::background();
        let deleted = requests::delete::<Value>(&self.client, folder, name, &parameters).await;
        answer(deleted.map(Option::unwrap_or_default))
    }
}

/// Whether people call a kind so.
fn is_called(kind: &APIResource, word: &str) -> bool {
    let word = word.to_lowercase();
    let mut short = kind.short_names.iter().flatten();
    !kind.name.contains('/')
        && (kind.name == word
            || kind.singular_name == word
            || kind.kind.to_lowercase() == word
            || short.any(|name| *name == word))
}

fn answer(outcome: kube::Result<Value>) -> Result<Answer, Broken> {
    match outcome {
        Ok(object) => Ok(Answer::Object(object)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Answer::Missing),
        Err(error) => Err(Broken(told(&error))),
    }
}

/// The server's own words, where it is the server that refused.
fn told(error: &kube::Error) -> String {
    match requests::status(error) {
        Some(status) => status.message.clone(),
        None => error.to_string(),
    }
}

/// Stores what does not fit into a pod's status. It goes with the workflow.
pub(crate) async fn store_report(order: &Order, report: &Report) -> Result<(), Broken> {
    let cluster = Cluster::connect()?;
    let kind: &resources::workflows::WorkflowKind = &WORKFLOW_TASK_RESULT;
    let resource = ApiResource {
        group: resources::workflows::GROUP.to_owned(),
        version: resources::workflows::VERSION.to_owned(),
        api_version: kind.api_version(),
        kind: kind.kind.to_owned(),
        plural: kind.plural.to_owned(),
    };
    let folder = format!(
        "/apis/{}/namespaces/{}/{}",
        resource.api_version, cluster.namespace, resource.plural
    );
    let mut object = json!({
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": order.node_id, "labels": {names::WORKFLOW: order.workflow}},
        "report": report,
    });
    if !order.workflow_uid.is_empty() {
        object["metadata"]["ownerReferences"] = json!([{
            "apiVersion": resource.api_version, "kind": "Workflow", "name": order.workflow, "uid": order.workflow_uid,
        }]);
    }
    let stored = cluster.apply(&folder, &order.node_id, &object).await;
    match stored {
        Ok(Answer::Object(_)) => Ok(()),
        Ok(Answer::Missing) => Err(Broken::new("the cluster has no WorkflowTaskResults")),
        Err(Broken(error)) => Err(Broken(format!(
            "{error}; the step's service account needs the right to create and patch workflowtaskresults.argoproj.io"
        ))),
    }
}
