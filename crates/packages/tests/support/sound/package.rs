//! Packages that build, nearly all of them: bases, overlays and components whose patches, replacements, vars and
//! generators are for what is there. Where [`crate::generator`] tries what nobody would write, this tries what
//! people do, much of it at once. The same seed gives the same package.

mod changes;
mod copies;
mod objects;
mod patches;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use objects::Object;
use serde_json::{Map, Value, json};

/// Files by their paths below the package; `top` is what is built. And which features it has.
pub(crate) struct Sound {
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) features: BTreeSet<&'static str>,
}

pub(crate) fn package(seed: u64) -> Sound {
    let mut maker = Maker {
        random: Rng::with_seed(seed),
        files: BTreeMap::new(),
        features: BTreeSet::new(),
        names: 0,
        vars: 0,
    };
    let base = maker.folder("base", Vec::new());
    let mut children = vec![("base", base)];
    if maker.one_in(3) {
        let other = maker.folder("other", Vec::new());
        children.push(("other", other));
    }
    if maker.one_in(2) {
        let base = children[0].1.clone();
        let middle = maker.folder("middle", children);
        children = vec![("middle", middle)];
        // Two overlays of one base: what both have can no longer be told by its first name alone. Of vars there
        // must be only one.
        if maker.one_in(4) && maker.vars == 0 {
            maker.features.insert("diamond");
            let mut side = maker.folder("side", vec![("base", base)]);
            let objects = children.iter_mut().flat_map(|(_, objects)| objects);
            for object in objects {
                let id = (object.kind().to_owned(), object.name().to_owned());
                for other in &mut side {
                    if (other.kind(), other.name()) == (&id.0, &id.1) {
                        (other.is_known, object.is_known) = (false, false);
                    }
                }
            }
            children.push(("side", side));
        }
    }
    maker.folder("top", children);
    Sound {
        files: maker.files,
        features: maker.features,
    }
}

struct Maker {
    random: Rng,
    files: BTreeMap<String, String>,
    features: BTreeSet<&'static str>,
    /// How many names were given away.
    names: usize,
    vars: usize,
}

/// A kustomization while it is made.
struct Folder {
    name: &'static str,
    fields: Map<String, Value>,
    /// The objects it has so far, its own and those of its bases.
    visible: Vec<Object>,
}

impl Folder {
    fn add(&mut self, field: &str, entry: Value) {
        let entries = self.fields.entry(field).or_insert_with(|| json!([]));
        if let Value::Array(entries) = entries {
            entries.push(entry);
        }
    }
}

