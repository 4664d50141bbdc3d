//! One kustomization after the other, from the bases up: resources, generators, components, then
//! transformers, in a fixed order.

use super::{
    config::{self, Config, FieldSpecs},
    decode::Text,
    generate,
    kustomization::{GeneratorArgs, GeneratorOptions, Kustomization, empty},
    node::{At, read_first, to_value},
    objects::{inline_objects, objects},
    origin::{self, Origin},
    plugins,
    problem::{Outcome, Problem},
    resource::Resource,
    resources::Resources,
    root::{Named, Root},
    session::malformed,
    transform::{
        Transformer,
        annotations::Annotations,
        images::Images,
        json_patch::JsonPatches,
        labels::Labels,
        merge_patch::MergePatches,
        names::{Affix, AffixKind},
        namespace::{Namespace, Subjects},
        patch::Patches,
        replacements::Replacements,
        replicas::Replicas,
    },
    vars::{self, Vars},
};

const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// What a kustomization has come to: objects, and what is needed to finish them.
#[derive(Default)]
pub(super) struct Accumulated {
    pub(super) resources: Resources,
    pub(super) config: Config,
    pub(super) vars: Vars,
}

/// A kustomization about to be built.
pub(super) struct Target<'s, 'f> {
    root: Root<'s, 'f>,
    pub(super) kustomization: Kustomization,
    file_name: &'static str,
    /// Where it is, seen from the top, when origins are asked for.
    origin: Option<String>,
}

/// A transformer, and who asked for it.
struct Step {
    transformer: Box<dyn Transformer>,
    origin: Option<Origin>,
}

impl<'s, 'f> Target<'s, 'f> {
    /// Reads the kustomization of a folder, with what it says of schemas.
    pub(super) fn load(root: Root<'s, 'f>, is_top: bool) -> Outcome<Self> {
        let (file_name, text, start) = find(&root)?;
        let at = At {
            line: 1,
            column: 1,
            ..start
        };
        let node = read_first(&text, start.file).map_err(malformed)?;
        let (kustomization, warnings) = Kustomization::read(&node.ok_or_else(|| empty(at))?)?;
        for warning in warnings {
            root.session.warn(warning);
        }
        if let Some(openapi) = &kustomization.openapi {
            let path = openapi.get("path").map(|path| Text {
                text: path.clone(),
                at: kustomization.at,
            });
            let content = path.map(|path| root.read_text(&path)).transpose()?;
            let content = content.as_ref().map(|(content, _)| content.as_str());
            let version = openapi.get("version").map(String::as_str);
            let decided = root.session.schemas().decide(version, content, is_top);
            decided.map_err(|problem| problem.at(kustomization.at))?;
        }
        Ok(Self {
            root,
            kustomization,
            file_name,
            origin: None,
        })
    }

    /// Has objects note where they are from.
    pub(super) fn note_origins(&mut self) {
        self.origin = Some(String::new());
    }

    /// Builds it on top of what is there: nothing, or for a component what its parent has.
    pub(super) fn accumulate(self, mut so_far: Accumulated) -> Outcome<Accumulated> {
        self.add_resources(&mut so_far, &self.kustomization.resources)?;
        self.add_configuration(&mut so_far)?;
        self.run_generators(&mut so_far)?;
        for path in &self.kustomization.components {
            so_far = self.add_component(so_far, path)?;
        }
        self.run_transformers(&mut so_far)?;
        self.run_validators(&mut so_far)?;
        let vars = self.kustomization.vars.clone().unwrap_or_default();
        vars::attach(&mut so_far.resources, &vars)?;
        vars::merge(&mut so_far.vars, vars)?;
        Ok(so_far)
    }

    fn add_resources(&self, so_far: &mut Accumulated, paths: &[Text]) -> Outcome {
        for path in paths {
            match self.root.named(path)? {
                Named::File(file) => {
                    let documents = self.root.session.documents(&file, path.at)?;
                    let mut resources = objects(self.root.session, &documents)?;
                    if let Some(folder) = &self.origin {
                        let origin = Origin::File(origin::join(folder, &path.text));
                        for resource in &mut resources {
                            origin.set_on(resource);
                        }
                    }
                    so_far.resources.extend(resources)?;
                }
                Named::Folder(root) => {
                    let target = self.child(root, path)?;
                    if target.kustomization.is_component {
                        return Err(Problem::new(format!("`{}` is a component", path.text))
                            .at(path.at)
                            .help("list it under `components`"));
                    }
                    let built = target.accumulate(Accumulated::default())?;
                    so_far.add(built)?;
                }
            }
        }
        Ok(())
    }

    fn child(&self, root: Root<'s, 'f>, path: &Text) -> Outcome<Self> {
        let mut child = Self::load(root, false).map_err(|problem| problem.at(path.at))?;
        child.origin = self
            .origin
            .as_ref()
            .map(|folder| origin::join(folder, &path.text));
        Ok(child)
    }

