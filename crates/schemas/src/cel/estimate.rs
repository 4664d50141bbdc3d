//! What an expression can cost at most, from the sizes its schema allows. Definitions whose rules
//! could be too expensive are refused before there is an object to validate.

mod library;
mod range;

use std::collections::HashMap;

use self::range::Range;
use super::{
    check::Checked,
    declared::Declared,
    signatures::Signature,
    syntax::{ACCUMULATOR, Comprehension, Expr, Literal, Node, operator},
    types::Type,
};

/// Going through one character of a string.
pub(crate) const STRING_FACTOR: f64 = 0.1;
/// One character of a regular expression.
pub(crate) const REGEX_FACTOR: f64 = 0.25;
pub(crate) const LIST_COST: u64 = 10;
pub(crate) const MAP_COST: u64 = 30;
const STRUCT_COST: u64 = 40;
/// Formats are assumed to be regular expressions of this length.
pub(crate) const NAMED_FORMAT_LENGTH: f64 = 128.0;

/// The largest cost of a checked expression whose `self` is declared as given.
pub(crate) fn max_cost(checked: &Checked, root: &Declared) -> u64 {
    Estimator::new(checked, root).cost(&checked.expr).max
}

/// Sizes of the keys and values of a list or map.
#[derive(Clone, Copy, Debug)]
struct Entries {
    key: Range,
    value: Range,
}

#[derive(Clone, Debug, Default)]
struct Local {
    path: Option<Vec<String>>,
    size: Option<Range>,
    entries: Option<Entries>,
}

struct Estimator<'a> {
    checked: &'a Checked,
    root: &'a Declared,
    paths: HashMap<usize, Vec<String>>,
    sizes: HashMap<usize, Range>,
    entries: HashMap<usize, Entries>,
    locals: HashMap<String, Vec<Local>>,
}

/// The cost of a call and, where that is known, the size of what it returns.
struct CallCost {
    cost: Range,
    size: Option<Range>,
}

impl From<Range> for CallCost {
    fn from(cost: Range) -> Self {
        Self { cost, size: None }
    }
}

impl<'a> Estimator<'a> {
    fn new(checked: &'a Checked, root: &'a Declared) -> Self {
        Self {
            checked,
            root,
            paths: HashMap::new(),
            sizes: HashMap::new(),
            entries: HashMap::new(),
            locals: HashMap::new(),
        }
    }

    fn cost(&mut self, expr: &Expr) -> Range {
        match &expr.node {
            Node::Literal(_) => Range::ZERO,
            Node::Ident(name) => {
                let path = match self.local(name) {
                    Some(local) => local.path.clone().unwrap_or_default(),
                    None => vec![name.clone()],
                };
                self.paths.insert(expr.id, path);
                Range::ONE
            }
            Node::Select {
                operand, test: true, ..
            } => self.cost(operand),
            Node::Select { operand, field, .. } => {
                let cost = self.cost(operand);
                let mut path = self.path(operand);
                path.push(field.clone());
                self.paths.insert(expr.id, path);
                let counted = matches!(
                    self.checked.type_of(operand),
                    Type::Map(..) | Type::Object(_) | Type::Opaque("kubernetes.Quantity")
                );
                if counted { cost.plus(Range::ONE) } else { cost }
            }
            Node::Call {
                function,
                target,
                args,
            } => self.call(expr, function, target.as_deref(), args),
            Node::List { items, .. } => {
                let mut cost = Range::fixed(LIST_COST);
                let mut size = Range {
                    min: if items.is_empty() { 0 } else { u64::MAX },
                    max: 0,
                };
                for item in items {
                    cost = cost.plus(self.cost(item));
                    size = size.union(self.size_or_unknown(item));
                }
                self.entries.insert(
                    expr.id,
                    Entries {
                        key: Range::ONE,
                        value: size,
                    },
                );
                cost
            }
            Node::Map(entries) => {
                let mut cost = Range::fixed(MAP_COST);
                let empty = Range {
                    min: if entries.is_empty() { 0 } else { u64::MAX },
                    max: 0,
                };
                let mut sizes = Entries {
                    key: empty,
                    value: empty,
                };
                for entry in entries {
                    cost = cost.plus(self.cost(&entry.key)).plus(self.cost(&entry.value));
                    sizes.key = sizes.key.union(self.size_or_unknown(&entry.key));
                    sizes.value = sizes.value.union(self.size_or_unknown(&entry.value));
                }
                self.entries.insert(expr.id, sizes);
                cost
            }
            Node::Struct(_) => Range::fixed(STRUCT_COST),
            Node::Comprehension(inner) => self.comprehension(expr, inner),
        }
    }

