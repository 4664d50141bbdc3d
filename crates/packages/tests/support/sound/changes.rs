//! What a kustomization generates and changes, in the order it is done.

use serde_json::{Value, json};

use super::{Folder, Maker, objects};

/// Which fields of a kind are about something.
const CONFIGURATIONS: &[&str] = &[
    "nameReference:\n- kind: ConfigMap\n  fieldSpecs:\n  - path: spec/map\n    kind: Widget\n",
    "varReference:\n- path: spec/texts\n  kind: Widget\n- path: spec/values\n  kind: Widget\n",
    "commonLabels:\n- path: spec/labels\n  create: true\n  kind: Widget\n",
    "images:\n- path: spec/list[]/value\n  kind: Widget\n",
    "namespace:\n- path: spec/space\n  kind: Widget\n  create: true\n",
    "replicas:\n- path: spec/number\n  kind: Widget\n  create: true\n",
];

const TRANSFORMERS: &[&str] = &[
    "apiVersion: builtin\nkind: PrefixTransformer\nmetadata:\n  name: p\nprefix: t-\nfieldSpecs:\n- path: metadata/name\n",
    "apiVersion: builtin\nkind: SuffixTransformer\nmetadata:\n  name: s\nsuffix: -t\nfieldSpecs:\n- path: metadata/name\n  kind: Service\n",
    "apiVersion: builtin\nkind: PrefixSuffixTransformer\nmetadata:\n  name: ps\nprefix: l-\nsuffix: -r\nfieldSpecs:\n- path: metadata/name\n",
    "apiVersion: builtin\nkind: NamespaceTransformer\nmetadata:\n  name: n\n  namespace: team\nunsetOnly: true\n",
    "apiVersion: builtin\nkind: NamespaceTransformer\nmetadata:\n  name: n\n  namespace: team\nsetRoleBindingSubjects: allServiceAccounts\nfieldSpecs:\n- path: metadata/namespace\n  create: true\n",
    "apiVersion: builtin\nkind: LabelTransformer\nmetadata:\n  name: l\nlabels:\n  from: transformer\nfieldSpecs:\n- path: metadata/labels\n  create: true\n",
    "apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata:\n  name: a\nannotations:\n  note: other\nfieldSpecs:\n- path: metadata/annotations\n  create: true\n",
    "apiVersion: builtin\nkind: ValueAddTransformer\nmetadata:\n  name: v\nvalue: added\ntargets:\n- fieldPath: metadata/annotations/value\n",
    "apiVersion: builtin\nkind: ImageTagTransformer\nmetadata:\n  name: i\nimageTag:\n  name: nginx\n  newTag: t\nfieldSpecs:\n- path: spec/image\n",
    "apiVersion: builtin\nkind: PatchTransformer\nmetadata:\n  name: p\npatch: '[{\"op\": \"add\", \"path\": \"/metadata/patched\", \"value\": 1}]'\ntarget:\n  kind: Service|Pod\n",
    "apiVersion: builtin\nkind: PatchJson6902Transformer\nmetadata:\n  name: j\ntarget:\n  kind: Widget\n  name: w.*\njsonOp: '[{\"op\": \"replace\", \"path\": \"/spec/number\", \"value\": 5}]'\n",
];

impl Maker {
    pub(super) fn generators(&mut self, folder: &mut Folder) {
        if self.one_in(5) {
            self.features.insert("generatorOptions");
            let mut options = json!({"annotations": {"all": "yes"}, "labels": {"made": "all"}});
            options["disableNameSuffixHash"] = self.random.bool().into();
            folder.fields.insert("generatorOptions".into(), options);
        }
        for (field, kind) in [("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")] {
            if self.one_in(3) {
                self.features.insert(field);
                for _ in 0..self.random.usize(1..3) {
                    self.generator(folder, field, kind);
                }
            }
        }
        if self.one_in(8) {
            self.features.insert("generators");
            let name = self.new_name();
            let config = json!({"apiVersion": "builtin", "kind": "ConfigMapGenerator", "metadata": {"name": name}, "literals": ["k=v", "n=1"]});
            let config = self.inline(&config);
            folder.add("generators", config);
            folder
                .visible
                .push(generated("ConfigMap", &name, json!({"k": "v", "n": "1"})));
        }
    }

