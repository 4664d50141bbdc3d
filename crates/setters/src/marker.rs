//! Comments that tie a field to a setter.

use serde_json::Value;

use crate::document::{Document, Entry, Id};

/// What a comment says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Marker {
    /// `# {"$openapi":"NAME"}`: the setter of that name, or else the substitution.
    Named(String),
    /// `# {"$ref":"#/definitions/KEY"}`
    Reference(String),
    /// `# kpt-set: PATTERN`
    Pattern(String),
    /// `# {"type":…,"x-kustomize":…}`: a setter that is nowhere else defined.
    Inline(Value),
}

impl Marker {
    pub(crate) fn parse(comment: &str) -> Option<Self> {
        let text = comment.trim_start_matches('#').trim();
        if let Some(pattern) = text.strip_prefix("kpt-set:") {
            return Some(Self::Pattern(pattern.trim().to_owned()));
        }
        let value: Value = serde_json::from_str(text).ok()?;
        let fields = value.as_object()?;
        if let Some(name) = fields.get("$openapi").and_then(Value::as_str)
            && !name.is_empty()
            && fields.values().all(Value::is_string)
        {
            return Some(Self::Named(name.to_owned()));
        }
        if fields.contains_key("x-kustomize") {
            return Some(Self::Inline(value));
        }
        let reference = fields.get("$ref")?.as_str()?;
        let key = reference.strip_prefix("#/definitions/")?;
        Some(Self::Reference(key.to_owned()))
    }

    /// The comment that ties a field to a setter or a substitution.
    pub(crate) fn comment(name: &str) -> String {
        format!("# {{\"$openapi\":\"{name}\"}}")
    }
}

impl Document {
    /// The marker of an element of a list, or of the value of a field: behind it, or else above it.
    pub(crate) fn own_marker(&self, id: Id) -> Option<Marker> {
        let comment = self.line_comment(id).or_else(|| self.head_comment_of_item(id))?;
        Marker::parse(&self.text()[comment])
    }

    /// The marker of a field as a whole: behind its colon, or else above it.
    pub(crate) fn key_marker(&self, entry: &Entry) -> Option<Marker> {
        let above = || self.head_comment(self.entry_start(entry));
        let comment = self.key_comment(entry).or_else(above)?;
        Marker::parse(&self.text()[comment])
    }

    fn head_comment_of_item(&self, id: Id) -> Option<std::ops::Range<usize>> {
        let before = self.text()[..self.node(id).start].trim_end();
        before
            .ends_with('-')
            .then(|| self.head_comment(before.len() - 1))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_told_from_markers() {
        let named = |name: &str| Some(Marker::Named(name.to_owned()));
        assert_eq!(Marker::parse("# {\"$openapi\":\"replicas\"}"), named("replicas"));
        assert_eq!(Marker::parse("#{ \"$openapi\" : \"a.b\" } "), named("a.b"));
        assert_eq!(
            Marker::parse("# {\"$ref\":\"#/definitions/io.k8s.cli.setters.x\"}"),
            Some(Marker::Reference("io.k8s.cli.setters.x".to_owned()))
        );
        assert_eq!(
            Marker::parse("# kpt-set: ${image}:${tag}"),
            Some(Marker::Pattern("${image}:${tag}".to_owned()))
        );
        for comment in ["# replicas", "# {\"a\":1}", "# {\"$openapi\":\"\"}", "# [1]", "#"] {
            assert_eq!(Marker::parse(comment), None, "{comment}");
        }
    }
}
