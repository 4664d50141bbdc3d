//! What users write: workflows, templates and what they are made of. Of Kubernetes' own types, which are
//! passed on, only what is decided upon is taken apart.

mod loose;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

pub use loose::{AnyText, Number};

macro_rules! written {
    ($(#[$outer:meta])* pub struct $name:ident { $($(#[$inner:meta])* pub $field:ident : $type:ty,)* }) => {
        $(#[$outer])*
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            $($(#[$inner])* #[serde(skip_serializing_if = "loose::is_unset")] pub $field: $type,)*
        }
    };
}

written! {
    /// The specification of a Workflow, and of templates of them.
    pub struct Spec {
        pub entrypoint: String,
        #[serde(deserialize_with = "loose::list")]
        pub templates: Vec<Value>,
        pub arguments: Arguments,
        pub on_exit: String,
        pub hooks: BTreeMap<String, Hook>,
        pub active_deadline_seconds: Option<Number>,
        pub ttl_strategy: Option<TtlStrategy>,
        #[serde(rename = "podGC")]
        pub pod_gc: Option<PodGc>,
        #[serde(rename = "volumeClaimGC")]
        pub volume_claim_gc: Option<VolumeClaimGc>,
        pub parallelism: Option<Number>,
        pub suspend: bool,
        pub shutdown: String,
        #[serde(deserialize_with = "loose::list")]
        pub volumes: Vec<Value>,
        #[serde(deserialize_with = "loose::list")]
        pub volume_claim_templates: Vec<Value>,
        pub service_account_name: String,
        pub automount_service_account_token: Option<bool>,
        pub node_selector: Map<String, Value>,
        #[serde(deserialize_with = "loose::list")]
        pub tolerations: Vec<Value>,
        pub affinity: Value,
        #[serde(deserialize_with = "loose::list")]
        pub image_pull_secrets: Vec<Value>,
        #[serde(deserialize_with = "loose::list")]
        pub host_aliases: Vec<Value>,
        pub host_network: Option<bool>,
        pub dns_policy: Option<String>,
        pub dns_config: Value,
        pub security_context: Value,
        pub scheduler_name: String,
        pub pod_priority_class_name: String,
        pub priority: Option<Number>,
        pub pod_spec_patch: String,
        pub pod_metadata: Option<Metadata>,
        pub workflow_metadata: Option<WorkflowMetadata>,
        pub template_defaults: Value,
        pub workflow_template_ref: Option<WorkflowTemplateRef>,
        pub retry_strategy: Option<RetryStrategy>,
        pub synchronization: Option<Synchronization>,
        pub artifact_repository_ref: Value,
        pub archive_logs: Option<bool>,
        pub executor: Value,
    }
}

written! {
    /// One way of doing something. Exactly one of the fields from `container` to `plugin` is given.
    pub struct Template {
        pub name: String,
        pub inputs: Inputs,
        pub outputs: Outputs,
        pub container: Option<Map<String, Value>>,
        pub container_set: Option<ContainerSet>,
        pub script: Option<Map<String, Value>>,
        pub resource: Option<Resource>,
        pub suspend: Option<Suspend>,
        pub http: Option<Http>,
        pub data: Value,
        pub plugin: Value,
        pub steps: Option<Vec<ParallelSteps>>,
        pub dag: Option<Dag>,
        pub retry_strategy: Option<RetryStrategy>,
        pub timeout: String,
        pub active_deadline_seconds: Option<Number>,
        pub parallelism: Option<Number>,
        pub fail_fast: Option<bool>,
        pub daemon: Option<bool>,
        pub memoize: Option<Memoize>,
        pub synchronization: Option<Synchronization>,
        pub metadata: Metadata,
        pub annotations: BTreeMap<String, AnyText>,
        pub pod_spec_patch: String,
        #[serde(deserialize_with = "loose::list")]
        pub init_containers: Vec<Value>,
        #[serde(deserialize_with = "loose::list")]
        pub sidecars: Vec<Value>,
        #[serde(deserialize_with = "loose::list")]
        pub volumes: Vec<Value>,
        pub node_selector: Map<String, Value>,
        #[serde(deserialize_with = "loose::list")]
        pub tolerations: Vec<Value>,
        pub affinity: Value,
        #[serde(deserialize_with = "loose::list")]
        pub host_aliases: Vec<Value>,
        pub security_context: Value,
        pub service_account_name: String,
        pub automount_service_account_token: Option<bool>,
        pub scheduler_name: String,
        pub priority_class_name: String,
        pub archive_location: Value,
        pub executor: Value,
    }
}

/// What a template does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateType {
    Container,
    ContainerSet,
    Script,
    Resource,
    Suspend,
    Http,
    Data,
    Plugin,
    Steps,
    Dag,
}

impl TemplateType {
    pub const ALL: [(&'static str, Self); 10] = [
        ("container", Self::Container),
        ("containerSet", Self::ContainerSet),
        ("script", Self::Script),
        ("resource", Self::Resource),
        ("suspend", Self::Suspend),
        ("http", Self::Http),
        ("data", Self::Data),
        ("plugin", Self::Plugin),
        ("steps", Self::Steps),
        ("dag", Self::Dag),
    ];

    /// By the fields of a template as it is written.
    pub fn of(template: &Value) -> Option<Self> {
        let is_given = |field: &str| !template[field].is_null();
        let found = Self::ALL.iter().find(|(field, _)| is_given(field));
        found.map(|(_, kind)| *kind)
    }

    /// A pod does it.
    pub fn is_pod(self) -> bool {
        matches!(
            self,
            Self::Container | Self::ContainerSet | Self::Script | Self::Resource | Self::Http | Self::Data
        )
    }
}

impl Template {
    pub fn kind(&self) -> Option<TemplateType> {
        let given = [
            (self.container.is_some(), TemplateType::Container),
            (self.container_set.is_some(), TemplateType::ContainerSet),
            (self.script.is_some(), TemplateType::Script),
            (self.resource.is_some(), TemplateType::Resource),
            (self.suspend.is_some(), TemplateType::Suspend),
            (self.http.is_some(), TemplateType::Http),
            (!self.data.is_null(), TemplateType::Data),
            (!self.plugin.is_null(), TemplateType::Plugin),
            (self.steps.is_some(), TemplateType::Steps),
            (self.dag.is_some(), TemplateType::Dag),
        ];
        let mut found = given.into_iter().filter(|(is_given, _)| *is_given);
        found.next().map(|(_, kind)| kind)
    }

    pub fn is_daemon(&self) -> bool {
        self.daemon == Some(true)
    }
}

written! {
    pub struct Inputs {
        #[serde(deserialize_with = "loose::list")]
        pub parameters: Vec<Parameter>,
        #[serde(deserialize_with = "loose::list")]
        pub artifacts: Vec<Value>,
    }
}

written! {
    pub struct Outputs {
        #[serde(deserialize_with = "loose::list")]
        pub parameters: Vec<Parameter>,
        #[serde(deserialize_with = "loose::list")]
        pub artifacts: Vec<Value>,
    }
}

written! {
    pub struct Arguments {
        #[serde(deserialize_with = "loose::list")]
        pub parameters: Vec<Parameter>,
        #[serde(deserialize_with = "loose::list")]
        pub artifacts: Vec<Value>,
    }
}

impl Arguments {
    pub fn is_empty(&self) -> bool {
        self.parameters.is_empty() && self.artifacts.is_empty()
    }
}

written! {
    /// A text with a name. All values are texts, whatever they look like.
    pub struct Parameter {
        pub name: String,
        pub default: Option<AnyText>,
        pub value: Option<AnyText>,
        pub value_from: Option<ValueFrom>,
        pub global_name: String,
        pub r#enum: Option<Vec<AnyText>>,
        pub description: Option<AnyText>,
    }
}

written! {
    pub struct ValueFrom {
        pub path: String,
        pub json_path: String,
        pub jq_filter: String,
        pub event: String,
        pub parameter: String,
        pub expression: String,
        pub supplied: Option<Map<String, Value>>,
        pub config_map_key_ref: Option<KeyRef>,
        pub default: Option<AnyText>,
    }
}

written! {
    pub struct KeyRef {
        pub name: String,
        pub key: String,
        pub optional: Option<bool>,
    }
}

/// Steps that run at the same time. Some write a step alone, without a list around it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ParallelSteps(pub Vec<Step>);

written! {
    pub struct Step {
        pub name: String,
        pub template: String,
        pub template_ref: Option<TemplateRef>,
        pub inline: Value,
        pub arguments: Arguments,
        pub when: String,
        pub with_items: Option<Vec<Value>>,
        pub with_param: String,
        pub with_sequence: Option<Sequence>,
        pub continue_on: Option<ContinueOn>,
        pub hooks: BTreeMap<String, Hook>,
        pub on_exit: String,
        /// Of tasks only.
        pub depends: String,
        /// Of tasks only.
        pub dependencies: Vec<String>,
    }
}

/// A task of a DAG is a step with conditions.
pub type Task = Step;

impl Step {
    /// It stands for as many as there are items.
    pub fn is_loop(&self) -> bool {
        self.with_items.is_some() || !self.with_param.is_empty() || self.with_sequence.is_some()
    }

    pub fn continues_on(&self, phase: crate::node::Phase) -> bool {
        let continue_on = self.continue_on.unwrap_or_default();
        match phase {
            crate::node::Phase::Failed => continue_on.failed,
            crate::node::Phase::Error => continue_on.error,
            _ => false,
        }
    }

    /// What runs when it has ended.
    pub fn exit_hook(&self, arguments: &Arguments) -> Option<Hook> {
        exit_hook(&self.hooks, &self.on_exit, arguments)
    }
}

/// The handler of an end: in today's form, or in the old one, which was given the workflow's arguments.
pub fn exit_hook(hooks: &BTreeMap<String, Hook>, on_exit: &str, arguments: &Arguments) -> Option<Hook> {
    if let Some(hook) = hooks.get("exit") {
        return Some(hook.clone());
    }
    (!on_exit.is_empty()).then(|| Hook {
        template: on_exit.to_owned(),
        arguments: arguments.clone(),
        ..Hook::default()
    })
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct ContinueOn {
    pub failed: bool,
    pub error: bool,
}

written! {
    pub struct Hook {
        pub template: String,
        pub template_ref: Option<TemplateRef>,
        pub arguments: Arguments,
        pub expression: String,
    }
}

written! {
    pub struct TemplateRef {
        pub name: String,
        pub template: String,
        pub cluster_scope: bool,
    }
}

written! {
    pub struct WorkflowTemplateRef {
        pub name: String,
        pub cluster_scope: bool,
    }
}

written! {
    pub struct Sequence {
        pub count: Option<AnyText>,
        pub start: Option<AnyText>,
        pub end: Option<AnyText>,
        pub format: String,
    }
}

written! {
    pub struct Dag {
        pub target: String,
        #[serde(deserialize_with = "loose::list")]
        pub tasks: Vec<Task>,
        pub fail_fast: Option<bool>,
    }
}

written! {
    pub struct RetryStrategy {
        pub limit: Option<Number>,
        pub retry_policy: String,
        pub backoff: Option<Backoff>,
        pub expression: String,
        pub affinity: Option<Map<String, Value>>,
    }
}

written! {
    pub struct Backoff {
        pub duration: AnyText,
        pub factor: Option<Number>,
        pub max_duration: AnyText,
        pub cap: AnyText,
    }
}

written! {
    pub struct Suspend {
        pub duration: AnyText,
    }
}

written! {
    pub struct Resource {
        pub action: String,
        pub merge_strategy: String,
        pub manifest: String,
        pub manifest_from: Value,
        pub set_owner_reference: bool,
        pub success_condition: String,
        pub failure_condition: String,
        #[serde(deserialize_with = "loose::list")]
        pub flags: Vec<String>,
    }
}

written! {
    pub struct Http {
        pub method: String,
        pub url: String,
        #[serde(deserialize_with = "loose::list")]
        pub headers: Vec<Value>,
        pub timeout_seconds: Option<Number>,
        pub success_condition: String,
        pub body: String,
        pub body_from: Value,
        pub insecure_skip_verify: bool,
    }
}

written! {
    pub struct ContainerSet {
        #[serde(deserialize_with = "loose::list")]
        pub containers: Vec<Map<String, Value>>,
        #[serde(deserialize_with = "loose::list")]
        pub volume_mounts: Vec<Value>,
        pub retry_strategy: Option<ContainerSetRetry>,
    }
}

written! {
    pub struct ContainerSetRetry {
        pub duration: String,
        pub retries: Option<Number>,
    }
}

written! {
    pub struct Memoize {
        pub key: String,
        pub cache: MemoCache,
        pub max_age: String,
    }
}

written! {
    pub struct MemoCache {
        pub config_map: KeyRef,
    }
}

written! {
    pub struct Synchronization {
        pub semaphore: Option<SemaphoreRef>,
        #[serde(deserialize_with = "loose::list")]
        pub semaphores: Vec<SemaphoreRef>,
        pub mutex: Option<Mutex>,
        #[serde(deserialize_with = "loose::list")]
        pub mutexes: Vec<Mutex>,
    }
}

written! {
    pub struct SemaphoreRef {
        pub config_map_key_ref: Option<KeyRef>,
        pub namespace: String,
        pub database: Value,
    }
}

written! {
    pub struct Mutex {
        pub name: String,
        pub namespace: String,
        pub database: bool,
    }
}

written! {
    pub struct Metadata {
        pub labels: BTreeMap<String, AnyText>,
        pub annotations: BTreeMap<String, AnyText>,
    }
}

written! {
    pub struct WorkflowMetadata {
        pub labels: BTreeMap<String, AnyText>,
        pub annotations: BTreeMap<String, AnyText>,
        pub labels_from: BTreeMap<String, LabelValueFrom>,
    }
}

written! {
    pub struct LabelValueFrom {
        pub expression: String,
    }
}

written! {
    pub struct TtlStrategy {
        pub seconds_after_completion: Option<Number>,
        pub seconds_after_success: Option<Number>,
        pub seconds_after_failure: Option<Number>,
    }
}

written! {
    pub struct PodGc {
        pub strategy: String,
        pub delete_delay_duration: AnyText,
        pub label_selector: Value,
    }
}

written! {
    pub struct VolumeClaimGc {
        pub strategy: String,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_texts_whatever_they_look_like() {
        let parameter: Parameter = serde_json::from_value(json!({"name": "n", "value": 3.50})).unwrap();
        assert_eq!(parameter.value.unwrap().0, "3.5");
        let parameter: Parameter = serde_json::from_value(json!({"name": "n", "value": true})).unwrap();
        assert_eq!(parameter.value.unwrap().0, "true");
    }

    #[test]
    fn what_is_not_given_is_not_written() {
        let step: Step = serde_json::from_value(json!({"name": "a", "template": "t"})).unwrap();
        assert_eq!(
            serde_json::to_value(&step).unwrap(),
            json!({"name": "a", "template": "t"})
        );
    }

    #[test]
    fn a_step_may_stand_alone() {
        let template: Template = serde_json::from_value(
            json!({"name": "t", "steps": [{"name": "a"}, [{"name": "b"}, {"name": "c"}]]}),
        )
        .unwrap();
        let counts: Vec<usize> = template
            .steps
            .unwrap()
            .iter()
            .map(|group| group.0.len())
            .collect();
        assert_eq!(counts, [1, 2]);
    }

    #[test]
    fn numbers_may_be_texts() {
        let strategy: RetryStrategy = serde_json::from_value(json!({"limit": "10"})).unwrap();
        assert_eq!(strategy.limit.unwrap().integer(), Some(10));
        let strategy: RetryStrategy = serde_json::from_value(json!({"limit": 2})).unwrap();
        assert_eq!(strategy.limit.unwrap().integer(), Some(2));
    }
}
