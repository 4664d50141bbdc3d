//! What patches and server-side apply ask of a built-in type.

use manifests::shape::{Forms, ListKind, PatchStrategy, Scalar, Shape};
use serde_json::Value;

use super::{Form, TypeRef};

impl Shape for TypeRef {
    fn field(self, name: &str) -> Option<Self> {
        match self.form() {
            Form::Struct(described) => described.field(name).map(|field| field.ty),
            Form::Map(element) => Some(element),
            _ => self.is_undescribed().then_some(self),
        }
    }

    fn declares(self, name: &str) -> bool {
        self.as_struct()
            .is_some_and(|described| described.field(name).is_some())
    }

    fn forms(self) -> Forms {
        match self.form() {
            Form::String | Form::Bytes => Forms::scalar(Scalar::Text),
            Form::Bool => Forms::scalar(Scalar::Boolean),
            Form::Int32 | Form::Int64 | Form::Double => Forms::scalar(Scalar::Number),
            Form::Quantity | Form::Time | Form::MicroTime => Forms::scalar(Scalar::Any),
            Form::List(_) => Forms::LIST,
            Form::Struct(_) | Form::Map(_) | Form::FieldsV1 => Forms::OBJECT,
            // Published without a type, which for an integer or a text means either and all else.
            Form::IntOrString
            | Form::Json
            | Form::RawExtension
            | Form::SchemaOrArray
            | Form::SchemaOrBool
            | Form::SchemaOrStringArray => Forms::ANYTHING,
        }
    }

    fn element(self) -> Option<Self> {
        match self.form() {
            Form::List(element) => Some(element),
            _ => self.is_undescribed().then_some(self),
        }
    }

    fn type_name(&self) -> Option<&str> {
        self.as_struct().map(|described| described.name)
    }

    fn list_kind(&self) -> ListKind<'_> {
        self.place().map_or(ListKind::Atomic, |field| field.list)
    }

    fn is_atomic_object(self) -> bool {
        let own = self.place().and_then(|field| field.is_atomic_map);
        own.unwrap_or_else(|| match self.form() {
            Form::Struct(described) => described.is_atomic,
            form => form == Form::RawExtension,
        })
    }

    fn patch_strategy(&self) -> PatchStrategy<'_> {
        self.place()
            .map_or_else(PatchStrategy::default, |field| field.patch)
    }

    fn key_default(&self, key: &str) -> Option<Value> {
        let Form::List(element) = self.form() else {
            return None;
        };
        let field = element.as_struct()?.field(key)?;
        let zero = || (field.is_written && !field.ty.is_pointer()).then(|| field.ty.zero());
        field.default().or_else(zero)
    }
}

impl TypeRef {
    /// Whether anything may be below this place, of which the types say nothing.
    fn is_undescribed(self) -> bool {
        self.forms() == Forms::ANYTHING || self.form() == Form::FieldsV1
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::types;

    #[track_caller]
    fn at(path: &[&str]) -> TypeRef {
        let pod = types::by_name("io.k8s.api.core.v1.Pod").unwrap();
        path.iter().fold(pod, |ty, step| match *step {
            "[]" => ty.element().unwrap(),
            name => Shape::field(ty, name).unwrap(),
        })
    }

    #[test]
    fn apply_and_patches_key_ports_differently() {
        let ports = at(&["spec", "containers", "[]", "ports"]);
        assert_eq!(ports.list_kind(), ListKind::Map(&["containerPort", "protocol"]));
        assert_eq!(ports.patch_strategy().merge_key, Some("containerPort"));
        assert_eq!(ports.key_default("protocol"), Some(json!("TCP")));
        assert_eq!(ports.key_default("containerPort"), Some(json!(0)));
        assert_eq!(ports.key_default("name"), None);
    }

    #[test]
    fn volumes_may_retain_keys() {
        let volumes = at(&["spec", "volumes"]);
        assert_eq!(
            volumes.patch_strategy(),
            PatchStrategy {
                merge: true,
                merge_key: Some("name"),
                retain_keys: true
            }
        );
    }

    #[test]
    fn some_lists_and_objects_are_one_value() {
        assert_eq!(
            at(&["spec", "containers", "[]", "args"]).list_kind(),
            ListKind::Atomic
        );
        assert_eq!(at(&["metadata", "finalizers"]).list_kind(), ListKind::Set);
        assert!(at(&["spec", "nodeSelector"]).is_atomic_object());
        assert!(!at(&["metadata", "labels"]).is_atomic_object());
        let selector = ["spec", "topologySpreadConstraints", "[]", "labelSelector"];
        assert!(at(&selector).is_atomic_object());
    }

    #[test]
    fn places_hold_the_forms_of_their_types() {
        let container = |field| at(&["spec", "containers", "[]", field]);
        assert_eq!(at(&["spec", "containers"]).forms(), Forms::LIST);
        assert_eq!(at(&["spec", "nodeSelector"]).forms(), Forms::OBJECT);
        assert_eq!(container("image").forms(), Forms::scalar(Scalar::Text));
        assert_eq!(container("tty").forms(), Forms::scalar(Scalar::Boolean));
        assert_eq!(at(&["spec", "priority"]).forms(), Forms::scalar(Scalar::Number));
        assert_eq!(
            at(&["metadata", "creationTimestamp"]).forms(),
            Forms::scalar(Scalar::Any)
        );
        assert!(at(&["spec"]).declares("containers"));
        assert!(!at(&["metadata", "labels"]).declares("containers"));
    }

    #[test]
    fn embedded_objects_are_open() {
        let revision = types::by_name("io.k8s.api.apps.v1.ControllerRevision").unwrap();
        let data = Shape::field(revision, "data").unwrap();
        assert!(Shape::field(data, "anything").is_some());
        assert!(data.is_atomic_object());
        assert!(Shape::field(revision, "anything").is_none());
    }
}
