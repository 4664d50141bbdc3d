//! Which files and folders a pattern means. `*`, `?` and `[…]` stand for parts of one name, as in a shell.

use std::{fs, path::Path};

/// The paths that match, in their order; one without signs is itself, if it is there.
pub(super) fn lookup(folder: &Path, pattern: &str) -> Vec<String> {
    if !has_signs(pattern) {
        let is_there = !pattern.is_empty() && folder.join(pattern).exists();
        return is_there.then(|| pattern.to_owned()).into_iter().collect();
    }
    let mut found = vec![String::new()];
    for (index, part) in pattern.split('/').enumerate() {
        let joint = if index == 0 { "" } else { "/" };
        let next = found.iter().flat_map(|start| {
            let start = format!("{start}{joint}");
            let names = names(&folder.join(&start), part);
            names.into_iter().map(move |name| format!("{start}{name}"))
        });
        found = next.collect();
    }
    found
}

fn has_signs(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// The names in a folder that one part of a pattern means.
fn names(folder: &Path, part: &str) -> Vec<String> {
    if !has_signs(part) {
        return (part.is_empty() || folder.join(part).exists())
            .then(|| part.to_owned())
            .into_iter()
            .collect();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let pattern: Vec<char> = part.chars().collect();
    // What is hidden must be asked for.
    let is_meant = |name: &String| {
        (part.starts_with('.') || !name.starts_with('.'))
            && matches(&pattern, &name.chars().collect::<Vec<_>>())
    };
    let mut names: Vec<String> = names.filter(is_meant).collect();
    names.sort();
    names
}

fn matches(pattern: &[char], name: &[char]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        (['*', rest @ ..], _) => {
            matches(rest, name)
                || name
                    .split_first()
                    .is_some_and(|(_, behind)| matches(pattern, behind))
        }
        (['?', rest @ ..], [_, behind @ ..]) => matches(rest, behind),
        (['[', class @ ..], [c, behind @ ..]) => {
            let Some(end) = class.iter().skip(1).position(|c| *c == ']').map(|end| end + 1) else {
                return false;
            };
            is_in(&class[..end], *c) && matches(&class[end + 1..], behind)
        }
        ([p, rest @ ..], [c, behind @ ..]) => p == c && matches(rest, behind),
        _ => false,
    }
}

/// Whether a character is one of `a-z0` or none of `^a-z0`.
fn is_in(class: &[char], c: char) -> bool {
    let (is_inverted, class) = match class {
        ['^', rest @ ..] => (true, rest),
        class => (false, class),
    };
    let mut rest = class;
    let mut is_found = false;
    while let Some(first) = rest.first() {
        let (last, width) = match rest {
            [_, '-', last, ..] => (last, 3),
            _ => (first, 1),
        };
        is_found |= (*first..=*last).contains(&c);
        rest = &rest[width..];
    }
    is_found != is_inverted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_names_of_one_folder_each() {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            "jobs/a1.yaml",
            "jobs/b2.yaml",
            "jobs/.c.yaml",
            "jobs/deep/d.yaml",
            "top.yaml",
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let check = |pattern: &str, expected: &[&str]| {
            assert_eq!(lookup(folder.path(), pattern), expected, "{pattern}");
        };
        check("*.yaml", &["top.yaml"]);
        check("jobs/*.yaml", &["jobs/a1.yaml", "jobs/b2.yaml"]);
        check("jobs/.*", &["jobs/.c.yaml"]);
        check("j*/?[1-2].yaml", &["jobs/a1.yaml", "jobs/b2.yaml"]);
        check("jobs/[^a]*.yaml", &["jobs/b2.yaml"]);
        check("*/*/d.yaml", &["jobs/deep/d.yaml"]);
        check("jobs/", &["jobs/"]);
        check("top.yaml", &["top.yaml"]);
        check("gone.yaml", &[]);
        check("[", &[]);
    }
}