    fn call(&mut self, expr: &Expr, function: &str, target: Option<&Expr>, args: &[Expr]) -> Range {
        if function == "dyn" && args.len() == 1 {
            let cost = self.cost(&args[0]);
            if let Some(size) = self.size(&args[0]) {
                self.sizes.insert(expr.id, size);
            }
            if let Some(entries) = self.entry_sizes(&args[0]) {
                self.entries.insert(expr.id, entries);
            }
            return cost.plus(Range::ONE);
        }
        let arg_costs: Vec<Range> = args.iter().map(|arg| self.cost(arg)).collect();
        if function == operator::OPTIONAL_SELECT {
            return arg_costs.iter().fold(Range::ONE, |sum, cost| sum.plus(*cost));
        }
        let mut sum = Range::ZERO;
        if let Some(target) = target {
            sum = self.cost(target);
        }
        let checked = self.checked;
        let Some(signatures) = checked.calls.get(&expr.id) else {
            return Range::ZERO;
        };
        let mut cost = Range {
            min: u64::MAX,
            max: 0,
        };
        let mut result: Option<Range> = None;
        for signature in signatures {
            let estimate = self.signature_cost(expr, function, signature, target, args, &arg_costs);
            cost = cost.union(estimate.cost);
            result = match (result, estimate.size) {
                (Some(known), Some(size)) => Some(known.union(size)),
                (known, size) => known.or(size),
            };
            if function == operator::INDEX
                && let Some(of) = signature.params.first()
            {
                let step = match of {
                    Type::List(_) => "@items",
                    Type::Map(..) => "@values",
                    _ => continue,
                };
                result = self.entry_sizes(&args[0]).map(|entries| entries.value);
                let mut path = self.path(&args[0]);
                path.push(step.to_owned());
                self.paths.insert(expr.id, path);
            }
            if result.is_none() {
                result = self.size(expr);
            }
        }
        if let Some(size) = result {
            self.sizes.insert(expr.id, size);
        }
        sum.plus(cost)
    }

    fn signature_cost(
        &mut self,
        expr: &Expr,
        function: &str,
        signature: &Signature,
        target: Option<&Expr>,
        args: &[Expr],
        arg_costs: &[Range],
    ) -> CallCost {
        let all_args = arg_costs.iter().fold(Range::ZERO, |sum, cost| sum.plus(*cost));
        if let Some(mut estimate) = self.library_cost(function, signature, target, args) {
            estimate.cost = estimate.cost.plus(all_args);
            return estimate;
        }
        let first = signature.params.first();
        match function {
            operator::AND | operator::OR => {
                let both = arg_costs[0].plus(arg_costs[1]);
                Range {
                    min: arg_costs[0].min,
                    max: both.max,
                }
                .into()
            }
            operator::CONDITIONAL => {
                let size = self
                    .size_or_unknown(&args[1])
                    .union(self.size_or_unknown(&args[2]));
                self.join_entries(expr, &args[1], &args[2]);
                CallCost {
                    cost: arg_costs[0].plus(arg_costs[1].union(arg_costs[2])),
                    size: Some(size),
                }
            }
            operator::ADD if matches!(first, Some(Type::Text | Type::Bytes | Type::List(_))) => {
                let size = self
                    .size_or_unknown(&args[0])
                    .plus(self.size_or_unknown(&args[1]));
                self.join_entries(expr, &args[0], &args[1]);
                let cost = if matches!(first, Some(Type::List(_))) {
                    Range::ONE
                } else {
                    size.scaled(STRING_FACTOR)
                };
                CallCost {
                    cost: cost.plus(all_args),
                    size: Some(size),
                }
            }
            _ => self
                .standard_cost(function, signature, target, args)
                .plus(all_args)
                .into(),
        }
    }

