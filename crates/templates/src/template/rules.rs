//! What templates may use of Jinja. Left out is what handles rendered text as a value: text has tokens in it, and a
//! comparison with it, or its length, would not be what its author means.

use std::collections::BTreeSet;

use minijinja::{
    machinery::{
        Span, Token,
        ast::{Call, CallArg, CallType, Expr, Stmt},
        parse, tokenize,
    },
    syntax::SyntaxConfig,
};

use super::failure::syntax_failure;
use crate::{
    limits::{ELIFS, TAG_TOKENS},
    problem::{Code, Problem},
    tokens,
};

/// Another text that a template needs.
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) offset: usize,
    pub(super) may_be_missing: bool,
}

pub(super) struct Found {
    pub(super) references: Vec<Reference>,
    pub(super) problems: Vec<Problem>,
}

/// Reads a text and looks through it.
pub(super) fn look(name: &str, text: &str) -> Result<Found, Box<Problem>> {
    if let Some(at) = tokens::find(text) {
        let message = "U+FDD0 to U+FDD3 are not characters, and templates may not have them";
        return Err(Box::new(Problem::new(Code::Syntax, message).at(name, text, at)));
    }
    if let Some(at) = long_tag(text) {
        let message = "an expression or a chain of `elif` has too many parts";
        let problem = Problem::new(Code::Syntax, message).at(name, text, at);
        return Err(Box::new(problem.hint("name parts of it: `{% set part = … %}`")));
    }
    let root = parse(text, name, SyntaxConfig::default())
        .map_err(|error| Box::new(syntax_failure(name, text, &error)))?;
    let mut walk = Walk {
        name,
        text,
        macros: BTreeSet::new(),
        modules: BTreeSet::new(),
        found: Found {
            references: Vec::new(),
            problems: Vec::new(),
        },
    };
    walk.declare(std::slice::from_ref(&root));
    walk.statement(&root);
    Ok(walk.found)
}

/// Where a tag begins that has too much in it.
fn long_tag(text: &str) -> Option<usize> {
    let (mut start, mut count, mut elifs) = (0, 0, 0);
    for (token, span) in tokenize(text, false, SyntaxConfig::default()).map_while(Result::ok) {
        if matches!(token, Token::VariableStart | Token::BlockStart) {
            (start, count) = (span.start_offset as usize, 0);
        }
        count += 1;
        elifs += usize::from(matches!(token, Token::Ident("elif")));
        if count > TAG_TOKENS || elifs > ELIFS {
            return Some(start);
        }
    }
    None
}

struct Walk<'s> {
    name: &'s str,
    text: &'s str,
    macros: BTreeSet<&'s str>,
    modules: BTreeSet<&'s str>,
    found: Found,
}

const ONLY_PRINTED: &str =
    "what a macro, `super()`, `loop()` or a block writes can only be printed, by a `{{ … }}` of its own";

impl<'s> Walk<'s> {
    fn refuse(&mut self, span: Span, message: &str, hint: &str) {
        let problem = Problem::new(Code::Syntax, message)
            .at(self.name, self.text, span.start_offset as usize)
            .hint(hint);
        self.found.problems.push(problem);
    }

