//! `annotate`: adds annotations to resources.

use std::collections::BTreeMap;

use crate::{
    Outcome, Package, Problem,
    document::Fragment,
    draft::Draft,
    outcome::{Change, Reach, on_packages},
    package::Scope,
    resources::{Resource, all, read_scope, roots},
};

#[derive(Clone, Debug, Default)]
pub struct Annotate {
    /// `KEY=VALUE`
    pub annotations: Vec<String>,
    /// Only resources that have all of these.
    pub kind: Option<String>,
    pub api_version: Option<String>,
    pub name: Option<String>,
    pub namespace: Option<String>,
    /// Also in the packages below.
    pub recurse: bool,
}

impl Annotate {
    pub fn run(&self, package: &Package) -> Outcome {
        on_packages(package, Reach::Any, self.recurse, |scope| {
            self.annotate(package, scope)
        })
    }

    fn annotate(&self, package: &Package, scope: &Scope) -> Result<Change, Problem> {
        let mut pairs = Vec::new();
        for annotation in &self.annotations {
            let Some(pair) = annotation.split_once('=') else {
                return Err(Problem::new(format!(
                    "must specify --kv as KEY=VALUE: {annotation}"
                )));
            };
            pairs.push(pair);
        }
        let mut edits = BTreeMap::new();
        let files = read_scope(package, scope)?;
        for file in &files {
            let chosen = all(std::slice::from_ref(file))
                .into_iter()
                .filter(|resource| self.takes(*resource));
            let chosen: Vec<usize> = chosen.map(|resource| resource.index).collect();
            let mut draft = Draft::new(&file.path, file.document.text())?;
            for index in chosen {
                for (key, value) in &pairs {
                    let root = roots(draft.document(), package.is_stream())[index];
                    draft.put_below(root, &["metadata", "annotations", key], annotation(value))?;
                }
            }
            let text = draft.text();
            if text != file.document.text() {
                edits.insert(file.path.clone(), text);
            }
        }
        Ok(Change::to_files(
            package,
            edits,
            "added annotations in the package\n",
        ))
    }

    fn takes(&self, resource: Resource<'_>) -> bool {
        let fits =
            |wanted: &Option<String>, actual: &str| wanted.as_deref().is_none_or(|wanted| wanted == actual);
        resource.document().is_mapping(resource.root())
            && fits(&self.kind, resource.kind())
            && fits(&self.api_version, resource.api_version())
            && fits(&self.name, resource.name())
            && fits(&self.namespace, resource.namespace())
    }
}

/// Annotations are texts; the reference writes them in single quotes.
fn annotation(value: &str) -> Fragment {
    Fragment::text(value)
}
