//! From nodes to what they describe, field by field. Names are found in any case, as the reference finds
//! them; what a description does not know is an error where it is strict.

use std::{cell::RefCell, collections::BTreeMap};

use manifests::{
    spelling::nearest,
    yaml::{self, Meaning, Style},
};

use super::{
    node::{At, Content, Map, Node, Resolved, Scalar, Tag, resolve},
    problem::{Outcome, Problem},
};

/// How a document is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// `yes` and `on` are truth values, as in YAML 1.1; otherwise as the document would be written.
    pub(super) is_yaml_1_1: bool,
    /// A field that is not known is an error.
    pub(super) is_strict: bool,
    /// Numbers and truth values may stand where text is wanted.
    pub(super) makes_text: bool,
}

/// A kustomization.
pub(super) const KUSTOMIZATION: Rules = Rules {
    is_yaml_1_1: true,
    is_strict: true,
    makes_text: false,
};
/// A file of `configurations`.
pub(super) const CONFIGURATION: Rules = Rules {
    is_yaml_1_1: true,
    is_strict: true,
    makes_text: true,
};
/// A file of replacements or targets.
pub(super) const LENIENT: Rules = Rules {
    is_yaml_1_1: true,
    is_strict: false,
    makes_text: true,
};
/// An object that configures a built-in transformer or generator.
pub(super) const PLUGIN: Rules = Rules {
    is_yaml_1_1: false,
    is_strict: false,
    makes_text: true,
};

/// Text, and where it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) text: String,
    pub(super) at: At,
}

/// The fields of a map that are asked for one by one.
pub(super) struct Fields<'n> {
    map: Option<&'n Map>,
    what: &'static str,
    pub(super) at: At,
    pub(super) rules: Rules,
    asked: RefCell<Vec<&'static str>>,
}

enum Json<'n> {
    Null,
    Bool(bool),
    Number(f64, String),
    Text(&'n str),
    List,
    Map,
}

impl<'n> Fields<'n> {
    /// The fields of a node; null has none.
    pub(super) fn of(node: &'n Node, what: &'static str, rules: Rules) -> Outcome<Self> {
        if node.as_map().is_none() && !node.is_null() {
            return Err(wrong(node, what, "a map"));
        }
        Ok(Self {
            map: node.as_map(),
            what,
            at: node.at,
            rules,
            asked: RefCell::default(),
        })
    }

    /// A field that is there and not null.
    pub(super) fn node(&self, name: &'static str) -> Option<&'n Node> {
        self.asked.borrow_mut().push(name);
        let entries = &self.map?.entries;
        let found = entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.key.text.eq_ignore_ascii_case(name));
        // Of several spellings the last in the order of JSON counts.
        let (_, entry) = found.max_by_key(|(index, entry)| (&entry.key.text, *index))?;
        let is_null = matches!(json(&entry.value, self.rules), Json::Null);
        (!is_null).then_some(&entry.value)
    }

    pub(super) fn text(&self, name: &'static str) -> Outcome<String> {
        Ok(self.placed_text(name)?.unwrap_or_default().text)
    }

    pub(super) fn placed_text(&self, name: &'static str) -> Outcome<Option<Text>> {
        self.node(name)
            .map(|node| text(node, name, self.rules))
            .transpose()
    }

    pub(super) fn bool(&self, name: &'static str) -> Outcome<bool> {
        self.node(name)
            .map_or(Ok(false), |node| match json(node, self.rules) {
                Json::Bool(value) => Ok(value),
                _ => Err(wrong(node, name, "true or false")),
            })
    }

    pub(super) fn integer(&self, name: &'static str) -> Outcome<i64> {
        self.node(name)
            .map_or(Ok(0), |node| match json(node, self.rules) {
                Json::Number(value, _) if value.fract() == 0.0 && value.abs() < 9e18 => Ok(value as i64),
                _ => Err(wrong(node, name, "a whole number")),
            })
    }

    pub(super) fn texts(&self, name: &'static str) -> Outcome<Option<Vec<Text>>> {
        self.list(name, |node, rules| text(node, name, rules))
    }

    pub(super) fn list<T>(
        &self,
        name: &'static str,
        read: impl Fn(&Node, Rules) -> Outcome<T>,
    ) -> Outcome<Option<Vec<T>>> {
        let Some(node) = self.node(name) else {
            return Ok(None);
        };
        let Some(items) = node.as_list() else {
            return Err(wrong(node, name, "a list"));
        };
        let read = items.iter().map(|item| read(item, self.rules));
        read.collect::<Outcome<_>>().map(Some)
    }

    pub(super) fn object<T>(
        &self,
        name: &'static str,
        read: impl Fn(&Node, Rules) -> Outcome<T>,
    ) -> Outcome<Option<T>> {
        self.node(name).map(|node| read(node, self.rules)).transpose()
    }

    pub(super) fn text_map(&self, name: &'static str) -> Outcome<Option<BTreeMap<String, String>>> {
        let value = |node: &Node| Ok(text(node, name, self.rules)?.text);
        self.map(name, value)
    }

