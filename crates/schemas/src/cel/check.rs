//! Static checks of an expression: every name is declared, every call has a signature that fits.
//! What is found is said in the words of the reference implementation.

mod literals;

use std::collections::HashMap;

use super::{
    parse::{Issue, Parsed},
    signatures::{Signature, signatures},
    syntax::{Comprehension, Entry, Expr, Literal, Node, operator, qualified_name},
    types::{Bindings, Type, more_general},
};

/// The types of all nodes, and what the cost estimate needs to know of calls.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) expr: Expr,
    pub(crate) types: Vec<Type>,
    /// The signatures that fit each call.
    pub(crate) calls: HashMap<usize, Vec<&'static Signature>>,
    /// The variables that are used.
    pub(crate) uses: Vec<String>,
}

impl Checked {
    pub(crate) fn type_of(&self, expr: &Expr) -> &Type {
        &self.types[expr.id]
    }
}

/// Checks an expression against the types of its variables.
pub(crate) fn check(parsed: Parsed, variables: &[(&str, Type)]) -> Result<Checked, Vec<Issue>> {
    let mut checker = Checker {
        scopes: variables
            .iter()
            .map(|(name, of)| ((*name).to_owned(), of.clone()))
            .collect(),
        globals: variables.len(),
        types: vec![Type::Error; parsed.size],
        calls: HashMap::new(),
        uses: Vec::new(),
        bindings: Bindings::default(),
        params: 2,
        issues: Vec::new(),
    };
    let mut expr = parsed.expr;
    checker.check(&mut expr);
    let types: Vec<Type> = checker
        .types
        .iter()
        .map(|of| checker.bindings.resolve(of, true))
        .collect();
    let mut issues = checker.issues;
    if issues.is_empty() {
        literals::check(&expr, &types, false, &mut issues);
    }
    if issues.is_empty() {
        return Ok(Checked {
            expr,
            types,
            calls: checker.calls,
            uses: checker.uses,
        });
    }
    issues.sort_by_key(|issue| issue.offset);
    Err(issues)
}

struct Checker {
    /// Variables, innermost last; the first `globals` of them were given.
    scopes: Vec<(String, Type)>,
    globals: usize,
    types: Vec<Type>,
    calls: HashMap<usize, Vec<&'static Signature>>,
    uses: Vec<String>,
    bindings: Bindings,
    /// The number of the next fresh type parameter; signatures use the first two.
    params: usize,
    issues: Vec<Issue>,
}

impl Checker {
    fn complain(&mut self, at: &Expr, message: String) -> Type {
        self.issues.push(Issue {
            offset: at.offset,
            message,
        });
        Type::Error
    }

    fn fresh(&mut self) -> Type {
        self.params += 1;
        Type::Param(self.params - 1)
    }

    fn resolved(&self, expr: &Expr) -> Type {
        self.bindings.resolve(&self.types[expr.id], false)
    }

    fn check(&mut self, expr: &mut Expr) -> Type {
        if let Some(name) = self.qualified_variable(expr) {
            expr.node = Node::Ident(name);
        }
        if let Some(constant) = self.type_constant(expr) {
            self.types[expr.id] = constant.clone();
            return constant;
        }
        let at = Expr {
            id: expr.id,
            offset: expr.offset,
            node: Node::Literal(Literal::Null),
        };
        let of = match &mut expr.node {
            Node::Literal(literal) => literal_type(literal),
            Node::Ident(name) => self.check_ident(name, &at),
            Node::Select { operand, field, test } => {
                self.check(operand);
                let of = self.selected(&at, operand, field, false);
                if *test { Type::Bool } else { of }
            }
            Node::Call {
                function,
                target,
                args,
            } => self.check_call(&at, function, target, args),
            Node::List { items, optional } => self.check_list(items, optional),
            Node::Map(entries) => self.check_map(entries),
            Node::Struct(name) => {
                let message = format!("undeclared reference to '{name}' (in container '')");
                self.complain(&at, message)
            }
            Node::Comprehension(comprehension) => self.check_comprehension(comprehension),
        };
        self.types[expr.id] = of.clone();
        of
    }

    /// The names of types are values too: `type(x) == int`.
    fn type_constant(&self, expr: &Expr) -> Option<Type> {
        let name = qualified_name(expr)?;
        let first = name.split('.').next()?;
        if self.scopes.iter().any(|(variable, _)| variable == first) {
            return None;
        }
        named_type(&name).map(|of| Type::Meta(of.into()))
    }

    /// Variables may have dots in their names: `authorizer.requestResource`.
    fn qualified_variable(&self, expr: &Expr) -> Option<String> {
        let declared = &self.scopes[..self.globals];
        if !declared.iter().any(|(variable, _)| variable.contains('.')) {
            return None;
        }
        let name = qualified_name(expr).filter(|name| name.contains('.'))?;
        let first = name.split('.').next()?;
        let is_global = self.scopes.iter().rposition(|(variable, _)| variable == first) < Some(self.globals);
        (is_global && declared.iter().any(|(variable, _)| *variable == name)).then_some(name)
    }

