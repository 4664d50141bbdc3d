//! What is known of kinds: which have no namespace, and which lists a patch merges by what key. Built in
//! is Kubernetes 1.21, as in the reference; `openapi.path` brings other definitions.

mod custom;
mod kinds;
mod types;

use std::rc::Rc;

use serde_json::Value;

use self::types::Type;
use super::problem::{Outcome, Problem};
pub(super) use custom::CustomSchemas;

/// The only version that is built in.
const BUILT_IN_VERSION: &str = "v1.21.2";

/// The definitions in use while a package is built. The first kustomization from the top that says
/// something of `openapi` decides.
#[derive(Default)]
pub(super) struct Schemas {
    custom: Option<Rc<CustomSchemas>>,
    is_decided: bool,
    /// The built-in definitions were asked for before others took their place; they stay.
    has_built_in: bool,
}

impl Schemas {
    /// What the `openapi` field of a kustomization says: a version, or the content of a file.
    pub(super) fn decide(&mut self, version: Option<&str>, content: Option<&str>, is_top: bool) -> Outcome {
        if self.is_decided && !is_top {
            return Ok(());
        }
        match (version, content) {
            (Some(_), Some(_)) => Err(Problem::new("`openapi` has both a version and a path")
                .help("keep `path` for definitions of your own, or `version` for built-in ones")),
            (_, Some(content)) => {
                self.custom = Some(Rc::new(CustomSchemas::read(content)?));
                self.is_decided = true;
                Ok(())
            }
            (None | Some(""), None) => Ok(()),
            (Some(BUILT_IN_VERSION), None) => {
                self.is_decided = true;
                self.has_built_in = true;
                Ok(())
            }
            (Some(version), None) => Err(Problem::new(format!(
                "the OpenAPI version `{version}` is not built in"
            ))
            .help(format!("use `{BUILT_IN_VERSION}`, or leave `openapi` out"))),
        }
    }

    /// Whether objects of this kind are known to have no namespace.
    pub(super) fn is_cluster_scoped(&mut self, api_version: &str, kind: &str) -> bool {
        if let Some(is_namespaced) = kinds::is_namespaced(api_version, kind) {
            return !is_namespaced;
        }
        let Some(custom) = &self.custom else {
            self.has_built_in = true;
            return false;
        };
        custom.is_namespaced(api_version, kind) == Some(false)
    }

    /// The definitions as they are now, for a patch.
    pub(super) fn in_use(&mut self) -> Definitions {
        self.has_built_in |= self.custom.is_none();
        Definitions {
            custom: self.custom.clone(),
            has_built_in: self.has_built_in,
        }
    }
}

/// Definitions that do not change while a patch is applied.
pub(super) struct Definitions {
    custom: Option<Rc<CustomSchemas>>,
    has_built_in: bool,
}

/// What is known of one place in an object.
#[derive(Clone, Copy)]
pub(super) enum Schema<'d> {
    BuiltIn {
        of: Option<&'static Type>,
        merge: Option<&'static [&'static str]>,
    },
    Custom(&'d Value, &'d Definitions),
}

impl Definitions {
    pub(super) fn of_kind(&self, api_version: &str, kind: &str) -> Option<Schema<'_>> {
        let custom = self.custom.as_ref();
        if let Some(found) = custom.and_then(|custom| custom.of_kind(api_version, kind)) {
            return Some(Schema::Custom(found, self));
        }
        let built_in = kinds::root(api_version, kind).filter(|_| self.has_built_in)?;
        Some(Schema::object(built_in))
    }

    /// Follows references; none when one leads nowhere.
    fn resolve<'d>(&'d self, mut schema: &'d Value) -> Option<Schema<'d>> {
        while let Some(reference) = schema["$ref"].as_str().filter(|reference| !reference.is_empty()) {
            let name = reference.strip_prefix("#/definitions/")?;
            match self.custom.as_ref()?.definition(name) {
                Some(found) => schema = found,
                None if self.has_built_in => return types::by_definition(name).map(Schema::object),
                None => return None,
            }
        }
        Some(Schema::Custom(schema, self))
    }
}

impl<'d> Schema<'d> {
    fn object(of: &'static Type) -> Self {
        Self::BuiltIn {
            of: Some(of),
            merge: None,
        }
    }

    pub(super) fn field(self, name: &str) -> Option<Schema<'d>> {
        match self {
            Self::BuiltIn { of, .. } => {
                let field = of?.field(name)?;
                Some(Self::BuiltIn {
                    of: field.of,
                    merge: field.merge,
                })
            }
            Self::Custom(schema, definitions) => {
                let properties = &schema["properties"][name];
                let found = if properties.is_object() {
                    properties
                } else {
                    Some(&schema["additionalProperties"]).filter(|schema| schema.is_object())?
                };
                definitions.resolve(found)
            }
        }
    }

    /// The schema of the elements of a list.
    pub(super) fn elements(self) -> Option<Schema<'d>> {
        match self {
            Self::BuiltIn { of, .. } => of.map(Schema::object),
            Self::Custom(schema, definitions) => {
                let is_list = schema["type"] == "array" && schema["items"].is_object();
                is_list.then(|| definitions.resolve(&schema["items"])).flatten()
            }
        }
    }

    /// The keys by which elements of a list are found; none when a list is replaced, empty for lists of
    /// scalars.
    pub(super) fn merge_keys(self) -> Option<Vec<&'d str>> {
        match self {
            Self::BuiltIn { merge, .. } => merge.map(<[&str]>::to_vec),
            Self::Custom(schema, _) => {
                let strategy = schema["x-kubernetes-patch-strategy"].as_str()?;
                if !strategy.split(',').any(|strategy| strategy == "merge") {
                    return None;
                }
                if let Some(keys) = schema["x-kubernetes-list-map-keys"].as_array() {
                    return Some(keys.iter().filter_map(Value::as_str).collect());
                }
                let key = schema["x-kubernetes-patch-merge-key"].as_str();
                Some(key.into_iter().collect())
            }
        }
    }
}