impl Maker {
    fn one_in(&mut self, count: u32) -> bool {
        self.random.u32(0..count) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.random.usize(0..from.len())]
    }

    fn choose<Item: Clone>(&mut self, from: &[Item]) -> Option<Item> {
        let count = from.len();
        (count > 0).then(|| from[self.random.usize(0..count)].clone())
    }

    /// A name that no other object has, and that none gets from a prefix.
    fn new_name(&mut self) -> String {
        self.names += 1;
        let word = self.pick(&["web", "db", "cache", "job.x", "w"]);
        format!("{word}{}", self.names)
    }

    /// Objects that a patch or a replacement may be for, by their place.
    fn known(&mut self, folder: &Folder, test: impl Fn(&Object) -> bool) -> Option<usize> {
        let objects = folder.visible.iter().enumerate();
        let known: Vec<usize> = objects
            .filter(|(_, object)| object.is_known && test(object))
            .map(|(index, _)| index)
            .collect();
        self.choose(&known)
    }

    fn write(&mut self, path: String, value: &Value) {
        let text = text::document(value, &mut self.random);
        self.files.insert(path, text);
    }

    /// A value as text in a kustomization: YAML or JSON.
    fn inline(&mut self, value: &Value) -> Value {
        if self.one_in(4) {
            value.to_string().into()
        } else {
            text::document(value, &mut self.random).into()
        }
    }

    fn folder(&mut self, name: &'static str, children: Vec<(&str, Vec<Object>)>) -> Vec<Object> {
        let mut folder = Folder {
            name,
            fields: Map::new(),
            visible: Vec::new(),
        };
        let is_base = children.is_empty();
        let field = if self.one_in(5) { "bases" } else { "resources" };
        for (path, objects) in children {
            folder.add(field, format!("../{path}").into());
            folder.visible.extend(objects);
        }
        let count = if is_base {
            self.random.usize(2..8)
        } else {
            self.random.usize(0..3)
        };
        self.resources(&mut folder, count);
        self.generators(&mut folder);
        if name == "top" && self.one_in(3) {
            self.component(&mut folder);
        }
        self.changes(&mut folder);
        if name == "side" {
            folder.fields.insert("namePrefix".into(), "side-".into());
        }
        if name == "top" {
            self.top_fields(&mut folder);
        }
        self.finish(folder)
    }

    fn finish(&mut self, folder: Folder) -> Vec<Object> {
        let path = format!("{}/kustomization.yaml", folder.name);
        self.write(path, &Value::Object(folder.fields));
        folder.visible
    }

    fn resources(&mut self, folder: &mut Folder, count: usize) {
        let mut documents: Vec<String> = Vec::new();
        for index in 0..count {
            let name = self.new_name();
            let object = objects::make(&name, &folder.visible, &mut self.random);
            if self.one_in(6) {
                let path = format!("object-{index}.json");
                self.files
                    .insert(format!("{}/{path}", folder.name), object.value.to_string());
                folder.add("resources", path.into());
            } else {
                documents.push(text::document(&object.value, &mut self.random));
            }
            folder.visible.push(object);
        }
        if count > 0 && self.one_in(6) {
            self.features.insert("List");
            let items = (0..2).map(|_| {
                let name = self.new_name();
                let object = objects::make(&name, &folder.visible, &mut self.random);
                folder.visible.push(object.clone());
                object.value
            });
            let list = json!({"apiVersion": "v1", "kind": "List", "items": items.collect::<Value>()});
            documents.push(text::document(&list, &mut self.random));
        }
        if count > 0 && self.one_in(8) {
            self.features.insert("anchors");
            let name = self.new_name();
            documents.push(format!(
                "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {{name: {name}, labels: &l {{app: web, n: '1'}}}}\nspec:\n  one: &one {{a: 1, b: [x, y]}}\n  two: {{<<: *one, a: 2}}\n  labels: *l\n  three: *one\n"
            ));
        }
        if !documents.is_empty() {
            folder.add("resources", "all.yaml".into());
            let text = documents.join("---\n");
            self.files.insert(format!("{}/all.yaml", folder.name), text);
        }
    }

    fn component(&mut self, folder: &mut Folder) {
        self.features.insert("components");
        let mut part = Folder {
            name: "part",
            fields: Map::new(),
            visible: std::mem::take(&mut folder.visible),
        };
        part.fields
            .insert("apiVersion".into(), "kustomize.config.k8s.io/v1alpha1".into());
        part.fields.insert("kind".into(), "Component".into());
        let count = self.random.usize(0..2);
        self.resources(&mut part, count);
        self.generators(&mut part);
        self.changes(&mut part);
        // A component of nothing would be refused.
        part.fields.entry("namePrefix").or_insert_with(|| "part-".into());
        folder.visible = self.finish(part);
        folder.add("components", "../part".into());
    }

    fn top_fields(&mut self, folder: &mut Folder) {
        if self.one_in(6) {
            self.features.insert("sortOptions");
            let options = [
                json!({"order": "fifo"}),
                json!({"order": "legacy", "legacySortOptions": {"orderFirst": ["Service", "Widget"], "orderLast": ["Namespace"]}}),
            ];
            folder
                .fields
                .insert("sortOptions".into(), options[self.random.usize(0..2)].clone());
        }
        if self.one_in(6) {
            self.features.insert("buildMetadata");
            let all = ["originAnnotations", "transformerAnnotations", "managedByLabel"];
            let some = all
                .iter()
                .filter(|_| self.random.bool())
                .map(|it| Value::from(*it));
            folder.fields.insert("buildMetadata".into(), some.collect());
        }
    }
}
