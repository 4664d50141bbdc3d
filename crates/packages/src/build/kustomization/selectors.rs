//! How objects are named in patches, replacements and vars.

use super::{
    super::{
        decode::{Fields, Rules, Text},
        identity::{Gvk, Id},
        node::{At, Node},
        problem::Outcome,
    },
    read_gvk,
};

/// Objects by regular expressions, labels and annotations; empty ones stand for any.
#[derive(Clone, Default)]
pub(in super::super) struct Selector {
    pub(in super::super) exact: Exact,
    pub(in super::super) annotation_selector: String,
    pub(in super::super) label_selector: String,
    pub(in super::super) at: At,
}

/// Objects by name; empty ones stand for any.
#[derive(Clone, Default)]
pub(in super::super) struct Exact {
    pub(in super::super) gvk: Gvk,
    pub(in super::super) name: String,
    pub(in super::super) namespace: String,
}

#[derive(Clone, Default)]
pub(in super::super) struct Replacement {
    pub(in super::super) source: Option<Source>,
    pub(in super::super) targets: Option<Vec<ReplacementTarget>>,
    pub(in super::super) at: At,
}

#[derive(Clone)]
pub(in super::super) struct Source {
    pub(in super::super) exact: Exact,
    pub(in super::super) field_path: String,
    pub(in super::super) options: FieldOptions,
    pub(in super::super) at: At,
}

#[derive(Clone)]
pub(in super::super) struct ReplacementTarget {
    pub(in super::super) select: Option<Selector>,
    pub(in super::super) reject: Vec<Selector>,
    pub(in super::super) field_paths: Vec<Text>,
    pub(in super::super) options: FieldOptions,
    pub(in super::super) at: At,
}

#[derive(Clone, Default)]
pub(in super::super) struct FieldOptions {
    pub(in super::super) delimiter: String,
    pub(in super::super) index: i64,
    pub(in super::super) create: bool,
}

#[derive(Clone)]
pub(in super::super) struct Var {
    pub(in super::super) name: String,
    pub(in super::super) object: Exact,
    pub(in super::super) field_path: String,
    pub(in super::super) at: At,
}

impl Exact {
    fn of(fields: &Fields<'_>) -> Outcome<Self> {
        Ok(Self {
            gvk: read_gvk(fields)?,
            name: fields.text("name")?,
            namespace: fields.text("namespace")?,
        })
    }

    pub(in super::super) fn is_empty(&self) -> bool {
        self.gvk == Gvk::default() && self.name.is_empty() && self.namespace.is_empty()
    }

    /// Whether an id is meant. The namespace of what is not said to be elsewhere is `default`.
    pub(in super::super) fn selects(&self, id: &Id<'_>) -> bool {
        let namespace = || {
            let own = Id {
                namespace: &self.namespace,
                is_cluster_scoped: false,
                ..*id
            };
            let other = Id {
                is_cluster_scoped: false,
                ..*id
            };
            own.has_same_namespace(&other)
        };
        (self.name.is_empty() || self.name == id.name)
            && (self.namespace.is_empty() || namespace())
            && self.gvk.selects_id(id)
    }

    /// For messages.
    pub(in super::super) fn describe(&self) -> String {
        let mut words = Vec::new();
        let gvk = self.gvk.to_string();
        if !gvk.is_empty() {
            words.push(gvk);
        }
        if !self.name.is_empty() {
            words.push(format!("`{}`", self.name));
        }
        if !self.namespace.is_empty() {
            words.push(format!("in namespace `{}`", self.namespace));
        }
        if words.is_empty() {
            "any object".to_owned()
        } else {
            words.join(" ")
        }
    }
}

impl Selector {
    pub(in super::super) fn read(node: &Node, rules: Rules) -> Outcome<Self> {
        let fields = Fields::of(node, "a selector", rules)?;
        let selector = Self {
            exact: Exact::of(&fields)?,
            annotation_selector: fields.text("annotationSelector")?,
            label_selector: fields.text("labelSelector")?,
            at: node.at,
        };
        fields.finish()?;
        Ok(selector)
    }
}

impl Replacement {
    pub(in super::super) fn read(node: &Node, rules: Rules) -> Outcome<Self> {
        let fields = Fields::of(node, "a replacement", rules)?;
        let replacement = Self::of(&fields)?;
        fields.finish()?;
        Ok(replacement)
    }

    pub(super) fn of(fields: &Fields<'_>) -> Outcome<Self> {
        Ok(Self {
            source: fields.object("source", Source::read)?,
            targets: fields.list("targets", ReplacementTarget::read)?,
            at: fields.at,
        })
    }
}

impl Source {
    fn read(node: &Node, rules: Rules) -> Outcome<Self> {
        let fields = Fields::of(node, "the source of a replacement", rules)?;
        let source = Self {
            exact: Exact::of(&fields)?,
            field_path: fields.text("fieldPath")?,
            options: fields.object("options", FieldOptions::read)?.unwrap_or_default(),
            at: node.at,
        };
        fields.finish()?;
        Ok(source)
    }
}

impl ReplacementTarget {
    fn read(node: &Node, rules: Rules) -> Outcome<Self> {
        let fields = Fields::of(node, "the target of a replacement", rules)?;
        let target = Self {
            select: fields.object("select", Selector::read)?,
            reject: fields.list("reject", Selector::read)?.unwrap_or_default(),
            field_paths: fields.texts("fieldPaths")?.unwrap_or_default(),
            options: fields.object("options", FieldOptions::read)?.unwrap_or_default(),
            at: node.at,
        };
        fields.finish()?;
        Ok(target)
    }
}

impl FieldOptions {
    fn read(node: &Node, rules: Rules) -> Outcome<Self> {
        let fields = Fields::of(node, "the options of a replacement", rules)?;
        let options = Self {
            delimiter: fields.text("delimiter")?,
            index: fields.integer("index")?,
            create: fields.bool("create")?,
        };
        fields.text("encoding")?;
        fields.finish()?;
        Ok(options)
    }
}

impl Var {
    pub(super) fn read(node: &Node, rules: Rules) -> Outcome<Self> {
        let fields = Fields::of(node, "an entry of `vars`", rules)?;
        let object = |node: &Node, rules: Rules| {
            let fields = Fields::of(node, "`objref`", rules)?;
            let mut exact = Exact::of(&fields)?;
            let api_version = fields.text("apiVersion")?;
            match api_version.split('/').collect::<Vec<_>>().as_slice() {
                [group, version] => {
                    (exact.gvk.group, exact.gvk.version) = ((*group).to_owned(), (*version).to_owned());
                }
                [version] if !version.is_empty() => (*version).clone_into(&mut exact.gvk.version),
                _ => {}
            }
            fields.finish()?;
            Ok(exact)
        };
        let field = |node: &Node, rules: Rules| {
            let fields = Fields::of(node, "`fieldref`", rules)?;
            let path = fields.text("fieldPath")?;
            fields.finish()?;
            Ok(path)
        };
        let path = fields.object("fieldref", field)?.filter(|path| !path.is_empty());
        let var = Self {
            name: fields.text("name")?,
            object: fields.object("objref", object)?.unwrap_or_default(),
            field_path: path.unwrap_or_else(|| "metadata.name".to_owned()),
            at: node.at,
        };
        fields.finish()?;
        Ok(var)
    }
}