    fn add_component(&self, so_far: Accumulated, path: &Text) -> Outcome<Accumulated> {
        let target = self.child(self.root.enter(path)?, path)?;
        if !target.kustomization.is_component {
            return Err(Problem::new(format!("`{}` is not a component", path.text))
                .at(path.at)
                .help("list it under `resources`, or make it `kind: Component`"));
        }
        let built = target.accumulate(so_far)?;
        let mut merged = Accumulated::default();
        merged.add(built)?;
        Ok(merged)
    }

    fn add_configuration(&self, so_far: &mut Accumulated) -> Outcome {
        let kustomization = &self.kustomization;
        let mut specs = config::defaults();
        let mut own = FieldSpecs::default();
        for path in &kustomization.configurations {
            let (text, at) = self.root.read_text(path)?;
            own.merge(&config::read(&text, at.file)?)
                .map_err(|problem| problem.at(path.at))?;
        }
        config::merge_in(&mut specs, own)?;
        config::merge(&mut so_far.config, &specs)?;
        let mut of_crds = FieldSpecs::default();
        for path in &kustomization.crds {
            let (text, at) = self.root.read_text(path)?;
            let specs = config::from_crds(&text).map_err(|problem| problem.at(at))?;
            of_crds.merge(&specs).map_err(|problem| problem.at(path.at))?;
        }
        config::merge_in(&mut so_far.config, of_crds)
    }

    /// Where this kustomization is, for what it asked for.
    fn asked_for(&self, kind: &str) -> Option<Origin> {
        let folder = self.origin.as_ref()?;
        Some(Origin::built_in(origin::join(folder, self.file_name), kind))
    }

    fn run_generators(&self, so_far: &mut Accumulated) -> Outcome {
        let kustomization = &self.kustomization;
        let global = kustomization.generator_options.as_ref();
        let with_options = |args: &GeneratorArgs| GeneratorArgs {
            options: GeneratorOptions::with_global(args.options.as_ref(), global),
            ..args.clone()
        };
        if let Some(at) = kustomization.helm {
            return Err(plugins::helm(at));
        }
        let mut absorb = |mut resource: Resource, origin: Option<Origin>| {
            if let Some(origin) = origin.filter(|_| resource.annotation(origin::ORIGIN).is_none()) {
                origin.set_on(&mut resource);
            }
            generate::absorb(&mut so_far.resources, resource)
        };
        for args in &kustomization.config_map_generator {
            let resource = generate::config_map(&self.root, &with_options(args))?;
            absorb(resource, self.asked_for("ConfigMapGenerator"))?;
        }
        for args in &kustomization.secret_generator {
            let resource = generate::secret(&self.root, &with_options(args))?;
            absorb(resource, self.asked_for("SecretGenerator"))?;
        }
        for config in self.plugin_configs(&kustomization.generators)? {
            let resource = plugins::generate(&self.root, &config)?;
            absorb(resource, Origin::of_plugin(&config))?;
        }
        Ok(())
    }

    /// The objects that configure generators or transformers: inline, in files, or built.
    fn plugin_configs(&self, entries: &[Text]) -> Outcome<Vec<Resource>> {
        let mut configs = Accumulated::default();
        let mut paths = Vec::new();
        for entry in entries {
            let Ok(mut inline) = inline_objects(self.root.session, &entry.text, entry.at) else {
                paths.push(entry.clone());
                continue;
            };
            if let Some(folder) = &self.origin {
                let origin = Origin::File(origin::join(folder, self.file_name));
                for resource in &mut inline {
                    origin.set_on(resource);
                }
            }
            configs.resources.extend(inline)?;
        }
        self.add_resources(&mut configs, &paths)?;
        Ok(configs.resources.into_list())
    }

    fn run_transformers(&self, so_far: &mut Accumulated) -> Outcome {
        let mut steps = self.built_in_steps(&so_far.config)?;
        for config in self.plugin_configs(&self.kustomization.transformers)? {
            steps.push(Step {
                transformer: plugins::transformer(&self.root, &config)?,
                origin: Origin::of_plugin(&config),
            });
        }
        for step in steps {
            step.transformer
                .transform(&mut so_far.resources, self.root.session)?;
            so_far.resources.drop_empty();
            if let Some(origin) = &step.origin {
                so_far
                    .resources
                    .iter_mut()
                    .for_each(|resource| origin.add_to(resource));
            }
        }
        Ok(())
    }

