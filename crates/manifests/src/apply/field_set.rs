//! Sets of field paths, kept as the tree that `fieldsV1` is on the wire.
//!
//! A key names a path element, its object holds what is below it. An empty object, or one with a
//! `.`, says that the path itself is in the set. Keeping the tree as it is stored means that a
//! write reads and changes only the branches it touches.

use serde_json::{Map, Value, map::Entry};

use super::element::{Element, ElementError, field_text};

/// Marks a path that has others below it as a member of the set.
const ITSELF: &str = ".";

/// What is in the set below one path.
pub(super) type Branch = Map<String, Value>;

/// A set of field paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldSet(Branch);

impl FieldSet {
    pub fn new() -> Self {
        Self::default()
    }

    /// The set of these fields, each a list of names.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert_texts(path.iter().map(|name| field_text(name)));
        }
        set
    }

    /// The set of these elements, all different, each with what is below it. Made in one go, without a
    /// search for the place of each: new objects are nothing but members.
    pub(super) fn of_members(members: impl Iterator<Item = (String, Self)>) -> Self {
        let members = members.map(|(text, mut below)| {
            if !below.is_empty() {
                below.0.insert(ITSELF.to_owned(), Value::Object(Map::new()));
            }
            (text, below.into_value())
        });
        Self(members.collect())
    }

    /// Reads `fieldsV1`. Elements of unknown kinds are left out.
    pub fn from_json(fields: &Value) -> Result<Self, ElementError> {
        match fields {
            Value::Object(branch) => read(branch).map(|(set, _)| set),
            Value::Null => Ok(Self::new()),
            other => Err(ElementError::Invalid(other.to_string())),
        }
    }

    /// Takes `fieldsV1` that this server wrote, without reading it.
    pub(super) fn from_stored(fields: Value) -> Self {
        match fields {
            Value::Object(branch) => Self(branch),
            _ => Self::new(),
        }
    }

    /// The set as `fieldsV1`.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }

    /// The text of `fieldsV1`, with the elements in the order in which Kubernetes writes them.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        write(&mut out, &self.0);
        out
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn branch(&self) -> &Branch {
        &self.0
    }

    pub(super) fn branch_mut(&mut self) -> &mut Branch {
        &mut self.0
    }

    pub fn insert(&mut self, path: &[Element]) {
        self.insert_texts(path.iter().map(Element::to_text));
    }

    fn insert_texts(&mut self, path: impl DoubleEndedIterator<Item = String>) {
        let mut below = Self::new();
        let mut member = true;
        for text in path.rev() {
            let mut set = Self::new();
            set.attach(text, member, below);
            below = set;
            member = false;
        }
        self.union_with(below);
    }

    pub fn contains(&self, path: &[Element]) -> bool {
        let mut branch = &self.0;
        for element in path {
            match below(branch, &element.to_text()) {
                Some(next) => branch = next,
                None => return false,
            }
        }
        !path.is_empty() && is_member(branch)
    }

    /// Adds the paths of `other`.
    pub fn union_with(&mut self, other: Self) {
        union(&mut self.0, other.0);
    }

    /// Removes the paths of `other`; what lies below them stays.
    pub fn subtract(&mut self, other: &Self) {
        subtract(&mut self.0, &other.0);
    }

    /// Removes the paths of `other` and all that lies below them.
    pub fn subtract_deep(&mut self, other: &Self) {
        subtract_deep(&mut self.0, &other.0);
    }

    /// The paths that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        intersection(&self.0, &other.0)
    }

    pub fn is_subset(&self, other: &Self) -> bool {
        is_subset(&self.0, &other.0)
    }

    /// The paths without others below them.
    #[must_use]
    pub fn leaves(&self) -> Self {
        let mut out = self.clone();
        keep_leaves(&mut out.0);
        out
    }

    /// All paths, in the order in which Kubernetes lists them.
    pub fn paths(&self) -> Vec<Vec<Element>> {
        let mut out = Vec::new();
        list(&self.0, &mut Vec::new(), &mut out);
        out
    }

    /// Adds the element `text`: itself if `member`, and the paths `below` it.
    pub(super) fn attach(&mut self, text: String, member: bool, mut below: Self) {
        if !member && below.is_empty() {
            return;
        }
        set_member(&mut below.0, member);
        match self.0.entry(text) {
            Entry::Vacant(entry) => {
                entry.insert(below.into_value());
            }
            Entry::Occupied(mut entry) => {
                if let Value::Object(node) = entry.get_mut() {
                    union_nodes(node, below.0);
                }
            }
        }
    }
}

/// Whether the path that leads to this branch is in the set.
pub(super) fn is_member(branch: &Branch) -> bool {
    branch.is_empty() || branch.contains_key(ITSELF)
}

