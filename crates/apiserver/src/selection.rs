//! Label and field selectors: which objects of a collection a reader asked for.

use manifests::{field_selector, labels};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    error::{ApiError, Result},
    kind::{Definition, Kind},
    query::Query,
};

/// The filter of a list, watch or deletecollection.
#[derive(Debug, Default)]
pub struct Selection {
    labels: Option<labels::Selector>,
    fields: Vec<FieldRequirement>,
}

#[derive(Debug)]
struct FieldRequirement {
    path: Vec<String>,
    equals: bool,
    value: String,
    /// What a missing field reads as.
    missing: &'static str,
}

impl Selection {
    pub fn read(query: &Query, kind: &Kind) -> Result<Self> {
        let labels = query
            .text("labelSelector")
            .map(|text| {
                labels::Selector::parse(text)
                    .map_err(|error| ApiError::bad_request(format!("unable to parse requirement: {error}")))
            })
            .transpose()?;
        let mut fields = Vec::new();
        if let Some(text) = query.text("fieldSelector") {
            let requirements =
                field_selector::parse(text).map_err(|error| ApiError::bad_request(error.to_string()))?;
            for requirement in requirements {
                fields.push(field_requirement(kind, &requirement)?);
            }
        }
        Ok(Self { labels, fields })
    }

    /// Everything.
    pub fn is_empty(&self) -> bool {
        self.labels.is_none() && self.fields.is_empty()
    }

    pub fn matches(&self, stored: &store::Object) -> bool {
        if self.is_empty() {
            return true;
        }
        if self.fields.is_empty() {
            // Labels are read without building the rest of the object.
            let thin: Thin = serde_json::from_slice(&stored.json).unwrap_or_default();
            return self.labels.as_ref().is_none_or(|labels| labels.matches(thin.metadata.labels.as_ref()));
        }
        let value: Value = serde_json::from_slice(&stored.json).unwrap_or_default();
        self.matches_value(&value)
    }

    pub fn matches_value(&self, value: &Value) -> bool {
        let labels = value.pointer("/metadata/labels").and_then(Value::as_object);
        self.labels.as_ref().is_none_or(|selector| selector.matches(labels))
            && self.fields.iter().all(|requirement| requirement.matches(value))
    }

    /// The one name asked for, when the selection can only match a single object.
    pub fn single_name(&self) -> Option<&str> {
        self.fields
            .iter()
            .find(|field| field.equals && field.path == ["metadata", "name"])
            .map(|field| field.value.as_str())
    }
}

#[derive(Default, Deserialize)]
struct Thin {
    #[serde(default)]
    metadata: ThinMeta,
}

#[derive(Default, Deserialize)]
struct ThinMeta {
    #[serde(default)]
    labels: Option<Map<String, Value>>,
}

impl FieldRequirement {
    fn matches(&self, value: &Value) -> bool {
        let found = self.path.iter().try_fold(value, |value, key| value.get(key.as_str()));
        let equal = match found {
            Some(Value::String(text)) => *text == self.value,
            None | Some(Value::Null) => self.value == self.missing,
            Some(other) => other.to_string() == self.value,
        };
        equal == self.equals
    }
}

fn field_requirement(kind: &Kind, requirement: &field_selector::Requirement) -> Result<FieldRequirement> {
    let name = requirement.field.as_str();
    let (path, missing) = match &kind.definition {
        _ if matches!(name, "metadata.name" | "metadata.namespace") => (dotted(name), ""),
        Definition::BuiltIn(_) => {
            let (_, _, path, missing) = SELECTABLE
                .iter()
                .find(|(group, kind_name, label, _, _)| kind.is(group, kind_name) && *label == name)
                .map(|(group, _, label, path, missing)| (group, label, *path, *missing))
                .ok_or_else(|| not_supported(kind, name))?;
            (dotted(if path.is_empty() { name } else { path }), missing)
        }
        Definition::Custom(custom) => {
            let path = custom.selectable_field(name).ok_or_else(|| not_supported(kind, name))?;
            (path, "")
        }
    };
    Ok(FieldRequirement {
        path,
        equals: requirement.equals,
        value: requirement.value.clone(),
        missing,
    })
}

