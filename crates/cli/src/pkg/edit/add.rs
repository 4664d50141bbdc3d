//! `trainyard pkg edit add`: one more of something.

use clap::Subcommand;
use setters::{KustomizationEdit as Edit, MetadataField, PathField};

use super::{
    generator::{Kind, Sources},
    patch::Target,
};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Files or folders with objects; patterns such as 'jobs/*.yaml' too
    Resource {
        paths: Vec<String>,
        /// Add what is not there, too
        #[arg(long)]
        no_verify: bool,
    },
    /// Folders with kustomizations, with commas between them
    Base { folders: Vec<String> },
    /// Folders with components
    Component { paths: Vec<String> },
    /// Files with generators
    Generator { paths: Vec<String> },
    /// Files with transformers
    Transformer { paths: Vec<String> },
    /// A patch: `--path FILE` or `--patch TEXT`, and its target
    Patch(Target),
    /// Labels of all objects: KEY:VALUE
    Label {
        pairs: Vec<String>,
        /// In place of values there are
        #[arg(short, long)]
        force: bool,
        /// Not in selectors
        #[arg(long)]
        without_selector: bool,
        /// Also in templates of pods; only with `--without-selector`
        #[arg(long)]
        include_templates: bool,
    },
    /// Annotations of all objects: KEY:VALUE
    Annotation {
        pairs: Vec<String>,
        /// In place of values there are
        #[arg(short, long)]
        force: bool,
    },
    /// What a build notes in objects: originAnnotations, transformerAnnotations, managedByLabel
    #[command(name = "buildmetadata")]
    BuildMetadata { options: Vec<String> },
    /// A ConfigMap that is generated, or what it is generated from
    #[command(name = "configmap")]
    ConfigMap(Sources),
    /// A Secret that is generated, or what it is generated from
    Secret {
        #[command(flatten)]
        sources: Sources,
        #[command(flatten)]
        kind: Kind,
    },
}

impl Command {
    pub(super) fn edit(&self) -> Edit {
        let paths = |field, paths: &[String]| Edit::AddPaths(field, paths.to_vec());
        match self {
            Self::Resource { paths: given, .. } => paths(PathField::Resources, given),
            Self::Base { folders } => Edit::AddBase(folders.clone()),
            Self::Component { paths: given } => paths(PathField::Components, given),
            Self::Generator { paths: given } => paths(PathField::Generators, given),
            Self::Transformer { paths: given } => paths(PathField::Transformers, given),
            Self::Patch(target) if target.files().is_empty() => Edit::AddPatch(target.patch()),
            Self::Patch(target) => paths(PathField::PatchesStrategicMerge, target.files()),
            Self::Label {
                pairs,
                force,
                without_selector,
                include_templates,
            } => Edit::AddMetadata {
                field: MetadataField::Labels,
                pairs: pairs.clone(),
                force: *force,
                without_selector: *without_selector,
                include_templates: *include_templates,
            },
            Self::Annotation { pairs, force } => Edit::AddMetadata {
                field: MetadataField::Annotations,
                pairs: pairs.clone(),
                force: *force,
                without_selector: false,
                include_templates: false,
            },
            Self::BuildMetadata { options } => Edit::AddBuildMetadata(options.clone()),
            Self::ConfigMap(sources) => Edit::AddGenerator(sources.generator(None)),
            Self::Secret { sources, kind } => Edit::AddGenerator(sources.generator(Some(kind))),
        }
    }

    /// Whether what is not on this machine may be named.
    pub(super) fn takes_anything(&self) -> bool {
        matches!(self, Self::Resource { no_verify: true, .. })
    }
}
