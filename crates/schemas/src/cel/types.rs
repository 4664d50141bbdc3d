//! Static types of expressions, and how far two types agree.

use std::{collections::HashMap, fmt, sync::Arc};

use super::declared::Declared;

#[derive(Clone, Debug)]
pub(crate) enum Type {
    /// Whatever the value turns out to be.
    Dyn,
    /// A part that was already complained about.
    Error,
    Null,
    Bool,
    Int,
    UInt,
    Double,
    Text,
    Bytes,
    Duration,
    Timestamp,
    /// The type of a type: `int` in `type(x) == int`.
    Meta(Arc<Type>),
    List(Arc<Type>),
    Map(Arc<Type>, Arc<Type>),
    Object(Arc<Declared>),
    Optional(Arc<Type>),
    /// A type of the Kubernetes libraries, known by its name.
    Opaque(&'static str),
    /// Stands for any one type within a signature.
    Param(usize),
}

impl Type {
    pub(crate) fn list(item: Self) -> Self {
        Self::List(Arc::new(item))
    }

    pub(crate) fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new(key), Arc::new(value))
    }

    pub(crate) fn optional(value: Self) -> Self {
        Self::Optional(Arc::new(value))
    }

    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn)
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// The type inside of an optional, and whether it was one.
    pub(crate) fn unwrapped(&self) -> (&Self, bool) {
        match self {
            Self::Optional(inner) => (inner, true),
            other => (other, false),
        }
    }

    /// Whether values always have the same size.
    pub(crate) fn is_scalar(&self) -> bool {
        match self {
            Self::Bool | Self::Double | Self::Duration | Self::Int | Self::Timestamp | Self::UInt => true,
            Self::Optional(inner) => inner.is_scalar(),
            _ => false,
        }
    }

    pub(crate) fn is_exactly(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(a), Self::List(b))
            | (Self::Optional(a), Self::Optional(b))
            | (Self::Meta(a), Self::Meta(b)) => a.is_exactly(b),
            (Self::Map(a, b), Self::Map(c, d)) => a.is_exactly(c) && b.is_exactly(d),
            (Self::Object(a), Self::Object(b)) => a.name() == b.name(),
            (Self::Opaque(a), Self::Opaque(b)) => a == b,
            (Self::Param(a), Self::Param(b)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => f.write_str("dyn"),
            Self::Error => f.write_str("!error!"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::UInt => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::Text => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Duration => f.write_str("duration"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Meta(inner) => write!(f, "type({inner})"),
            Self::List(item) => write!(f, "list({item})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Object(object) => f.write_str(object.name()),
            Self::Optional(inner) => write!(f, "optional_type({inner})"),
            Self::Opaque(name) => f.write_str(name),
            Self::Param(number) => write!(f, "_var{number}"),
        }
    }
}

/// What parameters stand for, so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bindings(HashMap<usize, Type>);

impl Bindings {
    /// Whether `a` may be used where `b` is wanted; learns what parameters stand for if so.
    pub(crate) fn assign(&mut self, a: &Type, b: &Type) -> bool {
        let before = self.0.clone();
        let fits = self.fits(a, b);
        if !fits {
            self.0 = before;
        }
        fits
    }

    pub(crate) fn assign_all(&mut self, a: &[Type], b: &[Type]) -> bool {
        let before = self.0.clone();
        let fits = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.fits(a, b));
        if !fits {
            self.0 = before;
        }
        fits
    }

    fn fits(&mut self, a: &Type, b: &Type) -> bool {
        if let Type::Param(number) = b {
            let (valid, known) = self.substitutes(a, *number);
            if valid || known {
                return valid;
            }
        }
        if let Type::Param(number) = a {
            return self.substitutes(b, *number).0;
        }
        match (a, b) {
            _ if a.is_dyn_or_error() || b.is_dyn_or_error() => true,
            (Type::Null, other) | (other, Type::Null) => matches!(
                other,
                Type::Null
                    | Type::Object(_)
                    | Type::Optional(_)
                    | Type::Opaque(_)
                    | Type::Duration
                    | Type::Timestamp
            ),
            (Type::Meta(_), Type::Meta(_)) => true,
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.fits(a, b),
            (Type::Map(a, b), Type::Map(c, d)) => self.fits(a, c) && self.fits(b, d),
            _ => a.is_exactly(b),
        }
    }

    /// Whether the parameter can stand for the type, and whether it already stood for something.
    fn substitutes(&mut self, other: &Type, number: usize) -> (bool, bool) {
        if matches!(other, Type::Param(same) if *same == number) {
            return (true, true);
        }
        let Some(known) = self.0.get(&number).cloned() else {
            let free = self.is_free_of(other, number);
            if free {
                self.0.insert(number, other.clone());
            }
            return (free, false);
        };
        if other.is_exactly(&known) {
            return (true, true);
        }
        let fits = self.fits(other, &known);
        if fits {
            let general = more_general(other, &known);
            if self.is_free_of(&general, number) {
                self.0.insert(number, general);
            }
        }
        (fits, true)
    }

    fn is_free_of(&self, within: &Type, number: usize) -> bool {
        match within {
            Type::Param(other) if *other == number => false,
            Type::Param(other) => self
                .0
                .get(other)
                .is_none_or(|known| self.is_free_of(known, number)),
            Type::List(item) | Type::Optional(item) | Type::Meta(item) => self.is_free_of(item, number),
            Type::Map(key, value) => self.is_free_of(key, number) && self.is_free_of(value, number),
            _ => true,
        }
    }

    /// The type with everything known put in; parameters nobody bound become dynamic on request.
    pub(crate) fn resolve(&self, of: &Type, unbound_is_dyn: bool) -> Type {
        let resolve = |of: &Type| Arc::new(self.resolve(of, unbound_is_dyn));
        match of {
            Type::Param(number) => match self.0.get(number) {
                Some(known) => self.resolve(known, unbound_is_dyn),
                None if unbound_is_dyn => Type::Dyn,
                None => of.clone(),
            },
            Type::List(item) => Type::List(resolve(item)),
            Type::Optional(inner) => Type::Optional(resolve(inner)),
            Type::Meta(inner) => Type::Meta(resolve(inner)),
            Type::Map(key, value) => Type::Map(resolve(key), resolve(value)),
            other => other.clone(),
        }
    }
}

/// The wider of two types that agree.
pub(crate) fn more_general(a: &Type, b: &Type) -> Type {
    if is_at_least_as_general(a, b) {
        a.clone()
    } else {
        b.clone()
    }
}

fn is_at_least_as_general(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dyn | Type::Param(_), _) | (Type::Meta(_), Type::Meta(_)) => true,
        (_, Type::Dyn | Type::Param(_)) => false,
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => {
            is_at_least_as_general(a, b)
        }
        (Type::Map(a, b), Type::Map(c, d)) => is_at_least_as_general(a, c) && is_at_least_as_general(b, d),
        _ => a.is_exactly(b),
    }
}
