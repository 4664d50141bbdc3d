//! `trainyard pkg edit remove`: less of something.

use clap::Subcommand;
use setters::{KustomizationEdit as Edit, MetadataField, PathField};

use super::{generator::Names, patch::Target};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Files or folders with objects; patterns such as 'jobs/*.yaml' too
    Resource { paths: Vec<String> },
    /// Folders with components
    Component { paths: Vec<String> },
    /// Files with generators
    Generator { paths: Vec<String> },
    /// Files with transformers
    Transformer { paths: Vec<String> },
    /// A patch: `--path FILE` or `--patch TEXT`, and its target
    Patch(Target),
    /// Labels, with commas between their keys
    Label(Keys),
    /// Annotations, with commas between their keys
    Annotation(Keys),
    /// What a build notes in objects: originAnnotations, transformerAnnotations, managedByLabel
    #[command(name = "buildmetadata")]
    BuildMetadata { options: Vec<String> },
    /// ConfigMaps that are generated, with commas between them
    #[command(name = "configmap")]
    ConfigMap(Names),
    /// Secrets that are generated, with commas between them
    Secret(Names),
}

#[derive(Debug, clap::Args)]
pub(super) struct Keys {
    keys: Vec<String>,

    /// What is not there is no error
    #[arg(short, long)]
    ignore_non_existence: bool,
}

impl Command {
    pub(super) fn edit(&self) -> Edit {
        let paths = |field, paths: &[String]| Edit::RemovePaths(field, paths.to_vec());
        match self {
            Self::Resource { paths: given } => paths(PathField::Resources, given),
            Self::Component { paths: given } => paths(PathField::Components, given),
            Self::Generator { paths: given } => paths(PathField::Generators, given),
            Self::Transformer { paths: given } => paths(PathField::Transformers, given),
            Self::Patch(target) if target.files().is_empty() => Edit::RemovePatch(target.patch()),
            Self::Patch(target) => paths(PathField::PatchesStrategicMerge, target.files()),
            Self::Label(keys) => keys.edit(MetadataField::Labels),
            Self::Annotation(keys) => keys.edit(MetadataField::Annotations),
            Self::BuildMetadata { options } => Edit::RemoveBuildMetadata(options.clone()),
            Self::ConfigMap(names) => names.removal(false),
            Self::Secret(names) => names.removal(true),
        }
    }
}

impl Keys {
    fn edit(&self, field: MetadataField) -> Edit {
        Edit::RemoveMetadata {
            field,
            keys: self.keys.clone(),
            ignore_missing: self.ignore_non_existence,
        }
    }
}
