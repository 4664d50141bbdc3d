//! Templates that come with the program, as objects that everybody can read and use.

use reconcile::{Key, requests};
use resources::tasks::{TASK_TEMPLATE, TaskTemplateSpec};
use serde_json::{Value, json};

use crate::{
    MANAGER,
    places::{self, folder},
    world::World,
};

/// On templates that this program keeps as it knows them. Whoever takes it away has a template of their own.
const LABEL: &str = "trainyard.dev/built-in";

/// Makes the built-in templates, and brings those it made before up to date.
pub(crate) async fn install(world: &World) -> kube::Result<()> {
    let folder = folder(&places::of(&TASK_TEMPLATE), None);
    for built_in in templates::built_in() {
        let known = world
            .templates
            .get(&Key::new("", built_in.name))
            .map(|known| known.object());
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
        requests::apply::<Value>(&world.client, MANAGER, &folder, built_in.name, &object).await?;
    }
    Ok(())
}
