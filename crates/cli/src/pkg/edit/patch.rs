//! A patch on the command line, and what it is for.

use setters::Patch;

#[derive(Debug, clap::Args)]
pub(super) struct Target {
    /// Files with strategic merge patches, as kustomize v3 had it
    #[arg(value_name = "FILE", conflicts_with_all = ["path", "patch"])]
    files: Vec<String>,

    /// The file of the patch
    #[arg(long, value_name = "FILE")]
    path: Option<String>,

    /// The patch itself
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    patch: Option<String>,

    /// Of objects of this group
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,

    /// Of objects of this version
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,

    /// Of objects of this kind
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,

    /// Of objects whose name matches
    #[arg(long, value_name = "REGEX")]
    name: Option<String>,

    /// Of objects in this namespace
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,

    /// Of objects with these annotations
    #[arg(long, value_name = "SELECTOR")]
    annotation_selector: Option<String>,

    /// Of objects with these labels
    #[arg(long, value_name = "SELECTOR")]
    label_selector: Option<String>,
}

impl Target {
    pub(super) fn files(&self) -> &[String] {
        &self.files
    }

    pub(super) fn patch(&self) -> Patch {
        let fields = [
            ("group", &self.group),
            ("version", &self.version),
            ("kind", &self.kind),
            ("name", &self.name),
            ("namespace", &self.namespace),
            ("annotationSelector", &self.annotation_selector),
            ("labelSelector", &self.label_selector),
        ];
        let given = fields.into_iter();
        let given = given.filter_map(|(field, value)| Some((field.to_owned(), value.clone()?)));
        Patch {
            path: self.path.clone(),
            patch: self.patch.clone(),
            target: given.collect(),
        }
    }
}
