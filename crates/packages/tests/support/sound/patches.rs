//! Patches for objects that are there.

use serde_json::{Value, json};

use super::{
    Folder, Maker,
    objects::{Object, entries, text},
    text::{self as writing, Step, find, pointer},
};

impl Maker {
    pub(super) fn merge_patches(&mut self, folder: &mut Folder) {
        if let Some(patch) = self.merge_patch(folder) {
            self.features.insert("patchesStrategicMerge");
            let patch = match self.merge_patch(folder) {
                // Several in one text.
                Some(other) if self.one_in(3) => {
                    let texts = [patch, other].map(|patch| writing::document(&patch, &mut self.random));
                    texts.join("---\n").into()
                }
                _ => self.inline_or_file(folder, "merge.yaml", &patch),
            };
            folder.add("patchesStrategicMerge", patch);
        }
    }

    /// The text itself, or the name of a file with it.
    fn inline_or_file(&mut self, folder: &Folder, path: &str, patch: &Value) -> Value {
        if self.random.bool() {
            return self.inline(patch);
        }
        self.write(format!("{}/{path}", folder.name), patch);
        path.into()
    }

    pub(super) fn patches(&mut self, folder: &mut Folder) {
        for index in 0..self.random.usize(1..4) {
            let (patch, target) = match self.random.u32(0..4) {
                0 => (self.merge_patch(folder), None),
                1 => self.aimed(folder),
                2 => (Some(self.for_many()), Some(self.selector(folder))),
                _ => self.json_patch(folder),
            };
            let Some(patch) = patch else {
                continue;
            };
            self.features.insert("patches");
            let path = format!("patch-{index}.yaml");
            let mut entry = match self.inline_or_file(folder, &path, &patch) {
                Value::String(text) if text == path => json!({ "path": path }),
                text => json!({ "patch": text }),
            };
            if let Some(target) = target {
                if self.one_in(6) && target["name"].is_string() && patch["metadata"]["name"] == "any" {
                    self.features.insert("allowNameChange");
                    entry["options"] = json!({"allowNameChange": true});
                }
                entry["target"] = target;
            }
            folder.add("patches", entry);
        }
    }

    pub(super) fn json_patches(&mut self, folder: &mut Folder) {
        if let (Some(patch), Some(mut target)) = self.json_patch(folder) {
            self.features.insert("patchesJson6902");
            target["version"] = "v.*".into();
            let patch = self.inline(&patch);
            folder.add("patchesJson6902", json!({"target": target, "patch": patch}));
        }
    }

    /// A merge patch that says itself what it is for.
    fn merge_patch(&mut self, folder: &mut Folder) -> Option<Value> {
        let index = self.known(folder, |_| true)?;
        let object = &mut folder.visible[index];
        let mut patch = body(object, &mut self.random);
        patch["apiVersion"] = object.api_version().into();
        patch["kind"] = object.kind().into();
        patch["metadata"]["name"] = object.name().into();
        if let Some(namespace) = object.namespace() {
            patch["metadata"]["namespace"] = namespace.into();
        }
        if !object.is_needed && self.one_in(12) {
            self.features.insert("$patch: delete");
            patch["$patch"] = "delete".into();
            folder.visible.remove(index);
        }
        Some(patch)
    }

    /// A merge patch with a target.
    fn aimed(&mut self, folder: &mut Folder) -> (Option<Value>, Option<Value>) {
        let Some(index) = self.known(folder, |_| true) else {
            return (None, None);
        };
        let object = &mut folder.visible[index];
        let mut patch = body(object, &mut self.random);
        patch["apiVersion"] = object.api_version().into();
        patch["kind"] = object.kind().into();
        patch["metadata"]["name"] = "any".into();
        // Its name may be changed by it.
        object.is_known = false;
        let target = json!({"kind": object.kind(), "name": object.name().replace('.', "\\.")});
        (Some(patch), Some(target))
    }

    /// A merge patch that fits everything.
    fn for_many(&mut self) -> Value {
        let field = self.pick(&["labels", "annotations"]);
        json!({"apiVersion": "v1", "kind": "Any", "metadata": {"name": "any", field: entries(&mut self.random)}})
    }

    fn selector(&mut self, folder: &Folder) -> Value {
        let choices = [
            json!({"kind": "Deploy.*|Pod"}),
            json!({"kind": "Widget", "group": "example.com"}),
            json!({"labelSelector": "app,tier!=x"}),
            json!({"annotationSelector": "app in (word, yes)", "version": "v1"}),
            json!({"name": "web.*"}),
            json!({"namespace": "team|default"}),
            json!({}),
        ];
        let mut target = choices[self.random.usize(0..choices.len())].clone();
        if self.one_in(4)
            && let Some(index) = self.known(folder, |_| true)
        {
            target["kind"] = folder.visible[index].kind().into();
        }
        target
    }

