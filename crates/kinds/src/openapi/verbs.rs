//! What each verb takes and answers, for built-in and for custom kinds.

use super::{
    Body, KindDoc, SchemaSource, SubresourceDoc, naming,
    operation::{Code, Operation, Request, Response, STATUS},
    parameters::{self, Parameter},
    paths::Place,
};

pub(super) const OK: Code = ("200", "OK");
const CREATED: Code = ("201", "Created");
const ACCEPTED: Code = ("202", "Accepted");

pub(super) const ANY: &[&str] = &["*/*"];
/// What every built-in kind can be answered as.
pub(super) const ANSWERS: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];
const LOGS: &[&str] = &[
    "text/plain",
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

/// Where built-in and custom kinds differ.
struct Manners {
    takes: &'static [&'static str],
    answers: &'static [&'static str],
    lists: &'static [&'static str],
    patches: &'static [&'static str],
    patch_codes: &'static [Code],
    get: &'static [Parameter],
    delete_collection: &'static [Parameter],
    list_words: &'static str,
}

const BUILT_IN: Manners = Manners {
    takes: ANY,
    answers: ANSWERS,
    lists: &[
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/json;stream=watch",
        "application/vnd.kubernetes.protobuf;stream=watch",
    ],
    patches: &[
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    ],
    patch_codes: &[OK, CREATED],
    get: &[],
    delete_collection: parameters::DELETE_COLLECTION,
    list_words: "list or watch",
};

const CUSTOM: Manners = Manners {
    takes: &["application/json", "application/yaml"],
    answers: &["application/json", "application/yaml"],
    lists: &["application/json", "application/yaml"],
    patches: &[
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/apply-patch+yaml",
    ],
    patch_codes: &[OK],
    get: parameters::GET,
    // The real server describes it so, although it takes options as for built-in kinds.
    delete_collection: parameters::LIST,
    list_words: "list",
};

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

impl<'a> Place<'a> {
    /// The operation of a verb, on the resource or on a part of it.
    pub(super) fn operation(self, verb: &str, part: Option<&'a SubresourceDoc<'a>>) -> Operation<'a> {
        let is_custom = self.resource.schema.is_custom();
        let manners = if is_custom { CUSTOM } else { BUILT_IN };
        let kind = self.resource.kind;
        let a_kind = naming::with_article(kind);
        let of = part.map_or(String::new(), |part| format!("{} of ", part.name));
        let about = part.map_or(self.kind(), |part| part.kind);
        let subject = self.subject(part.map_or("", |part| part.name));
        let id = |verb, subject: &str| naming::operation_id(verb, self.group_version, subject);
        let body = self.body(part);
        let read = Operation {
            method: "get",
            id: id("read", &subject),
            tag: naming::tag(self.group_version),
            description: format!("read {of}the specified {kind}"),
            action: Some(("get", about)),
            parameters: manners.get,
            consumes: manners.takes,
            produces: manners.answers,
            request: Request::Nothing,
            response: Response::Object(body.clone()),
            codes: &[OK],
        };
        match verb {
            "list" => Operation {
                id: id("list", &subject),
                description: format!("{} objects of kind {kind}", self.list_words(&manners)),
                action: Some(("list", about)),
                parameters: parameters::LIST,
                produces: manners.lists,
                response: Response::Object(self.resource.schema.list_name()),
                ..read
            },
            "create" => Operation {
                method: "post",
                id: id("create", &subject),
                description: format!("create {of}{a_kind}"),
                action: Some(("post", about)),
                parameters: parameters::WRITE,
                request: Request::Object(body),
                codes: &[OK, CREATED, ACCEPTED],
                ..read
            },
            "update" => Operation {
                method: "put",
                id: id("replace", &subject),
                description: format!("replace {of}the specified {kind}"),
                action: Some(("put", about)),
                parameters: parameters::WRITE,
                request: Request::Object(body),
                codes: &[OK, CREATED],
                ..read
            },
            "patch" => Operation {
                method: "patch",
                id: id("patch", &subject),
                description: format!("partially update {of}the specified {kind}"),
                action: Some(("patch", about)),
                parameters: parameters::PATCH,
                consumes: manners.patches,
                request: Request::Patch,
                codes: manners.patch_codes,
                ..read
            },
            "delete" => Operation {
                method: "delete",
                id: id("delete", &subject),
                description: format!("delete {of}{a_kind}"),
                action: Some(("delete", about)),
                parameters: parameters::DELETE,
                request: Request::DeleteOptions,
                response: Response::Object(self.deletion_answer()),
                codes: &[OK, ACCEPTED],
                ..read
            },
            "deletecollection" => Operation {
                method: "delete",
                id: id("delete", &format!("Collection{subject}")),
                description: format!("delete collection of {kind}"),
                action: Some(("deletecollection", about)),
                parameters: manners.delete_collection,
                request: if is_custom {
                    Request::Nothing
                } else {
                    Request::DeleteOptions
                },
                response: Response::Object(STATUS.to_owned()),
                ..read
            },
            _ if part.is_some_and(|part| part.body == Body::Text) => Operation {
                parameters: parameters::LOG,
                produces: LOGS,
                response: Response::Text,
                ..read
            },
            _ => read,
        }
    }

    fn kind(self) -> KindDoc<'a> {
        KindDoc {
            group: self.group_version.group,
            version: self.group_version.version,
            kind: self.resource.kind,
        }
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

    fn list_words(self, manners: &Manners) -> &'static str {
        if self.allows("watch") {
            manners.list_words
        } else {
            "list"
        }
    }
}