    /// The transformers fields of a kustomization stand for, in the order they run.
    fn built_in_steps(&self, config: &Config) -> Outcome<Vec<Step>> {
        let (root, own) = (&self.root, &self.kustomization);
        let mut steps: Vec<Step> = Vec::new();
        let mut add = |kind: &str, transformer: Box<dyn Transformer>| {
            steps.push(Step {
                transformer,
                origin: self.asked_for(kind),
            });
        };
        let paths = own.patches_strategic_merge.as_deref().unwrap_or_default();
        if !paths.is_empty() {
            let patches = MergePatches::new(root, paths, None)?;
            add("PatchStrategicMergeTransformer", Box::new(patches));
        }
        for patch in &own.patches {
            add("PatchTransformer", Box::new(Patches::new(root, patch)?));
        }
        if !own.namespace.is_empty() {
            let namespace = Namespace {
                namespace: own.namespace.clone(),
                field_specs: config.namespace.clone(),
                unset_only: false,
                subjects: Subjects::Default,
            };
            add("NamespaceTransformer", Box::new(namespace));
        }
        let affixes = [
            (
                AffixKind::Prefix,
                &own.name_prefix,
                &config.name_prefix,
                "PrefixTransformer",
            ),
            (
                AffixKind::Suffix,
                &own.name_suffix,
                &config.name_suffix,
                "SuffixTransformer",
            ),
        ];
        for (kind, text, specs, name) in affixes {
            if !text.is_empty() {
                let affix = Affix {
                    kind,
                    text: text.clone(),
                    field_specs: specs.clone(),
                };
                add(name, Box::new(affix));
            }
        }
        for label in &own.labels {
            add("LabelTransformer", Box::new(Labels::new(label, config)?));
        }
        let common_labels = own.common_labels.clone().unwrap_or_default();
        if !own.labels.is_empty() || !common_labels.is_empty() {
            let labels = Labels {
                labels: common_labels,
                field_specs: config.common_labels.clone(),
            };
            add("LabelTransformer", Box::new(labels));
        }
        if !own.common_annotations.is_empty() {
            let annotations = Annotations {
                annotations: own.common_annotations.clone(),
                field_specs: config.common_annotations.clone(),
            };
            add("AnnotationsTransformer", Box::new(annotations));
        }
        for patch in own.patches_json_6902.iter().flatten() {
            let (target, path) = (patch.target.as_ref(), patch.path.as_ref());
            let patches = JsonPatches::new(root, target, path, patch.patch.as_ref(), patch.at)?;
            add("PatchJson6902Transformer", Box::new(patches));
        }
        for replica in &own.replicas {
            let replicas = Replicas {
                replica: replica.clone(),
                field_specs: config.replicas.clone(),
            };
            add("ReplicaCountTransformer", Box::new(replicas));
        }
        for image in &own.images {
            let images = Images::new(image.clone(), config.images.clone());
            add("ImageTagTransformer", Box::new(images));
        }
        if !own.replacements.is_empty() {
            let replacements = Replacements::new(root, own.replacements.clone())?;
            add("ReplacementTransformer", Box::new(replacements));
        }
        Ok(steps)
    }

    /// Validators are transformers that must change nothing but a label that says they were there.
    fn run_validators(&self, so_far: &mut Accumulated) -> Outcome {
        for config in self.plugin_configs(&self.kustomization.validators)? {
            let validator = plugins::transformer(&self.root, &config)?;
            let before = snapshot(&so_far.resources)?;
            validator.transform(&mut so_far.resources, self.root.session)?;
            if snapshot(&so_far.resources)? != before {
                return Err(Problem::new("a validator changed an object")
                    .at(config.node.at)
                    .help("list it under `transformers`"));
            }
        }
        Ok(())
    }
}

/// Objects, and how many names and parts of names are noted on each: to note one is a change too.
fn snapshot(resources: &Resources) -> Outcome<Vec<(serde_json::Value, [usize; 3])>> {
    let values = resources.iter().map(|resource| {
        let mut value = to_value(&resource.node)?;
        if let Some(labels) = value["metadata"]["labels"].as_object_mut() {
            labels.remove("validated-by");
            if labels.is_empty()
                && let Some(metadata) = value["metadata"].as_object_mut()
            {
                metadata.remove("labels");
            }
        }
        let notes = [
            resource.previous.len(),
            resource.prefixes.len(),
            resource.suffixes.len(),
        ];
        Ok((value, notes))
    });
    values.collect()
}

impl Accumulated {
    /// Adds what another kustomization has come to.
    fn add(&mut self, other: Self) -> Outcome {
        if self.resources.len() == 0 {
            let mut resources = other.resources;
            resources.check_ids()?;
            self.resources = resources;
        } else {
            self.resources.extend(other.resources.into_list())?;
        }
        config::merge(&mut self.config, &other.config)?;
        vars::merge(&mut self.vars, other.vars.into_values())
    }
}

/// The kustomization file of a folder, of which there must be one.
fn find(root: &Root<'_, '_>) -> Outcome<(&'static str, String, At)> {
    let load = |name: &'static str| {
        let text = Text {
            text: name.to_owned(),
            at: At::default(),
        };
        let file = root.file(&text).ok()?;
        Some((name, file))
    };
    let found: Vec<_> = FILE_NAMES.into_iter().filter_map(load).collect();
    let folder = root.folder.display();
    match found.as_slice() {
        [(name, file)] => {
            let start = root.session.start_of(file);
            let text = root.session.read_text(file, start)?;
            Ok((*name, text, start))
        }
        [] => Err(
            Problem::new(format!("`{folder}` has no kustomization file")).help(format!(
                "make one, called {}",
                FILE_NAMES.map(|name| format!("`{name}`")).join(", ")
            )),
        ),
        several => {
            let names: Vec<String> = several.iter().map(|(name, _)| format!("`{name}`")).collect();
            Err(Problem::new(format!(
                "`{folder}` has several kustomization files: {}",
                names.join(", ")
            ))
            .help("keep one of them"))
        }
    }
}
