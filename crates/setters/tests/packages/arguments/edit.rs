//! `edit …`.

use std::collections::BTreeMap;

use setters::{Found, Generator, KustomizationEdit, MetadataField, Outcome, Package, Patch, PathField};

use super::Words;

pub(super) fn command(verb: &str, words: &Words) -> Option<KustomizationEdit> {
    use KustomizationEdit as Edit;
    if verb == "fix" {
        return Some(Edit::Fix {
            vars: words.is_set("vars", false),
        });
    }
    let (what, rest) = words.plain.split_first()?;
    let rest = rest.to_vec();
    let metadata = match what.as_str() {
        "label" => Some(MetadataField::Labels),
        _ => (what == "annotation").then_some(MetadataField::Annotations),
    };
    let paths = match what.as_str() {
        "resource" => Some(PathField::Resources),
        "component" => Some(PathField::Components),
        "generator" => Some(PathField::Generators),
        "transformer" => Some(PathField::Transformers),
        _ => None,
    };
    let is_generator = matches!(what.as_str(), "configmap" | "secret");
    Some(match (verb, what.as_str()) {
        ("set", "namespace") => Edit::SetNamespace(rest),
        ("set", "nameprefix") => Edit::SetNamePrefix(rest),
        ("set", "namesuffix") => Edit::SetNameSuffix(rest),
        ("set", "image") => Edit::SetImages(rest),
        ("set", "replicas") => Edit::SetReplicas(rest),
        ("set", "buildmetadata") => Edit::SetBuildMetadata(rest),
        ("add", "buildmetadata") => Edit::AddBuildMetadata(rest),
        ("remove", "buildmetadata") => Edit::RemoveBuildMetadata(rest),
        ("add", "base") => Edit::AddBase(rest),
        ("add", "patch") if !rest.is_empty() => Edit::AddPaths(PathField::PatchesStrategicMerge, rest),
        ("add", "patch") => Edit::AddPatch(patch(words)),
        ("remove", "patch") if !rest.is_empty() => Edit::RemovePaths(PathField::PatchesStrategicMerge, rest),
        ("remove", "patch") => Edit::RemovePatch(patch(words)),
        ("set", _) if metadata.is_some() => Edit::SetMetadata(metadata?, rest),
        ("add", _) if metadata.is_some() => Edit::AddMetadata {
            field: metadata?,
            pairs: rest,
            force: words.is_set("force", words.is_set("f", false)),
            without_selector: words.is_set("without-selector", false),
            include_templates: words.is_set("include-templates", false),
        },
        ("remove", _) if metadata.is_some() => Edit::RemoveMetadata {
            field: metadata?,
            keys: rest,
            ignore_missing: words.is_set("ignore-non-existence", words.is_set("i", false)),
        },
        ("add", _) if paths.is_some() => Edit::AddPaths(paths?, rest),
        ("remove", _) if paths.is_some() => Edit::RemovePaths(paths?, rest),
        ("set", _) if is_generator => Edit::SetGenerator(generator(what, rest, words)),
        ("add", _) if is_generator => Edit::AddGenerator(generator(what, rest, words)),
        ("remove", _) if is_generator => Edit::RemoveGenerator {
            is_secret: what == "secret",
            names: rest,
            namespace: words.one("namespace"),
        },
        _ => return None,
    })
}

fn patch(words: &Words) -> Patch {
    let fields = [
        ("group", "group"),
        ("version", "version"),
        ("kind", "kind"),
        ("name", "name"),
        ("namespace", "namespace"),
        ("annotation-selector", "annotationSelector"),
        ("label-selector", "labelSelector"),
    ];
    let target = fields
        .iter()
        .filter_map(|(flag, field)| Some(((*field).to_owned(), words.one(flag)?)));
    Patch {
        path: words.one("path"),
        patch: words.one("patch"),
        target: target.collect(),
    }
}

fn generator(what: &str, names: Vec<String>, words: &Words) -> Generator {
    Generator {
        is_secret: what == "secret",
        names,
        namespace: words.one("namespace"),
        new_namespace: words.one("new-namespace"),
        from_files: words.all("from-file"),
        from_literals: words.all("from-literal"),
        from_env_file: words.one("from-env-file"),
        behavior: words.one("behavior"),
        kind: words.one("type"),
        disable_name_suffix_hash: words.is_set("disableNameSuffixHash", false),
    }
}

/// Runs it on the files of a folder; folders are there where files are in them.
pub(super) fn run(command: &KustomizationEdit, files: &BTreeMap<String, Vec<u8>>) -> Outcome {
    let folders = files
        .keys()
        .flat_map(|path| path.match_indices('/').map(|(end, _)| &path[..end]));
    let mut known: Vec<&str> = files.keys().map(String::as_str).chain(folders).collect();
    known.sort_unstable();
    known.dedup();
    let matches = |pattern: &str| {
        let is_match = |path: &&&str| match pattern.split_once('*') {
            Some((start, end)) => {
                let inner = path.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
                inner.is_some_and(|inner| !inner.contains('/'))
            }
            None => **path == pattern.trim_end_matches('/'),
        };
        known
            .iter()
            .filter(is_match)
            .map(|path| (*path).to_owned())
            .collect()
    };
    let found: Found = command
        .asks()
        .into_iter()
        .map(|asked| (asked.clone(), matches(&asked)))
        .collect();
    let wanted = files.iter().filter(|(path, _)| Package::wants(path));
    let package = Package::new(
        ".",
        wanted.map(|(path, text)| (path.clone(), text.clone())).collect(),
    );
    command.run(&package.expect("the case is text"), &found)
}