    pub(super) fn bool_map(&self, name: &'static str) -> Outcome<Option<BTreeMap<String, bool>>> {
        let value = |node: &Node| match json(node, self.rules) {
            Json::Bool(value) => Ok(value),
            Json::Null => Ok(false),
            _ => Err(wrong(node, name, "a map of truth values")),
        };
        self.map(name, value)
    }

    fn map<T>(
        &self,
        name: &'static str,
        read: impl Fn(&Node) -> Outcome<T>,
    ) -> Outcome<Option<BTreeMap<String, T>>> {
        let Some(node) = self.node(name) else {
            return Ok(None);
        };
        let Some(map) = node.as_map() else {
            return Err(wrong(node, name, "a map"));
        };
        let entries = map.entries.iter();
        let entries = entries.map(|entry| Ok((key(&entry.key, self.rules), read(&entry.value)?)));
        entries.collect::<Outcome<_>>().map(Some)
    }

    /// To be called when all fields were asked for: there must be no others.
    pub(super) fn finish(self) -> Outcome {
        let Some(map) = self.map.filter(|_| self.rules.is_strict) else {
            return Ok(());
        };
        let asked = self.asked.into_inner();
        let is_known = |name: &str| asked.iter().any(|known| known.eq_ignore_ascii_case(name));
        let Some(unknown) = map.entries.iter().find(|entry| !is_known(&entry.key.text)) else {
            return Ok(());
        };
        let name = &unknown.key.text;
        let problem = Problem::new(format!("{} has no field `{name}`", self.what)).at(unknown.at);
        Err(match nearest(name, asked) {
            Some(known) => problem.help(format!("did you mean `{known}`?")),
            None => problem.help("remove it"),
        })
    }
}

/// Text that is wanted; null is empty.
pub(super) fn text(node: &Node, name: &str, rules: Rules) -> Outcome<Text> {
    let text = match json(node, rules) {
        Json::Text(text) => text.to_owned(),
        Json::Null => String::new(),
        Json::Number(_, text) if rules.makes_text => text,
        Json::Bool(value) if rules.makes_text => value.to_string(),
        _ => return Err(wrong(node, name, "text")),
    };
    Ok(Text { text, at: node.at })
}

/// The keys of JSON are text.
fn key(key: &Scalar, rules: Rules) -> String {
    if rules.is_yaml_1_1
        && key.style == Style::Plain
        && let Meaning::Bool(value) = yaml::resolve(&key.text)
    {
        return value.to_string();
    }
    key.text.clone()
}

fn json(node: &Node, rules: Rules) -> Json<'_> {
    let scalar = match &node.content {
        Content::Scalar(scalar) => scalar,
        Content::List(_) => return Json::List,
        Content::Map(_) => return Json::Map,
    };
    if rules.is_yaml_1_1 {
        yaml_1_1(scalar)
    } else {
        yaml_1_2(scalar)
    }
}

fn yaml_1_1(scalar: &Scalar) -> Json<'_> {
    if scalar.style != Style::Plain || matches!(scalar.tag, Tag::Other(_) | Tag::Binary) {
        return Json::Text(&scalar.text);
    }
    match yaml::resolve(&scalar.text) {
        Meaning::Null => Json::Null,
        Meaning::Bool(value) => Json::Bool(value),
        Meaning::Integer(value) => Json::Number(value as f64, value.to_string()),
        Meaning::Unsigned(value) => Json::Number(value as f64, value.to_string()),
        Meaning::Float(value) => Json::Number(value, yaml::shortest_float(value)),
        Meaning::Text(_) => Json::Text(&scalar.text),
    }
}

fn yaml_1_2(scalar: &Scalar) -> Json<'_> {
    let is_text = scalar.style != Style::Plain || scalar.tag == Tag::Text;
    match resolve(&scalar.text) {
        _ if is_text => Json::Text(&scalar.text),
        Resolved::Null => Json::Null,
        Resolved::Bool(value) => Json::Bool(value),
        Resolved::Integer(value) => Json::Number(value as f64, value.to_string()),
        Resolved::Unsigned(value) => Json::Number(value as f64, value.to_string()),
        Resolved::Float(value) => Json::Number(value, yaml::shortest_float(value)),
        Resolved::Time(_) | Resolved::Merge | Resolved::Text => Json::Text(&scalar.text),
    }
}

fn wrong(node: &Node, name: &str, wanted: &str) -> Problem {
    let shown = match node.as_scalar() {
        Some(scalar) => format!("`{}`", scalar.text),
        None => node.shape().to_owned(),
    };
    let problem = Problem::new(format!("`{name}` must be {wanted}, but is {shown}")).at(node.at);
    match (wanted, node.as_scalar()) {
        ("text", Some(scalar)) => problem.help(format!("put it in quotes: \"{}\"", scalar.text)),
        ("a list", Some(_)) => problem.help("put a dash and a space in front of each element"),
        _ => problem,
    }
}
