//! From the words of a command line to a command: what the command line of the program does, in as few words as the
//! recorded cases need.

mod edit;

use std::collections::BTreeMap;

use setters::{
    Annotate, Count, CreateSetter, CreateSubstitution, DeleteSetter, DeleteSubstitution, Format, Grep, Init,
    ListSetters, Outcome, Package, Set, Tree,
};

pub(crate) struct Done {
    pub(crate) is_success: bool,
    pub(crate) output: String,
    pub(crate) problem: Option<String>,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

/// Words without dashes, and flags with their values.
#[derive(Default)]
pub(crate) struct Words {
    pub(crate) plain: Vec<String>,
    pub(crate) flags: Vec<(String, String)>,
}

impl Words {
    fn new(arguments: &[&str], switches: &[&str]) -> Self {
        let mut words = Self::default();
        let mut rest = arguments.iter();
        let mut is_over = false;
        while let Some(word) = rest.next() {
            if *word == "--" && !is_over {
                is_over = true;
            } else if let Some(flag) = word.strip_prefix('-').filter(|flag| !is_over && !flag.is_empty()) {
                let flag = flag.trim_start_matches('-');
                let (flag, value) = match flag.split_once('=') {
                    Some((flag, value)) => (flag, value.to_owned()),
                    None if switches.contains(&flag) => (flag, "true".to_owned()),
                    None => (
                        flag,
                        rest.next().map(|word| (*word).to_owned()).unwrap_or_default(),
                    ),
                };
                words.flags.push((flag.to_owned(), value));
            } else {
                words.plain.push((*word).to_owned());
            }
        }
        words
    }

    pub(crate) fn all(&self, flag: &str) -> Vec<String> {
        let flags = self.flags.iter().filter(|(name, _)| name == flag);
        flags.map(|(_, value)| value.clone()).collect()
    }

    pub(crate) fn one(&self, flag: &str) -> Option<String> {
        self.all(flag).pop()
    }

    pub(crate) fn is_set(&self, flag: &str, default: bool) -> bool {
        self.one(flag).map_or(default, |value| value == "true")
    }

    fn recurse(&self, default: bool) -> bool {
        self.is_set("R", self.is_set("recurse-subpackages", default))
    }
}

const SWITCHES: &[&str] = &[
    "R",
    "recurse-subpackages",
    "markdown",
    "include-subst",
    "required",
    "partial",
    "force",
    "f",
    "vars",
    "i",
    "ignore-non-existence",
    "without-selector",
    "include-templates",
    "disableNameSuffixHash",
    "no-verify",
    "image",
    "replicas",
];

/// Runs a command line on the files of a folder.
pub(crate) fn run(arguments: &[&str], files: &BTreeMap<String, Vec<u8>>) -> Done {
    let words = Words::new(&arguments[2..], SWITCHES);
    let outcome = match arguments[0] {
        "cfg" => cfg(arguments[1], &words, files),
        "edit" => edit::command(arguments[1], &words).map(|command| edit::run(&command, files)),
        _ => None,
    };
    let mut files = files.clone();
    let Some(outcome) = outcome else {
        let problem = Some("wrong arguments".to_owned());
        return Done {
            is_success: false,
            output: String::new(),
            problem,
            files,
        };
    };
    let edits = outcome
        .edits
        .iter()
        .map(|(path, text)| (path.clone(), text.clone().into_bytes()));
    files.extend(edits);
    Done {
        is_success: outcome.is_success(),
        problem: outcome.problem.as_ref().map(ToString::to_string),
        output: outcome.output,
        files,
    }
}

fn cfg(command: &str, words: &Words, files: &BTreeMap<String, Vec<u8>>) -> Option<Outcome> {
    let plain = &words.plain;
    let at = usize::from(command == "grep");
    let folder = plain.get(at).map_or(".", String::as_str);
    let prefix = match folder.trim_start_matches("./").trim_matches(['/', '.']) {
        "" => String::new(),
        folder => format!("{folder}/"),
    };
    let within = files.iter().filter_map(|(path, text)| {
        let path = path.strip_prefix(&prefix)?;
        Package::wants(path).then(|| (path.to_owned(), text.clone()))
    });
    let package = Package::new(folder, within.collect()).ok()?;
    let name = plain.get(1).cloned();
    let mut outcome = match command {
        "list-setters" => ListSetters {
            name,
            markdown: words.is_set("markdown", false),
            include_substitutions: words.is_set("include-subst", false),
            recurse: words.recurse(true),
        }
        .run(&package),
        "set" => {
            let values = words.all("values");
            if !values.is_empty() && plain.len() > 2 {
                return None;
            }
            Set {
                name: name?,
                values: if values.is_empty() {
                    plain[2..].to_vec()
                } else {
                    values
                },
                set_by: words.one("set-by"),
                description: words.one("description"),
                recurse: words.recurse(false),
            }
            .run(&package)
        }
        "create-setter" => CreateSetter {
            name: name?,
            value: words.one("value").or_else(|| plain.get(2).cloned()),
            field: words.one("field"),
            kind: words.one("type"),
            description: words.one("description"),
            set_by: words.one("set-by"),
            required: words.is_set("required", false),
            partial: words.is_set("partial", false),
            schema: words.one("schema-path").and_then(|path| {
                files
                    .get(&path)
                    .map(|text| String::from_utf8_lossy(text).into_owned())
            }),
            recurse: words.recurse(false),
        }
        .run(&package),
        "create-subst" => CreateSubstitution {
            name: name?,
            field_value: words.one("field-value")?,
            pattern: words.one("pattern")?,
            field: words.one("field"),
            recurse: words.recurse(false),
        }
        .run(&package),
        "delete-setter" => DeleteSetter {
            name: name?,
            recurse: words.recurse(false),
        }
        .run(&package),
        "delete-subst" => DeleteSubstitution {
            name: name?,
            recurse: words.recurse(false),
        }
        .run(&package),
        "init" => Init.run(&package),
        "count" => Count {
            by_kind: words.is_set("kind", true),
            recurse: words.recurse(true),
        }
        .run(&package),
        "annotate" => Annotate {
            annotations: words.all("kv"),
            kind: words.one("kind"),
            ..Annotate::default()
        }
        .run(&package),
        "tree" => Tree {
            show: words.flags.iter().map(|(flag, _)| flag.clone()).collect(),
            ..Tree::default()
        }
        .run(&package),
        "grep" => Grep {
            query: plain.first()?.clone(),
            invert: false,
            annotate: true,
            recurse: true,
        }
        .run(&package),
        "fmt" => Format::default().run(&package),
        _ => return None,
    };
    outcome.edits = outcome
        .edits
        .into_iter()
        .map(|(path, text)| (format!("{prefix}{path}"), text))
        .collect();
    Some(outcome)
}
