//! The paths of a resource and the operations its verbs allow there.

use super::{
    Body, GroupVersionDoc, KindDoc, ResourceDoc, SchemaSource, SubresourceDoc, naming,
    operation::{Code, Operation, PathItem, Request, Response, STATUS},
    parameters::{self, Parameter},
};

const OK: Code = ("200", "OK");
const CREATED: Code = ("201", "Created");
const ACCEPTED: Code = ("202", "Accepted");

const ANY: &[&str] = &["*/*"];
const JSON: &[&str] = &["application/json", "application/yaml"];
pub(super) const ANSWERS: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];
const LISTS: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];
const LOGS: &[&str] = &[
    "text/plain",
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];
const CUSTOM_PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/apply-patch+yaml",
];
const PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// The built-in kinds whose deletion answers the object instead of a status.
const ANSWERED_WHEN_DELETED: &[&str] = &[
    "CSIDriver",
    "CSINode",
    "DeviceClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodTemplate",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceQuota",
    "ResourceSlice",
    "Service",
    "ServiceAccount",
    "StorageClass",
    "VolumeAttachment",
    "VolumeAttributesClass",
];

/// What a connection may be asked for, and whether only proxies pass it on.
const CONNECTIONS: &[(&str, &str)] = &[
    ("get", "get"),
    ("create", "post"),
    ("update", "put"),
    ("patch", "patch"),
    ("delete", "delete"),
    // A proxy, which is what can delete, also passes these on.
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
        let (collection, scope): (_, &[Parameter]) = if self.resource.namespaced {
            let collection = format!("{root}/namespaces/{{namespace}}/{plural}");
            (collection, &[parameters::NAMESPACE])
        } else {
            (format!("{root}/{plural}"), &[])
        };
        let named = [&[parameters::NAME], scope].concat();
        let mut items = Vec::new();
        if self.resource.namespaced && self.allows("list") {
            let everywhere = format!("{root}/{plural}");
            items.push((everywhere, self.item(&[], vec![self.list_everywhere()])));
        }
        let operations = self.operations(&["list", "create", "deletecollection"], None);
        items.push((collection.clone(), self.item(scope, operations)));
        let operations = self.operations(&["get", "update", "delete", "patch"], None);
        items.push((format!("{collection}/{{name}}"), self.item(&named, operations)));
        for part in &self.resource.subresources {
            let path = format!("{collection}/{{name}}/{}", part.name);
            if part.body != Body::Stream {
                let operations = self.operations(&["get", "create", "update", "patch"], Some(part));
                let kind = part.kind.kind;
                items.push((path, PathItem { kind, ..self.item(&named, operations) }));
                continue;
            }
            if part.verbs.contains(&"delete") {
                let longer = [&named[..], &[parameters::PATH]].concat();
                items.push((format!("{path}/{{path}}"), self.connection(part, longer, "WithPath")));
            }
            items.push((path, self.connection(part, named.clone(), "")));
        }
        items.retain(|(_, item)| !item.operations.is_empty());
        items
    }

    fn item(self, scope: &[Parameter], operations: Vec<Operation<'a>>) -> PathItem<'a> {
        PathItem {
            kind: self.resource.kind,
            parameters: [scope, &[parameters::PRETTY]].concat(),
            operations,
        }
    }

    fn allows(self, verb: &str) -> bool {
        self.resource.verbs.contains(&verb)
    }

    fn is_custom(self) -> bool {
        self.resource.schema.is_custom()
    }

    fn list_everywhere(self) -> Operation<'a> {
        let rest = format!("{}ForAllNamespaces", self.resource.kind);
        let listed = self.operation("list", None);
        Operation {
            id: naming::operation_id("list", self.group_version, &rest),
            ..listed
        }
    }

    /// Those of the verbs that are allowed, on the resource or on a part of it.
    fn operations(self, verbs: &[&str], part: Option<&'a SubresourceDoc<'a>>) -> Vec<Operation<'a>> {
        let allowed = part.map_or(self.resource.verbs, |part| part.verbs);
        let verbs = verbs.iter().filter(|verb| allowed.contains(verb));
        verbs.map(|verb| self.operation(verb, part)).collect()
    }

    fn operation(self, verb: &str, part: Option<&'a SubresourceDoc<'a>>) -> Operation<'a> {
        let body = self.body(part);
        let about = self.about(part);
        let tag = naming::tag(self.group_version);
        let kind = self.resource.kind;
        let of = part.map_or(String::new(), |part| format!("{} of ", part.name));
        let id = |verb, middle: &str| {
            let rest = format!("{middle}{}", self.subject(part.map_or("", |part| part.name)));
            naming::operation_id(verb, self.group_version, &rest)
        };
        let answers = if self.is_custom() { JSON } else { ANSWERS };
        let plain = Operation {
            method: "get",
            id: id("read", ""),
            tag,
            description: format!("read {of}the specified {kind}"),
            action: Some(("get", about)),
            parameters: if self.is_custom() { parameters::GET } else { &[] },
            consumes: if self.is_custom() { JSON } else { ANY },
            produces: answers,
            request: Request::Nothing,
            response: Response::Object(body.clone()),
            codes: &[OK],
        };
        match verb {
            "list" => Operation {
                id: id("list", ""),
                description: self.list_description(),
                action: Some(("list", about)),
                parameters: parameters::LIST,
                produces: if self.is_custom() { JSON } else { LISTS },
                response: Response::Object(self.resource.schema.list_name()),
                ..plain
            },
            "create" => Operation {
                method: "post",
                id: id("create", ""),
                description: format!("create {of}{}", naming::with_article(kind)),
                action: Some(("post", about)),
                parameters: parameters::WRITE,
                request: Request::Object(body),
                codes: &[OK, CREATED, ACCEPTED],
                ..plain
            },
            "update" => Operation {
                method: "put",
                id: id("replace", ""),
                description: format!("replace {of}the specified {kind}"),
                action: Some(("put", about)),
                parameters: parameters::WRITE,
                request: Request::Object(body),
                codes: &[OK, CREATED],
                ..plain
            },
            "patch" => Operation {
                method: "patch",
                id: id("patch", ""),
                description: format!("partially update {of}the specified {kind}"),
                action: Some(("patch", about)),
                parameters: parameters::PATCH,
                consumes: if self.is_custom() { CUSTOM_PATCHES } else { PATCHES },
                request: Request::Patch,
                codes: if self.is_custom() { &[OK] } else { &[OK, CREATED] },
                ..plain
            },
            "delete" => Operation {
                method: "delete",
                id: id("delete", ""),
                description: format!("delete {of}{}", naming::with_article(kind)),
                action: Some(("delete", about)),
                parameters: parameters::DELETE,
                request: Request::DeleteOptions,
                response: Response::Object(self.deletion_answer()),
                codes: &[OK, ACCEPTED],
                ..plain
            },
            "deletecollection" => Operation {
                method: "delete",
                id: id("delete", "Collection"),
                description: format!("delete collection of {kind}"),
                action: Some(("deletecollection", about)),
                parameters: parameters::DELETE_COLLECTION,
                request: Request::DeleteOptions,
                response: Response::Object(STATUS.to_owned()),
                ..plain
            },
            _ => match part.map(|part| part.body) {
                Some(Body::Text) => Operation {
                    parameters: parameters::LOG,
                    produces: LOGS,
                    response: Response::Text,
                    ..plain
                },
                _ => plain,
            },
        }
    }

    /// Methods that are passed on to a node or a container.
    fn connection(self, part: &'a SubresourceDoc<'a>, scope: Vec<Parameter>, suffix: &str) -> PathItem<'a> {
        let query = parameters::of_connection(part.kind.kind);
        let methods = CONNECTIONS.iter().filter(|(verb, _)| part.verbs.contains(verb));
        let operations = methods.map(|(_, method)| {
            let subject = self.subject(part.name);
            let rest = format!("{}{subject}{suffix}", naming::camel(method, true));
            let description = format!(
                "connect {} requests to {} of {}",
                method.to_ascii_uppercase(),
                part.name,
                self.resource.kind
            );
            Operation {
                method,
                id: naming::operation_id("connect", self.group_version, &rest),
                tag: naming::tag(self.group_version),
                description,
                action: Some(("connect", part.kind)),
                parameters: query,
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

    /// `NamespacedPodStatus`.
    fn subject(self, part: &str) -> String {
        let scope = if self.resource.namespaced { "Namespaced" } else { "" };
        format!("{scope}{}{}", self.resource.kind, naming::camel(part, true))
    }

    fn about(self, part: Option<&SubresourceDoc<'a>>) -> KindDoc<'a> {
        part.map_or(
            KindDoc {
                group: self.group_version.group,
                version: self.group_version.version,
                kind: self.resource.kind,
            },
            |part| part.kind,
        )
    }

    /// The name of the schema of bodies.
    fn body(self, part: Option<&SubresourceDoc<'_>>) -> String {
        match part.map(|part| part.body) {
            Some(Body::BuiltIn(name)) => name.to_owned(),
            _ => self.resource.schema.name().to_owned(),
        }
    }

    fn deletion_answer(self) -> String {
        match self.resource.schema {
            SchemaSource::BuiltIn(name) if ANSWERED_WHEN_DELETED.contains(&self.resource.kind) => {
                name.to_owned()
            }
            _ => STATUS.to_owned(),
        }
    }

    fn list_description(self) -> String {
        let or_watch = if self.allows("watch") && !self.is_custom() {
            " or watch"
        } else {
            ""
        };
        format!("list{or_watch} objects of kind {}", self.resource.kind)
    }
}
