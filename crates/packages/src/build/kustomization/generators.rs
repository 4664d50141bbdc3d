//! What `configMapGenerator` and `secretGenerator` ask for.

use std::collections::BTreeMap;

use super::super::{
    decode::{Fields, Rules, Text},
    node::{At, Node},
    problem::Outcome,
    resource::Behavior,
};

#[derive(Clone, Default)]
pub(in super::super) struct GeneratorArgs {
    pub(in super::super) namespace: String,
    pub(in super::super) name: String,
    pub(in super::super) behavior: String,
    pub(in super::super) literals: Vec<Text>,
    pub(in super::super) files: Vec<Text>,
    pub(in super::super) envs: Vec<Text>,
    pub(in super::super) options: Option<GeneratorOptions>,
    /// Of a Secret.
    pub(in super::super) secret_type: String,
    pub(in super::super) at: At,
}

#[derive(Clone, Default)]
pub(in super::super) struct GeneratorOptions {
    pub(in super::super) labels: BTreeMap<String, String>,
    pub(in super::super) annotations: BTreeMap<String, String>,
    pub(in super::super) disable_name_suffix_hash: bool,
    pub(in super::super) immutable: bool,
}

impl GeneratorArgs {
    pub(super) fn read_config_map(node: &Node, rules: Rules) -> Outcome<Self> {
        let fields = Fields::of(node, "an entry of `configMapGenerator`", rules)?;
        let args = Self::of(&fields)?;
        fields.finish()?;
        Ok(args)
    }

    pub(super) fn read_secret(node: &Node, rules: Rules) -> Outcome<Self> {
        let fields = Fields::of(node, "an entry of `secretGenerator`", rules)?;
        let mut args = Self::of(&fields)?;
        args.secret_type = fields.text("type")?;
        fields.finish()?;
        Ok(args)
    }

    pub(in super::super) fn of(fields: &Fields<'_>) -> Outcome<Self> {
        let mut envs = fields.texts("envs")?.unwrap_or_default();
        envs.extend(fields.placed_text("env")?.filter(|env| !env.text.is_empty()));
        Ok(Self {
            namespace: fields.text("namespace")?,
            name: fields.text("name")?,
            behavior: fields.text("behavior")?,
            literals: fields.texts("literals")?.unwrap_or_default(),
            files: fields.texts("files")?.unwrap_or_default(),
            envs,
            options: fields.object("options", GeneratorOptions::read)?,
            secret_type: String::new(),
            at: fields.at,
        })
    }

    /// Anything but the two words means to make something new.
    pub(in super::super) fn behavior(&self) -> Behavior {
        match self.behavior.as_str() {
            "merge" => Behavior::Merge,
            "replace" => Behavior::Replace,
            _ => Behavior::Create,
        }
    }
}

impl GeneratorOptions {
    pub(super) fn read(node: &Node, rules: Rules) -> Outcome<Self> {
        let fields = Fields::of(node, "the options of a generator", rules)?;
        let options = Self {
            labels: fields.text_map("labels")?.unwrap_or_default(),
            annotations: fields.text_map("annotations")?.unwrap_or_default(),
            disable_name_suffix_hash: fields.bool("disableNameSuffixHash")?,
            immutable: fields.bool("immutable")?,
        };
        fields.finish()?;
        Ok(options)
    }

    /// The options of one generator with those for all; its own labels and annotations count more.
    pub(in super::super) fn with_global(own: Option<&Self>, global: Option<&Self>) -> Option<Self> {
        let Some(global) = global else {
            return own.cloned();
        };
        let mut merged = own.cloned().unwrap_or_default();
        for (own, global) in [
            (&mut merged.labels, &global.labels),
            (&mut merged.annotations, &global.annotations),
        ] {
            for (name, text) in global {
                own.entry(name.clone()).or_insert_with(|| text.clone());
            }
        }
        merged.disable_name_suffix_hash |= global.disable_name_suffix_hash;
        merged.immutable |= global.immutable;
        Some(merged)
    }
}
