//! What a kustomization file says.

mod generators;
mod selectors;
mod warnings;

use std::collections::BTreeMap;

pub(super) use generators::{GeneratorArgs, GeneratorOptions};
pub(super) use selectors::{FieldOptions, Replacement, ReplacementTarget, Selector, Source, Var};

use super::{
    decode::{Fields, KUSTOMIZATION, Rules, Text},
    field_spec::FieldSpec,
    identity::Gvk,
    node::{At, Node},
    problem::{Outcome, Problem},
};

const VERSION: &str = "kustomize.config.k8s.io/v1beta1";
const COMPONENT_VERSION: &str = "kustomize.config.k8s.io/v1alpha1";

#[derive(Default)]
pub(super) struct Kustomization {
    pub(super) is_component: bool,
    pub(super) at: At,
    pub(super) openapi: Option<BTreeMap<String, String>>,
    pub(super) name_prefix: String,
    pub(super) name_suffix: String,
    pub(super) namespace: String,
    pub(super) common_labels: Option<BTreeMap<String, String>>,
    pub(super) labels: Vec<Label>,
    pub(super) common_annotations: BTreeMap<String, String>,
    pub(super) patches_strategic_merge: Option<Vec<Text>>,
    pub(super) patches_json_6902: Option<Vec<Patch>>,
    pub(super) patches: Vec<Patch>,
    pub(super) images: Vec<Image>,
    pub(super) replacements: Vec<ReplacementEntry>,
    pub(super) replicas: Vec<Replica>,
    pub(super) vars: Option<Vec<Var>>,
    pub(super) sort_options: Option<SortOptions>,
    pub(super) resources: Vec<Text>,
    pub(super) components: Vec<Text>,
    pub(super) crds: Vec<Text>,
    pub(super) config_map_generator: Vec<GeneratorArgs>,
    pub(super) secret_generator: Vec<GeneratorArgs>,
    pub(super) generator_options: Option<GeneratorOptions>,
    pub(super) configurations: Vec<Text>,
    pub(super) generators: Vec<Text>,
    pub(super) transformers: Vec<Text>,
    pub(super) validators: Vec<Text>,
    pub(super) build_metadata: Vec<String>,
    /// Where charts are asked for, which are not inflated.
    pub(super) helm: Option<At>,
}

#[derive(Clone)]
pub(super) struct Label {
    pub(super) pairs: BTreeMap<String, String>,
    pub(super) include_selectors: bool,
    pub(super) include_templates: bool,
    pub(super) fields: Vec<FieldSpec>,
}

#[derive(Clone)]
pub(super) struct Patch {
    pub(super) path: Option<Text>,
    pub(super) patch: Option<Text>,
    pub(super) target: Option<Selector>,
    pub(super) options: BTreeMap<String, bool>,
    pub(super) at: At,
}

#[derive(Clone, Default)]
pub(super) struct Image {
    pub(super) name: String,
    pub(super) new_name: String,
    pub(super) tag_suffix: String,
    pub(super) new_tag: String,
    pub(super) digest: String,
    pub(super) at: At,
}

#[derive(Clone)]
pub(super) struct Replica {
    pub(super) name: String,
    pub(super) count: i64,
    pub(super) at: At,
}

/// A replacement, or a file of some.
#[derive(Clone)]
pub(super) struct ReplacementEntry {
    pub(super) path: Option<Text>,
    pub(super) replacement: Replacement,
}

#[derive(Clone)]
pub(super) struct SortOptions {
    pub(super) order: String,
    /// Kinds that come first and last.
    pub(super) legacy: Option<(Vec<String>, Vec<String>)>,
    pub(super) at: At,
}