    fn check_ident(&mut self, name: &str, at: &Expr) -> Type {
        let Some(index) = self.scopes.iter().rposition(|(variable, _)| variable == name) else {
            return self.complain(at, format!("undeclared reference to '{name}' (in container '')"));
        };
        if index < self.globals && !self.uses.iter().any(|used| used == name) {
            self.uses.push(name.to_owned());
        }
        self.scopes[index].1.clone()
    }

    fn selected(&mut self, at: &Expr, operand: &Expr, field: &str, optional: bool) -> Type {
        let operand = self.resolved(operand);
        let (target, was_optional) = operand.unwrapped();
        let of = match target {
            Type::Map(_, value) => Type::clone(value),
            Type::Object(declared) => match declared.field(field) {
                Some(declared) => declared.type_of(),
                None => self.complain(at, format!("undefined field '{field}'")),
            },
            Type::Param(_) => {
                self.bindings.assign(&Type::Dyn, target);
                Type::Dyn
            }
            other if other.is_dyn_or_error() => Type::Dyn,
            other => {
                self.complain(at, format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        };
        let of = self.bindings.resolve(&of, false);
        if optional || was_optional {
            Type::optional(of)
        } else {
            of
        }
    }

    fn check_call(
        &mut self,
        at: &Expr,
        function: &mut String,
        target: &mut Option<Box<Expr>>,
        args: &mut [Expr],
    ) -> Type {
        if function == operator::OPTIONAL_SELECT {
            self.check(&mut args[0]);
            self.check(&mut args[1]);
            let Node::Literal(Literal::Text(field)) = &args[1].node else {
                return Type::Error;
            };
            return self.selected(at, &args[0], field, true);
        }
        for arg in args.iter_mut() {
            self.check(arg);
        }
        // `a.b.c()` is a function of that name before it is a call on `a.b`.
        if let Some(qualified) = target
            .as_deref()
            .and_then(qualified_name)
            .map(|prefix| format!("{prefix}.{function}"))
            && signatures(&qualified).is_some()
        {
            *function = qualified;
            *target = None;
        }
        if let Some(target) = target {
            self.check(target);
        }
        let Some(candidates) = signatures(function) else {
            return self.complain(
                at,
                format!("undeclared reference to '{function}' (in container '')"),
            );
        };
        if function == operator::AND || function == operator::OR {
            return self.check_logical(at, args, candidates);
        }
        let actual: Vec<Type> = target
            .as_deref()
            .into_iter()
            .chain(args.iter())
            .map(|arg| self.types[arg.id].clone())
            .collect();
        self.resolve_signature(at, function, &actual, target.is_some(), candidates)
    }

    fn check_logical(&mut self, at: &Expr, args: &[Expr], candidates: &'static [Signature]) -> Type {
        self.calls.insert(at.id, candidates.iter().collect());
        let mut of = Type::Bool;
        for arg in args {
            let actual = self.types[arg.id].clone();
            if !self.bindings.assign(&actual, &Type::Bool) {
                let actual = self.bindings.resolve(&actual, false);
                of = self.complain(arg, format!("expected type 'bool' but found '{actual}'"));
            }
        }
        of
    }

    fn resolve_signature(
        &mut self,
        at: &Expr,
        function: &str,
        actual: &[Type],
        is_member: bool,
        candidates: &'static [Signature],
    ) -> Type {
        let mut result: Option<Type> = None;
        for candidate in candidates
            .iter()
            .filter(|candidate| candidate.is_member == is_member)
        {
            let (params, candidate_result) = self.instantiated(candidate);
            if !self.bindings.assign_all(actual, &params) {
                continue;
            }
            self.calls.entry(at.id).or_default().push(candidate);
            let of = self.bindings.resolve(&candidate_result, false);
            result = Some(match result {
                Some(first) if !first.is_dyn() && !of.is_exactly(&first) => Type::Dyn,
                Some(first) => first,
                None => of,
            });
        }
        if let Some(result) = result {
            return result;
        }
        let shown: Vec<String> = actual
            .iter()
            .map(|of| self.bindings.resolve(of, true).to_string())
            .collect();
        let applied = match shown.split_first() {
            Some((target, args)) if is_member => format!("{target}.({})", args.join(", ")),
            _ => format!("({})", shown.join(", ")),
        };
        self.complain(
            at,
            format!("found no matching overload for '{function}' applied to '{applied}'"),
        )
    }

    /// A signature with parameters that nothing else uses.
    fn instantiated(&mut self, signature: &Signature) -> (Vec<Type>, Type) {
        let mut fresh = Bindings::default();
        let (a, b) = (self.fresh(), self.fresh());
        fresh.assign(&a, &Type::Param(0));
        fresh.assign(&b, &Type::Param(1));
        let params = signature
            .params
            .iter()
            .map(|param| fresh.resolve(param, false))
            .collect();
        (params, fresh.resolve(&signature.result, false))
    }

    fn check_list(&mut self, items: &mut [Expr], optional: &[usize]) -> Type {
        let mut joined: Option<Type> = None;
        for (i, item) in items.iter_mut().enumerate() {
            let mut of = self.check(item);
            if optional.contains(&i) {
                of = self.unwrapped(item, of);
            }
            joined = Some(self.join(joined, of));
        }
        let item = joined.unwrap_or_else(|| self.fresh());
        Type::list(item)
    }

    fn check_map(&mut self, entries: &mut [Entry]) -> Type {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            let key = self.check(&mut entry.key);
            keys = Some(self.join(keys, key));
            let mut value = self.check(&mut entry.value);
            if entry.optional {
                value = self.unwrapped(&entry.value, value);
            }
            values = Some(self.join(values, value));
        }
        let key = keys.unwrap_or_else(|| self.fresh());
        let value = values.unwrap_or_else(|| self.fresh());
        Type::map(key, value)
    }

    fn unwrapped(&mut self, at: &Expr, of: Type) -> Type {
        match of.unwrapped() {
            (inner, true) => inner.clone(),
            (other, false) if other.is_dyn() => of,
            (other, false) => {
                let message = format!("expected type 'optional_type({other})' but found '{other}'");
                self.complain(at, message);
                of
            }
        }
    }

    /// The type of items that may differ; whether they may is checked once all types are known.
    fn join(&mut self, previous: Option<Type>, current: Type) -> Type {
        match previous {
            None => current,
            Some(previous) if self.bindings.assign(&previous, &current) => more_general(&previous, &current),
            Some(_) => Type::Dyn,
        }
    }

    fn check_comprehension(&mut self, inner: &mut Comprehension) -> Type {
        self.check(&mut inner.range);
        let accumulated = self.check(&mut inner.start);
        let range = self.resolved(&inner.range);
        let depth = self.scopes.len();
        self.scopes.push((inner.accumulator.clone(), accumulated.clone()));
        let two = inner.second.is_some();
        let (first, second) = match &range {
            Type::List(item) if two => (Type::Int, Type::clone(item)),
            Type::List(item) => (Type::clone(item), Type::Dyn),
            Type::Map(key, value) => (Type::clone(key), Type::clone(value)),
            Type::Dyn | Type::Error | Type::Param(_) => {
                self.bindings.assign(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.complain(&inner.range, message);
                (Type::Error, Type::Error)
            }
        };
        self.scopes.push((inner.variable.clone(), first));
        if let Some(name) = &inner.second {
            self.scopes.push((name.clone(), second));
        }
        self.check(&mut inner.condition);
        self.expect(&inner.condition, &Type::Bool);
        self.check(&mut inner.step);
        self.expect(&inner.step, &accumulated);
        self.scopes.truncate(depth + 1);
        let of = self.check(&mut inner.result);
        self.scopes.truncate(depth);
        self.bindings.resolve(&of, false)
    }

    fn expect(&mut self, expr: &Expr, wanted: &Type) {
        let actual = self.types[expr.id].clone();
        if !self.bindings.assign(wanted, &actual) {
            let (wanted, actual) = (
                self.bindings.resolve(wanted, false),
                self.bindings.resolve(&actual, false),
            );
            self.complain(expr, format!("expected type '{wanted}' but found '{actual}'"));
        }
    }
}

pub(crate) fn for_each_child(expr: &Expr, visit: &mut impl FnMut(&Expr)) {
    match &expr.node {
        Node::Select { operand, .. } => visit(operand),
        Node::Call { target, args, .. } => {
            target.as_deref().into_iter().for_each(&mut *visit);
            args.iter().for_each(visit);
        }
        Node::List { items, .. } => items.iter().for_each(visit),
        Node::Map(entries) => entries.iter().for_each(|entry| {
            visit(&entry.key);
            visit(&entry.value);
        }),
        Node::Comprehension(inner) => {
            [
                &inner.range,
                &inner.start,
                &inner.condition,
                &inner.step,
                &inner.result,
            ]
            .into_iter()
            .for_each(visit);
        }
        Node::Literal(_) | Node::Ident(_) | Node::Struct(_) => {}
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::UInt(_) => Type::UInt,
        Literal::Double(_) => Type::Double,
        Literal::Text(_) => Type::Text,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// The type a name stands for when it is used as a value.
pub(crate) fn named_type(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "int" => Type::Int,
        "uint" => Type::UInt,
        "string" => Type::Text,
        "null_type" => Type::Null,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "type" => Type::Meta(Type::Dyn.into()),
        "dyn" => Type::Dyn,
        "google.protobuf.Timestamp" => Type::Timestamp,
        "google.protobuf.Duration" => Type::Duration,
        "optional_type" => Type::optional(Type::Dyn),
        "kubernetes.Quantity" => Type::Opaque("kubernetes.Quantity"),
        "kubernetes.URL" => Type::Opaque("kubernetes.URL"),
        "kubernetes.Semver" => Type::Opaque("kubernetes.Semver"),
        "kubernetes.NamedFormat" => Type::Opaque("kubernetes.NamedFormat"),
        "net.IP" => Type::Opaque("net.IP"),
        "net.CIDR" => Type::Opaque("net.CIDR"),
        _ => return None,
    })
}
