//! The kustomization file of a folder: found, checked, and brought up to date as every edit does.

use crate::{
    Package, Problem,
    document::{Document, Fragment, Id, Style, is_non_string},
    draft::Draft,
};

const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Every field there is, deprecated ones too.
const FIELDS: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata",
    "openapi",
    "namePrefix",
    "nameSuffix",
    "namespace",
    "commonLabels",
    "labels",
    "commonAnnotations",
    "patchesStrategicMerge",
    "patchesJson6902",
    "patches",
    "images",
    "imageTags",
    "replacements",
    "replicas",
    "vars",
    "sortOptions",
    "resources",
    "components",
    "crds",
    "bases",
    "configMapGenerator",
    "secretGenerator",
    "helmGlobals",
    "helmCharts",
    "helmChartInflationGenerator",
    "generatorOptions",
    "configurations",
    "generators",
    "transformers",
    "validators",
    "buildMetadata",
];

/// A kustomization file in the course of being changed.
pub(super) struct File {
    path: String,
    draft: Draft,
}

impl File {
    pub(super) fn open(package: &Package) -> Result<Self, Problem> {
        let found: Vec<&str> = NAMES.into_iter().filter(|name| package.contains(name)).collect();
        let path = match found.as_slice() {
            [path] => (*path).to_owned(),
            [] => {
                let problem = Problem::new("Missing kustomization file 'kustomization.yaml'.");
                return Err(problem.hint("run it in a folder that has one"));
            }
            many => {
                let many = many.join(" ");
                return Err(Problem::new(format!(
                    "Found multiple kustomization file: [{many}]"
                )));
            }
        };
        let draft = Draft::new(&path, package.text(&path).unwrap_or_default())?;
        let mut file = Self { path, draft };
        file.check()?;
        file.update()?;
        Ok(file)
    }

