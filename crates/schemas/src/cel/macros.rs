//! Calls that are not calls: `has`, and everything with a variable of its own.

use super::{
    parse::{Issue, Nodes},
    syntax::{ACCUMULATOR, Comprehension, Entry, Expr, Literal, Node, operator},
};

/// `name(args)`, where `name` may be `has`.
pub(super) fn global(
    nodes: &mut Nodes,
    offset: usize,
    name: String,
    mut args: Vec<Expr>,
) -> Result<Expr, Issue> {
    if name != "has" || args.len() != 1 {
        return Ok(nodes.make(
            offset,
            Node::Call {
                function: name,
                target: None,
                args,
            },
        ));
    }
    let arg = args.swap_remove(0);
    match arg.node {
        Node::Select {
            operand,
            field,
            test: false,
        } => Ok(nodes.make(
            offset,
            Node::Select {
                operand,
                field,
                test: true,
            },
        )),
        _ => Err(Issue {
            offset: arg.offset,
            message: "invalid argument to has() macro".to_owned(),
        }),
    }
}

/// `target.name(args)`, where `name` may be a macro.
pub(super) fn member(
    nodes: &mut Nodes,
    offset: usize,
    name: &str,
    target: Expr,
    args: Vec<Expr>,
) -> Result<Expr, Issue> {
    let mut maker = Maker { nodes, offset };
    match (name, args.len()) {
        ("all" | "exists" | "exists_one" | "existsOne", 2 | 3) => maker.quantifier(name, target, args),
        ("map" | "filter", 2) | ("map", 3) => maker.list(name, target, args),
        ("transformList", 3 | 4) => maker.transform_list(target, args),
        ("transformMap", 3 | 4) => maker.transform_map(target, args),
        ("optMap" | "optFlatMap", 2) => maker.optional(name, target, args),
        _ => {
            let node = Node::Call {
                function: name.to_owned(),
                target: Some(Box::new(target)),
                args,
            };
            Ok(maker.nodes.make(offset, node))
        }
    }
}

struct Maker<'a> {
    nodes: &'a mut Nodes,
    offset: usize,
}

impl Maker<'_> {
    fn ident(&mut self, name: &str) -> Expr {
        self.nodes.make(self.offset, Node::Ident(name.to_owned()))
    }

    fn result(&mut self) -> Expr {
        self.ident(ACCUMULATOR)
    }

    fn literal(&mut self, literal: Literal) -> Expr {
        self.nodes.make(self.offset, Node::Literal(literal))
    }

    fn call(&mut self, function: &str, args: Vec<Expr>) -> Expr {
        self.nodes.call(self.offset, function, args)
    }

    fn method(&mut self, function: &str, target: Expr) -> Expr {
        let target = Some(Box::new(target));
        self.nodes.make(
            self.offset,
            Node::Call {
                function: function.to_owned(),
                target,
                args: Vec::new(),
            },
        )
    }

    fn list_of(&mut self, items: Vec<Expr>) -> Expr {
        self.nodes.make(
            self.offset,
            Node::List {
                items,
                optional: Vec::new(),
            },
        )
    }

    fn comprehension(&mut self, comprehension: Comprehension) -> Expr {
        self.nodes
            .make(self.offset, Node::Comprehension(Box::new(comprehension)))
    }

    fn quantifier(&mut self, name: &str, range: Expr, mut args: Vec<Expr>) -> Result<Expr, Issue> {
        let count = args.len() - 1;
        let (variable, second) = variables(&mut args, count)?;
        let predicate = args.swap_remove(0);
        let (start, condition, step, result);
        match name {
            "all" => {
                start = self.literal(Literal::Bool(true));
                let so_far = self.result();
                condition = self.call(operator::NOT_STRICTLY_FALSE, vec![so_far]);
                let so_far = self.result();
                step = self.call(operator::AND, vec![so_far, predicate]);
                result = self.result();
            }
            "exists" => {
                start = self.literal(Literal::Bool(false));
                let so_far = self.result();
                let not_yet = self.call(operator::NOT, vec![so_far]);
                condition = self.call(operator::NOT_STRICTLY_FALSE, vec![not_yet]);
                let so_far = self.result();
                step = self.call(operator::OR, vec![so_far, predicate]);
                result = self.result();
            }
            _ => {
                start = self.literal(Literal::Int(0));
                condition = self.literal(Literal::Bool(true));
                let (so_far, one) = (self.result(), self.literal(Literal::Int(1)));
                let more = self.call(operator::ADD, vec![so_far, one]);
                let so_far = self.result();
                step = self.call(operator::CONDITIONAL, vec![predicate, more, so_far]);
                let (so_far, one) = (self.result(), self.literal(Literal::Int(1)));
                result = self.call(operator::EQUALS, vec![so_far, one]);
            }
        }
        let accumulator = ACCUMULATOR.to_owned();
        Ok(self.comprehension(Comprehension {
            range,
            variable,
            second,
            accumulator,
            start,
            condition,
            step,
            result,
        }))
    }

    fn list(&mut self, name: &str, range: Expr, mut args: Vec<Expr>) -> Result<Expr, Issue> {
        let (variable, second) = variables(&mut args, 1)?;
        let last = args.pop();
        let filter = args.pop();
        let (filter, item) = match (name, last) {
            ("filter", filter) => (filter, self.ident(&variable)),
            (_, Some(item)) => (filter, item),
            (_, None) => (filter, self.ident(&variable)),
        };
        Ok(self.gathered(range, variable, second, filter, item))
    }

    fn transform_list(&mut self, range: Expr, mut args: Vec<Expr>) -> Result<Expr, Issue> {
        let (variable, second) = variables(&mut args, 2)?;
        let item = args.swap_remove(args.len() - 1);
        let filter = args.pop();
        Ok(self.gathered(range, variable, second, filter, item))
    }

    /// A list of the items that pass the filter.
    fn gathered(
        &mut self,
        range: Expr,
        variable: String,
        second: Option<String>,
        filter: Option<Expr>,
        item: Expr,
    ) -> Expr {
        let start = self.list_of(Vec::new());
        let condition = self.literal(Literal::Bool(true));
        let so_far = self.result();
        let item = self.list_of(vec![item]);
        let mut step = self.call(operator::ADD, vec![so_far, item]);
        if let Some(filter) = filter {
            let so_far = self.result();
            step = self.call(operator::CONDITIONAL, vec![filter, step, so_far]);
        }
        let result = self.result();
        let accumulator = ACCUMULATOR.to_owned();
        self.comprehension(Comprehension {
            range,
            variable,
            second,
            accumulator,
            start,
            condition,
            step,
            result,
        })
    }

    fn transform_map(&mut self, range: Expr, mut args: Vec<Expr>) -> Result<Expr, Issue> {
        let (variable, second) = variables(&mut args, 2)?;
        let value = args.swap_remove(args.len() - 1);
        let filter = args.pop();
        let start = self.nodes.make(self.offset, Node::Map(Vec::<Entry>::new()));
        let condition = self.literal(Literal::Bool(true));
        let (so_far, key) = (self.result(), self.ident(&variable));
        let mut step = self.call(operator::INSERT, vec![so_far, key, value]);
        if let Some(filter) = filter {
            let so_far = self.result();
            step = self.call(operator::CONDITIONAL, vec![filter, step, so_far]);
        }
        let result = self.result();
        let accumulator = ACCUMULATOR.to_owned();
        Ok(self.comprehension(Comprehension {
            range,
            variable,
            second,
            accumulator,
            start,
            condition,
            step,
            result,
        }))
    }

    /// `target.optMap(x, body)`: the body with `x` bound to the value, when there is one.
    fn optional(&mut self, name: &str, target: Expr, mut args: Vec<Expr>) -> Result<Expr, Issue> {
        let (variable, _) = variables(&mut args, 1)?;
        let body = args.swap_remove(0);
        let copy = renumbered(self.nodes, &target);
        let present = self.method("hasValue", copy);
        let start = self.method("value", target);
        let range = self.list_of(Vec::new());
        let condition = self.literal(Literal::Bool(false));
        let step = self.ident(&variable);
        let bound = self.comprehension(Comprehension {
            range,
            variable: "#unused".to_owned(),
            second: None,
            accumulator: variable,
            start,
            condition,
            step,
            result: body,
        });
        let some = if name == "optMap" {
            self.call("optional.of", vec![bound])
        } else {
            bound
        };
        let none = self.call("optional.none", Vec::new());
        Ok(self.call(operator::CONDITIONAL, vec![present, some, none]))
    }
}

