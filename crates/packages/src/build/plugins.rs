//! Generators and transformers that objects configure: those of apiVersion `builtin`, no others.

use super::{
    decode::{Fields, PLUGIN, Rules, Text},
    field_spec::FieldSpec,
    generate, hash,
    kustomization::{GeneratorArgs, Image, Patch, ReplacementEntry, Replica, Selector, read_field_spec},
    node::{At, Node, to_value},
    problem::{Outcome, Problem},
    resource::Resource,
    resources::Resources,
    root::Root,
    session::Session,
    transform::{
        Several, Transformer,
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
        value_add::ValueAdd,
    },
};

/// Makes what an object that configures a generator asks for.
pub(super) fn generate(root: &Root<'_, '_>, config: &Resource) -> Outcome<Resource> {
    let fields = fields(config)?;
    match config.kind() {
        "ConfigMapGenerator" => generate::config_map(root, &generator_args(&fields)?),
        "SecretGenerator" => {
            let mut args = generator_args(&fields)?;
            args.secret_type = fields.text("type")?;
            generate::secret(root, &args)
        }
        "IAMPolicyGenerator" => generate::iam_policy(root, &fields),
        "HelmChartInflationGenerator" => Err(helm(config.node.at)),
        kind => Err(unknown(kind, "generator", config)),
    }
}

/// The transformer an object configures.
pub(super) fn transformer(root: &Root<'_, '_>, config: &Resource) -> Outcome<Box<dyn Transformer>> {
    let fields = fields(config)?;
    Ok(match config.kind() {
        "AnnotationsTransformer" => Box::new(Annotations {
            annotations: fields.text_map("annotations")?.unwrap_or_default(),
            field_specs: field_specs(&fields)?.unwrap_or_default(),
        }),
        "LabelTransformer" => Box::new(Labels {
            labels: fields.text_map("labels")?.unwrap_or_default(),
            field_specs: field_specs(&fields)?.unwrap_or_default(),
        }),
        "PrefixTransformer" => Box::new(affix(&fields, AffixKind::Prefix, "prefix")?),
        "SuffixTransformer" => Box::new(affix(&fields, AffixKind::Suffix, "suffix")?),
        "PrefixSuffixTransformer" => Box::new(Several(vec![
            Box::new(affix(&fields, AffixKind::Prefix, "prefix")?),
            Box::new(affix(&fields, AffixKind::Suffix, "suffix")?),
        ])),
        "NamespaceTransformer" => Box::new(namespace(&fields)?),
        "PatchTransformer" => Box::new(Patches::new(root, &Patch::of(&fields)?)?),
        "PatchStrategicMergeTransformer" => {
            let paths = fields.texts("paths")?.unwrap_or_default();
            let patches = fields.placed_text("patches")?;
            let patches = patches.filter(|patches| !patches.text.is_empty());
            if paths.is_empty() && patches.is_none() {
                return Err(Problem::new("the transformer has no patch").at(fields.at));
            }
            Box::new(MergePatches::new(root, &paths, patches.as_ref())?)
        }
        "PatchJson6902Transformer" => {
            let target = fields.object("target", Selector::read)?;
            let path = fields.placed_text("path")?.filter(|path| !path.text.is_empty());
            let inline = fields.placed_text("jsonOp")?;
            Box::new(JsonPatches::new(
                root,
                target.as_ref(),
                path.as_ref(),
                inline.as_ref(),
                fields.at,
            )?)
        }
        "ReplicaCountTransformer" => {
            let none = Replica {
                name: String::new(),
                count: 0,
                at: fields.at,
            };
            Box::new(Replicas {
                replica: fields.object("replica", Replica::read)?.unwrap_or(none),
                field_specs: field_specs(&fields)?.unwrap_or_default(),
            })
        }
        "ImageTagTransformer" => {
            let image = fields.object("imageTag", Image::read)?.unwrap_or_default();
            Box::new(Images::new(image, field_specs(&fields)?.unwrap_or_default()))
        }
        "ReplacementTransformer" => {
            let entries = fields.list("replacements", ReplacementEntry::read)?;
            Box::new(Replacements::new(root, entries.unwrap_or_default())?)
        }
        "ValueAddTransformer" => Box::new(ValueAdd::new(root, &fields)?),
        "HashTransformer" => Box::new(Hashes),
        kind => return Err(unknown(kind, "transformer", config)),
    })
}

