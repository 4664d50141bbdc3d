//! What patches and server-side apply ask about the type behind a value.
//!
//! Built-in kinds answer from the type table, custom resources from their structural schema, and
//! [`Untyped`] answers for data nobody described.

/// How the items of a list are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind<'a> {
    /// The list is one value; it is replaced as a whole.
    Atomic,
    /// Scalars that are equal are the same item.
    Set,
    /// Objects with equal values in these fields are the same item.
    Map(&'a [&'a str]),
}

/// The scalars a place holds, as far as server-side apply tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    Number,
    Text,
    Boolean,
    /// Any of the above: quantities, times, int-or-string.
    Any,
}

/// The forms of values a place holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forms {
    pub scalar: Option<Scalar>,
    pub list: bool,
    pub object: bool,
}

impl Forms {
    pub const ANYTHING: Self = Self {
        scalar: Some(Scalar::Any),
        list: true,
        object: true,
    };
    pub const LIST: Self = Self {
        scalar: None,
        list: true,
        object: false,
    };
    pub const OBJECT: Self = Self {
        scalar: None,
        list: false,
        object: true,
    };

    pub const fn scalar(scalar: Scalar) -> Self {
        Self {
            scalar: Some(scalar),
            list: false,
            object: false,
        }
    }
}

/// How a strategic merge patch treats a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatchStrategy<'a> {
    /// Lists are merged item by item instead of replaced.
    pub merge: bool,
    /// The field that identifies an item of a merged list of objects.
    pub merge_key: Option<&'a str>,
    /// `$retainKeys` may clear the keys a patch does not name.
    pub retain_keys: bool,
}

/// The type at one place of a document. A copyable reference into a table or a schema.
pub trait Shape: Copy {
    /// The type of a named field of an object (for a free map: of its values).
    /// `None` means the type does not know the field.
    fn field(self, name: &str) -> Option<Self>;

    /// Whether `name` is a field of the type, and not a key that users choose in a free map or
    /// beside the fields of an open object.
    fn declares(self, name: &str) -> bool;

    /// The forms of values that belong here; server-side apply refuses configurations with others.
    fn forms(self) -> Forms;

    /// The type of the items of a list.
    fn element(self) -> Option<Self>;

    /// The name of the type as errors of strategic merge patches show it: `PodSpec`.
    fn type_name(&self) -> Option<&str>;

    /// How list items are identified under server-side apply.
    fn list_kind(&self) -> ListKind<'_>;

    /// Whether an object is owned as a whole under server-side apply.
    fn is_atomic_object(self) -> bool;

    /// How a strategic merge patch treats this place.
    fn patch_strategy(&self) -> PatchStrategy<'_>;

    /// The default a schema gives to a field that keys a map list (`protocol: TCP`), used to
    /// identify list items that leave it out. Asked of the list.
    fn key_default(&self, key: &str) -> Option<serde_json::Value>;
}

/// Data without a description: objects merge key by key, lists are replaced.
#[derive(Clone, Copy, Debug, Default)]
pub struct Untyped;

impl Shape for Untyped {
    fn field(self, _name: &str) -> Option<Self> {
        Some(Self)
    }

    fn declares(self, _name: &str) -> bool {
        false
    }

    fn forms(self) -> Forms {
        Forms::ANYTHING
    }

    fn element(self) -> Option<Self> {
        Some(Self)
    }

    fn type_name(&self) -> Option<&str> {
        None
    }

    fn list_kind(&self) -> ListKind<'_> {
        ListKind::Atomic
    }

    fn is_atomic_object(self) -> bool {
        false
    }

    fn patch_strategy(&self) -> PatchStrategy<'_> {
        PatchStrategy::default()
    }

    fn key_default(&self, _key: &str) -> Option<serde_json::Value> {
        None
    }
}