/// The variables at the head of the arguments; the rest stays.
fn variables(args: &mut Vec<Expr>, count: usize) -> Result<(String, Option<String>), Issue> {
    let mut names = Vec::new();
    for arg in args.drain(..count) {
        match arg.node {
            Node::Ident(name) if name != ACCUMULATOR && name != "__result__" => names.push(name),
            Node::Ident(_) => {
                let message = "iteration variable overwrites accumulator variable".to_owned();
                return Err(Issue {
                    offset: arg.offset,
                    message,
                });
            }
            _ => {
                let message = "argument must be a simple name".to_owned();
                return Err(Issue {
                    offset: arg.offset,
                    message,
                });
            }
        }
    }
    let mut names = names.into_iter();
    Ok((names.next().unwrap_or_default(), names.next()))
}

/// A copy of a tree with numbers of its own.
fn renumbered(nodes: &mut Nodes, expr: &Expr) -> Expr {
    let mut copy = |expr: &Expr| renumbered(nodes, expr);
    let node = match &expr.node {
        Node::Select { operand, field, test } => Node::Select {
            operand: Box::new(copy(operand)),
            field: field.clone(),
            test: *test,
        },
        Node::Call {
            function,
            target,
            args,
        } => Node::Call {
            function: function.clone(),
            target: target.as_deref().map(&mut copy).map(Box::new),
            args: args.iter().map(copy).collect(),
        },
        Node::List { items, optional } => Node::List {
            items: items.iter().map(copy).collect(),
            optional: optional.clone(),
        },
        Node::Map(entries) => Node::Map(
            entries
                .iter()
                .map(|entry| Entry {
                    key: copy(&entry.key),
                    value: copy(&entry.value),
                    optional: entry.optional,
                })
                .collect(),
        ),
        Node::Comprehension(inner) => Node::Comprehension(Box::new(Comprehension {
            range: copy(&inner.range),
            variable: inner.variable.clone(),
            second: inner.second.clone(),
            accumulator: inner.accumulator.clone(),
            start: copy(&inner.start),
            condition: copy(&inner.condition),
            step: copy(&inner.step),
            result: copy(&inner.result),
        })),
        leaf => leaf.clone(),
    };
    nodes.make(expr.offset, node)
}