/// Whether there are paths below the one that leads to this branch.
pub(super) fn has_below(branch: &Branch) -> bool {
    branch.len() > usize::from(branch.contains_key(ITSELF))
}

/// Adds or removes the path that leads to a branch. A branch without paths below it always counts
/// as a member: who empties one removes it from its parent.
pub(super) fn set_member(branch: &mut Branch, member: bool) {
    if member && has_below(branch) {
        branch.entry(ITSELF).or_insert_with(|| Value::Object(Map::new()));
    } else {
        branch.remove(ITSELF);
    }
}

/// What is below the element `text`.
pub(super) fn below<'a>(branch: &'a Branch, text: &str) -> Option<&'a Branch> {
    branch.get(text)?.as_object()
}

/// The elements of a branch and what is below them.
pub(super) fn elements(branch: &Branch) -> impl Iterator<Item = (&str, &Branch)> {
    branch
        .iter()
        .filter(|(text, _)| *text != ITSELF)
        .filter_map(|(text, below)| Some((text.as_str(), below.as_object()?)))
}

/// The elements of a branch and what is below them, to be changed.
pub(super) fn elements_mut(branch: &mut Branch) -> impl Iterator<Item = (&str, &mut Branch)> {
    branch
        .iter_mut()
        .filter(|(text, _)| *text != ITSELF)
        .filter_map(|(text, below)| Some((text.as_str(), below.as_object_mut()?)))
}

fn union(into: &mut Branch, from: Branch) {
    for (text, below) in from.into_iter().filter(|(text, _)| text != ITSELF) {
        match into.entry(text) {
            Entry::Vacant(entry) => {
                entry.insert(below);
            }
            Entry::Occupied(mut entry) => {
                if let (Value::Object(node), Value::Object(below)) = (entry.get_mut(), below) {
                    union_nodes(node, below);
                }
            }
        }
    }
}

fn union_nodes(into: &mut Branch, from: Branch) {
    let member = is_member(into) || is_member(&from);
    union(into, from);
    set_member(into, member);
}

fn subtract(from: &mut Branch, other: &Branch) {
    for (text, other_below) in elements(other) {
        let Some(node) = from.get_mut(text).and_then(Value::as_object_mut) else {
            continue;
        };
        let member = is_member(node) && !is_member(other_below);
        subtract(node, other_below);
        if member || has_below(node) {
            set_member(node, member);
        } else {
            from.remove(text);
        }
    }
}

fn subtract_deep(from: &mut Branch, other: &Branch) {
    for (text, other_below) in elements(other) {
        if is_member(other_below) {
            from.remove(text);
            continue;
        }
        let Some(node) = from.get_mut(text).and_then(Value::as_object_mut) else {
            continue;
        };
        let member = is_member(node);
        subtract_deep(node, other_below);
        if member || has_below(node) {
            set_member(node, member);
        } else {
            from.remove(text);
        }
    }
}

fn intersection(a: &Branch, b: &Branch) -> FieldSet {
    let mut out = FieldSet::new();
    for (text, a_below) in elements(a) {
        if let Some(b_below) = below(b, text) {
            let member = is_member(a_below) && is_member(b_below);
            out.attach(text.to_owned(), member, intersection(a_below, b_below));
        }
    }
    out
}

fn is_subset(a: &Branch, b: &Branch) -> bool {
    elements(a).all(|(text, a_below)| {
        below(b, text)
            .is_some_and(|b_below| (is_member(b_below) || !is_member(a_below)) && is_subset(a_below, b_below))
    })
}

fn keep_leaves(branch: &mut Branch) {
    for (_, below) in elements_mut(branch) {
        below.remove(ITSELF);
        keep_leaves(below);
    }
}

/// The branch with its elements spelled as this server spells them, and whether it is a member.
fn read(branch: &Branch) -> Result<(FieldSet, bool), ElementError> {
    let mut set = FieldSet::new();
    for (text, value) in branch {
        if text == ITSELF {
            continue;
        }
        let element = match Element::parse(text) {
            Ok(element) => element,
            Err(ElementError::Unknown) => continue,
            Err(error) => return Err(error),
        };
        let (below, member) = match value {
            Value::Object(below) => read(below)?,
            Value::Null => (FieldSet::new(), true),
            other => return Err(ElementError::Invalid(other.to_string())),
        };
        set.attach(element.to_text(), member, below);
    }
    let member = set.is_empty() || branch.contains_key(ITSELF);
    Ok((set, member))
}

