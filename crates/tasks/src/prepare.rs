//! From a task to the objects it is made of: its definition and template as they were when it was first seen, its
//! values, and a process that renders them.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use reconcile::{Cached as _, Key};
use render_worker::{OwnedDefinition, Pool, RenderRequest, SchemaRequest};
use resources::tasks::{Child, NodeGroupSpec, Pinned, Revision, TaskDefinitionSpec};
use serde_json::Value;
use templates::{Allowed, Code, Global, Inputs, Policy, Problem, includes};

use crate::{
    controller::{Controller, reference},
    kept::KeptText,
    objects,
    plan::{Prepared, Task},
    revisions::{Definition, Revisions, Template},
    storage::Settled,
};

/// What is needed to prepare tasks, and what is prepared at the moment.
pub(crate) struct Kitchen {
    pub pool: Pool,
    pub revisions: Revisions,
    /// Objects that are rendered and not made yet, by the uid of their task.
    ready: Mutex<HashMap<String, Arc<Vec<Value>>>>,
}

/// Why a task cannot be prepared.
enum Trouble {
    Waits(&'static str, String),
    Broken(&'static str, String),
    Request(kube::Error),
}

impl From<kube::Error> for Trouble {
    fn from(error: kube::Error) -> Self {
        Self::Request(error)
    }
}

impl Kitchen {
    pub(crate) fn new(pool: Pool) -> Self {
        Self {
            pool,
            revisions: Revisions::default(),
            ready: Mutex::default(),
        }
    }

    /// What was prepared for a task, if it is not made yet.
    pub(crate) fn children(&self, uid: &str) -> Vec<Child> {
        let ready = self.ready.lock().get(uid).cloned();
        ready
            .iter()
            .flat_map(|objects| objects.iter().map(objects::child))
            .collect()
    }

    /// Takes what was prepared.
    pub(crate) fn take(&self, uid: &str) -> Arc<Vec<Value>> {
        self.ready.lock().remove(uid).unwrap_or_default()
    }
}

impl Controller {
    pub(crate) async fn prepare(&self, task: &Task) -> kube::Result<Prepared> {
        let told = |reason: &str, message: String| (reason.to_owned(), message);
        match self.try_prepare(task).await {
            Ok(prepared) => Ok(prepared),
            Err(Trouble::Waits(reason, message)) => {
                let (reason, message) = told(reason, message);
                Ok(Prepared::Waits { reason, message })
            }
            Err(Trouble::Broken(reason, message)) => {
                let (reason, message) = told(reason, message);
                Ok(Prepared::Broken { reason, message })
            }
            Err(Trouble::Request(error)) => Err(error),
        }
    }

    async fn try_prepare(&self, task: &Task) -> Result<Prepared, Trouble> {
        let (pinned, definition, template) = match &task.status.pinned {
            Some(pinned) => self.pinned(task, pinned).await?,
            None => self.pin(task).await?,
        };
        let rendered = self.render(task, &definition, &template).await?;
        let groups: Vec<NodeGroupSpec> = self.groups.all().into_iter().map(|group| group.spec).collect();
        let keeps_claims = task.keeps_claims(pinned.claims);
        let mut objects = objects::adopt(rendered, task, task.status.attempt, keeps_claims, &groups);
        match self.settle_storage(task, &mut objects).await? {
            Settled::Ready(notes) => {
                for note in notes {
                    self.recorder.normal(reference(task), "DefaultStorageClass", note);
                }
            }
            Settled::Missing(message) => return Err(Trouble::Waits("StorageClassNotFound", message)),
        }
        let children = objects.iter().map(objects::child).collect();
        self.kitchen
            .ready
            .lock()
            .insert(task.uid.clone(), Arc::new(objects));
        Ok(Prepared::Ready { pinned, children })
    }

    /// What the task is made of from now on.
    async fn pin(&self, task: &Task) -> Result<(Pinned, Definition, Template), Trouble> {
        let (world, namespace) = (&self.world, task.namespace.as_str());
        let wanted = task.spec.definition();
        if wanted.is_empty() {
            let message = "the task names no definition: `spec.definition` and `values.taskDef` are empty";
            return Err(Trouble::Broken("NoDefinition", message.to_owned()));
        }
        let Some(found) = self.find_definition(namespace, wanted) else {
            let message = format!("there is no TaskDefinition `{wanted}` in namespace {namespace}");
            return Err(Trouble::Waits("DefinitionNotFound", message));
        };
        let definition = Definition {
            name: found.name().to_owned(),
            spec: spec(&found.object(), "TaskDefinition")?,
        };
        let template = self.find_template(&definition)?;
        let revisions = &self.kitchen.revisions;
        let (of_definition, of_template) = tokio::try_join!(
            revisions.pin(
                &world.client,
                namespace,
                "TaskDefinition",
                &definition.name,
                &definition
            ),
            revisions.pin(
                &world.client,
                namespace,
                "TaskTemplate",
                &template.name,
                &template
            ),
        )?;
        let pinned = Pinned {
            definition: Revision {
                name: definition.name.clone(),
                revision: of_definition,
            },
            template: Revision {
                name: template.name.clone(),
                revision: of_template,
            },
            claims: template.spec.claims,
        };
        Ok((pinned, definition, template))
    }

    /// The definition that is meant by a name, by the rule the service has: that of its users first, then that of the
    /// object.
    fn find_definition(&self, namespace: &str, wanted: &str) -> Option<Arc<KeptText>> {
        let definitions = &self.world.definitions;
        let by_name = |name: &str| definitions.get(&Key::new(namespace, name));
        let is_called = |found: &Arc<KeptText>| called(&found.object()) == wanted;
        by_name(&templates::definition_slug(wanted))
            .filter(is_called)
            .or_else(|| definitions.in_namespace(namespace).into_iter().find(is_called))
            .or_else(|| by_name(wanted))
    }

    fn find_template(&self, definition: &Definition) -> Result<Template, Trouble> {
        let wanted = &definition.spec.task_template_name;
        let templates = &self.world.templates;
        let Some(found) = templates.get(&Key::new("", wanted)) else {
            let message = format!(
                "there is no TaskTemplate `{wanted}`, which definition `{}` uses",
                definition.name
            );
            return Err(Trouble::Waits("TemplateNotFound", message));
        };
        let spec: resources::tasks::TaskTemplateSpec = spec(&found.object(), "TaskTemplate")?;
        let names: Vec<String> = templates
            .all()
            .iter()
            .map(|other| other.name().to_owned())
            .collect();
        let text_of = |name: &str| {
            let object = templates.get(&Key::new("", name))?.object();
            object["spec"]["template"].as_str().map(str::to_owned)
        };
        Ok(Template {
            name: wanted.clone(),
            includes: includes(wanted, &spec.template, &names, text_of),
            spec,
        })
    }

    /// What the task was made of before.
    async fn pinned(&self, task: &Task, pinned: &Pinned) -> Result<(Pinned, Definition, Template), Trouble> {
        let (revisions, client) = (&self.kitchen.revisions, &self.world.client);
        let read = |revision: &str| {
            let revision = revision.to_owned();
            async move {
                let found = revisions.read(client, &task.namespace, &revision).await?;
                found.ok_or_else(|| {
                    let message =
                        format!("ControllerRevision {revision}, which the task is made of, was deleted");
                    Trouble::Broken("RevisionLost", message)
                })
            }
        };
        let (definition, template) =
            tokio::try_join!(read(&pinned.definition.revision), read(&pinned.template.revision))?;
        Ok((pinned.clone(), whole(&definition)?, whole(&template)?))
    }

    async fn render(
        &self,
        task: &Task,
        definition: &Definition,
        template: &Template,
    ) -> Result<Vec<Value>, Trouble> {
        let values = Value::Object(task.spec.values.clone());
        self.validate(&definition.spec, &values).await?;
        let system_values = templates::yaml("system_values", &definition.spec.system_values)
            .map_err(|problems| broken("DefinitionInvalid", &problems))?;
        let allowed = Allowed {
            trusted: template.spec.trusted,
            kinds: template.spec.allowed_kinds.clone(),
        };
        let request = RenderRequest {
            template: template.name.clone(),
            text: template.spec.template.clone(),
            includes: template.includes.clone(),
            inputs: Inputs {
                global: global(task, definition),
                values,
                system_values,
            },
            policy: Some(Policy::of_template(&task.namespace, &task.name, &allowed)),
            traced: false,
        };
        let rendered = self.kitchen.pool.render(request).await;
        rendered
            .map(|rendered| rendered.objects)
            .map_err(|problems| trouble(&problems))
    }

    /// The service has done so for what came by it; others write tasks, too.
    async fn validate(&self, definition: &TaskDefinitionSpec, values: &Value) -> Result<(), Trouble> {
        let request = SchemaRequest {
            definition: OwnedDefinition {
                description: definition.user_values_description.clone(),
                example: definition.user_values_example.clone(),
                schema: definition.values_schema.clone(),
            },
            values: Some(values.clone()),
            verdict_only: true,
        };
        let reply = self
            .kitchen
            .pool
            .schema(request)
            .await
            .map_err(|problems| trouble(&problems))?;
        let errors = reply.verdict.map(|verdict| verdict.errors).unwrap_or_default();
        if errors.is_empty() {
            return Ok(());
        }
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Err(Trouble::Broken("ValuesInvalid", shortened(&errors.join("; "))))
    }
}

/// What users call a definition.
fn called(definition: &Value) -> &str {
    let name = definition["spec"]["name"].as_str().unwrap_or_default();
    if name.is_empty() {
        definition["metadata"]["name"].as_str().unwrap_or_default()
    } else {
        name
    }
}

fn global(task: &Task, definition: &Definition) -> Global {
    let of_values = |field: &str| {
        task.spec
            .values
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let or = |text: &str, other: &str| {
        if text.is_empty() {
            other.to_owned()
        } else {
            text.to_owned()
        }
    };
    Global {
        release: task.name.clone(),
        task_def: or(&definition.spec.name, &definition.name),
        application: or(&definition.spec.application, of_values("name")),
        creator: task.spec.creator().to_owned(),
    }
}

fn spec<T: serde::de::DeserializeOwned>(object: &Value, kind: &str) -> Result<T, Trouble> {
    T::deserialize(&object["spec"]).map_err(|error| {
        Trouble::Broken(
            "DefinitionInvalid",
            format!("{kind} {} cannot be read: {error}", object["metadata"]["name"]),
        )
    })
}

fn whole<T: serde::de::DeserializeOwned>(data: &Value) -> Result<T, Trouble> {
    T::deserialize(data)
        .map_err(|error| Trouble::Broken("RevisionLost", format!("a revision cannot be read: {error}")))
}

/// As much of what is wrong as a status has room for.
const LONGEST: usize = 2000;

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn broken(reason: &'static str, problems: &[Problem]) -> Trouble {
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Trouble::Broken(reason, shortened(&problems.join("\n")))
}

fn trouble(problems: &[Problem]) -> Trouble {
    let reason = match problems.first().map(|problem| problem.code) {
        // The next process may have more luck.
        Some(Code::Worker) => {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            return Trouble::Waits("RendererUnavailable", shortened(&problems.join("\n")));
        }
        Some(Code::Policy) => "NotAllowed",
        Some(Code::Values) => "ValuesInvalid",
        Some(Code::Definition) => "DefinitionInvalid",
        _ => "RenderFailed",
    };
    broken(reason, problems)
}