impl Kustomization {
    /// Reads a file, and what it has that is deprecated.
    pub(super) fn read(node: &Node) -> Outcome<(Self, Vec<&'static str>)> {
        let fields = Fields::of(node, "a kustomization", KUSTOMIZATION)?;
        let kind = fields.placed_text("kind")?.unwrap_or_default();
        let api_version = fields.placed_text("apiVersion")?.unwrap_or_default();
        fields.object("metadata", read_metadata)?;
        let mut resources = fields.texts("resources")?;
        let bases = fields.texts("bases")?;
        let mut images = fields.list("images", Image::read)?;
        let image_tags = fields.list("imageTags", Image::read)?;
        let mut own = Self {
            is_component: kind.text == "Component",
            at: node.at,
            openapi: fields.text_map("openapi")?,
            name_prefix: fields.text("namePrefix")?,
            name_suffix: fields.text("nameSuffix")?,
            namespace: fields.text("namespace")?,
            common_labels: fields.text_map("commonLabels")?,
            patches_strategic_merge: fields.texts("patchesStrategicMerge")?,
            patches_json_6902: fields.list("patchesJson6902", Patch::read)?,
            vars: fields.list("vars", Var::read)?,
            sort_options: fields.object("sortOptions", SortOptions::read)?,
            generator_options: fields.object("generatorOptions", GeneratorOptions::read)?,
            helm: helm(&fields)?,
            ..Self::default()
        };
        let labels = fields.list("labels", Label::read)?;
        let common_annotations = fields.text_map("commonAnnotations")?;
        let patches = fields.list("patches", Patch::read)?;
        let replacements = fields.list("replacements", ReplacementEntry::read)?;
        let replicas = fields.list("replicas", Replica::read)?;
        let components = fields.texts("components")?;
        let crds = fields.texts("crds")?;
        let config_maps = fields.list("configMapGenerator", GeneratorArgs::read_config_map)?;
        let secrets = fields.list("secretGenerator", GeneratorArgs::read_secret)?;
        let configurations = fields.texts("configurations")?;
        let generators = fields.texts("generators")?;
        let transformers = fields.texts("transformers")?;
        let validators = fields.texts("validators")?;
        let build_metadata = fields.texts("buildMetadata")?;
        fields.finish()?;

        let warnings = warnings::of(&own, bases.is_some(), image_tags.is_some());
        append(&mut resources, bases);
        append(&mut images, image_tags);
        // What was written counts, even when nothing is in it.
        let is_written = [
            own.openapi.is_some(),
            !own.name_prefix.is_empty(),
            !own.name_suffix.is_empty(),
            !own.namespace.is_empty(),
            own.common_labels.is_some(),
            own.patches_strategic_merge.is_some(),
            own.patches_json_6902.is_some(),
            own.vars.is_some(),
            own.sort_options.is_some(),
            own.generator_options.is_some(),
            own.helm.is_some(),
            node.get("metadata").is_some_and(|metadata| !metadata.is_null()),
            resources.is_some(),
            images.is_some(),
            labels.is_some(),
            common_annotations.is_some(),
            patches.is_some(),
            replacements.is_some(),
            replicas.is_some(),
            components.is_some(),
            crds.is_some(),
            config_maps.is_some(),
            secrets.is_some(),
            configurations.is_some(),
            generators.is_some(),
            transformers.is_some(),
            validators.is_some(),
            build_metadata.is_some(),
        ];
        if !is_written.contains(&true) {
            return Err(empty(node.at));
        }
        own.resources = resources.unwrap_or_default();
        own.images = images.unwrap_or_default();
        own.labels = labels.unwrap_or_default();
        own.common_annotations = common_annotations.unwrap_or_default();
        own.patches = patches.unwrap_or_default();
        own.replacements = replacements.unwrap_or_default();
        own.replicas = replicas.unwrap_or_default();
        own.components = components.unwrap_or_default();
        own.crds = crds.unwrap_or_default();
        own.config_map_generator = config_maps.unwrap_or_default();
        own.secret_generator = secrets.unwrap_or_default();
        own.configurations = configurations.unwrap_or_default();
        own.generators = generators.unwrap_or_default();
        own.transformers = transformers.unwrap_or_default();
        own.validators = validators.unwrap_or_default();
        let build_metadata = build_metadata.unwrap_or_default();
        own.build_metadata = build_metadata.into_iter().map(|option| option.text).collect();
        check_type(&kind, &api_version)?;
        Ok((own, warnings))
    }

    pub(super) fn has_build_metadata(&self, option: &str) -> bool {
        self.build_metadata.iter().any(|given| given == option)
    }
}

pub(super) fn empty(at: At) -> Problem {
    Problem::new("the kustomization is empty")
        .at(at)
        .help("list the files of the package under `resources`")
}

fn check_type(kind: &Text, api_version: &Text) -> Outcome {
    let wanted = match kind.text.as_str() {
        "" | "Kustomization" => VERSION,
        "Component" => COMPONENT_VERSION,
        other => {
            return Err(Problem::new(format!("the kind is `{other}`"))
                .at(kind.at)
                .help("it must be `Kustomization` or `Component`"));
        }
    };
    if api_version.text.is_empty() || api_version.text == wanted {
        return Ok(());
    }
    Err(Problem::new(format!("the apiVersion is `{}`", api_version.text))
        .at(api_version.at)
        .help(format!("it must be `{wanted}`")))
}

/// Appends to a list that may not be there; nothing makes it be there.
fn append<T>(list: &mut Option<Vec<T>>, more: Option<Vec<T>>) {
    let more = more.unwrap_or_default();
    if !more.is_empty() {
        list.get_or_insert_default().extend(more);
    }
}