/// Adds the suffixes made of content before the end of the build.
struct Hashes;

impl Transformer for Hashes {
    fn transform(&self, resources: &mut Resources, _: &Session<'_>) -> Outcome {
        hash::add_hashes(resources)
    }
}

fn fields(config: &Resource) -> Outcome<Fields<'_>> {
    if config.api_version() != "builtin" {
        return Err(Problem::new(format!(
            "{} would run a program, and none is run",
            config.id()
        ))
        .at(config.node.at)
        .help("only transformers and generators of apiVersion `builtin` can be used; run others yourself"));
    }
    // The reference writes it and reads that, so what cannot be written is no configuration.
    to_value(&config.node)?;
    Fields::of(&config.node, "a transformer", PLUGIN)
}

fn unknown(kind: &str, what: &str, config: &Resource) -> Problem {
    Problem::new(format!("there is no built-in {what} `{kind}`")).at(config.node.at)
}

pub(super) fn helm(at: At) -> Problem {
    Problem::new("Helm charts are not inflated").at(at).help(
        "run `helm template NAME CHART --values FILE > chart.yaml` and list `chart.yaml` under `resources`",
    )
}

fn field_specs(fields: &Fields<'_>) -> Outcome<Option<Vec<FieldSpec>>> {
    fields.list("fieldSpecs", read_field_spec)
}

fn affix(fields: &Fields<'_>, kind: AffixKind, name: &'static str) -> Outcome<Affix> {
    let Some(field_specs) = field_specs(fields)? else {
        return Err(Problem::new("the transformer has no `fieldSpecs`")
            .at(fields.at)
            .help("add `fieldSpecs: [{path: metadata/name}]`"));
    };
    Ok(Affix {
        kind,
        text: fields.text(name)?,
        field_specs,
    })
}

fn namespace(fields: &Fields<'_>) -> Outcome<Namespace> {
    let subjects = match fields.text("setRoleBindingSubjects")?.as_str() {
        "" | "defaultOnly" => Subjects::Default,
        "allServiceAccounts" => Subjects::ServiceAccounts,
        "none" => Subjects::None,
        other => {
            return Err(Problem::new(format!("`setRoleBindingSubjects` is `{other}`"))
                .at(fields.at)
                .help("it must be `defaultOnly`, `allServiceAccounts` or `none`"));
        }
    };
    Ok(Namespace {
        namespace: metadata(fields)?.1,
        field_specs: field_specs(fields)?.unwrap_or_default(),
        unset_only: fields.bool("unsetOnly")?,
        subjects,
    })
}

/// Name and namespace of the object that configures.
fn metadata(fields: &Fields<'_>) -> Outcome<(String, String)> {
    let read = |node: &Node, rules: Rules| {
        let fields = Fields::of(node, "`metadata`", rules)?;
        Ok((fields.text("name")?, fields.text("namespace")?))
    };
    Ok(fields.object("metadata", read)?.unwrap_or_default())
}

fn generator_args(fields: &Fields<'_>) -> Outcome<GeneratorArgs> {
    let (name, namespace) = metadata(fields)?;
    let mut args = GeneratorArgs::of(fields)?;
    // Only kustomizations know the old `env`.
    let envs: Vec<Text> = fields.texts("envs")?.unwrap_or_default();
    args.envs = envs;
    if args.name.is_empty() {
        args.name = name;
    }
    if args.namespace.is_empty() {
        args.namespace = namespace;
    }
    Ok(args)
}
