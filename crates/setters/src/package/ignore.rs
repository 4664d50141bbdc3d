//! `.krmignore`: patterns of files that are no part of a package, as in `.gitignore` but without `**`.

use regex::Regex;

pub(super) struct Ignore {
    patterns: Vec<Pattern>,
}

struct Pattern {
    /// Matches a path relative to the folder of the file.
    path: Regex,
    is_for_folders: bool,
    /// Takes a file back that another pattern names.
    is_exception: bool,
}

impl Ignore {
    pub(super) fn new(text: &str) -> Self {
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self {
            patterns: lines.filter_map(pattern).collect(),
        }
    }

    /// Whether a file, or a folder it is in, is named.
    pub(super) fn matches(&self, path: &str) -> bool {
        let folders = path.match_indices('/').map(|(end, _)| &path[..end]);
        folders.into_iter().any(|folder| self.names(folder, true)) || self.names(path, false)
    }

    fn names(&self, path: &str, is_folder: bool) -> bool {
        let matching =
            |pattern: &&Pattern| (is_folder || !pattern.is_for_folders) && pattern.path.is_match(path);
        let mut matching = self.patterns.iter().filter(matching).peekable();
        matching.peek().is_some() && matching.all(|pattern| !pattern.is_exception)
    }
}

fn pattern(line: &str) -> Option<Pattern> {
    let is_exception = line.starts_with('!');
    let line = line.trim_start_matches('!');
    let is_for_folders = line.ends_with('/');
    let glob = line.trim_end_matches('/');
    // A name alone is looked for in every folder.
    let anywhere = if glob.contains('/') { "^" } else { "(^|/)" };
    let glob = glob.trim_start_matches("./").trim_start_matches('/');
    let path = Regex::new(&format!("{anywhere}{}$", expression(glob))).ok()?;
    Some(Pattern {
        path,
        is_for_folders,
        is_exception,
    })
}

fn expression(glob: &str) -> String {
    let mut expression = String::new();
    for c in glob.chars() {
        match c {
            '*' => expression.push_str("[^/]*"),
            '?' => expression.push_str("[^/]"),
            '[' | ']' | '-' => expression.push(c),
            c => expression.push_str(&regex::escape(&c.to_string())),
        }
    }
    expression
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_paths_folders_and_exceptions_are_understood() {
        let ignore =
            Ignore::new("# generated\n*.gen.yaml\nbuild/\n/top.yaml\nsub/one.yaml\n!keep.gen.yaml\n");
        for path in [
            "a.gen.yaml",
            "x/a.gen.yaml",
            "build/x.yaml",
            "x/build/y.yaml",
            "top.yaml",
            "sub/one.yaml",
        ] {
            assert!(ignore.matches(path), "{path}");
        }
        for path in ["a.yaml", "x/top.yaml", "one.yaml", "build", "keep.gen.yaml"] {
            assert!(!ignore.matches(path), "{path}");
        }
    }
}