    fn standard_cost(
        &mut self,
        function: &str,
        signature: &Signature,
        target: Option<&Expr>,
        args: &[Expr],
    ) -> Range {
        let textual = matches!(signature.params.first(), Some(Type::Text | Type::Bytes));
        match (function, target) {
            ("format", Some(target)) => self.size_or_unknown(target).scaled(STRING_FACTOR),
            ("bytes" | "strings.quote", _) if matches!(signature.params[..], [Type::Text]) => {
                self.size_or_unknown(&args[0]).scaled(STRING_FACTOR)
            }
            ("string", _) if matches!(signature.params[..], [Type::Bytes]) => {
                self.size_or_unknown(&args[0]).scaled(STRING_FACTOR)
            }
            ("startsWith" | "endsWith", _) => self.size_or_unknown(&args[0]).scaled(STRING_FACTOR),
            (operator::IN, _) if matches!(signature.params.get(1), Some(Type::List(_))) => {
                self.size_or_unknown(&args[1])
            }
            ("matches", Some(target)) => {
                let text = self
                    .size_or_unknown(target)
                    .plus(Range::ONE)
                    .scaled(STRING_FACTOR);
                text.times(self.size_or_unknown(&args[0]).scaled(REGEX_FACTOR))
            }
            ("contains", Some(target)) => {
                let text = self.size_or_unknown(target).scaled(STRING_FACTOR);
                text.times(self.size_or_unknown(&args[0]).scaled(STRING_FACTOR))
            }
            (operator::EQUALS | operator::NOT_EQUALS, _) => self.comparison_cost(args),
            (operator::LESS | operator::LESS_EQUALS | operator::GREATER | operator::GREATER_EQUALS, _)
                if textual =>
            {
                self.comparison_cost(args)
            }
            _ => Range::ONE,
        }
    }

    /// Comparing takes as long as the shorter side is.
    fn comparison_cost(&mut self, args: &[Expr]) -> Range {
        let shorter = self
            .size_or_unknown(&args[0])
            .max
            .min(self.size_or_unknown(&args[1]).max);
        Range {
            min: u64::from(shorter > 0),
            max: shorter,
        }
        .scaled(STRING_FACTOR)
    }

    fn comprehension(&mut self, expr: &Expr, inner: &Comprehension) -> Range {
        let mut cost = self.cost(&inner.range).plus(self.cost(&inner.start));
        let accumulated = Local {
            path: Some(self.path(&inner.start)),
            size: self.size(&inner.start),
            entries: self.entry_sizes(&inner.start),
        };
        self.push(&inner.accumulator, accumulated);
        let is_list = matches!(self.checked.type_of(&inner.range), Type::List(_));
        let sizes = self.entry_sizes(&inner.range);
        let path = self.path(&inner.range);
        let local = |step: &str, size: Option<Range>| {
            let mut path = path.clone();
            path.push(step.to_owned());
            Local {
                path: Some(path),
                size,
                entries: None,
            }
        };
        let values = local(
            if is_list { "@items" } else { "@values" },
            sizes.map(|sizes| sizes.value),
        );
        let keys = local(
            if is_list { "@indices" } else { "@keys" },
            sizes.map(|sizes| sizes.key),
        );
        match &inner.second {
            Some(second) => {
                self.push(&inner.variable, keys);
                self.push(second, values);
            }
            None => self.push(&inner.variable, if is_list { values } else { keys }),
        }
        let each = self.cost(&inner.condition).plus(self.cost(&inner.step));
        self.pop(&inner.variable);
        if let Some(second) = &inner.second {
            self.pop(second);
        }
        cost = cost.plus(self.cost(&inner.result));
        self.pop(&inner.accumulator);
        let count = self.size_or_unknown(&inner.range);
        cost = cost.plus(count.times(each));
        match &inner.start.node {
            Node::Literal(_) => {
                if let Some(size) = self.size(&inner.start) {
                    self.sizes.insert(expr.id, size);
                }
            }
            Node::List { .. } | Node::Map(_) => {
                self.sizes.insert(expr.id, count);
                if let Some(entries) = self.entry_sizes(&inner.step) {
                    self.entries.insert(expr.id, entries);
                }
            }
            _ => {}
        }
        cost
    }

