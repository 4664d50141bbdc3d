//! The names and sentences of operations, as the real server makes them.

use super::GroupVersionDoc;

/// The tag of a group version: `core_v1`, `rbacAuthorization_v1`.
pub(super) fn tag(group_version: &GroupVersionDoc<'_>) -> String {
    let group = camel(short(group_version.group), false);
    format!("{group}_{}", group_version.version)
}

/// `list` and `NamespacedPod` to `listCoreV1NamespacedPod`.
pub(super) fn operation_id(verb: &str, group_version: &GroupVersionDoc<'_>, rest: &str) -> String {
    let group = camel(short(group_version.group), true);
    let version = camel(group_version.version, true);
    format!("{verb}{group}{version}{rest}")
}

/// A group without the ending most share; the core group has a name here.
pub(super) fn short(group: &str) -> &str {
    match group {
        "" => "core",
        _ => group.strip_suffix(".k8s.io").unwrap_or(group),
    }
}

/// Joins the words of a name: `flowcontrol.apiserver` to `flowcontrolApiserver`.
pub(super) fn camel(name: &str, starts_upper: bool) -> String {
    let mut upper = starts_upper;
    let mut joined = String::with_capacity(name.len());
    for letter in name.chars() {
        if !letter.is_alphanumeric() && letter != '_' {
            upper = true;
        } else if std::mem::take(&mut upper) {
            joined.extend(letter.to_uppercase());
        } else {
            joined.push(letter);
        }
    }
    joined
}

/// `Pod` to `a Pod`. Plural kinds take no article.
pub(super) fn with_article(kind: &str) -> String {
    if kind.ends_with('s') && !kind.ends_with("ss") {
        return kind.to_owned();
    }
    let starts_with_vowel = kind.starts_with(|letter: char| "aeiou".contains(letter.to_ascii_lowercase()));
    format!("{} {kind}", if starts_with_vowel { "an" } else { "a" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_groups_become_one_word() {
        assert_eq!(camel("stable.example-site.com", true), "StableExampleSiteCom");
        assert_eq!(
            camel(short("rbac.authorization.k8s.io"), false),
            "rbacAuthorization"
        );
        assert_eq!(camel(short(""), true), "Core");
    }

    #[test]
    fn kinds_take_the_article_that_is_spoken() {
        assert_eq!(with_article("Ingress"), "an Ingress");
        assert_eq!(with_article("Pod"), "a Pod");
        assert_eq!(with_article("Endpoints"), "Endpoints");
    }
}
