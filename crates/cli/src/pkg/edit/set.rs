//! `trainyard pkg edit set`: one value in place of another.

use clap::Subcommand;
use setters::{KustomizationEdit as Edit, MetadataField};

use super::generator::Literals;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// The namespace of all objects
    Namespace { name: Vec<String> },
    /// What the names of all objects begin with; `-- -x` for what begins with a dash
    #[command(name = "nameprefix")]
    NamePrefix { prefix: Vec<String> },
    /// What the names of all objects end with; `-- -x` for what begins with a dash
    #[command(name = "namesuffix")]
    NameSuffix { suffix: Vec<String> },
    /// Names, tags and digests of images: NAME=NEW:TAG, NAME:TAG, NAME=NEW@DIGEST
    Image { images: Vec<String> },
    /// Numbers of replicas: NAME=COUNT
    Replicas { replicas: Vec<String> },
    /// Labels of all objects: KEY:VALUE
    Label { pairs: Vec<String> },
    /// Annotations of all objects: KEY:VALUE
    Annotation { pairs: Vec<String> },
    /// What a build notes in objects: originAnnotations, transformerAnnotations, managedByLabel
    #[command(name = "buildmetadata")]
    BuildMetadata { options: Vec<String> },
    /// Literals of a ConfigMap that is generated
    #[command(name = "configmap")]
    ConfigMap(Literals),
    /// Literals of a Secret that is generated
    Secret(Literals),
}

impl Command {
    pub(super) fn edit(&self) -> Edit {
        match self {
            Self::Namespace { name } => Edit::SetNamespace(name.clone()),
            Self::NamePrefix { prefix } => Edit::SetNamePrefix(prefix.clone()),
            Self::NameSuffix { suffix } => Edit::SetNameSuffix(suffix.clone()),
            Self::Image { images } => Edit::SetImages(images.clone()),
            Self::Replicas { replicas } => Edit::SetReplicas(replicas.clone()),
            Self::Label { pairs } => Edit::SetMetadata(MetadataField::Labels, pairs.clone()),
            Self::Annotation { pairs } => Edit::SetMetadata(MetadataField::Annotations, pairs.clone()),
            Self::BuildMetadata { options } => Edit::SetBuildMetadata(options.clone()),
            Self::ConfigMap(literals) => Edit::SetGenerator(literals.generator(false)),
            Self::Secret(literals) => Edit::SetGenerator(literals.generator(true)),
        }
    }
}
