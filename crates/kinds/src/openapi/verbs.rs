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

static BUILT_IN: Manners = Manners {
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

static CUSTOM: Manners = Manners {
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

/// What can be done with objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    List,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    /// Its name in discovery.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

/// The operations on a resource or on a part of it.
struct Draft<'a> {
    place: Place<'a>,
    part: Option<&'a SubresourceDoc<'a>>,
    manners: &'static Manners,
}

impl<'a> Draft<'a> {
    /// What operations have in common. `action` is what it does, `verb` how its id begins.
    fn base(
        &self,
        method: &'static str,
        action: &'static str,
        verb: &str,
        description: String,
    ) -> Operation<'a> {
        let about = self.part.map_or(self.place.kind(), |part| part.kind);
        Operation {
            method,
            id: naming::operation_id(verb, self.place.group_version, &self.subject()),
            tag: naming::tag(self.place.group_version),
            description,
            action: Some((action, about)),
            parameters: &[],
            consumes: self.manners.takes,
            produces: self.manners.answers,
            request: Request::Nothing,
            response: Response::Object(self.body()),
            codes: &[OK],
        }
    }

    fn subject(&self) -> String {
        self.place.subject(self.part.map_or("", |part| part.name))
    }

    fn body(&self) -> String {
        self.place.body(self.part)
    }

    /// `status of the specified Pod`
    fn the_kind(&self) -> String {
        format!("{}the specified {}", self.of_part(), self.place.resource.kind)
    }

    /// `binding of a Pod`
    fn a_kind(&self) -> String {
        let a_kind = naming::with_article(self.place.resource.kind);
        format!("{}{a_kind}", self.of_part())
    }

    fn of_part(&self) -> String {
        self.part
            .map_or(String::new(), |part| format!("{} of ", part.name))
    }

    fn get(&self) -> Operation<'a> {
        let read = self.base("get", "get", "read", format!("read {}", self.the_kind()));
        if self.part.is_some_and(|part| part.body == Body::Text) {
            return Operation {
                parameters: parameters::LOG,
                produces: LOGS,
                response: Response::Text,
                ..read
            };
        }
        Operation {
            parameters: self.manners.get,
            ..read
        }
    }

    fn list(&self) -> Operation<'a> {
        let words = self.place.list_words(self.manners);
        let description = format!("{words} objects of kind {}", self.place.resource.kind);
        Operation {
            parameters: parameters::LIST,
            produces: self.manners.lists,
            response: Response::Object(self.place.resource.schema.list_name()),
            ..self.base("get", "list", "list", description)
        }
    }

    fn create(&self) -> Operation<'a> {
        Operation {
            parameters: parameters::WRITE,
            request: Request::Object(self.body()),
            codes: &[OK, CREATED, ACCEPTED],
            ..self.base("post", "post", "create", format!("create {}", self.a_kind()))
        }
    }

    fn update(&self) -> Operation<'a> {
        Operation {
            parameters: parameters::WRITE,
            request: Request::Object(self.body()),
            codes: &[OK, CREATED],
            ..self.base("put", "put", "replace", format!("replace {}", self.the_kind()))
        }
    }

    fn patch(&self) -> Operation<'a> {
        let description = format!("partially update {}", self.the_kind());
        Operation {
            parameters: parameters::PATCH,
            consumes: self.manners.patches,
            request: Request::Patch,
            codes: self.manners.patch_codes,
            ..self.base("patch", "patch", "patch", description)
        }
    }

    fn delete(&self) -> Operation<'a> {
        Operation {
            parameters: parameters::DELETE,
            request: Request::DeleteOptions,
            response: Response::Object(self.place.deletion_answer()),
            codes: &[OK, ACCEPTED],
            ..self.base("delete", "delete", "delete", format!("delete {}", self.a_kind()))
        }
    }

    fn delete_collection(&self) -> Operation<'a> {
        let description = format!("delete collection of {}", self.place.resource.kind);
        let subject = format!("Collection{}", self.subject());
        Operation {
            id: naming::operation_id("delete", self.place.group_version, &subject),
            parameters: self.manners.delete_collection,
            request: if self.place.resource.schema.is_custom() {
                Request::Nothing
            } else {
                Request::DeleteOptions
            },
            response: Response::Object(STATUS.to_owned()),
            ..self.base("delete", "deletecollection", "delete", description)
        }
    }
}

impl<'a> Place<'a> {
    /// The operation of a verb, on the resource or on a part of it.
    pub(super) fn operation(self, verb: Verb, part: Option<&'a SubresourceDoc<'a>>) -> Operation<'a> {
        let is_custom = self.resource.schema.is_custom();
        let draft = Draft {
            place: self,
            part,
            manners: if is_custom { &CUSTOM } else { &BUILT_IN },
        };
        match verb {
            Verb::Get => draft.get(),
            Verb::List => draft.list(),
            Verb::Create => draft.create(),
            Verb::Update => draft.update(),
            Verb::Patch => draft.patch(),
            Verb::Delete => draft.delete(),
            Verb::DeleteCollection => draft.delete_collection(),
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
