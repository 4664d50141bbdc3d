//! The pod that does what a template says.

mod order;

use std::collections::HashSet;

use manifests::{strategic_merge, yaml};
use serde_json::{Map, Value, json};

use super::{
    execute::{Use, base_of},
    walk::{Halt, Walk},
};
use crate::{
    model::{Number, Template, TemplateType},
    names,
    settings::Delivery,
};

/// The image that stands for the machine's own file system, on clusters whose nodes have our program.
const HOST_IMAGE: &str = "host";
const TOOLS: &str = "trainyard-tools";
const TOOLS_FOLDER: &str = "/opt/trainyard";
const TOOLS_PROGRAM: &str = "/opt/trainyard/trainyard";

impl Walk<'_> {
    pub(super) fn build_pod(&mut self, used: &Use<'_>) -> Result<Value, Halt> {
        let template = used.template;
        let mut containers = self.main_containers(template)?;
        let captures = self.is_result_wanted(used);
        let orders = self.orders(used, &containers, captures)?;
        let mut pod = self.frame(used);
        let spec = &mut pod["spec"];
        let sidecars = sidecars(template, &containers);
        let mut needs_tools = false;
        for (container, order) in containers.iter_mut().zip(&orders) {
            let Some(order) = order else { continue };
            needs_tools = true;
            self.wrap(container, order, template)?;
            if order.store.is_some() {
                list(container, "volumeMounts").push(order::store_mount());
            }
        }
        let mut init: Vec<Value> = Vec::new();
        if needs_tools {
            self.deliver(spec, &mut init, &mut containers);
        }
        init.extend(init_containers(template, &containers));
        init.extend(sidecars);
        if !init.is_empty() {
            spec["initContainers"] = json!(init);
        }
        spec["containers"] = json!(containers);
        self.add_volumes(spec, template)?;
        let default = containers
            .iter()
            .find(|container| container["name"] == names::MAIN)
            .or(containers.last());
        if let Some(default) = default {
            pod["metadata"]["annotations"][names::DEFAULT_CONTAINER] = default["name"].clone();
        }
        self.patch(&mut pod, template)?;
        Ok(pod)
    }

    /// The user's containers, or ours where the template has none.
    fn main_containers(&self, template: &Template) -> Result<Vec<Value>, Halt> {
        let named = |container: &Map<String, Value>| {
            let mut container = container.clone();
            container.insert("name".to_owned(), json!(names::MAIN));
            container.remove("source");
            Value::Object(container)
        };
        match template.kind() {
            Some(TemplateType::Container) => Ok(template.container.iter().map(named).collect()),
            Some(TemplateType::Script) => Ok(template.script.iter().map(named).collect()),
            Some(TemplateType::ContainerSet) => {
                let set = template.container_set.clone().unwrap_or_default();
                let containers = set.containers.iter().map(|container| {
                    let mut container = container.clone();
                    container.remove("dependencies");
                    let mut container = Value::Object(container);
                    let mounts = list(&mut container, "volumeMounts");
                    mounts.extend(set.volume_mounts.iter().cloned());
                    container
                });
                Ok(containers.collect())
            }
            Some(TemplateType::Resource | TemplateType::Http) => {
                let image = match &self.settings.delivery {
                    Delivery::HostPath(_) => HOST_IMAGE,
                    Delivery::Image(image) => image,
                };
                Ok(vec![json!({
                    "name": names::MAIN,
                    "image": image,
                    "command": [],
                    "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "256Mi"}},
                })])
            }
            _ => Err(Halt::Broken(format!(
                "template '{}' has no containers",
                template.name
            ))),
        }
    }

    /// Everything around the containers.
    fn frame(&self, used: &Use<'_>) -> Value {
        let template = used.template;
        let id = self.id(used.name);
        let template_name = if used.step.inline.is_null() {
            template.name.as_str()
        } else {
            ""
        };
        let (mut labels, mut annotations) = (json!({}), json!({}));
        let workflow = self.spec.pod_metadata.clone().unwrap_or_default();
        for metadata in [&workflow, &template.metadata] {
            for (key, value) in &metadata.labels {
                labels[key] = json!(value.0);
            }
            for (key, value) in &metadata.annotations {
                annotations[key] = json!(value.0);
            }
        }
        // Last, for a pod that says it is of something else would be looked for in vain.
        labels[names::WORKFLOW] = json!(self.name);
        labels[names::COMPLETED] = json!("false");
        if used.options.is_on_exit {
            labels[names::ON_EXIT] = json!("true");
        }
        annotations[names::NODE_NAME] = json!(used.name);
        annotations[names::NODE_ID] = json!(id);
        let mut spec = json!({"restartPolicy": "Never"});
        self.place(&mut spec, template);
        if let Some(seconds) = self.active_deadline(used) {
            spec["activeDeadlineSeconds"] = json!(seconds);
        }
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": names::pod_name(&self.name, used.name, template_name),
                "namespace": self.namespace,
                "labels": labels,
                "annotations": annotations,
                "ownerReferences": [self.owner()],
            },
            "spec": spec,
        })
    }

    /// Who the pod is, and where it may run.
    fn place(&self, spec: &mut Value, template: &Template) {
        let workflow = &self.spec;
        let text = |own: &str, other: &str| {
            let text = if own.is_empty() { other } else { own };
            (!text.is_empty()).then(|| json!(text))
        };
        let either = |own: &Value, other: &Value| {
            let value = if own.is_null() { other } else { own };
            (!value.is_null()).then(|| value.clone())
        };
        let both = |own: &[Value], other: &[Value]| {
            let all: Vec<&Value> = other.iter().chain(own).collect();
            (!all.is_empty()).then(|| json!(all))
        };
        let map = |own: &Map<String, Value>, other: &Map<String, Value>| {
            let map = if own.is_empty() { other } else { own };
            (!map.is_empty()).then(|| json!(map))
        };
        let fields = [
            (
                "serviceAccountName",
                text(&template.service_account_name, &workflow.service_account_name),
            ),
            (
                "nodeSelector",
                map(&template.node_selector, &workflow.node_selector),
            ),
            ("affinity", either(&template.affinity, &workflow.affinity)),
            (
                "tolerations",
                if template.tolerations.is_empty() {
                    both(&workflow.tolerations, &[])
                } else {
                    both(&template.tolerations, &[])
                },
            ),
            (
                "schedulerName",
                text(&template.scheduler_name, &workflow.scheduler_name),
            ),
            (
                "priorityClassName",
                text(&template.priority_class_name, &workflow.pod_priority_class_name),
            ),
            (
                "securityContext",
                either(&template.security_context, &workflow.security_context),
            ),
            (
                "hostAliases",
                both(&template.host_aliases, &workflow.host_aliases),
            ),
            ("imagePullSecrets", both(&workflow.image_pull_secrets, &[])),
            ("hostNetwork", workflow.host_network.map(|network| json!(network))),
            (
                "dnsPolicy",
                workflow.dns_policy.as_ref().map(|policy| json!(policy)),
            ),
            ("dnsConfig", either(&workflow.dns_config, &Value::Null)),
            (
                "automountServiceAccountToken",
                template
                    .automount_service_account_token
                    .or(workflow.automount_service_account_token)
                    .map(|mounts| json!(mounts)),
            ),
        ];
        for (field, value) in fields {
            if let Some(value) = value {
                spec[field] = value;
            }
        }
        let account = |executor: &Value| executor["serviceAccountName"].as_str().map(str::to_owned);
        let account = account(&template.executor).or_else(|| account(&workflow.executor));
        // Nobody but our own program runs there, and this account is meant for it.
        if let Some(account) = account.filter(|_| template.kind() == Some(TemplateType::Resource)) {
            spec["serviceAccountName"] = json!(account);
            spec["automountServiceAccountToken"] = json!(true);
        }
    }

    /// The pod ends at the earliest of its own deadline, the template's and the workflow's.
    fn active_deadline(&self, used: &Use<'_>) -> Option<i64> {
        let own = used
            .template
            .active_deadline_seconds
            .as_ref()
            .and_then(Number::integer);
        let until = |time: jiff::Timestamp| (time.as_second() - self.now.as_second()).max(1);
        let workflow = self.deadline.filter(|_| !used.options.is_on_exit).map(until);
        let attempts = used.options.deadline.map(until);
        let timeout = match used.template.timeout.as_str() {
            "" => None,
            text => crate::duration::parse(text)
                .ok()
                .and_then(|timeout| i64::try_from(timeout.as_secs()).ok()),
        };
        [own, workflow, attempts, timeout].into_iter().flatten().min()
    }

    /// Puts our program around a container's command.
    fn wrap(
        &self,
        container: &mut Value,
        order: &crate::report::Order,
        template: &Template,
    ) -> Result<(), Halt> {
        let is_ours = order.resource.is_some() || order.http.is_some();
        let command = container["command"].as_array().cloned().unwrap_or_default();
        if command.is_empty() && !is_ours {
            return Err(Halt::Broken(format!(
                "template '{}': `command` must be given, as something is to be taken out of the step or brought into it",
                template.name
            )));
        }
        let mut whole = vec![json!(self.program()), json!("__step"), json!("--")];
        whole.extend(command);
        container["command"] = json!(whole);
        let mut env = json!([{"name": crate::report::ORDER, "value": order_text(order)?}]);
        if let (Some(all), Some(own)) = (env.as_array_mut(), container["env"].as_array()) {
            all.extend(own.iter().cloned());
        }
        container["env"] = env;
        container["terminationMessagePolicy"] = json!("File");
        Ok(())
    }

    fn program(&self) -> &str {
        match &self.settings.delivery {
            Delivery::HostPath(path) => path,
            Delivery::Image(_) => TOOLS_PROGRAM,
        }
    }

    /// Brings our program into the pod, and a folder in which its containers meet.
    fn deliver(&self, spec: &mut Value, init: &mut Vec<Value>, containers: &mut [Value]) {
        let mut mounts = Vec::new();
        match &self.settings.delivery {
            Delivery::HostPath(path) => {
                let volume = json!({"name": TOOLS, "hostPath": {"path": path, "type": "File"}});
                list(spec, "volumes").push(volume);
                let mut mount = json!({"name": TOOLS, "mountPath": path});
                if !self.settings.is_plain {
                    mount["readOnly"] = json!(true);
                }
                mounts.push(mount);
            }
            Delivery::Image(image) => {
                list(spec, "volumes").push(json!({"name": TOOLS, "emptyDir": {}}));
                let mount = json!({"name": TOOLS, "mountPath": TOOLS_FOLDER});
                init.push(json!({
                    "name": "init",
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["/trainyard", "__deliver", TOOLS_PROGRAM],
                    "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "256Mi"}},
                    "volumeMounts": [mount.clone()],
                }));
                mounts.push(mount);
            }
        }
        if !self.settings.is_plain {
            list(spec, "volumes").push(json!({"name": order::STATE_VOLUME, "emptyDir": {}}));
            mounts.push(json!({"name": order::STATE_VOLUME, "mountPath": order::STATE}));
        }
        for container in containers {
            list(container, "volumeMounts").extend(mounts.iter().cloned());
        }
    }

    /// The volumes that containers mount, from wherever they are described.
    fn add_volumes(&self, spec: &mut Value, template: &Template) -> Result<(), Halt> {
        let mut wanted: Vec<String> = Vec::new();
        for field in ["initContainers", "containers"] {
            for container in spec[field].as_array().into_iter().flatten() {
                for mount in container["volumeMounts"].as_array().into_iter().flatten() {
                    let name = mount["name"].as_str().unwrap_or_default().to_owned();
                    if !wanted.contains(&name) {
                        wanted.push(name);
                    }
                }
            }
        }
        for name in wanted {
            let is_named = |volume: &&Value| volume["name"] == name.as_str();
            if spec["volumes"]
                .as_array()
                .is_some_and(|volumes| volumes.iter().any(|volume| is_named(&volume)))
            {
                continue;
            }
            let claims = &self.status.persistent_volume_claims;
            let mut known = template.volumes.iter().chain(&self.spec.volumes).chain(claims);
            let found = known
                .find(is_named)
                .cloned()
                .ok_or_else(|| Halt::Broken(format!("volume '{name}' not found in workflow spec")))?;
            list(spec, "volumes").push(found);
        }
        Ok(())
    }

    /// Changes that users make to pods as a whole, by JSON or YAML.
    fn patch(&self, pod: &mut Value, template: &Template) -> Result<(), Halt> {
        for (text, whose) in [
            (&self.spec.pod_spec_patch, "workflow"),
            (&template.pod_spec_patch, template.name.as_str()),
        ] {
            if text.is_empty() {
                continue;
            }
            let broken = |error: String| Halt::Broken(format!("podSpecPatch of {whose}: {error}"));
            let patch = yaml::parse(text.as_bytes())
                .map_err(|error| broken(error.to_string()))?
                .value;
            let shape = kinds::types::by_name("io.k8s.api.core.v1.PodSpec")
                .ok_or_else(|| broken("pods are not known".to_owned()))?;
            let spec = pod["spec"].take();
            pod["spec"] =
                strategic_merge::apply(spec, patch, shape).map_err(|error| broken(error.to_string()))?;
        }
        Ok(())
    }

    /// Whether somebody speaks of what the step prints.
    fn is_result_wanted(&mut self, used: &Use<'_>) -> bool {
        let boundary = &used.options.boundary;
        if !self.wanted_results.contains_key(boundary) {
            let Some(node) = self.status.nodes.get(boundary).cloned() else {
                return false;
            };
            let written = self.written_template_of(&node);
            let names = written.map(|written| names_of_results(&written.to_string()));
            self.wanted_results.insert(boundary.clone(), names);
        }
        let name = used.step.name.split('(').next().unwrap_or_default();
        let wanted = self.wanted_results.get(boundary).and_then(Option::as_ref);
        // A template that is not found again: better too much than too little.
        wanted.is_none_or(|names| names.contains(name))
    }

    fn written_template_of(&mut self, node: &crate::node::Node) -> Option<Value> {
        let step = crate::model::Step {
            template: node.template_name.clone(),
            template_ref: node.template_ref.clone(),
            ..Default::default()
        };
        let base = base_of(node);
        self.resolve(&step, &base).ok().map(|(_, written)| written)
    }
}