fn dotted(path: &str) -> Vec<String> {
    path.split('.').map(str::to_owned).collect()
}

fn not_supported(kind: &Kind, name: &str) -> ApiError {
    // Kinds with an own conversion function name the field label, the rest the known ones.
    let own = SELECTABLE.iter().any(|(group, kind_name, ..)| kind.is(group, kind_name));
    ApiError::bad_request(if own {
        format!("field label not supported: {name}")
    } else {
        format!("\"{name}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
    })
}

/// Fields of built-in kinds that selectors may name: group, kind, field, where it lies if elsewhere,
/// and what it reads as when it is missing.
const SELECTABLE: &[(&str, &str, &str, &str, &str)] = &[
    ("", "Pod", "spec.nodeName", "", ""),
    ("", "Pod", "spec.restartPolicy", "", ""),
    ("", "Pod", "spec.schedulerName", "", ""),
    ("", "Pod", "spec.serviceAccountName", "", ""),
    ("", "Pod", "spec.hostNetwork", "", "false"),
    ("", "Pod", "status.phase", "", ""),
    ("", "Pod", "status.podIP", "", ""),
    ("", "Pod", "status.podIPs", "status.podIP", ""),
    ("", "Pod", "status.nominatedNodeName", "", ""),
    ("", "Node", "spec.unschedulable", "", "false"),
    ("", "Namespace", "status.phase", "", ""),
    ("", "Namespace", "name", "metadata.name", ""),
    ("", "Secret", "type", "", ""),
    ("", "Service", "spec.clusterIP", "", ""),
    ("", "Service", "spec.type", "", ""),
    ("", "ReplicationController", "status.replicas", "", "0"),
    ("", "Event", "involvedObject.kind", "", ""),
    ("", "Event", "involvedObject.namespace", "", ""),
    ("", "Event", "involvedObject.name", "", ""),
    ("", "Event", "involvedObject.uid", "", ""),
    ("", "Event", "involvedObject.apiVersion", "", ""),
    ("", "Event", "involvedObject.resourceVersion", "", ""),
    ("", "Event", "involvedObject.fieldPath", "", ""),
    ("", "Event", "reason", "", ""),
    ("", "Event", "reportingComponent", "", ""),
    ("", "Event", "source", "source.component", ""),
    ("", "Event", "type", "", ""),
    ("events.k8s.io", "Event", "regarding.kind", "involvedObject.kind", ""),
    ("events.k8s.io", "Event", "regarding.namespace", "involvedObject.namespace", ""),
    ("events.k8s.io", "Event", "regarding.name", "involvedObject.name", ""),
    ("events.k8s.io", "Event", "regarding.uid", "involvedObject.uid", ""),
    ("events.k8s.io", "Event", "regarding.apiVersion", "involvedObject.apiVersion", ""),
    ("events.k8s.io", "Event", "regarding.resourceVersion", "involvedObject.resourceVersion", ""),
    ("events.k8s.io", "Event", "regarding.fieldPath", "involvedObject.fieldPath", ""),
    ("events.k8s.io", "Event", "reason", "", ""),
    ("events.k8s.io", "Event", "reportingController", "reportingComponent", ""),
    ("events.k8s.io", "Event", "type", "", ""),
    ("apps", "ReplicaSet", "status.replicas", "", "0"),
    ("batch", "Job", "status.successful", "status.succeeded", "0"),
    ("certificates.k8s.io", "CertificateSigningRequest", "spec.signerName", "", ""),
    ("resource.k8s.io", "ResourceSlice", "spec.nodeName", "", ""),
    ("resource.k8s.io", "ResourceSlice", "spec.driver", "", ""),
];