    fn generator(&mut self, folder: &mut Folder, field: &str, kind: &str) {
        let existing = self.known(folder, |object| object.is_generated && object.kind() == kind);
        let mut entry = json!({"literals": ["k=v", "quoted=\"x y\"", "n=1"]});
        if let Some(index) = existing.filter(|_| self.random.bool()) {
            self.features.insert("behavior");
            let object = &mut folder.visible[index];
            entry["name"] = object.name().into();
            if let Some(namespace) = object.namespace() {
                entry["namespace"] = namespace.into();
            }
            entry["behavior"] = self.pick(&["merge", "replace"]).into();
        } else {
            let name = self.new_name();
            entry["name"] = name.as_str().into();
            let data = json!({"k": "v", "quoted": "x y"});
            folder.visible.push(generated(kind, &name, data));
        }
        if kind == "Secret" && self.random.bool() {
            entry["type"] = "example.com/kind".into();
        }
        if self.one_in(3) {
            let name = folder.name;
            let contents = [
                "text\n",
                "several\nlines\n",
                "no break",
                "trailing \nx\n",
                "<&>\u{2028}\u{7}",
            ];
            let content = self.pick(&contents);
            self.files.insert(format!("{name}/file.txt"), content.to_owned());
            entry["files"] = json!(["file.txt", "key.x=file.txt"]);
        }
        if self.one_in(3) {
            let text = "\u{feff}# note\nENV=1\n OTHER = x \nBARE\nQ=\"q\"\n".to_owned();
            self.files.insert(format!("{}/vars.env", folder.name), text);
            let field = self.pick(&["env", "envs"]);
            entry[field] = if field == "env" {
                "vars.env".into()
            } else {
                json!(["vars.env"])
            };
        }
        if self.one_in(3) {
            entry["options"] = json!({"labels": {"made": "here"}, "disableNameSuffixHash": self.random.bool(), "immutable": self.random.bool()});
        }
        folder.add(field, entry);
    }

