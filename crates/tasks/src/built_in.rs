//! Templates that come with the program, as objects that everybody can read and use.

use kube::Client;
use reconcile::requests;
use resources::tasks::{TASK_TEMPLATE, TaskTemplateSpec};
use serde_json::{Value, json};

use crate::{
    MANAGER,
    places::{self, folder},
};

/// On templates that this program keeps as it knows them. Whoever takes it away has a template of their own.
const LABEL: &str = "trainyard.dev/built-in";

/// Makes the built-in templates, and brings those it made before up to date.
pub(crate) async fn install(client: &Client) -> kube::Result<()> {
    let folder = folder(&places::of(&TASK_TEMPLATE), None);
    for built_in in templates::built_in() {
        let known = match requests::get::<Value>(client, &folder, built_in.name).await {
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            found => Some(found?),
        };
        if known
            .as_ref()
            .is_some_and(|known| known["metadata"]["labels"][LABEL] != "true")
        {
            continue;
        }
        let spec = TaskTemplateSpec {
            description: built_in.summary.to_owned(),
            template: built_in.text.to_owned(),
            required_values: templates::yaml("values", built_in.values_description).ok(),
            ..TaskTemplateSpec::default()
        };
        let object = json!({
            "apiVersion": TASK_TEMPLATE.api_version(),
            "kind": TASK_TEMPLATE.kind,
            "metadata": {"name": built_in.name, "labels": {LABEL: "true"}},
            "spec": spec,
        });
        if known.is_some_and(|known| known["spec"] == object["spec"]) {
            continue;
        }
        requests::apply::<Value>(client, MANAGER, &folder, built_in.name, &object).await?;
    }
    Ok(())
}