/// Each NAME of `steps.NAME.outputs.result` and `tasks['NAME'].outputs.result`, also in JSON of JSON.
fn names_of_results(text: &str) -> HashSet<String> {
    let unescaped = text.replace('\\', "");
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
    let ends = unescaped.match_indices(".outputs.result");
    ends.filter_map(|(end, _)| {
        let before = &unescaped[..end];
        let is_quoted = before.ends_with("']") || before.ends_with("\"]");
        let before = if is_quoted {
            &before[..before.len() - 2]
        } else {
            before
        };
        let begins = before.trim_end_matches(is_part);
        let around = if is_quoted {
            begins.strip_suffix("['").or_else(|| begins.strip_suffix("[\""))
        } else {
            begins.strip_suffix('.')
        };
        let is_ours = around.is_some_and(|around| around.ends_with("steps") || around.ends_with("tasks"));
        is_ours.then(|| before[begins.len()..].to_owned())
    })
    .collect()
}

fn order_text(order: &crate::report::Order) -> Result<String, Halt> {
    /// The kernel takes no longer variable.
    const LONGEST: usize = 120 * 1024;
    let text = serde_json::to_string(order).map_err(|error| error.to_string())?;
    if text.len() > LONGEST {
        return Err(Halt::Broken(format!(
            "the step's script and inputs are {} bytes, and at most {LONGEST} can be handed to it",
            text.len()
        )));
    }
    // Kubernetes would take `$(NAME)` for a variable.
    Ok(text.replace("$(", "$$("))
}

