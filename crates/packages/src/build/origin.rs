//! Where objects come from and what changed them, as annotations for those who ask for them.

use manifests::yaml;
use serde_json::Value;

use super::resource::Resource;
use crate::files::normal;

pub(super) const ORIGIN: &str = "config.kubernetes.io/origin";
pub(super) const TRANSFORMATIONS: &str = "alpha.config.kubernetes.io/transformations";

/// A file, or something configured in one.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    File(String),
    Configured {
        file: String,
        api_version: String,
        kind: String,
        name: String,
        namespace: String,
    },
}

impl Origin {
    /// A built-in generator or transformer that a kustomization asked for.
    pub(super) fn built_in(file: String, kind: &str) -> Self {
        Self::Configured {
            file,
            api_version: "builtin".to_owned(),
            kind: kind.to_owned(),
            name: String::new(),
            namespace: String::new(),
        }
    }

    /// One that an object configures; none when it is not known where that is from.
    pub(super) fn of_plugin(resource: &Resource) -> Option<Self> {
        let origin = resource.annotation(ORIGIN)?;
        let parsed = yaml::parse(origin.as_bytes()).ok()?.value;
        Some(Self::Configured {
            file: parsed["path"].as_str().unwrap_or_default().to_owned(),
            api_version: resource.api_version().to_owned(),
            kind: resource.kind().to_owned(),
            name: resource.name().to_owned(),
            namespace: resource.namespace().to_owned(),
        })
    }

    fn lines(&self) -> Vec<String> {
        let line = |name: &str, text: &str| {
            let shown = yaml::write(&Value::from(text));
            format!("{name}: {}", shown.trim_end())
        };
        match self {
            Self::File(path) => vec![line("path", path)],
            Self::Configured {
                file,
                api_version,
                kind,
                name,
                namespace,
            } => {
                let mut lines = Vec::new();
                if !file.is_empty() {
                    lines.push(line("configuredIn", file));
                }
                lines.push("configuredBy:".to_owned());
                let fields = [
                    ("apiVersion", api_version),
                    ("kind", kind),
                    ("name", name),
                    ("namespace", namespace),
                ];
                let fields = fields.into_iter().filter(|(_, text)| !text.is_empty());
                lines.extend(fields.map(|(name, text)| format!("  {}", line(name, text))));
                lines
            }
        }
    }

    fn text(&self) -> String {
        self.lines().join("\n") + "\n"
    }

    pub(super) fn set_on(&self, resource: &mut Resource) {
        note(resource, ORIGIN, &self.text());
    }

    /// Notes a transformer on an object; one without an origin must have been made by it.
    pub(super) fn add_to(&self, resource: &mut Resource) {
        if resource.annotation(ORIGIN).is_none() {
            self.set_on(resource);
            return;
        }
        let mut text = resource
            .annotation(TRANSFORMATIONS)
            .unwrap_or_default()
            .to_owned();
        for (index, line) in self.lines().iter().enumerate() {
            text.push_str(if index == 0 { "- " } else { "  " });
            text.push_str(line);
            text.push('\n');
        }
        note(resource, TRANSFORMATIONS, &text);
    }
}

/// The reference writes all annotations anew with this one: they are texts then, and linked to nothing.
fn note(resource: &mut Resource, annotation: &str, text: &str) {
    resource.set_annotation(annotation, text);
    resource.make_texts("annotations");
}

/// A path below the folder of an origin.
pub(super) fn join(folder: &str, path: &str) -> String {
    let joined = normal(&std::path::Path::new(folder).join(path));
    joined.to_string_lossy().into_owned()
}