    pub(super) fn changes(&mut self, folder: &mut Folder) {
        if self.one_in(4) {
            self.merge_patches(folder);
        }
        if self.one_in(2) {
            self.patches(folder);
        }
        // Two objects that are namespaces would become one.
        let namespaces = folder
            .visible
            .iter()
            .filter(|object| object.kind() == "Namespace");
        if namespaces.count() < 2 && self.one_in(4) {
            self.features.insert("namespace");
            folder.fields.insert(
                "namespace".into(),
                self.pick(&["team", "default", "other"]).into(),
            );
        }
        if self.one_in(4) {
            self.features.insert("namePrefix");
            folder
                .fields
                .insert("namePrefix".into(), self.pick(&["a-", "b-", "team."]).into());
        }
        if self.one_in(5) {
            self.features.insert("nameSuffix");
            folder.fields.insert("nameSuffix".into(), "-v1".into());
        }
        if self.one_in(4) {
            self.labels(folder);
        }
        if self.one_in(6) {
            self.features.insert("commonLabels");
            folder
                .fields
                .insert("commonLabels".into(), json!({"common": "1"}));
        }
        if self.one_in(5) {
            self.features.insert("commonAnnotations");
            folder
                .fields
                .insert("commonAnnotations".into(), objects::entries(&mut self.random));
        }
        if self.one_in(5) {
            self.json_patches(folder);
        }
        if self.one_in(5) {
            self.replicas(folder);
        }
        if self.one_in(4) {
            self.images(folder);
        }
        if self.one_in(2) {
            self.replacements(folder);
        }
        if self.one_in(3) {
            self.vars(folder);
        }
        if self.one_in(6) {
            self.features.insert("configurations");
            let text = self.pick(CONFIGURATIONS).to_owned();
            self.files.insert(format!("{}/config.yaml", folder.name), text);
            folder
                .fields
                .insert("configurations".into(), json!(["config.yaml"]));
        }
        if self.one_in(6) {
            self.features.insert("transformers");
            let text = self.pick(TRANSFORMERS);
            if self.random.bool() {
                folder.add("transformers", text.into());
            } else {
                self.files
                    .insert(format!("{}/transformer.yaml", folder.name), text.to_owned());
                folder.add("transformers", "transformer.yaml".into());
            }
        }
        if self.one_in(12) {
            self.features.insert("crds");
            let crd = json!({"com.example.v1.Widget": {"Schema": {
                "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}, "spec": {"$ref": "com.example.v1.WidgetSpec"}},
            }}, "com.example.v1.WidgetSpec": {"Schema": {"properties": {
                "ref": {"type": "object", "x-kubernetes-object-ref-api-version": "v1", "x-kubernetes-object-ref-kind": "ConfigMap"},
                "values": {"type": "object", "x-kubernetes-annotation": ""},
            }}}});
            self.write(format!("{}/crd.yaml", folder.name), &crd);
            folder.fields.insert("crds".into(), json!(["crd.yaml"]));
        }
        if self.one_in(16) {
            self.features.insert("openapi");
            let schema = json!({"definitions": {"v1.Widget": {
                "properties": {"spec": {"type": "object", "properties": {"list": {
                    "type": "array", "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge",
                    "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                }}}},
                "x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "Widget", "version": "v1"}],
            }}});
            self.files
                .insert(format!("{}/schema.json", folder.name), schema.to_string());
            folder
                .fields
                .insert("openapi".into(), json!({"path": "schema.json"}));
        }
        if self.one_in(10) {
            self.features.insert("validators");
            let config = "apiVersion: builtin\nkind: LabelTransformer\nmetadata:\n  name: none\nlabels:\n  a: b\nfieldSpecs:\n- path: spec/nowhere\n  kind: Nothing\n";
            folder.add("validators", config.into());
        }
    }

    fn labels(&mut self, folder: &mut Folder) {
        self.features.insert("labels");
        for _ in 0..self.random.usize(1..3) {
            let mut entry =
                json!({"pairs": {self.pick(&["team", "app", "l1"]): objects::text(&mut self.random)}});
            match self.random.u32(0..4) {
                0 => entry["includeSelectors"] = true.into(),
                1 => entry["includeTemplates"] = true.into(),
                2 => entry["fields"] = json!([{"path": "spec/extra", "create": true, "kind": "Widget"}]),
                _ => {}
            }
            folder.add("labels", entry);
        }
    }

    fn replicas(&mut self, folder: &mut Folder) {
        let scaled = |object: &objects::Object| ["Deployment", "StatefulSet"].contains(&object.kind());
        if let Some(index) = self.known(folder, scaled) {
            self.features.insert("replicas");
            let name = folder.visible[index].name().to_owned();
            folder.add("replicas", json!({"name": name, "count": self.random.u32(0..9)}));
        }
    }

    fn images(&mut self, folder: &mut Folder) {
        self.features.insert("images");
        for _ in 0..self.random.usize(1..3) {
            let name = self.pick(&[
                "nginx",
                "redis",
                "ghcr.io/x/app",
                "host:5000/nginx",
                "ngin.",
                "none",
            ]);
            let mut entry = json!({ "name": name });
            for (field, value) in [
                ("newTag", "2.0"),
                ("newName", "mirror/x"),
                ("digest", "sha256:fff"),
                ("tagSuffix", "-alpine"),
            ] {
                // A suffix goes with neither a tag nor a digest.
                let has_tag = !entry["newTag"].is_null() || !entry["digest"].is_null();
                if self.one_in(3) && !(field == "tagSuffix" && has_tag) {
                    entry[field] = value.into();
                }
            }
            folder.add("images", entry);
        }
    }
}

fn generated(kind: &str, name: &str, data: Value) -> objects::Object {
    let value = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "data": data});
    objects::Object {
        value,
        is_known: true,
        is_generated: true,
        is_needed: false,
    }
}