/// Containers that run while the step does, and end with it.
fn sidecars(template: &Template, main: &[Value]) -> Vec<Value> {
    let sidecars = template.sidecars.iter().map(|sidecar| {
        let mut sidecar = mirrored(sidecar, main);
        sidecar["restartPolicy"] = json!("Always");
        sidecar
    });
    sidecars.collect()
}

fn init_containers(template: &Template, main: &[Value]) -> Vec<Value> {
    let containers = template.init_containers.iter();
    containers.map(|container| mirrored(container, main)).collect()
}

/// A container that sees what the main one sees, where it wants to.
fn mirrored(container: &Value, main: &[Value]) -> Value {
    let mut container = container.clone();
    let mirrors = container["mirrorVolumeMounts"] == true;
    if let Some(fields) = container.as_object_mut() {
        fields.remove("mirrorVolumeMounts");
    }
    if mirrors && let Some(mounts) = main.first().and_then(|main| main["volumeMounts"].as_array()) {
        list(&mut container, "volumeMounts").extend(mounts.iter().cloned());
    }
    container
}

/// The list of a field, made if it is not there.
fn list<'a>(object: &'a mut Value, field: &str) -> &'a mut Vec<Value> {
    let value = &mut object[field];
    if !value.is_array() {
        *value = json!([]);
    }
    match value {
        Value::Array(list) => list,
        _ => unreachable!("it was just made a list"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_that_others_speak_of_are_known_by_name() {
        let text = json!([
            "{{steps.a-1.outputs.result}}",
            "{{=tasks['b'].outputs.result + steps[\"c\"].outputs.result}}",
            json!("{{tasks.d.outputs.result}}").to_string(),
            "{{tasks.e.outputs.parameters.result}} {{workflow.f.outputs.result}}",
        ]);
        let names = names_of_results(&text.to_string());
        assert_eq!(names, ["a-1", "b", "c", "d"].map(str::to_owned).into());
    }
}
