//! Builds: from a folder with a kustomization to the objects it stands for, as `kubectl kustomize`
//! (v5.5.0) gives them.

mod accumulate;
mod config;
mod decode;
mod expression;
mod field_spec;
mod generate;
mod hash;
mod identity;
mod kustomization;
mod links;
mod merge;
mod node;
mod objects;
mod origin;
mod path;
mod plugins;
mod problem;
mod references;
mod resource;
mod resources;
mod root;
mod schema;
mod session;
mod sort;
mod source;
mod transform;
mod vars;

use std::path::{Path, PathBuf};

use manifests::yaml;
use serde_json::Value;

use self::{
    accumulate::{Accumulated, Target},
    kustomization::Kustomization,
    problem::Outcome,
    resource::Resource,
    resources::Resources,
    root::Root,
    session::Session,
};
use crate::files::Files;

pub use problem::{BuildError, Place};
pub use root::is_remote;
pub use source::Source;

/// Objects with this annotation are for the build only.
const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// What kubectl says of the kustomize in it.
const MANAGER: &str = "kustomize-(devel)";

#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub load_restrictor: LoadRestrictor,
}

/// Which files a kustomization may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadRestrictor {
    /// Those in or below its folder.
    #[default]
    RootOnly,
    None,
}

/// What a package stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Built {
    /// In the order they are to be applied.
    pub objects: Vec<Value>,
    /// Lines for the user, in the words of the reference.
    pub warnings: Vec<String>,
}

impl Built {
    /// The objects as `kubectl kustomize` prints them.
    pub fn to_yaml(&self) -> String {
        let mut text = String::new();
        for (index, object) in self.objects.iter().enumerate() {
            if index > 0 {
                text.push_str("---\n");
            }
            text.push_str(&yaml::write(object));
        }
        text
    }
}

/// What a package stands for, and where all of it is written.
#[derive(Clone, Debug)]
pub struct Traced {
    /// In the order they are to be applied.
    pub objects: Vec<TracedObject>,
    /// Lines for the user, in the words of the reference.
    pub warnings: Vec<String>,
    /// The kustomizations and manifests that were read.
    pub files: Vec<PathBuf>,
}

#[derive(Clone, Debug)]
pub struct TracedObject {
    pub value: Value,
    pub source: Source,
}

/// Builds the package of a folder.
pub fn build(files: &dyn Files, folder: &Path, options: &Options) -> Result<Built, BuildError> {
    let session = Session::new(files, options);
    let values = |resources: Vec<Resource>| {
        let nodes = resources.into_iter().map(|resource| resource.node);
        nodes.map(node::into_value).collect()
    };
    let objects = run(&session, folder)
        .and_then(values)
        .map_err(|problem| session.error(problem))?;
    Ok(Built {
        objects,
        warnings: session.take_warnings(),
    })
}

/// Builds the package of a folder for those who have something to say of its fields.
pub fn trace(files: &dyn Files, folder: &Path, options: &Options) -> Result<Traced, BuildError> {
    let session = Session::new(files, options);
    let traced = |resources: Vec<Resource>| {
        let names = session.file_names();
        let object = |resource: Resource| {
            Ok(TracedObject {
                source: Source::of(&resource.node, &names),
                value: node::into_value(resource.node)?,
            })
        };
        resources.into_iter().map(object).collect()
    };
    let objects = run(&session, folder)
        .and_then(traced)
        .map_err(|problem| session.error(problem))?;
    Ok(Traced {
        objects,
        warnings: session.take_warnings(),
        files: session.file_names().to_vec(),
    })
}

/// The objects of a package, as they are to be written.
fn run(session: &Session<'_>, folder: &Path) -> Outcome<Vec<Resource>> {
    let mut target = Target::load(Root::top(session, folder)?, true)?;
    if !target.kustomization.build_metadata.is_empty() {
        target.note_origins();
    }
    let top = Top::of(&target.kustomization);
    let Accumulated {
        mut resources,
        config,
        vars,
    } = target.accumulate(Accumulated::default())?;
    hash::add_hashes(&mut resources)?;
    references::fix_references(&mut resources, &config)?;
    vars::resolve(&mut resources, &vars, &config, session)?;
    let mut resources = resources.into_list();
    for resource in &resources {
        objects::check(&resource.node)?;
    }
    resources.retain(|resource| !is_local(resource));
    let mut checked = Resources::default();
    checked.extend(resources)?;
    let mut resources = checked.into_list();
    sort::sort(&mut resources, top.sort_options.as_ref())?;
    for resource in &mut resources {
        top.finish(resource);
    }
    Ok(resources)
}

fn is_local(resource: &Resource) -> bool {
    resource
        .annotation(LOCAL_CONFIG)
        .is_some_and(|text| text != "false")
}

/// What only the kustomization at the top decides.
struct Top {
    sort_options: Option<kustomization::SortOptions>,
    has_origins: bool,
    has_transformations: bool,
    is_managed: bool,
}

impl Top {
    fn of(kustomization: &Kustomization) -> Self {
        Self {
            sort_options: kustomization.sort_options.clone(),
            has_origins: kustomization.has_build_metadata("originAnnotations"),
            has_transformations: kustomization.has_build_metadata("transformerAnnotations"),
            is_managed: kustomization.has_build_metadata("managedByLabel"),
        }
    }

    /// Adds what was asked for, and takes out notes that were not.
    fn finish(&self, resource: &mut Resource) {
        if self.is_managed
            && let Some(metadata) = resource.metadata_mut()
        {
            let labels = metadata.get_or_insert("labels", node::Node::map);
            if labels.is_null() {
                labels.content = node::Content::Map(node::Map::default());
            }
            if let Some(labels) = labels.as_map_mut() {
                labels.set(MANAGED_BY, node::Node::string(MANAGER));
            }
        }
        let notes = [
            (self.has_origins, origin::ORIGIN),
            (self.has_transformations, origin::TRANSFORMATIONS),
        ];
        for (is_kept, annotation) in notes {
            if !is_kept {
                resource.remove_annotation(annotation);
            }
        }
        resource.make_texts("annotations");
    }
}