    fn push(&mut self, name: &str, local: Local) {
        self.locals.entry(name.to_owned()).or_default().push(local);
    }

    fn pop(&mut self, name: &str) {
        if let Some(stack) = self.locals.get_mut(name) {
            stack.pop();
        }
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.get(name).and_then(|stack| stack.last())
    }

    fn path(&self, expr: &Expr) -> Vec<String> {
        if let Node::Ident(name) = &expr.node
            && let Some(local) = self.local(name)
        {
            return local.path.clone().unwrap_or_default();
        }
        self.paths.get(&expr.id).cloned().unwrap_or_default()
    }

    fn size_or_unknown(&mut self, expr: &Expr) -> Range {
        self.size(expr).unwrap_or(Range::UNKNOWN)
    }

    fn size(&mut self, expr: &Expr) -> Option<Range> {
        if let Some(size) = self.sizes.get(&expr.id) {
            return Some(*size);
        }
        if let Some(size) = literal_size(expr) {
            return Some(size);
        }
        if let Some(size) = self.declared_size(&self.path(expr)) {
            self.sizes.insert(expr.id, size);
            return Some(size);
        }
        if self.checked.type_of(expr).is_scalar() {
            return Some(Range::ONE);
        }
        match &expr.node {
            Node::Ident(name) => self.local(name).and_then(|local| local.size),
            _ => None,
        }
    }

    /// The size the schema allows at a path that starts at `self` or `oldSelf`.
    fn declared_size(&self, path: &[String]) -> Option<Range> {
        let (first, rest) = path.split_first()?;
        if first == ACCUMULATOR {
            return None;
        }
        let mut declared = self.root;
        for step in rest {
            declared = match step.as_str() {
                "@items" | "@values" => declared.element()?,
                "@keys" => {
                    declared.element()?;
                    return Some(Range::ZERO);
                }
                field => declared.field(field)?,
            };
        }
        Some(Range {
            min: 0,
            max: declared.max_elements as u64,
        })
    }

    /// The type and size of the items of a list.
    fn item_of(&self, list: &Expr) -> Option<(Type, Range)> {
        let Type::List(item) = self.checked.type_of(list) else {
            return None;
        };
        let mut path = self.path(list);
        let size = if path.is_empty() {
            None
        } else {
            path.push("@items".to_owned());
            self.declared_size(&path)
        };
        Some((Type::clone(item), size.unwrap_or(Range::UNKNOWN)))
    }

    fn entry_sizes(&self, expr: &Expr) -> Option<Entries> {
        if let Some(entries) = self.entries.get(&expr.id) {
            return Some(*entries);
        }
        match &expr.node {
            Node::Ident(name) => self.local(name).and_then(|local| local.entries),
            _ => None,
        }
    }

    fn join_entries(&mut self, expr: &Expr, a: &Expr, b: &Expr) {
        if let (Some(a), Some(b)) = (self.entry_sizes(a), self.entry_sizes(b)) {
            let joined = Entries {
                key: a.key.union(b.key),
                value: a.value.union(b.value),
            };
            self.entries.insert(expr.id, joined);
        }
    }
}

fn literal_size(expr: &Expr) -> Option<Range> {
    Some(Range::fixed(match &expr.node {
        Node::Literal(Literal::Text(text)) => text.chars().count() as u64,
        Node::Literal(Literal::Bytes(bytes)) => bytes.len() as u64,
        Node::Literal(_) => 1,
        Node::List { items, .. } => items.len() as u64,
        Node::Map(entries) => entries.len() as u64,
        _ => return None,
    }))
}