    /// A JSON patch, and what it is for.
    fn json_patch(&mut self, folder: &mut Folder) -> (Option<Value>, Option<Value>) {
        let Some(index) = self.known(folder, |_| true) else {
            return (None, None);
        };
        let object = &mut folder.visible[index];
        let target = json!({"kind": object.kind(), "name": object.name().replace('.', "\\.")});
        let texts = leaves(&object.value, &Value::is_string);
        let maps = leaves(&object.value, &|value| {
            value.as_object().is_some_and(|it| !it.is_empty())
        });
        let lists = leaves(&object.value, &Value::is_array);
        let mut operations = vec![json!({"op": "test", "path": "/kind", "value": object.kind()})];
        for _ in 0..self.random.usize(1..4) {
            let value = [
                json!(text(&mut self.random)),
                json!(7),
                json!({"k": [1, "2", null, 1.5]}),
            ];
            let value = value[self.random.usize(0..3)].clone();
            let operation = match self.random.u32(0..5) {
                0 => self
                    .choose(&texts)
                    .map(|way| json!({"op": "replace", "path": pointer(&way), "value": text(&mut self.random)})),
                1 => self
                    .choose(&maps)
                    .map(|way| json!({"op": "add", "path": format!("{}/added", pointer(&way)), "value": value})),
                2 => self.choose(&lists).map(|way| {
                    object.is_known = false;
                    let place = self.pick(&["-", "0"]);
                    json!({"op": "add", "path": format!("{}/{place}", pointer(&way)), "value": {"name": "added"}})
                }),
                3 => self
                    .choose(&texts)
                    .map(|way| json!({"op": "copy", "from": pointer(&way), "path": "/metadata/copied"})),
                _ => self.choose(&texts).map(|way| {
                    object.is_known = false;
                    json!({"op": "remove", "path": pointer(&way)})
                }),
            };
            operations.extend(operation);
            if !object.is_known {
                break;
            }
        }
        if texts.is_empty() {
            return (None, None);
        }
        // What is there must be there whatever ran before, and a needed object stays as it was.
        if object.is_needed {
            object.is_known = true;
            return (None, None);
        }
        (Some(operations.into()), Some(target))
    }
}

/// Ways to what passes a test, but for what an object is called.
fn leaves(value: &Value, test: &dyn Fn(&Value) -> bool) -> Vec<Vec<Step>> {
    let is_own = |way: &Vec<Step>| match way.as_slice() {
        [Step::Field(first), ..] => first == "spec" || first == "data",
        _ => false,
    };
    find(value, test).into_iter().filter(is_own).collect()
}

/// Something to merge into an object.
fn body(object: &mut Object, random: &mut fastrand::Rng) -> Value {
    let mut patch = json!({"metadata": {"annotations": entries(random)}});
    match object.kind() {
        _ if object.has_template() => {
            let mut container = json!({"name": "main"});
            match random.u32(0..6) {
                0 => container["image"] = "patched:1".into(),
                1 => {
                    container["env"] =
                        json!([{"name": "NEW", "value": text(random)}, {"name": "A", "value": "patched"}]);
                }
                2 => container["env"] = json!([{"name": "A", "$patch": "delete"}]),
                3 => {
                    container["ports"] =
                        json!([{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 82}]);
                }
                4 => container["args"] = json!(["other"]),
                _ => container["volumeMounts"] = json!([{"name": "x", "mountPath": "/a"}]),
            }
            let mut spec = json!({ "containers": [container] });
            match random.u32(0..6) {
                0 => spec["containers"] = json!([container, {"name": "extra", "image": "extra"}]),
                1 => spec["volumes"] = json!([{"name": "a", "emptyDir": {}, "configMap": null}]),
                2 => spec["containers"] = json!([container, {"$patch": "replace"}]),
                3 => spec["nodeSelector"] = json!({"disk": "ssd"}),
                4 => spec["serviceAccountName"] = Value::Null,
                _ => {}
            }
            patch["spec"] = json!({"template": {"spec": spec}});
            object.is_known = false;
        }
        "ConfigMap" | "Secret" => {
            patch["data"] = json!({"added": text(random)});
            if random.u32(0..4) == 0 && !object.is_needed {
                patch["data"]["k"] = Value::Null;
                object.is_known = false;
            }
        }
        "Service" => {
            patch["spec"] =
                json!({"ports": [{"port": 80, "targetPort": 8080}, {"port": 90}], "type": "NodePort"});
            object.is_known = false;
        }
        "Widget" => {
            patch["spec"] = json!({"values": {"added": text(random)}, "list": [{"name": "one", "value": 5}]});
            object.is_known = false;
        }
        _ => patch["extra"] = json!({"deep": {"a": [1, 2]}}),
    }
    patch
}
