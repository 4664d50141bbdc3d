//! The metadata every object has, at the root of a resource and in resources embedded in it. A
//! schema says nothing about it; this table does.

mod decode;
mod validate;

use manifests::shape::{Forms, ListKind, Scalar};

pub(crate) use self::{
    decode::{Invalid, decode},
    validate::{kind as kind_complaint, validate_embedded},
};

/// The type of one field of the metadata.
#[derive(Debug)]
pub enum Meta {
    Text,
    Flag,
    Integer,
    Time,
    /// Owned as a whole, whatever is in it.
    Anything,
    /// A map from text to text.
    Texts,
    List(&'static Meta, Items),
    Struct {
        /// Its name in messages.
        name: &'static str,
        fields: &'static [(&'static str, Meta)],
        /// Fields that are written even when they are empty.
        kept: &'static [&'static str],
    },
}

/// How the items of a metadata list are told apart.
#[derive(Clone, Copy, Debug)]
pub enum Items {
    Whole,
    Set,
    ByUid,
}

pub(crate) static OBJECT: Meta = Meta::Struct {
    name: "ObjectMeta",
    kept: &[],
    fields: &[
        ("annotations", Meta::Texts),
        ("creationTimestamp", Meta::Time),
        ("deletionGracePeriodSeconds", Meta::Integer),
        ("deletionTimestamp", Meta::Time),
        ("finalizers", Meta::List(&Meta::Text, Items::Set)),
        ("generateName", Meta::Text),
        ("generation", Meta::Integer),
        ("labels", Meta::Texts),
        ("managedFields", Meta::List(&MANAGED_FIELDS, Items::Whole)),
        ("name", Meta::Text),
        ("namespace", Meta::Text),
        ("ownerReferences", Meta::List(&OWNER_REFERENCE, Items::ByUid)),
        ("resourceVersion", Meta::Text),
        ("selfLink", Meta::Text),
        ("uid", Meta::Text),
    ],
};

static OWNER_REFERENCE: Meta = Meta::Struct {
    name: "OwnerReference",
    kept: &["apiVersion", "kind", "name", "uid"],
    fields: &[
        ("apiVersion", Meta::Text),
        ("blockOwnerDeletion", Meta::Flag),
        ("controller", Meta::Flag),
        ("kind", Meta::Text),
        ("name", Meta::Text),
        ("uid", Meta::Text),
    ],
};

static MANAGED_FIELDS: Meta = Meta::Struct {
    name: "ManagedFieldsEntry",
    kept: &[],
    fields: &[
        ("apiVersion", Meta::Text),
        ("fieldsType", Meta::Text),
        ("fieldsV1", Meta::Anything),
        ("manager", Meta::Text),
        ("operation", Meta::Text),
        ("subresource", Meta::Text),
        ("time", Meta::Time),
    ],
};

impl Meta {
    pub(crate) fn field(&'static self, name: &str) -> Option<&'static Self> {
        match self {
            Self::Texts => Some(&Self::Text),
            Self::Struct { fields, .. } => fields
                .iter()
                .find(|(field, _)| *field == name)
                .map(|(_, meta)| meta),
            _ => None,
        }
    }

    /// Whether `name` is a field, and not a key that users choose.
    pub(crate) fn declares(&'static self, name: &str) -> bool {
        matches!(self, Self::Struct { .. }) && self.field(name).is_some()
    }

    pub(crate) fn forms(&self) -> Forms {
        match self {
            Self::Text => Forms::scalar(Scalar::Text),
            Self::Flag => Forms::scalar(Scalar::Boolean),
            Self::Integer => Forms::scalar(Scalar::Number),
            Self::Time => Forms::scalar(Scalar::Any),
            Self::Anything => Forms::ANYTHING,
            Self::List(..) => Forms::LIST,
            Self::Texts | Self::Struct { .. } => Forms::OBJECT,
        }
    }

    pub(crate) fn element(&self) -> Option<&'static Self> {
        match self {
            Self::List(item, _) => Some(item),
            _ => None,
        }
    }

    pub(crate) fn list_kind(&self) -> ListKind<'static> {
        match self {
            Self::List(_, Items::Set) => ListKind::Set,
            Self::List(_, Items::ByUid) => ListKind::Map(&["uid"]),
            _ => ListKind::Atomic,
        }
    }

    /// An owner reference is replaced as a whole; so is what nobody describes.
    pub(crate) fn is_atomic_object(&self) -> bool {
        matches!(
            self,
            Self::Anything
                | Self::Struct {
                    name: "OwnerReference",
                    ..
                }
        )
    }
}
