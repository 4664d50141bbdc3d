//! What our program is asked to do inside a pod, if anything.

use serde_json::{Value, json};

use super::super::{
    execute::Use,
    resolve::has_location,
    walk::{Halt, Walk},
};
use crate::{
    model::{Number, Template, TemplateType},
    report::{HttpOrder, Order, OutputParameter, ResourceOrder, Script, Transfer, key_in_store},
    settings::Artifacts,
};

/// Where containers of a pod meet.
pub(super) const STATE: &str = "/var/run/argo";
pub(super) const STATE_VOLUME: &str = "var-run-argo";
/// Where artifacts lie, inside pods.
const STORE: &str = "/var/run/trainyard-artifacts";
const STORE_VOLUME: &str = "trainyard-artifacts";
const DEFAULT_HTTP_TIMEOUT: i64 = 30;

impl Walk<'_> {
    /// One for each container, none where it runs as it is.
    pub(super) fn orders(
        &mut self,
        used: &Use<'_>,
        containers: &[Value],
        captures: bool,
    ) -> Result<Vec<Option<Order>>, Halt> {
        let template = used.template;
        let mut base = Order {
            workflow: self.name.clone(),
            workflow_uid: text(&self.object["metadata"]["uid"]),
            node_id: self.id(used.name),
            state: (!self.settings.is_plain).then(|| STATE.to_owned()),
            ..Order::default()
        };
        match template.kind() {
            Some(TemplateType::Resource) => {
                base.resource = Some(self.resource_order(template));
                base.parameters = output_parameters(template);
                crate::names::MAIN.clone_into(&mut base.container);
                return Ok(vec![Some(base)]);
            }
            Some(TemplateType::Http) => {
                base.http = Some(http_order(template)?);
                base.capture_result = true;
                crate::names::MAIN.clone_into(&mut base.container);
                return Ok(vec![Some(base)]);
            }
            Some(TemplateType::ContainerSet) => return self.orders_of_set(used, base, containers, captures),
            _ => {}
        }
        crate::names::MAIN.clone_into(&mut base.container);
        base.script = template.script.as_ref().map(|script| Script {
            source: script
                .get("source")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            path: (!self.settings.is_plain).then(|| format!("{STATE}/script")),
        });
        base.capture_result = captures;
        base.parameters = output_parameters(template);
        self.transfers(&mut base, used)?;
        let is_needed = base.script.is_some()
            || base.capture_result
            || !base.parameters.is_empty()
            || !base.inputs.is_empty()
            || !base.outputs.is_empty();
        Ok(vec![is_needed.then_some(base)])
    }

    /// Containers of a set wait for each other; the one called main, or the last, speaks for all.
    fn orders_of_set(
        &mut self,
        used: &Use<'_>,
        base: Order,
        containers: &[Value],
        captures: bool,
    ) -> Result<Vec<Option<Order>>, Halt> {
        let template = used.template;
        let set = template.container_set.clone().unwrap_or_default();
        let has_main = containers
            .iter()
            .any(|container| container["name"] == crate::names::MAIN);
        let mut orders = Vec::new();
        for (index, container) in set.containers.iter().enumerate() {
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
            let dependencies = container.get("dependencies").and_then(Value::as_array);
            let after = dependencies.into_iter().flatten().filter_map(Value::as_str);
            let mut order = Order {
                container: name.to_owned(),
                after: after.map(str::to_owned).collect(),
                ..base.clone()
            };
            if let Some(retry) = &set.retry_strategy {
                order.retries = retry
                    .retries
                    .as_ref()
                    .and_then(Number::integer)
                    .and_then(|retries| u32::try_from(retries).ok());
                if !retry.duration.is_empty() {
                    let wait = crate::duration::parse(&retry.duration).map_err(Halt::Broken)?;
                    order.retry_wait = Some(wait.as_secs_f64());
                }
            }
            let is_speaker = if has_main {
                name == crate::names::MAIN
            } else {
                index + 1 == set.containers.len()
            };
            if is_speaker {
                order.capture_result = captures;
                order.parameters = output_parameters(template);
                self.transfers(&mut order, used)?;
            }
            orders.push(Some(order));
        }
        Ok(orders)
    }

    /// Artifacts that are brought in and taken out, and the place where they lie.
    fn transfers(&mut self, order: &mut Order, used: &Use<'_>) -> Result<(), Halt> {
        let template = used.template;
        for artifact in &template.inputs.artifacts {
            let is_optional = artifact["optional"] == true;
            if !has_location(artifact) {
                // Nothing was given for it, and nothing need be.
                continue;
            }
            order.inputs.push(Transfer {
                name: text(&artifact["name"]),
                path: text(&artifact["path"]),
                artifact: artifact.clone(),
                optional: is_optional,
            });
        }
        let pod = crate::names::pod_name(
            &self.name,
            used.name,
            if used.step.inline.is_null() {
                &template.name
            } else {
                ""
            },
        );
        for artifact in &template.outputs.artifacts {
            let name = text(&artifact["name"]);
            let mut placed = artifact.clone();
            if !has_location(artifact) {
                let is_plain = !artifact["archive"]["none"].is_null();
                let end = if is_plain { "" } else { ".tgz" };
                placed["s3"] = json!({"key": format!("{pod}/{name}{end}")});
            }
            order.outputs.push(Transfer {
                name,
                path: text(&artifact["path"]),
                artifact: placed,
                optional: artifact["optional"] == true,
            });
        }
        let uses_store = order
            .inputs
            .iter()
            .chain(&order.outputs)
            .any(|transfer| key_in_store(&transfer.artifact).is_some());
        if uses_store {
            self.open_store(order)?;
        }
        Ok(())
    }

    /// What could not be done at its step is said before the first one runs.
    pub(in super::super) fn check_store(&self, spec: &Value) -> Result<(), Halt> {
        if self.settings.artifacts != Artifacts::None {
            return Ok(());
        }
        match first_in_store(spec) {
            Some(field) => Err(Halt::Broken(format!(
                "invalid spec: {field}: {}",
                self.no_store()
            ))),
            None => Ok(()),
        }
    }

    fn no_store(&self) -> &'static str {
        if self.settings.is_plain {
            "artifacts lie in a volume, which plain processes cannot have: this machine allows no namespaces; hand values on as parameters"
        } else {
            "there is no place for artifacts: start the controller with --artifacts-claim, or name a location"
        }
    }

    fn open_store(&mut self, order: &mut Order) -> Result<(), Halt> {
        let name = match &self.settings.artifacts {
            Artifacts::None => return Err(Halt::Broken(self.no_store().to_owned())),
            Artifacts::Claim(name) => name.clone(),
            Artifacts::OwnClaim { .. } => format!("{}-artifacts", self.name),
        };
        order.store = Some(STORE.to_owned());
        let volume = json!({"name": STORE_VOLUME, "persistentVolumeClaim": {"claimName": name}});
        if !self.spec.volumes.contains(&volume) {
            self.spec.volumes.push(volume);
        }
        let Artifacts::OwnClaim { class, size, access } = &self.settings.artifacts else {
            return Ok(());
        };
        // Claims that are known to have been made are not made again.
        let known = self.status.rest.get("artifactsClaim").and_then(Value::as_str);
        let is_planned = self
            .plan
            .make
            .iter()
            .any(|object| object["metadata"]["name"] == name.as_str());
        if known == Some(name.as_str()) || is_planned {
            return Ok(());
        }
        if let Some(refusal) = self.observed.refusals.get(&name)
            && !refusal.is_passing
        {
            return Err(Halt::Broken(format!(
                "the claim for artifacts: {}",
                refusal.message
            )));
        }
        let mut claim = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name,
                "namespace": self.namespace,
                "labels": {crate::names::WORKFLOW: self.name},
                "ownerReferences": [self.owner()],
            },
            "spec": {"accessModes": [access], "resources": {"requests": {"storage": size}}},
        });
        if let Some(class) = class {
            claim["spec"]["storageClassName"] = json!(class);
        }
        self.plan.make.push(claim);
        self.status.rest.insert("artifactsClaim".to_owned(), json!(name));
        Ok(())
    }

    fn resource_order(&self, template: &Template) -> ResourceOrder {
        let resource = template.resource.clone().unwrap_or_default();
        let owner = if resource.set_owner_reference {
            let mut owner = self.owner();
            if let Some(fields) = owner.as_object_mut() {
                fields.remove("blockOwnerDeletion");
            }
            owner
        } else {
            Value::Null
        };
        ResourceOrder {
            action: resource.action,
            manifest: resource.manifest,
            merge_strategy: resource.merge_strategy,
            success_condition: resource.success_condition,
            failure_condition: resource.failure_condition,
            flags: resource.flags,
            owner,
        }
    }
}

