//! The paths of a resource, and the methods its verbs allow on each.

use super::{
    Body, GroupVersionDoc, ResourceDoc, SubresourceDoc, naming,
    operation::{Operation, PathItem, Request, Response},
    parameters::{self, Parameter},
    verbs::{ANY, OK, Verb},
};

/// The methods a connection passes on, by the verb that allows each.
const CONNECTIONS: &[(&str, &str)] = &[
    ("get", "get"),
    ("create", "post"),
    ("update", "put"),
    ("patch", "patch"),
    ("delete", "delete"),
    // A proxy, which is the only one to pass on deletions, passes these on too.
    ("delete", "head"),
    ("delete", "options"),
];

/// A resource in its group version.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) group_version: &'a GroupVersionDoc<'a>,
    pub(super) resource: &'a ResourceDoc<'a>,
}

/// `/api/v1`, `/apis/apps/v1`.
pub(super) fn root(group_version: &GroupVersionDoc<'_>) -> String {
    let GroupVersionDoc { group, version, .. } = group_version;
    match *group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    }
}

impl<'a> Place<'a> {
    /// Every path of the resource.
    pub(super) fn items(self) -> Vec<(String, PathItem<'a>)> {
        let root = root(self.group_version);
        let plural = self.resource.plural;
        let mut items = Vec::new();
        let (collection, scope): (_, &[_]) = if self.resource.namespaced {
            if self.allows("list") {
                let everywhere = self.item(&[], vec![self.list_everywhere()]);
                items.push((format!("{root}/{plural}"), everywhere));
            }
            let collection = format!("{root}/namespaces/{{namespace}}/{plural}");
            (collection, &[parameters::NAMESPACE])
        } else {
            (format!("{root}/{plural}"), &[])
        };
        let object = format!("{collection}/{{name}}");
        let named = [&[parameters::NAME], scope].concat();
        let operations = self.operations(&[Verb::List, Verb::Create, Verb::DeleteCollection], None);
        items.push((collection, self.item(scope, operations)));
        let operations = self.operations(&[Verb::Get, Verb::Update, Verb::Delete, Verb::Patch], None);
        items.push((object.clone(), self.item(&named, operations)));
        for part in &self.resource.subresources {
            items.extend(self.part(part, &object, &named));
        }
        items.retain(|(_, item)| !item.operations.is_empty());
        items
    }

    /// The paths of a subresource.
    fn part(
        self,
        part: &'a SubresourceDoc<'a>,
        object: &str,
        named: &[Parameter],
    ) -> Vec<(String, PathItem<'a>)> {
        let path = format!("{object}/{}", part.name);
        if part.body != Body::Stream {
            let operations =
                self.operations(&[Verb::Get, Verb::Create, Verb::Update, Verb::Patch], Some(part));
            let mut item = self.item(named, operations);
            item.kind = part.kind.kind;
            return vec![(path, item)];
        }
        let mut items = Vec::new();
        if part.verbs.contains(&"delete") {
            let below = [named, &[parameters::PATH]].concat();
            let item = self.connection(part, below, "WithPath");
            items.push((format!("{path}/{{path}}"), item));
        }
        items.push((path, self.connection(part, named.to_vec(), "")));
        items
    }

    fn item(self, scope: &[Parameter], operations: Vec<Operation<'a>>) -> PathItem<'a> {
        PathItem {
            kind: self.resource.kind,
            parameters: [scope, &[parameters::PRETTY]].concat(),
            operations,
        }
    }

    pub(super) fn allows(self, verb: &str) -> bool {
        self.resource.verbs.contains(&verb)
    }

    fn list_everywhere(self) -> Operation<'a> {
        let rest = format!("{}ForAllNamespaces", self.resource.kind);
        let mut listing = self.operation(Verb::List, None);
        listing.id = naming::operation_id("list", self.group_version, &rest);
        listing
    }

    /// Those of the verbs that are allowed, on the resource or on a part of it.
    fn operations(self, verbs: &[Verb], part: Option<&'a SubresourceDoc<'a>>) -> Vec<Operation<'a>> {
        let allowed = part.map_or(self.resource.verbs, |part| part.verbs);
        let verbs = verbs.iter().filter(|verb| allowed.contains(&verb.name()));
        verbs.map(|verb| self.operation(*verb, part)).collect()
    }

    /// Methods that are passed on to a node or a container.
    fn connection(self, part: &'a SubresourceDoc<'a>, scope: Vec<Parameter>, suffix: &str) -> PathItem<'a> {
        let methods = CONNECTIONS.iter().filter(|(verb, _)| part.verbs.contains(verb));
        let operations = methods.map(|(_, method)| {
            let subject = self.subject(part.name);
            let rest = format!("{}{subject}{suffix}", naming::camel(method, true));
            let (kind, part_name) = (self.resource.kind, part.name);
            let method_name = method.to_ascii_uppercase();
            Operation {
                method,
                id: naming::operation_id("connect", self.group_version, &rest),
                tag: naming::tag(self.group_version),
                description: format!("connect {method_name} requests to {part_name} of {kind}"),
                action: Some(("connect", part.kind)),
                parameters: parameters::of_connection(part.kind.kind),
                consumes: ANY,
                produces: ANY,
                request: Request::Nothing,
                response: Response::Text,
                codes: &[OK],
            }
        });
        PathItem {
            kind: part.kind.kind,
            parameters: scope,
            operations: operations.collect(),
        }
    }

    /// What an operation is about, as its id says it: `NamespacedPodStatus`.
    pub(super) fn subject(self, part: &str) -> String {
        let scope = if self.resource.namespaced {
            "Namespaced"
        } else {
            ""
        };
        format!("{scope}{}{}", self.resource.kind, naming::camel(part, true))
    }
}
