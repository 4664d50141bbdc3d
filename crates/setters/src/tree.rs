//! `tree`: the resources of a package by folder and file, or by owner, with fields that are asked for.

mod drawing;

use std::collections::BTreeMap;

use crate::{
    Outcome, Package, Problem,
    package::join,
    path::{Step, parts, steps},
    resources::{Resource, all, read},
};
use drawing::Branch;

#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Fields to show: `name`, `image`, `command`, `args`, `env`, `replicas`, `resources`, `ports`, or `all`.
    pub show: Vec<String>,
    /// Paths of other fields to show.
    pub fields: Vec<String>,
    /// Also what stays on the machine.
    pub include_local: bool,
    /// Only what stays on the machine.
    pub exclude_non_local: bool,
    /// `directory` or `owners`; what fits when it is not given.
    pub structure: Option<String>,
}

/// A field that is shown.
struct Shown {
    /// Under this name; fields of containers are below it, by container.
    group: String,
    name: Option<String>,
    steps: Vec<Step>,
}

const LOCAL: &str = "config.kubernetes.io/local-config";
const FIELDS: [&str; 8] = [
    "name",
    "image",
    "command",
    "args",
    "env",
    "replicas",
    "resources",
    "ports",
];

impl Tree {
    pub fn run(&self, package: &Package) -> Outcome {
        match self.draw(package) {
            Ok(output) => Outcome {
                output,
                ..Outcome::default()
            },
            Err(problem) => Outcome::failed(problem),
        }
    }

    fn draw(&self, package: &Package) -> Result<String, Problem> {
        let shown = self.shown()?;
        let scope = package.scope("");
        let is_named = |name: &str| {
            let extension = name.rsplit_once('.').map(|(_, extension)| extension);
            matches!(extension, Some("yaml" | "yml"))
                || ["Krmfile", "Kptfile", "Kustomization"].contains(&name)
        };
        let files = read(package, &package.matching(&scope, is_named))?;
        let is_shown = |resource: &Resource<'_>| match resource.annotation(LOCAL) {
            Some(_) => self.include_local,
            None => !self.exclude_non_local,
        };
        let mut resources: Vec<Resource<'_>> = all(&files).into_iter().filter(is_shown).collect();
        if resources.is_empty() {
            return Ok(String::new());
        }
        resources.retain(|resource| !resource.kind().is_empty());
        resources.sort_by_key(|resource| {
            (
                resource.file_name(),
                resource.namespace(),
                resource.name(),
                resource.kind(),
                resource.api_version(),
            )
        });
        let has_owners = resources.iter().any(|resource| owner(*resource).is_some());
        let tree = match self.structure.as_deref() {
            Some("owners") => by_owner(&resources, &shown)?,
            Some("directory") => by_folder(package, &resources, &shown),
            _ if has_owners => by_owner(&resources, &shown)?,
            _ => by_folder(package, &resources, &shown),
        };
        Ok(tree.draw())
    }

    fn shown(&self) -> Result<Vec<Shown>, Problem> {
        let mut shown = Vec::new();
        for path in &self.fields {
            shown.push(Shown::new(parts(path)?)?);
        }
        let is_asked = |field: &&&str| self.show.iter().any(|asked| asked == *field || asked == "all");
        for field in FIELDS.iter().filter(is_asked) {
            let paths: &[&str] = match *field {
                "replicas" => &["spec.replicas"],
                "ports" => &[
                    "spec.containers[name=.*]",
                    "spec.template.spec.containers[name=.*]",
                    "spec",
                ],
                _ => &[
                    "spec.containers[name=.*]",
                    "spec.template.spec.containers[name=.*]",
                ],
            };
            for path in paths {
                // The dots of the expression are no separators.
                let mut parts = parts(&path.replace("=.*", "=\\.*"))?;
                if *field != "replicas" {
                    parts.push((*field).to_owned());
                }
                shown.push(Shown::new(parts)?);
            }
        }
        Ok(shown)
    }
}

impl Shown {
    fn new(parts: Vec<String>) -> Result<Self, Problem> {
        let joined = parts.join(".");
        let containers = ["spec.template.spec.containers", "spec.containers"];
        let group = containers.into_iter().find(|group| joined.starts_with(group));
        Ok(Self {
            steps: steps(&parts)?,
            name: group.and(parts.last().cloned()),
            group: group.map_or(joined, str::to_owned),
        })
    }
}

