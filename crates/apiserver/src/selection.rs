//! Label and field selectors: which objects of a collection a reader asked for.

use manifests::{field_selector, labels};
use serde_json::{Map, Value};

use crate::{
    derived::Derived,
    error::{ApiError, Result},
    kind::{Definition, Kind},
    object,
    query::Query,
};

/// The filter of a list, watch or deletecollection.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    labels: Option<labels::Selector>,
    fields: Vec<FieldRequirement>,
}

#[derive(Debug)]
struct FieldRequirement {
    path: String,
    equals: bool,
    value: String,
}

/// What selectors look at in an object.
pub(crate) struct Facts {
    labels: Option<Map<String, Value>>,
    /// The selectable fields by where they lie.
    fields: Vec<(String, String)>,
}

impl Selection {
    pub(crate) fn read(query: &Query, kind: &Kind) -> Result<Self> {
        let labels = query
            .text("labelSelector")
            .map(|text| {
                labels::Selector::parse(text).map_err(|error| ApiError::bad_request(error.to_string()))
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

    /// Asks for one name as well.
    pub(crate) fn require_name(&mut self, name: &str) {
        self.fields.push(FieldRequirement {
            path: NAME.to_owned(),
            equals: true,
            value: name.to_owned(),
        });
    }

    /// Everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_none() && self.fields.is_empty()
    }

    /// Whether an object is asked for, which has been shown in the version of `kind`.
    pub(crate) fn matches(&self, kind: &Kind, shown: &store::Object) -> Result<bool> {
        if self.is_empty() {
            return Ok(true);
        }
        let derived = Derived::of(shown);
        let facts = derived.facts(kind, shown)?;
        let labels = self.labels.as_ref();
        if labels.is_some_and(|selector| !selector.matches(facts.labels.as_ref())) {
            return Ok(false);
        }
        for requirement in &self.fields {
            if !requirement.matches(facts, shown)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The one name asked for, when the selection can only match a single object.
    pub(crate) fn single_name(&self) -> Option<&str> {
        self.fields
            .iter()
            .find(|field| field.equals && field.path == NAME)
            .map(|field| field.value.as_str())
    }
}

const NAME: &str = "metadata.name";
const NAMESPACE: &str = "metadata.namespace";
const EVENT_SOURCE: &str = "source.component";

impl Facts {
    pub(crate) fn read(kind: &Kind, shown: &store::Object) -> Result<Self> {
        let mut value = object::parse(shown)?;
        let mut fields = vec![
            (NAME.to_owned(), shown.name().to_owned()),
            (NAMESPACE.to_owned(), shown.namespace().to_owned()),
        ];
        for (path, missing) in selectable(kind) {
            let text = text_at(&value, &path).unwrap_or_else(|| missing.to_owned());
            fields.push((path, text));
        }
        let labels = match value.pointer_mut("/metadata/labels").map(Value::take) {
            Some(Value::Object(labels)) => Some(labels),
            _ => None,
        };
        Ok(Self { labels, fields })
    }

    fn field(&self, path: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(known, _)| known == path);
        found.map(|(_, text)| text.as_str())
    }
}

/// What a selector sees of a field, unless it is missing or empty.
fn text_at(value: &Value, path: &str) -> Option<String> {
    let find = |path: &str| {
        let found = path.split('.').try_fold(value, |value, key| value.get(key));
        found.filter(|value| !value.is_null() && *value != "")
    };
    // The source of an event is its component or, from newer clients, its controller.
    let found = find(path).or_else(|| {
        if path == EVENT_SOURCE {
            find("reportingComponent")
        } else {
            None
        }
    });
    Some(match found? {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

/// Where the selectable fields of a kind lie, and what each reads as when it is missing.
fn selectable(kind: &Kind) -> Vec<(String, &'static str)> {
    match &kind.definition {
        Definition::BuiltIn(_) => SELECTABLE
            .iter()
            .filter(|(group, name, ..)| kind.is(group, name))
            .map(|(_, _, label, path, missing)| {
                (if path.is_empty() { *label } else { *path }.to_owned(), *missing)
            })
            .collect(),
        Definition::Custom(custom) => custom
            .selectable_fields()
            .into_iter()
            .map(|path| (path, ""))
            .collect(),
    }
}

impl FieldRequirement {
    fn matches(&self, facts: &Facts, shown: &store::Object) -> Result<bool> {
        let is_equal = if let Some(text) = facts.field(&self.path) {
            text == self.value
        } else {
            // The facts were read for another version of a custom resource, or for an earlier state of
            // its definition, which has other selectable fields.
            let value = object::parse(shown)?;
            text_at(&value, &self.path).unwrap_or_default() == self.value
        };
        Ok(is_equal == self.equals)
    }
}

fn field_requirement(kind: &Kind, requirement: &field_selector::Requirement) -> Result<FieldRequirement> {
    let name = requirement.field.as_str();
    let path = match &kind.definition {
        _ if name == NAME => name.to_owned(),
        // Custom resources of the cluster have no namespace to ask for; built-in kinds have an empty one.
        _ if name == NAMESPACE && (kind.namespaced || !kind.is_custom()) => name.to_owned(),
        Definition::BuiltIn(_) => SELECTABLE
            .iter()
            .find(|(group, kind_name, label, ..)| kind.is(group, kind_name) && *label == name)
            .map(|(_, _, label, path, _)| if path.is_empty() { *label } else { *path }.to_owned())
            .ok_or_else(|| not_supported(kind, name))?,
        Definition::Custom(custom) => custom
            .selectable_fields()
            .into_iter()
            .find(|path| path == name)
            .ok_or_else(|| not_supported(kind, name))?,
    };
    Ok(FieldRequirement {
        path,
        equals: requirement.operator == field_selector::Operator::Equals,
        value: requirement.value.clone(),
    })
}

fn not_supported(kind: &Kind, name: &str) -> ApiError {
    // Kinds with an own conversion function name the field label, the rest the known ones.
    let own = kind.is_custom()
        || SELECTABLE
            .iter()
            .any(|(group, kind_name, ..)| kind.is(group, kind_name));
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
    ("events.k8s.io", "Event", "regarding.kind", "", ""),
    ("events.k8s.io", "Event", "regarding.namespace", "", ""),
    ("events.k8s.io", "Event", "regarding.name", "", ""),
    ("events.k8s.io", "Event", "regarding.uid", "", ""),
    ("events.k8s.io", "Event", "regarding.apiVersion", "", ""),
    ("events.k8s.io", "Event", "regarding.resourceVersion", "", ""),
    ("events.k8s.io", "Event", "regarding.fieldPath", "", ""),
    ("events.k8s.io", "Event", "reason", "", ""),
    ("events.k8s.io", "Event", "reportingController", "", ""),
    ("events.k8s.io", "Event", "type", "", ""),
    ("apps", "ReplicaSet", "status.replicas", "", "0"),
    ("batch", "Job", "status.successful", "status.succeeded", "0"),
    (
        "certificates.k8s.io",
        "CertificateSigningRequest",
        "spec.signerName",
        "",
        "",
    ),
    ("resource.k8s.io", "ResourceSlice", "spec.nodeName", "", ""),
    ("resource.k8s.io", "ResourceSlice", "spec.driver", "", ""),
];