    pub(super) fn close(self) -> (String, String) {
        (self.path, self.draft.text())
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn document(&self) -> &Document {
        self.draft.document()
    }

    fn check(&self) -> Result<(), Problem> {
        let Some(root) = self.draft.root() else {
            return Ok(());
        };
        let document = self.document();
        if !document.is_mapping(root) {
            return Err(document.problem(&self.path, root, "a kustomization file must be a mapping"));
        }
        for entry in document.entries(root) {
            let key = document.value(entry.key).unwrap_or_default();
            if !FIELDS.iter().any(|field| field.eq_ignore_ascii_case(key)) {
                let problem = document.problem(&self.path, entry.key, format!("json: unknown field {key:?}"));
                return Err(problem.hint(format!("the fields are {}", FIELDS.join(", "))));
            }
            if ["commonLabels", "commonAnnotations"]
                .iter()
                .any(|field| field.eq_ignore_ascii_case(key))
            {
                self.check_texts(entry.value, key)?;
            }
        }
        Ok(())
    }

    /// Labels and annotations are texts; what only looks like one has quotes.
    fn check_texts(&self, mapping: Id, field: &str) -> Result<(), Problem> {
        let document = self.document();
        for entry in document.entries(mapping) {
            let is_text = document.scalar(entry.value).is_some_and(|scalar| {
                scalar.style != Style::Plain || scalar.is_tagged || !is_non_string(&scalar.value)
            });
            if !is_text && !document.is_null(entry.value) {
                let key = document.value(entry.key).unwrap_or_default();
                let problem =
                    document.problem(&self.path, entry.value, format!("{field}.{key} must be a string"));
                return Err(problem.hint("write it in quotes"));
            }
        }
        Ok(())
    }

    /// What every edit does besides: adds the type, and moves what deprecated fields have.
    fn update(&mut self) -> Result<(), Problem> {
        self.add_type()?;
        self.move_items("bases", "resources")?;
        self.move_items("imageTags", "images")?;
        for field in ["configMapGenerator", "secretGenerator"] {
            self.move_env(field)?;
        }
        Ok(())
    }

    fn add_type(&mut self) -> Result<(), Problem> {
        let kind = self.text("kind").filter(|kind| !kind.is_empty());
        let version = match kind.as_deref() {
            Some("Component") => "kustomize.config.k8s.io/v1alpha1",
            _ => "kustomize.config.k8s.io/v1beta1",
        };
        if kind.is_none() {
            self.put_first("kind", "Kustomization")?;
        }
        if self.text("apiVersion").is_none_or(|version| version.is_empty()) {
            self.put_first("apiVersion", version)?;
        }
        Ok(())
    }

    fn put_first(&mut self, field: &str, value: &str) -> Result<(), Problem> {
        let is_there = self.draft.find(&[&self.key(field)]).is_some();
        if is_there || self.draft.root().is_none() {
            return self.put(&[field], Fragment::text(value));
        }
        self.draft.put_first(field, value)
    }

    /// Elements of one list become elements of another. Where there is no other, the list is renamed.
    pub(super) fn move_items(&mut self, from: &str, to: &str) -> Result<(), Problem> {
        let Some(list) = self.find(from) else {
            return Ok(());
        };
        if self.find(to).is_none() {
            return self.draft.rename(&self.key(from), to);
        }
        let items = self.document().items(list).iter();
        let items: Vec<Fragment> = items.map(|item| self.document().fragment(item.value)).collect();
        for item in items {
            self.append(to, item)?;
        }
        self.remove(&[from])
    }

    /// `env: FILE` becomes an element of `envs`.
    fn move_env(&mut self, field: &str) -> Result<(), Problem> {
        while let Some((item, env)) = self.items(field).into_iter().find_map(|item| {
            let env = self.document().text_at(item, &["env"]).to_owned();
            (!env.is_empty()).then_some((item, env))
        }) {
            self.append_below(item, "envs", Fragment::text(env))?;
            self.remove_at(field, |document, item| document.get(item, "env").is_some(), "env")?;
        }
        Ok(())
    }

    fn remove_at(
        &mut self,
        field: &str,
        is_meant: impl Fn(&Document, Id) -> bool,
        key: &str,
    ) -> Result<(), Problem> {
        let item = self
            .items(field)
            .into_iter()
            .find(|item| is_meant(self.document(), *item));
        item.map_or(Ok(()), |item| self.draft.remove_below(item, &[key]))
    }

    /// A field as it is spelled in the file; case does not matter.
    fn key(&self, field: &str) -> String {
        let document = self.document();
        let entries = self
            .draft
            .root()
            .map(|root| document.entries(root))
            .unwrap_or_default();
        let mut keys = entries.iter().filter_map(|entry| document.value(entry.key));
        keys.find(|key| key.eq_ignore_ascii_case(field))
            .unwrap_or(field)
            .to_owned()
    }

    /// The value of a field, if it has one.
    pub(super) fn find(&self, field: &str) -> Option<Id> {
        let found = self.draft.find(&[&self.key(field)])?;
        (!self.document().is_null(found)).then_some(found)
    }

    pub(super) fn text(&self, field: &str) -> Option<String> {
        let found = self.find(field)?;
        self.document().value(found).map(str::to_owned)
    }

    /// The elements of a list.
    pub(super) fn items(&self, field: &str) -> Vec<Id> {
        let items = self
            .find(field)
            .map(|list| self.document().items(list))
            .unwrap_or_default();
        items.iter().map(|item| item.value).collect()
    }

    /// The elements of a list of texts.
    pub(super) fn texts(&self, field: &str) -> Vec<String> {
        let document = self.document();
        let items = self.items(field).into_iter();
        items
            .map(|item| document.value(item).unwrap_or_default().to_owned())
            .collect()
    }

    pub(super) fn put(&mut self, path: &[&str], value: Fragment) -> Result<(), Problem> {
        let key = path.first().map(|field| self.key(field)).unwrap_or_default();
        let path: Vec<&str> = std::iter::once(key.as_str())
            .chain(path.iter().skip(1).copied())
            .collect();
        self.draft.put(&path, value)
    }

    /// Removes a field, or something in it; a field that has nothing left goes too.
    pub(super) fn remove(&mut self, path: &[&str]) -> Result<(), Problem> {
        let key = path.first().map(|field| self.key(field)).unwrap_or_default();
        let is_last = path.len() > 1
            && self.find(&key).is_some_and(|field| {
                let entries = self.document().entries(field);
                entries.len() == 1 && self.document().get(field, path[1]).is_some()
            });
        let rest = if is_last { &[] } else { &path[1..] };
        let path: Vec<&str> = std::iter::once(key.as_str())
            .chain(rest.iter().copied())
            .collect();
        self.draft.remove(&path)
    }

    pub(super) fn append(&mut self, field: &str, item: Fragment) -> Result<(), Problem> {
        let key = self.key(field);
        self.draft.append(&[&key], item)
    }

    /// Removes an element of a list; a list that has nothing left goes too.
    pub(super) fn remove_item(&mut self, field: &str, index: usize) -> Result<(), Problem> {
        match self.find(field) {
            Some(list) if self.document().items(list).len() > 1 => self.draft.remove_item(list, index),
            _ => self.remove(&[field]),
        }
    }

    pub(super) fn reorder(&mut self, field: &str, order: &[usize]) -> Result<(), Problem> {
        self.find(field)
            .map_or(Ok(()), |list| self.draft.reorder(list, order))
    }

    pub(super) fn put_below(&mut self, node: Id, path: &[&str], value: Fragment) -> Result<(), Problem> {
        self.draft.put_below(node, path, value)
    }

    /// Another text for a scalar.
    pub(super) fn put_scalar(&mut self, node: Id, value: &str) -> Result<(), Problem> {
        self.draft.put_scalar(node, value)
    }

    pub(super) fn remove_below(&mut self, node: Id, key: &str) -> Result<(), Problem> {
        self.draft.remove_below(node, &[key])
    }

    pub(super) fn append_below(&mut self, node: Id, key: &str, item: Fragment) -> Result<(), Problem> {
        self.draft.append_below(node, key, item)
    }
}
