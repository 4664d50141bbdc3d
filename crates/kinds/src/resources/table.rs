//! Reads `tables/resources.txt`. What it builds is leaked: the table lives as long as the program.

use super::{Resource, Subresource};

pub(super) const TEXT: &str = include_str!("../../tables/resources.txt");

const ALL_VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
const PART_VERBS: &[&str] = &["get", "patch", "update"];

/// A `group` line: a version of a group and the package of its types.
#[derive(Clone, Copy)]
struct Version {
    group: &'static str,
    version: &'static str,
    package: &'static str,
}

pub(super) fn read(text: &'static str) -> Option<Vec<Resource>> {
    let versions: Vec<Version> = lines(text)
        .filter_map(|line| line.strip_prefix("group "))
        .map(read_version)
        .collect::<Option<_>>()?;
    let mut current = 0;
    let mut resources: Vec<Resource> = Vec::new();
    let mut parts = Vec::new();
    for line in lines(text).chain(["group end"]) {
        if let Some(part) = line.strip_prefix('/') {
            parts.push(read_part(part, resources.last()?, &versions)?);
            continue;
        }
        if let Some(resource) = resources.last_mut() {
            if !parts.is_empty() {
                resource.subresources = Vec::leak(std::mem::take(&mut parts));
            }
        }
        if line.starts_with("group ") {
            current += 1;
        } else {
            resources.push(read_resource(line, versions[current - 1])?);
        }
    }
    Some(resources)
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn read_version(line: &'static str) -> Option<Version> {
    let mut words = line.split(' ');
    Some(Version {
        group: group(words.next()?),
        version: words.next()?,
        package: words.next()?,
    })
}

fn read_resource(line: &'static str, version: Version) -> Option<Resource> {
    let mut words = line.split(' ');
    let (kind, plural, scope) = (words.next()?, words.next()?, words.next()?);
    let mut resource = Resource {
        group: version.group,
        version: version.version,
        kind,
        plural,
        singular: kind.to_ascii_lowercase().leak(),
        namespaced: scope == "namespaced",
        short_names: &[],
        categories: &[],
        verbs: ALL_VERBS,
        type_name: version.type_name(kind),
        allow_unconditional_update: false,
        allow_create_on_update: false,
        subresources: &[],
    };
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("short", names) => resource.short_names = list(names),
            ("categories", names) => resource.categories = list(names),
            ("verbs", names) => resource.verbs = list(names),
            ("unconditional-update", _) => resource.allow_unconditional_update = true,
            ("create-on-update", _) => resource.allow_create_on_update = true,
            _ => return None,
        }
    }
    Some(resource)
}

fn read_part(line: &'static str, parent: &Resource, versions: &[Version]) -> Option<Subresource> {
    let mut words = line.split(' ');
    let mut part = Subresource {
        name: words.next()?,
        group: parent.group,
        version: parent.version,
        kind: parent.kind,
        verbs: PART_VERBS,
        type_name: parent.type_name,
    };
    for word in words {
        match word.split_once('=')? {
            ("verbs", names) => part.verbs = list(names),
            ("kind", kind) => {
                let mut words = kind.split('/');
                (part.group, part.version, part.kind) = (group(words.next()?), words.next()?, words.next()?);
                let version = versions
                    .iter()
                    .find(|it| it.group == part.group && it.version == part.version)?;
                part.type_name = version.type_name(part.kind);
            }
            _ => return None,
        }
    }
    Some(part)
}

impl Version {
    fn type_name(self, kind: &str) -> &'static str {
        format!("{}.{kind}", self.package).leak()
    }
}

fn group(name: &'static str) -> &'static str {
    if name == "-" { "" } else { name }
}

fn list(names: &'static str) -> &'static [&'static str] {
    Vec::leak(names.split(',').collect())
}
