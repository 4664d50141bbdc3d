//! Reads `tables/resources.txt`. What it builds is leaked: the table lives as long as the program.

use super::{GroupVersion, Rank, Resource, Subresource};

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
struct Group {
    name: &'static str,
    version: &'static str,
    package: &'static str,
    rank: Option<Rank>,
}

/// The versions of groups that APIServices stand for.
pub(super) fn ranked(text: &'static str) -> impl Iterator<Item = GroupVersion> {
    let headers = lines(text).filter_map(|line| line.strip_prefix("group "));
    headers.filter_map(read_group).filter_map(|group| {
        Some(GroupVersion {
            group: group.name,
            version: group.version,
            rank: group.rank?,
        })
    })
}

pub(super) fn read(text: &'static str) -> Option<Vec<Resource>> {
    // A subresource may have a kind of a group that comes later.
    let headers = lines(text).filter_map(|line| line.strip_prefix("group "));
    let groups: Vec<Group> = headers.map(read_group).collect::<Option<_>>()?;
    let mut current = groups.iter();
    let mut group = *groups.first()?;
    let mut resources: Vec<(Resource, Vec<Subresource>)> = Vec::new();
    for line in lines(text) {
        if line.starts_with("group ") {
            group = *current.next()?;
        } else if let Some(part) = line.strip_prefix('/') {
            let (parent, parts) = resources.last_mut()?;
            parts.push(read_part(part, parent, &groups)?);
        } else {
            resources.push((read_resource(line, group)?, Vec::new()));
        }
    }
    let complete = |(resource, parts)| Resource {
        subresources: Vec::leak(parts),
        ..resource
    };
    Some(resources.into_iter().map(complete).collect())
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn read_group(line: &'static str) -> Option<Group> {
    let mut words = line.split(' ');
    Some(Group {
        name: group_name(words.next()?),
        version: words.next()?,
        package: words.next()?,
        rank: match words.next() {
            Some(word) => Some(read_rank(word)?),
            None => None,
        },
    })
}

fn read_rank(word: &str) -> Option<Rank> {
    let (group, version) = word.split_once('/')?;
    Some(Rank {
        group: group.parse().ok()?,
        version: version.parse().ok()?,
    })
}

fn read_resource(line: &'static str, group: Group) -> Option<Resource> {
    let mut words = line.split(' ');
    let (kind, plural, scope) = (words.next()?, words.next()?, words.next()?);
    let mut resource = Resource {
        group: group.name,
        version: group.version,
        kind,
        plural,
        singular: kind.to_ascii_lowercase().leak(),
        namespaced: scope == "namespaced",
        short_names: &[],
        categories: &[],
        verbs: ALL_VERBS,
        type_name: group.type_name(kind),
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

fn read_part(line: &'static str, parent: &Resource, groups: &[Group]) -> Option<Subresource> {
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
                (part.group, part.version, part.kind) =
                    (group_name(words.next()?), words.next()?, words.next()?);
                let of_part = |it: &&Group| it.name == part.group && it.version == part.version;
                part.type_name = groups.iter().find(of_part)?.type_name(part.kind);
            }
            _ => return None,
        }
    }
    Some(part)
}

impl Group {
    fn type_name(self, kind: &str) -> &'static str {
        format!("{}.{kind}", self.package).leak()
    }
}

fn group_name(name: &'static str) -> &'static str {
    if name == "-" { "" } else { name }
}

fn list(names: &'static str) -> &'static [&'static str] {
    Vec::leak(names.split(',').collect())
}