    /// Macros count from wherever they are.
    fn declare(&mut self, statements: &[Stmt<'s>]) {
        for statement in statements {
            match statement {
                Stmt::Macro(it) => {
                    self.macros.insert(it.name);
                }
                Stmt::Import(it) => self.modules.extend(variable(&it.name)),
                Stmt::FromImport(it) => {
                    let names = it
                        .names
                        .iter()
                        .filter_map(|(name, alias)| variable(alias.as_ref().unwrap_or(name)));
                    self.macros.extend(names);
                }
                _ => {}
            }
            for body in bodies(statement) {
                self.declare(body);
            }
        }
    }

    fn statement(&mut self, statement: &Stmt<'s>) {
        match statement {
            Stmt::EmitExpr(it) => match &it.expr {
                Expr::Call(call) if self.writes(call) => self.arguments(&call.args),
                expr => self.expression(expr),
            },
            Stmt::SetBlock(it) => self.refuse(
                it.span(),
                "`{% set name %} … {% endset %}` is not for task templates",
                "use `{% set name = a ~ b %}`",
            ),
            Stmt::FilterBlock(it) => self.refuse(
                it.span(),
                "`{% filter %}` is not for task templates",
                "filter the values: `{{ value | upper }}`",
            ),
            Stmt::CallBlock(it) => {
                self.refuse(
                    it.span(),
                    "`{% call %}` is not for task templates",
                    "use a macro with parameters",
                );
            }
            Stmt::AutoEscape(it) => self.refuse(
                it.span(),
                "`{% autoescape %}` is not for task templates",
                "leave it out: values are values, whatever is in them",
            ),
            Stmt::ForLoop(it) => {
                self.expression(&it.iter);
                it.filter_expr.iter().for_each(|expr| self.expression(expr));
            }
            Stmt::IfCond(it) => self.expression(&it.expr),
            Stmt::WithBlock(it) => it.assignments.iter().for_each(|(_, expr)| self.expression(expr)),
            Stmt::Set(it) => self.expression(&it.expr),
            Stmt::Macro(it) => it.defaults.iter().for_each(|expr| self.expression(expr)),
            Stmt::Do(it) => self.arguments(&it.call.args),
            Stmt::Include(it) => self.reference(&it.name, it.ignore_missing),
            Stmt::Import(it) => self.reference(&it.expr, false),
            Stmt::FromImport(it) => self.reference(&it.expr, false),
            Stmt::Extends(it) => self.reference(&it.name, false),
            _ => {}
        }
        for body in bodies(statement) {
            for statement in body {
                self.statement(statement);
            }
        }
    }

    fn reference(&mut self, expr: &Expr<'s>, may_be_missing: bool) {
        match expr.as_const().as_ref().and_then(|name| name.as_str()) {
            Some(name) => self.found.references.push(Reference {
                name: name.to_owned(),
                offset: expr.span().start_offset as usize,
                may_be_missing,
            }),
            None => self.refuse(
                expr.span(),
                "what a template includes must be named by a fixed text",
                "write one `{% include \"name\" %}` for each, with `{% if %}` around it",
            ),
        }
    }

    /// Whether a call gives rendered text.
    fn writes(&self, call: &Call<'s>) -> bool {
        match call.identify_call() {
            CallType::Function(name) => {
                matches!(name, "super" | "loop" | "caller") || self.macros.contains(name)
            }
            CallType::Method(Expr::Var(module), _) => self.modules.contains(module.id),
            CallType::Block(_) => true,
            _ => false,
        }
    }

    fn arguments(&mut self, arguments: &[CallArg<'s>]) {
        for argument in arguments {
            match argument {
                CallArg::Pos(expr)
                | CallArg::Kwarg(_, expr)
                | CallArg::PosSplat(expr)
                | CallArg::KwargSplat(expr) => self.expression(expr),
            }
        }
    }

    fn expression(&mut self, expr: &Expr<'s>) {
        match expr {
            Expr::Const(it) => {
                if it.value.as_str().is_some_and(|text| tokens::find(text).is_some()) {
                    let message = "U+FDD0 to U+FDD3 are not characters, and templates may not have them";
                    self.refuse(it.span(), message, "leave them out");
                }
            }
            Expr::Call(it) => {
                if self.writes(it) {
                    self.refuse(
                        it.span(),
                        ONLY_PRINTED,
                        "give the macro what it needs as a parameter",
                    );
                }
                self.expression(&it.expr);
                self.arguments(&it.args);
            }
            Expr::Var(_) => {}
            Expr::Slice(it) => {
                let parts = [
                    Some(&it.expr),
                    it.start.as_ref(),
                    it.stop.as_ref(),
                    it.step.as_ref(),
                ];
                parts.into_iter().flatten().for_each(|expr| self.expression(expr));
            }
            Expr::UnaryOp(it) => self.expression(&it.expr),
            Expr::BinOp(it) => {
                self.expression(&it.left);
                self.expression(&it.right);
            }
            Expr::Compare(it) => {
                self.expression(&it.expr);
                it.ops.iter().for_each(|op| self.expression(&op.expr));
            }
            Expr::IfExpr(it) => {
                let parts = [Some(&it.test_expr), Some(&it.true_expr), it.false_expr.as_ref()];
                parts.into_iter().flatten().for_each(|expr| self.expression(expr));
            }
            Expr::Filter(it) => {
                it.expr.iter().for_each(|expr| self.expression(expr));
                self.arguments(&it.args);
            }
            Expr::Test(it) => {
                self.expression(&it.expr);
                self.arguments(&it.args);
            }
            Expr::GetAttr(it) => self.expression(&it.expr),
            Expr::GetItem(it) => {
                self.expression(&it.expr);
                self.expression(&it.subscript_expr);
            }
            Expr::List(it) => it.items.iter().for_each(|expr| self.expression(expr)),
            Expr::Tuple(it) => it.items.iter().for_each(|expr| self.expression(expr)),
            Expr::Map(it) => it
                .keys
                .iter()
                .chain(&it.values)
                .for_each(|expr| self.expression(expr)),
        }
    }
}

fn variable<'s>(expr: &Expr<'s>) -> Option<&'s str> {
    match expr {
        Expr::Var(it) => Some(it.id),
        _ => None,
    }
}

/// The statements inside of one.
fn bodies<'t, 's>(statement: &'t Stmt<'s>) -> Vec<&'t [Stmt<'s>]> {
    match statement {
        Stmt::Template(it) => vec![&it.children],
        Stmt::ForLoop(it) => vec![&it.body, &it.else_body],
        Stmt::IfCond(it) => vec![&it.true_body, &it.false_body],
        Stmt::WithBlock(it) => vec![&it.body],
        Stmt::SetBlock(it) => vec![&it.body],
        Stmt::AutoEscape(it) => vec![&it.body],
        Stmt::FilterBlock(it) => vec![&it.body],
        Stmt::Block(it) => vec![&it.body],
        Stmt::Macro(it) => vec![&it.body],
        _ => Vec::new(),
    }
}
