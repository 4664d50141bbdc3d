//! The syntax tree of an expression. Macros (`has`, `all`, `map`, ...) are gone from it: they have
//! become presence tests and comprehensions.

/// One node. The number is its place in tables beside the tree (types, sizes); the offset counts
/// characters into the source and is where complaints point to.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) id: usize,
    pub(crate) offset: usize,
    pub(crate) node: Node,
}

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Literal(Literal),
    Ident(String),
    Select {
        operand: Box<Expr>,
        field: String,
        /// `has(operand.field)`: whether it is there, not what it is.
        test: bool,
    },
    Call {
        function: String,
        target: Option<Box<Expr>>,
        args: Vec<Expr>,
    },
    List {
        items: Vec<Expr>,
        /// Which items are left out when their value is an empty optional.
        optional: Vec<usize>,
    },
    Map(Vec<Entry>),
    Struct(String),
    Comprehension(Box<Comprehension>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Expr,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

/// A loop over a list or the keys of a map: what every macro with a variable becomes.
#[derive(Clone, Debug)]
pub(crate) struct Comprehension {
    pub(crate) range: Expr,
    pub(crate) variable: String,
    /// The second variable of `all(key, value, ...)` and its like.
    pub(crate) second: Option<String>,
    pub(crate) accumulator: String,
    pub(crate) start: Expr,
    pub(crate) condition: Expr,
    pub(crate) step: Expr,
    pub(crate) result: Expr,
}

/// The name of the hidden variable a comprehension gathers its result in.
pub(crate) const ACCUMULATOR: &str = "@result";

/// The names operators have as functions.
pub(crate) mod operator {
    pub(crate) const CONDITIONAL: &str = "_?_:_";
    pub(crate) const AND: &str = "_&&_";
    pub(crate) const OR: &str = "_||_";
    pub(crate) const NOT: &str = "!_";
    pub(crate) const NEGATE: &str = "-_";
    pub(crate) const ADD: &str = "_+_";
    pub(crate) const EQUALS: &str = "_==_";
    pub(crate) const NOT_EQUALS: &str = "_!=_";
    pub(crate) const LESS: &str = "_<_";
    pub(crate) const LESS_EQUALS: &str = "_<=_";
    pub(crate) const GREATER: &str = "_>_";
    pub(crate) const GREATER_EQUALS: &str = "_>=_";
    pub(crate) const IN: &str = "@in";
    pub(crate) const INDEX: &str = "_[_]";
    pub(crate) const OPTIONAL_INDEX: &str = "_[?_]";
    pub(crate) const OPTIONAL_SELECT: &str = "_?._";
    pub(crate) const NOT_STRICTLY_FALSE: &str = "@not_strictly_false";
    pub(crate) const INSERT: &str = "cel.@mapInsert";
}

/// `a.b.c` as one name, when it is nothing but names.
pub(crate) fn qualified_name(expr: &Expr) -> Option<String> {
    match &expr.node {
        Node::Ident(name) => Some(name.clone()),
        Node::Select {
            operand,
            field,
            test: false,
        } => qualified_name(operand).map(|prefix| format!("{prefix}.{field}")),
        _ => None,
    }
}
