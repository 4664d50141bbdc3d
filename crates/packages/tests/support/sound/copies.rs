//! Replacements and vars: from a field that is there to fields that are there or can be made.

use serde_json::{Value, json};

use super::{
    Folder, Maker,
    objects::Object,
    text::{Step, dotted, find},
};

/// Where something can be put that was not there.
const NEW_FIELDS: &[&str] = &[
    "metadata.annotations.copied",
    "metadata.labels.copied",
    "metadata.annotations.example\\.com/copied",
    "status.deep.er",
    "status.list.[name=x].value",
    "status.texts.0",
];

impl Maker {
    pub(super) fn replacements(&mut self, folder: &mut Folder) {
        for index in 0..self.random.usize(1..4) {
            let Some(replacement) = self.replacement(folder) else {
                continue;
            };
            self.features.insert("replacements");
            if self.one_in(4) {
                let path = format!("replacement-{index}.yaml");
                let content = if self.random.bool() {
                    json!([replacement])
                } else {
                    replacement
                };
                self.write(format!("{}/{path}", folder.name), &content);
                folder.add("replacements", json!({ "path": path }));
            } else {
                folder.add("replacements", replacement);
            }
        }
    }

    fn replacement(&mut self, folder: &mut Folder) -> Option<Value> {
        let from = self.known(folder, |_| true)?;
        let object = folder.visible[from].clone();
        let mut source = json!({"kind": object.kind(), "name": object.name()});
        let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        let is_whole = |value: &Value| value.as_object().is_some_and(|map| !map.is_empty());
        let mut is_map = false;
        match self.random.u32(0..8) {
            0 => {}
            1 => source["fieldPath"] = "kind".into(),
            2 => {
                source["fieldPath"] = "metadata.name".into();
                source["options"] = json!({"delimiter": self.pick(&["e", "."]), "index": 0});
            }
            3 | 4 if !find(&object.value, &is_whole).is_empty() => {
                // Notes of the reference's own are among the annotations, and would be copied with them.
                let mut ways = find(&object.value, &is_whole);
                ways.retain(|way| !is_noted(way));
                let way = self.choose(&ways)?;
                source["fieldPath"] = dotted(&way, &mut self.random).into();
                is_map = true;
            }
            _ => {
                let ways = find(&object.value, &is_text);
                let way = self.choose(&ways)?;
                source["fieldPath"] = dotted(&way, &mut self.random).into();
            }
        }
        let mut targets = Vec::new();
        for _ in 0..self.random.usize(1..3) {
            targets.extend(self.replaced(folder, is_map));
        }
        (!targets.is_empty()).then(|| json!({"source": source, "targets": targets}))
    }

    fn replaced(&mut self, folder: &mut Folder, is_map: bool) -> Option<Value> {
        let index = self.known(folder, |_| true)?;
        let object = &folder.visible[index];
        let mut select = json!({"kind": object.kind(), "name": object.name()});
        if is_map || self.random.bool() {
            if self.one_in(4) {
                select = match self.random.u32(0..3) {
                    0 => json!({"kind": object.kind()}),
                    1 => json!({"labelSelector": "app"}),
                    _ => json!({"version": "v1"}),
                };
            }
            let path = if is_map {
                "status.copied.whole"
            } else {
                self.pick(NEW_FIELDS)
            };
            let mut target = json!({"select": select, "fieldPaths": [path], "options": {"create": true}});
            if self.one_in(4) {
                target["reject"] =
                    json!([{"kind": "CustomResourceDefinition"}, {"labelSelector": "tier=word"}]);
            }
            return Some(target);
        }
        let ways = texts(object);
        let way = self.choose(&ways)?;
        let mut target = json!({"select": select, "fieldPaths": [dotted(&way, &mut self.random)]});
        match self.random.u32(0..4) {
            0 => {
                target["options"] =
                    json!({"delimiter": self.pick(&["-", ":", "/"]), "index": self.random.i32(-1..3)});
            }
            1 => target["options"] = json!({"create": true}),
            _ => {}
        }
        Some(target)
    }

    pub(super) fn vars(&mut self, folder: &mut Folder) {
        let Some(index) = self.known(folder, |_| true) else {
            return;
        };
        self.features.insert("vars");
        let object = &mut folder.visible[index];
        object.is_needed = true;
        let object = object.clone();
        let name = match self.vars {
            0 => "NAME".to_owned(),
            1 => "OTHER".to_owned(),
            more => format!("VAR_{more}"),
        };
        self.vars += 1;
        let mut objref =
            json!({"apiVersion": object.api_version(), "kind": object.kind(), "name": object.name()});
        if let Some(namespace) = object.namespace() {
            objref["namespace"] = namespace.into();
        }
        let mut var = json!({"name": name, "objref": objref});
        match self.random.u32(0..3) {
            0 => {}
            1 => var["fieldref"] = json!({"fieldpath": "kind"}),
            _ => var["fieldref"] = json!({"fieldPath": "metadata.name"}),
        }
        folder.add("vars", var);
    }
}

fn is_noted(way: &[Step]) -> bool {
    match way {
        [Step::Field(first)] => first == "metadata",
        [Step::Field(first), Step::Field(second)] => first == "metadata" && second == "annotations",
        _ => false,
    }
}

/// Text that may become another, and what is in it may not be an object's own name.
fn texts(object: &Object) -> Vec<Vec<Step>> {
    let is_free = |way: &Vec<Step>| match way.as_slice() {
        [Step::Field(first), rest @ ..] => {
            let is_labels =
                matches!(rest, [Step::Field(second), _] if second == "labels" || second == "annotations");
            let is_last_name =
                matches!(rest.last(), Some(Step::Field(last)) if last == "name" || last == "kind");
            (first == "metadata" && is_labels) || (first == "spec" || first == "data") && !is_last_name
        }
        _ => false,
    };
    find(&object.value, &Value::is_string)
        .into_iter()
        .filter(is_free)
        .collect()
}
