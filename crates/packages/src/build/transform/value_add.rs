//! Adds a value to fields, or a part to the paths they hold.

use super::{
    Transformer,
    namespace::{Namespace, Subjects},
    select::Matcher,
};
use crate::build::{
    decode::{Fields, LENIENT, Rules, Text},
    field_spec::split,
    kustomization::Selector,
    node::{Content, Map, Node, read_first},
    problem::{Outcome, Problem},
    resources::Resources,
    root::Root,
    session::{Session, malformed},
};

pub(in super::super) struct ValueAdd {
    value: String,
    targets: Vec<Target>,
}

struct Target {
    selector: Option<Matcher>,
    field_path: String,
    /// Where in a path the value goes, counted from one; zero replaces it.
    position: i64,
}

impl ValueAdd {
    pub(in super::super) fn new(root: &Root<'_, '_>, fields: &Fields<'_>) -> Outcome<Self> {
        let value = fields.text("value")?.trim().to_owned();
        let folder = root
            .folder
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let mut targets = fields.list("targets", Target::read)?.unwrap_or_default();
        if let Some(path) = fields
            .placed_text("targetFilePath")?
            .filter(|path| !path.text.is_empty())
        {
            targets.extend(load(root, &path)?);
        }
        if targets.is_empty() {
            return Err(Problem::new("a ValueAddTransformer needs at least one target").at(fields.at));
        }
        Ok(Self {
            value: if value.is_empty() {
                folder.unwrap_or_default()
            } else {
                value
            },
            targets,
        })
    }
}

fn load(root: &Root<'_, '_>, path: &Text) -> Outcome<Vec<Target>> {
    let (text, at) = root.read_text(path)?;
    let Some(node) = read_first(&text, at.file).map_err(malformed)? else {
        return Ok(Vec::new());
    };
    let fields = Fields::of(&node, "a file of targets", LENIENT)?;
    Ok(fields.list("targets", Target::read)?.unwrap_or_default())
}

impl Target {
    fn read(node: &Node, rules: Rules) -> Outcome<Self> {
        let fields = Fields::of(node, "a target", rules)?;
        let selector = fields.object("selector", Selector::read)?;
        let target = Self {
            selector: selector.as_ref().map(Matcher::new).transpose()?,
            field_path: fields.text("fieldPath")?,
            position: fields.integer("filePathPosition")?,
        };
        if target.field_path.is_empty() {
            return Err(Problem::new("a target needs `fieldPath`").at(node.at));
        }
        if target.position < 0 {
            return Err(Problem::new("`filePathPosition` cannot be negative").at(node.at));
        }
        Ok(target)
    }
}

impl Transformer for ValueAdd {
    fn transform(&self, resources: &mut Resources, session: &Session<'_>) -> Outcome {
        for target in &self.targets {
            let selected = match &target.selector {
                Some(selector) => selector.select(resources),
                None => (0..resources.len()).collect(),
            };
            for index in selected {
                let resource = &mut resources.rename()[index];
                if target.field_path == "metadata/namespace" {
                    let namespace = Namespace {
                        namespace: self.value.clone(),
                        field_specs: Vec::new(),
                        unset_only: false,
                        subjects: Subjects::Default,
                    };
                    namespace.apply(resource)?;
                } else {
                    self.add(&mut resource.node, target)?;
                }
                resource.look_up_scope(&mut session.schemas());
            }
        }
        Ok(())
    }
}

impl ValueAdd {
    fn add(&self, node: &mut Node, target: &Target) -> Outcome {
        let mut found = node;
        for part in split(&target.field_path, '/')
            .iter()
            .filter(|part| !part.trim().is_empty())
        {
            if found.as_scalar().is_some_and(|scalar| scalar.text.is_empty()) {
                found.content = Content::Map(Map::default());
            }
            let (at, shape) = (found.at, found.shape());
            let Some(map) = found.as_map_mut() else {
                return Err(Problem::new(format!("`{part}` is looked for in {shape}")).at(at));
            };
            found = map.get_or_insert(part, || Node::bare(""));
        }
        let (at, shape) = (found.at, found.shape());
        let Content::Scalar(scalar) = &mut found.content else {
            return Err(Problem::new(format!("the field is {shape}, not a scalar")).at(at));
        };
        let text = match usize::try_from(target.position) {
            Ok(position) if position > 0 => insert(&scalar.text, position - 1, &self.value),
            _ => self.value.clone(),
        };
        scalar.tag = crate::build::node::Tag::None;
        scalar.text = text;
        Ok(())
    }
}

/// Puts a part into a path; an absolute path stays one.
fn insert(path: &str, position: usize, part: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    parts.insert(position.min(parts.len()), part);
    let joined = parts.join("/");
    if is_absolute { format!("/{joined}") } else { joined }
}

#[cfg(test)]
mod tests {
    use super::insert;

    #[test]
    fn a_part_is_put_where_it_was_asked_for() {
        assert_eq!(insert("", 0, "x"), "x");
        assert_eq!(insert("/", 5, "x"), "/x");
        assert_eq!(insert("a", 0, "x"), "x/a");
        assert_eq!(insert("/a", 0, "x"), "/x/a");
        assert_eq!(insert("a/b/c", 2, "x"), "a/b/x/c");
        assert_eq!(insert("/a/b", 99, "x"), "/a/b/x");
    }
}
