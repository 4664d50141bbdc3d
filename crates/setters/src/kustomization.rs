//! `edit`: changes to a kustomization file that leave the rest of it as it was.

mod add;
mod file;
mod fix;
mod generators;
mod images;
mod metadata;
mod remove;
mod set;

use std::collections::BTreeMap;

use crate::{Outcome, Package, Problem};
use file::File;
pub use generators::Generator;
pub use metadata::MetadataField;

/// A change to the kustomization file of a folder.
#[derive(Clone, Debug)]
pub enum KustomizationEdit {
    SetNamespace(Vec<String>),
    SetNamePrefix(Vec<String>),
    SetNameSuffix(Vec<String>),
    /// `NAME=NEW:TAG@DIGEST` and what can be left out of it.
    SetImages(Vec<String>),
    /// `NAME=COUNT`
    SetReplicas(Vec<String>),
    /// `KEY:VALUE`
    SetMetadata(MetadataField, Vec<String>),
    SetBuildMetadata(Vec<String>),
    SetGenerator(Generator),
    /// Files, folders and patterns of them.
    AddPaths(PathField, Vec<String>),
    /// Folders, with commas between them.
    AddBase(Vec<String>),
    AddPatch(Patch),
    AddMetadata {
        field: MetadataField,
        pairs: Vec<String>,
        /// In place of values there are.
        force: bool,
        without_selector: bool,
        include_templates: bool,
    },
    AddBuildMetadata(Vec<String>),
    AddGenerator(Generator),
    /// Patterns of paths.
    RemovePaths(PathField, Vec<String>),
    RemovePatch(Patch),
    RemoveMetadata {
        field: MetadataField,
        /// With commas between them.
        keys: Vec<String>,
        ignore_missing: bool,
    },
    RemoveBuildMetadata(Vec<String>),
    RemoveGenerator {
        is_secret: bool,
        /// With commas between them.
        names: Vec<String>,
        namespace: Option<String>,
    },
    Fix {
        vars: bool,
    },
}

/// A field with a list of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathField {
    Resources,
    Components,
    Generators,
    Transformers,
    /// The form of old: a file with a strategic merge patch.
    PatchesStrategicMerge,
}

impl PathField {
    fn name(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::Components => "components",
            Self::Generators => "generators",
            Self::Transformers => "transformers",
            Self::PatchesStrategicMerge => "patchesStrategicMerge",
        }
    }

    /// What one of its elements is called.
    fn element(self) -> &'static str {
        match self {
            Self::Resources => "resource",
            Self::Components => "component",
            Self::Generators => "generator",
            Self::Transformers => "transformer",
            Self::PatchesStrategicMerge => "patch",
        }
    }
}

/// An element of `patches`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    pub path: Option<String>,
    pub patch: Option<String>,
    /// Fields of the target that are given: `group`, `version`, `kind`, `name`, `namespace`, `annotationSelector`,
    /// `labelSelector`.
    pub target: BTreeMap<String, String>,
}

/// What exists, by what was asked for: a path or a pattern, and the paths that match it.
pub type Found = BTreeMap<String, Vec<String>>;

impl KustomizationEdit {
    /// Paths and patterns that must be looked up before it can run.
    pub fn asks(&self) -> Vec<String> {
        match self {
            Self::AddPaths(_, patterns) => patterns.clone(),
            Self::AddBase(bases) => bases
                .iter()
                .flat_map(|bases| bases.split(','))
                .map(str::to_owned)
                .collect(),
            Self::AddGenerator(generator) => generator.files(),
            _ => Vec::new(),
        }
    }

    /// Makes the change. `found` answers what it [asks](Self::asks).
    pub fn run(&self, package: &Package, found: &Found) -> Outcome {
        let mut notes = Vec::new();
        match self.apply(package, found, &mut notes) {
            Ok(Some((path, text))) => Outcome {
                output: self.output(),
                edits: BTreeMap::from([(path, text)]),
                notes,
                ..Outcome::default()
            },
            Ok(None) => Outcome {
                notes,
                ..Outcome::default()
            },
            Err(problem) => Outcome::failed(problem),
        }
    }

    /// The file and its new text; none when there is nothing to do.
    fn apply(
        &self,
        package: &Package,
        found: &Found,
        notes: &mut Vec<String>,
    ) -> Result<Option<(String, String)>, Problem> {
        let mut file = File::open(package)?;
        let is_changed = match self {
            Self::SetNamespace(values) => set::namespace(&mut file, values)?,
            Self::SetNamePrefix(values) => set::name_part(&mut file, "namePrefix", "prefix", values)?,
            Self::SetNameSuffix(values) => set::name_part(&mut file, "nameSuffix", "suffix", values)?,
            Self::SetImages(images) => images::set(&mut file, images)?,
            Self::SetReplicas(replicas) => set::replicas(&mut file, replicas)?,
            Self::SetMetadata(field, pairs) => metadata::set(&mut file, *field, pairs, notes)?,
            Self::SetBuildMetadata(options) => set::build_metadata(&mut file, options)?,
            Self::SetGenerator(generator) => generator.set(&mut file)?,
            Self::AddPaths(field, patterns) => add::paths(&mut file, *field, patterns, found, notes)?,
            Self::AddBase(bases) => add::bases(&mut file, bases, found)?,
            Self::AddPatch(patch) => add::patch(&mut file, patch, notes)?,
            Self::AddMetadata {
                field,
                pairs,
                force,
                without_selector,
                include_templates,
            } => {
                let labels = metadata::Labels {
                    without_selector: *without_selector,
                    include_templates: *include_templates,
                };
                metadata::add(&mut file, *field, pairs, *force, labels, notes)?
            }
            Self::AddBuildMetadata(options) => add::build_metadata(&mut file, options)?,
            Self::AddGenerator(generator) => generator.add(&mut file, found)?,
            Self::RemovePaths(field, patterns) => remove::paths(&mut file, *field, patterns)?,
            Self::RemovePatch(patch) => remove::patch(&mut file, patch, notes)?,
            Self::RemoveMetadata {
                field,
                keys,
                ignore_missing,
            } => metadata::remove(&mut file, *field, keys, *ignore_missing)?,
            Self::RemoveBuildMetadata(options) => remove::build_metadata(&mut file, options)?,
            Self::RemoveGenerator {
                is_secret,
                names,
                namespace,
            } => generators::remove(&mut file, *is_secret, names, namespace.as_deref(), notes)?,
            Self::Fix { vars } => fix::run(&mut file, *vars)?,
        };
        Ok(is_changed.then(|| file.close()))
    }

    fn output(&self) -> String {
        match self {
            Self::Fix { .. } => fix::MESSAGE.to_owned(),
            _ => String::new(),
        }
    }
}