fn read_metadata(node: &Node, rules: Rules) -> Outcome {
    let fields = Fields::of(node, "`metadata`", rules)?;
    fields.text("name")?;
    fields.text("namespace")?;
    fields.text_map("labels")?;
    fields.text_map("annotations")?;
    fields.finish()
}

/// Where charts are asked for. Their fields are not looked at.
fn helm(fields: &Fields<'_>) -> Outcome<Option<At>> {
    fields.node("helmGlobals");
    let mut found = None;
    for name in ["helmCharts", "helmChartInflationGenerator"] {
        let charts = fields.list(name, |node, _| Ok(node.at))?;
        found = found.or_else(|| charts.and_then(|charts| charts.first().copied()));
    }
    Ok(found)
}

impl Label {
    fn read(node: &Node, rules: Rules) -> Outcome<Self> {
        let fields = Fields::of(node, "an entry of `labels`", rules)?;
        let label = Self {
            pairs: fields.text_map("pairs")?.unwrap_or_default(),
            include_selectors: fields.bool("includeSelectors")?,
            include_templates: fields.bool("includeTemplates")?,
            fields: fields.list("fields", read_field_spec)?.unwrap_or_default(),
        };
        fields.finish()?;
        Ok(label)
    }
}

impl Patch {
    fn read(node: &Node, rules: Rules) -> Outcome<Self> {
        let fields = Fields::of(node, "a patch", rules)?;
        let patch = Self::of(&fields)?;
        fields.finish()?;
        Ok(patch)
    }

    pub(super) fn of(fields: &Fields<'_>) -> Outcome<Self> {
        Ok(Self {
            path: fields.placed_text("path")?.filter(|path| !path.text.is_empty()),
            patch: fields.placed_text("patch")?,
            target: fields.object("target", Selector::read)?,
            options: fields.bool_map("options")?.unwrap_or_default(),
            at: fields.at,
        })
    }
}

impl Image {
    pub(super) fn read(node: &Node, rules: Rules) -> Outcome<Self> {
        let fields = Fields::of(node, "an image", rules)?;
        let image = Self {
            name: fields.text("name")?,
            new_name: fields.text("newName")?,
            tag_suffix: fields.text("tagSuffix")?,
            new_tag: fields.text("newTag")?,
            digest: fields.text("digest")?,
            at: fields.at,
        };
        fields.finish()?;
        Ok(image)
    }
}

impl Replica {
    pub(super) fn read(node: &Node, rules: Rules) -> Outcome<Self> {
        let fields = Fields::of(node, "an entry of `replicas`", rules)?;
        let replica = Self {
            name: fields.text("name")?,
            count: fields.integer("count")?,
            at: node.at,
        };
        fields.finish()?;
        Ok(replica)
    }
}

impl ReplacementEntry {
    pub(super) fn read(node: &Node, rules: Rules) -> Outcome<Self> {
        let fields = Fields::of(node, "a replacement", rules)?;
        let entry = Self {
            path: fields.placed_text("path")?.filter(|path| !path.text.is_empty()),
            replacement: Replacement::of(&fields)?,
        };
        fields.finish()?;
        Ok(entry)
    }
}

impl SortOptions {
    fn read(node: &Node, rules: Rules) -> Outcome<Self> {
        let fields = Fields::of(node, "`sortOptions`", rules)?;
        let legacy = |node: &Node, rules: Rules| {
            let fields = Fields::of(node, "`legacySortOptions`", rules)?;
            let kinds = |name| {
                let texts = fields.texts(name)?.unwrap_or_default();
                Ok(texts.into_iter().map(|text| text.text).collect())
            };
            let orders = (kinds("orderFirst")?, kinds("orderLast")?);
            fields.finish()?;
            Ok(orders)
        };
        let options = Self {
            order: fields.text("order")?,
            legacy: fields.object("legacySortOptions", legacy)?,
            at: node.at,
        };
        fields.finish()?;
        Ok(options)
    }
}

pub(super) fn read_gvk(fields: &Fields<'_>) -> Outcome<Gvk> {
    Ok(Gvk {
        group: fields.text("group")?,
        version: fields.text("version")?,
        kind: fields.text("kind")?,
    })
}

pub(super) fn read_field_spec(node: &Node, rules: Rules) -> Outcome<FieldSpec> {
    let fields = Fields::of(node, "a field specification", rules)?;
    let gvk = read_gvk(&fields)?;
    let spec = FieldSpec::new(gvk, &fields.text("path")?, fields.bool("create")?);
    fields.finish()?;
    Ok(spec)
}