/// The first artifact of a workflow's own templates that lies where those do that nobody names a place for.
fn first_in_store(spec: &Value) -> Option<String> {
    let templates = spec["templates"].as_array().into_iter().flatten();
    let is_pod =
        |template: &Value| ["container", "script", "containerSet"].map(|kind| template[kind].is_object());
    let mut pods = templates
        .enumerate()
        .filter(|(_, template)| is_pod(template).contains(&true));
    pods.find_map(|(at, template)| {
        let first = |part: &str, is_in_store: fn(&Value) -> bool| {
            let artifacts = template[part]["artifacts"].as_array()?;
            let place = artifacts.iter().position(is_in_store)?;
            Some(format!("spec.templates[{at}].{part}.artifacts[{place}]"))
        };
        first("inputs", |artifact| key_in_store(artifact).is_some()).or_else(|| {
            first("outputs", |artifact| {
                key_in_store(artifact).is_some() || !has_location(artifact)
            })
        })
    })
}

/// How the place of artifacts is mounted, where an order speaks of it.
pub(super) fn store_mount() -> Value {
    json!({"name": STORE_VOLUME, "mountPath": STORE})
}

fn output_parameters(template: &Template) -> Vec<OutputParameter> {
    let parameters = template.outputs.parameters.iter().filter_map(|parameter| {
        let source = parameter.value_from.as_ref()?;
        let is_from_step =
            !source.path.is_empty() || !source.json_path.is_empty() || !source.jq_filter.is_empty();
        is_from_step.then(|| OutputParameter {
            name: parameter.name.clone(),
            path: source.path.clone(),
            default: source.default.as_ref().map(|default| default.0.clone()),
            json_path: source.json_path.clone(),
            jq_filter: source.jq_filter.clone(),
        })
    });
    parameters.collect()
}

fn http_order(template: &Template) -> Result<HttpOrder, Halt> {
    let http = template.http.clone().unwrap_or_default();
    let body = match http.body_from["bytes"].as_str() {
        Some(_) => {
            return Err(Halt::Broken(
                "http.bodyFrom is not supported; give the body as text".to_owned(),
            ));
        }
        None => http.body,
    };
    let timeout = http.timeout_seconds.as_ref().and_then(Number::integer);
    Ok(HttpOrder {
        method: if http.method.is_empty() {
            "GET".to_owned()
        } else {
            http.method
        },
        url: http.url,
        headers: http.headers,
        timeout_seconds: u64::try_from(timeout.unwrap_or(DEFAULT_HTTP_TIMEOUT)).unwrap_or_default(),
        success_condition: http.success_condition,
        body,
        insecure_skip_verify: http.insecure_skip_verify,
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