fn by_folder(package: &Package, resources: &[Resource<'_>], shown: &[Shown]) -> Branch {
    let mut folders: BTreeMap<&str, Vec<Resource<'_>>> = BTreeMap::new();
    for resource in resources {
        folders.entry(resource.folder()).or_default().push(*resource);
    }
    let mut root = Branch::new(package.root());
    let mut paths: Vec<(&str, Vec<usize>)> = Vec::new();
    for (folder, resources) in folders {
        let is_parent =
            |(parent, _): &&(&str, Vec<usize>)| *parent != "." && folder.starts_with(&format!("{parent}/"));
        let mut path = paths
            .iter()
            .rev()
            .find(is_parent)
            .map(|(_, path)| path.clone())
            .unwrap_or_default();
        let branch = root.at(&path);
        let branch = if folder == "." {
            branch
        } else {
            let name = folder.rsplit('/').next().unwrap_or(folder);
            let is_package = package.contains(&join(folder, "Krmfile"));
            path.push(branch.children.len());
            branch.push(Branch::new(if is_package {
                format!("Pkg: {name}")
            } else {
                name.to_owned()
            }))
        };
        for resource in resources {
            branch.push(leaf(resource, resource.file_name(), shown));
        }
        paths.push((folder, path));
    }
    root
}

/// Kind, namespace and name, as owners are told apart.
fn identity(kind: &str, namespace: &str, name: &str) -> String {
    format!("{kind} {namespace}/{name}")
}

fn owner(resource: Resource<'_>) -> Option<String> {
    let document = resource.document();
    let owners = document.find(resource.root(), &["metadata", "ownerReferences"])?;
    let owner = document.items(owners).first()?.value;
    let text = |key: &str| document.text_at(owner, &[key]);
    Some(identity(text("kind"), resource.namespace(), text("name")))
}

fn by_owner(resources: &[Resource<'_>], shown: &[Shown]) -> Result<Branch, Problem> {
    let identity_of =
        |resource: &Resource<'_>| identity(resource.kind(), resource.namespace(), resource.name());
    let known: Vec<String> = resources.iter().map(identity_of).collect();
    for resource in resources {
        if let Some(owner) = owner(*resource).filter(|owner| !known.contains(owner)) {
            let message =
                format!("owner '{owner}' not found in input, but found as an owner of input objects");
            return Err(resource
                .document()
                .problem(&resource.file.path, resource.root(), message));
        }
    }
    let mut root = Branch::new(".");
    let owned = Owned { resources, shown };
    owned.below(None, &mut root, 0);
    Ok(root)
}

struct Owned<'a> {
    resources: &'a [Resource<'a>],
    shown: &'a [Shown],
}

impl Owned<'_> {
    fn below(&self, parent: Option<&str>, branch: &mut Branch, depth: usize) {
        // Owners that own each other are not below anything, but one could own itself.
        if depth > self.resources.len() {
            return;
        }
        for resource in self
            .resources
            .iter()
            .filter(|resource| owner(**resource).as_deref() == parent)
        {
            let child = branch.push(leaf(*resource, "Resource", self.shown));
            let name = identity(resource.kind(), resource.namespace(), resource.name());
            self.below(Some(&name), child, depth + 1);
        }
    }
}

/// A resource, and its fields that are shown.
fn leaf(resource: Resource<'_>, meta: &str, shown: &[Shown]) -> Branch {
    let name = match resource.namespace() {
        "" => resource.name().to_owned(),
        namespace => format!("{namespace}/{}", resource.name()),
    };
    let mut leaf = Branch::new(format!("[{meta}]  {} {name}", resource.kind()));
    let document = resource.document();
    let mut groups: BTreeMap<&str, Group> = BTreeMap::new();
    for field in shown {
        let found = document.matches(resource.root(), &field.steps);
        if found.is_empty() {
            continue;
        }
        let group = groups.entry(&field.group).or_default();
        for found in found {
            let value = document.flow(found.id);
            match &field.name {
                None => group.value = value,
                Some(name) => {
                    let element = group.elements.entry(found.elements.join("/")).or_default();
                    element.push((name.clone(), value));
                }
            }
        }
    }
    for (name, group) in groups {
        if group.elements.is_empty() {
            leaf.push(Branch::new(format!("{name}: {}", group.value)));
            continue;
        }
        let branch = leaf.push(Branch::new(name));
        for (index, (_, mut fields)) in group.elements.into_iter().enumerate() {
            fields.sort_by(|a, b| crate::format::by_precedence(&a.0, &b.0));
            let element = branch.push(Branch::new(index.to_string()));
            for (name, value) in fields {
                element.push(Branch::new(format!("{name}: {value}")));
            }
        }
    }
    leaf
}

/// What is shown under one name: a value, or fields of elements by what tells the elements apart.
#[derive(Default)]
struct Group {
    value: String,
    elements: BTreeMap<String, Vec<(String, String)>>,
}