/// The elements of a branch in the order of path elements.
fn sorted(branch: &Branch) -> Vec<(Element, &str, &Branch)> {
    let mut found: Vec<_> = elements(branch)
        .filter_map(|(text, below)| Some((Element::parse(text).ok()?, text, below)))
        .collect();
    found.sort_by(|a, b| a.0.order(&b.0));
    found
}

fn list(branch: &Branch, prefix: &mut Vec<Element>, out: &mut Vec<Vec<Element>>) {
    let sorted = sorted(branch);
    for (element, _, below) in &sorted {
        if is_member(below) {
            out.push(prefix.iter().chain([element]).cloned().collect());
        }
    }
    for (element, _, below) in sorted {
        prefix.push(element);
        list(below, prefix, out);
        prefix.pop();
    }
}

fn write(out: &mut String, branch: &Branch) {
    out.push('{');
    let mut separator = "";
    if branch.contains_key(ITSELF) {
        out.push_str("\".\":{}");
        separator = ",";
    }
    for (_, text, below) in sorted(branch) {
        out.push_str(separator);
        super::go_text::write_json_text(out, text, false);
        out.push(':');
        write(out, below);
        separator = ",";
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The set, its leaves, and its paths as Kubernetes writes them.
    #[track_caller]
    fn check(input: &str, set: &str, leaves: &str, paths: &str) {
        let read = FieldSet::from_json(&serde_json::from_str(input).unwrap()).unwrap();
        assert_eq!(read.to_json(), set);
        assert_eq!(read.leaves().to_json(), leaves);
        let listed: Vec<String> = read
            .paths()
            .iter()
            .map(|path| path.iter().map(Element::to_string).collect())
            .collect();
        assert_eq!(listed.join(" | "), paths);
    }

    #[test]
    fn elements_are_in_order() {
        check(
            r#"{"f:spec":{"f:ports":{"k:{\"port\":443}":{"f:port":{}},"k:{\"port\":80}":{".":{},"f:port":{}},".":{}}},
                "f:b":{},"f:a":{"v:10":{},"v:9":{},"v:\"x\"":{},"v:true":{},"v:1.5":{},"v:null":{},"i:10":{},"i:9":{},"f:z":{},"k:{}":{}}}"#,
            r#"{"f:a":{"f:z":{},"k:{}":{},"v:1.5":{},"v:9":{},"v:10":{},"v:\"x\"":{},"v:true":{},"v:null":{},"i:9":{},"i:10":{}},"f:b":{},"f:spec":{"f:ports":{".":{},"k:{\"port\":80}":{".":{},"f:port":{}},"k:{\"port\":443}":{"f:port":{}}}}}"#,
            r#"{"f:a":{"f:z":{},"k:{}":{},"v:1.5":{},"v:9":{},"v:10":{},"v:\"x\"":{},"v:true":{},"v:null":{},"i:9":{},"i:10":{}},"f:b":{},"f:spec":{"f:ports":{"k:{\"port\":80}":{"f:port":{}},"k:{\"port\":443}":{"f:port":{}}}}}"#,
            r#".b | .a.z | .a[] | .a[=1.5] | .a[=9] | .a[=10] | .a[="x"] | .a[=true] | .a[=null] | .a[9] | .a[10] | .spec.ports | .spec.ports[port=80] | .spec.ports[port=80].port | .spec.ports[port=443].port"#,
        );
    }

    #[test]
    fn odd_spellings_are_read() {
        check(
            r#"{"f:a":{".":{}},"f:b":null,"x:y":{"f:c":{}},".":{},"f:c":{"x:y":{}},"k:{\"b\": 1.0, \"a\":\"<\"}":{},"v: \"q\"":{},"f:":{}}"#,
            r#"{"f:":{},"f:a":{},"f:b":{},"f:c":{},"k:{\"a\":\"\\u003c\",\"b\":1}":{},"v:\"q\"":{}}"#,
            r#"{"f:":{},"f:a":{},"f:b":{},"f:c":{},"k:{\"a\":\"\\u003c\",\"b\":1}":{},"v:\"q\"":{}}"#,
            r#". | .a | .b | .c | [a="<",b=1] | [="q"]"#,
        );
    }

    #[test]
    fn subtracting_a_parent_keeps_its_children_unless_it_is_deep() {
        let set = FieldSet::of_fields(&[&["a"], &["a", "b"], &["a", "c", "d"], &["e"]]);
        let parent = FieldSet::of_fields(&[&["a"]]);
        let mut shallow = set.clone();
        shallow.subtract(&parent);
        assert_eq!(
            shallow,
            FieldSet::of_fields(&[&["a", "b"], &["a", "c", "d"], &["e"]])
        );
        let mut deep = set;
        deep.subtract_deep(&parent);
        assert_eq!(deep, FieldSet::of_fields(&[&["e"]]));
    }
}
