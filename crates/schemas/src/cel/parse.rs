//! From tokens to the syntax tree, by precedence climbing.

use manifests::names::is_cel_word;

use super::{
    lexer::{self, Located, Token},
    macros,
    syntax::{Entry, Expr, Literal, Node, operator},
};

/// Trees deeper than this are refused; walking them takes stack.
const MAX_DEPTH: usize = 250;
const MAX_LENGTH: usize = 100_000;

const AND: usize = 1;

/// Operators, the functions they stand for, and how tightly they bind.
const OPERATORS: [(&str, &str, usize); 14] = [
    ("||", operator::OR, 0),
    ("&&", operator::AND, AND),
    ("<", operator::LESS, 2),
    ("<=", operator::LESS_EQUALS, 2),
    (">=", operator::GREATER_EQUALS, 2),
    (">", operator::GREATER, 2),
    ("==", operator::EQUALS, 2),
    ("!=", operator::NOT_EQUALS, 2),
    ("in", operator::IN, 2),
    ("+", operator::ADD, 3),
    ("-", "_-_", 3),
    ("*", "_*_", 4),
    ("/", "_/_", 4),
    ("%", "_%_", 4),
];

/// What is wrong, and at which character of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Issue {
    pub(crate) offset: usize,
    pub(crate) message: String,
}

/// A parsed expression and the number of its nodes.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) expr: Expr,
    pub(crate) size: usize,
}

pub(crate) fn parse(source: &str) -> Result<Parsed, Issue> {
    let length = source.chars().count();
    if length > MAX_LENGTH {
        let message = format!("expression code point size exceeds limit: size: {length}, limit {MAX_LENGTH}");
        return Err(Issue { offset: 0, message });
    }
    let tokens = lexer::tokens(source).map_err(|error| Issue {
        offset: error.offset,
        message: error.message,
    })?;
    let mut parser = Parser {
        tokens,
        at: 0,
        nodes: Nodes::default(),
        depth: 0,
    };
    let expr = parser.expression()?;
    if *parser.peek() != Token::End {
        return parser.unexpected();
    }
    Ok(Parsed {
        expr,
        size: parser.nodes.count,
    })
}

/// Numbers nodes as they are made.
#[derive(Default)]
pub(crate) struct Nodes {
    count: usize,
}

impl Nodes {
    pub(crate) fn make(&mut self, offset: usize, node: Node) -> Expr {
        let id = self.count;
        self.count += 1;
        Expr { id, offset, node }
    }

    pub(crate) fn call(&mut self, offset: usize, function: &str, args: Vec<Expr>) -> Expr {
        self.make(
            offset,
            Node::Call {
                function: function.to_owned(),
                target: None,
                args,
            },
        )
    }
}

struct Parser {
    tokens: Vec<Located>,
    at: usize,
    nodes: Nodes,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].token
    }

    fn offset(&self) -> usize {
        self.tokens[self.at].offset
    }

    fn advance(&mut self) -> Token {
        let token = self.tokens[self.at].token.clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Token::Symbol(found) if *found == symbol);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), Issue> {
        if self.accept(symbol) {
            Ok(())
        } else {
            self.unexpected()
        }
    }

    fn unexpected<T>(&self) -> Result<T, Issue> {
        let found = match self.peek() {
            Token::End => "<EOF>".to_owned(),
            Token::Symbol(symbol) => (*symbol).to_owned(),
            Token::Ident(name) => name.clone(),
            Token::Literal(literal) => format!("{literal:?}"),
        };
        self.error(self.offset(), format!("Syntax error: mismatched input '{found}'"))
    }

    #[expect(clippy::unused_self, reason = "reads as part of the parser's vocabulary")]
    fn error<T>(&self, offset: usize, message: impl Into<String>) -> Result<T, Issue> {
        Err(Issue {
            offset,
            message: message.into(),
        })
    }

    fn expression(&mut self) -> Result<Expr, Issue> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.too_deep();
        }
        let condition = self.binary(0)?;
        let offset = self.offset();
        let expr = if self.accept("?") {
            let yes = self.binary(0)?;
            self.expect(":")?;
            let no = self.expression()?;
            self.nodes
                .call(offset, operator::CONDITIONAL, vec![condition, yes, no])
        } else {
            condition
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn too_deep<T>(&self) -> Result<T, Issue> {
        self.error(0, format!("expression recursion limit exceeded: {MAX_DEPTH}"))
    }

    /// The operator at hand, if it binds at least as tightly as asked.
    fn operator(&self, level: usize) -> Option<&'static (&'static str, &'static str, usize)> {
        let Token::Symbol(symbol) = self.peek() else {
            return None;
        };
        OPERATORS
            .iter()
            .find(|(name, _, binding)| name == symbol && *binding >= level)
    }

    /// Operands and the operators between them, grouped to the left.
    fn binary(&mut self, level: usize) -> Result<Expr, Issue> {
        let mut left = self.unary()?;
        let depth = self.depth;
        while let Some((symbol, function, binding)) = self.operator(level) {
            if *binding <= AND {
                left = self.logical(left, function, symbol, *binding)?;
                continue;
            }
            let offset = self.offset();
            self.advance();
            // Each operator makes the tree one deeper to the left.
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return self.too_deep();
            }
            let right = self.binary(binding + 1)?;
            left = self.nodes.call(offset, function, vec![left, right]);
        }
        self.depth = depth;
        Ok(left)
    }

    /// A chain of `||` or `&&`, as a balanced tree: chains are long where tables are written as code.
    fn logical(&mut self, first: Expr, function: &str, symbol: &str, binding: usize) -> Result<Expr, Issue> {
        let mut terms = vec![first];
        let mut offsets = vec![self.offset()];
        while self.accept(symbol) {
            terms.push(self.binary(binding + 1)?);
            offsets.push(self.offset());
        }
        Ok(self.balanced(function, terms, &offsets))
    }

    fn balanced(&mut self, function: &str, mut terms: Vec<Expr>, offsets: &[usize]) -> Expr {
        if terms.len() == 1 {
            return terms.swap_remove(0);
        }
        let middle = terms.len() / 2;
        let right = terms.split_off(middle);
        let right = self.balanced(function, right, &offsets[middle..]);
        let left = self.balanced(function, terms, &offsets[..middle]);
        self.nodes.call(offsets[middle - 1], function, vec![left, right])
    }

    fn unary(&mut self) -> Result<Expr, Issue> {
        let offset = self.offset();
        for (symbol, function) in [("!", operator::NOT), ("-", operator::NEGATE)] {
            let mut times = 0;
            while matches!(self.peek(), Token::Symbol(found) if *found == symbol) {
                if symbol == "-"
                    && times == 0
                    && let Some(literal) = self.negative_literal()
                {
                    return self.member(literal);
                }
                self.advance();
                times += 1;
            }
            if times > 0 {
                let primary = self.primary()?;
                let operand = self.member(primary)?;
                // An even number of them has no effect.
                let odd = times % 2 == 1;
                return Ok(if odd {
                    self.nodes.call(offset, function, vec![operand])
                } else {
                    operand
                });
            }
        }
        let primary = self.primary()?;
        self.member(primary)
    }

    fn negative_literal(&mut self) -> Option<Expr> {
        let offset = self.offset();
        let negative = match self.tokens.get(self.at + 1)?.token {
            Token::Literal(Literal::Int(value)) => Literal::Int(value.wrapping_neg()),
            Token::Literal(Literal::Double(value)) => Literal::Double(-value),
            _ => return None,
        };
        self.advance();
        self.advance();
        Some(self.nodes.make(offset, Node::Literal(negative)))
    }

    fn member(&mut self, mut expr: Expr) -> Result<Expr, Issue> {
        let depth = self.depth;
        loop {
            let offset = self.offset();
            if self.accept(".") {
                expr = self.selection(expr, offset)?;
            } else if self.accept("[") {
                let function = if self.accept("?") {
                    operator::OPTIONAL_INDEX
                } else {
                    operator::INDEX
                };
                let index = self.expression()?;
                self.expect("]")?;
                expr = self.nodes.call(offset, function, vec![expr, index]);
            } else {
                self.depth = depth;
                return Ok(expr);
            }
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return self.too_deep();
            }
        }
    }

    fn selection(&mut self, operand: Expr, offset: usize) -> Result<Expr, Issue> {
        let optional = self.accept("?");
        let Token::Ident(field) = self.peek().clone() else {
            return self.unexpected();
        };
        self.advance();
        if optional {
            let field = self.nodes.make(offset, Node::Literal(Literal::Text(field)));
            return Ok(self
                .nodes
                .call(offset, operator::OPTIONAL_SELECT, vec![operand, field]));
        }
        let offset_of_call = self.offset();
        if !self.accept("(") {
            return Ok(self.nodes.make(
                offset,
                Node::Select {
                    operand: Box::new(operand),
                    field,
                    test: false,
                },
            ));
        }
        let args = self.arguments()?;
        macros::member(&mut self.nodes, offset_of_call, &field, operand, args)
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, Issue> {
        let mut args = Vec::new();
        if self.accept(")") {
            return Ok(args);
        }
        loop {
            args.push(self.expression()?);
            if !self.accept(",") {
                self.expect(")")?;
                return Ok(args);
            }
        }
    }

    fn primary(&mut self) -> Result<Expr, Issue> {
        let offset = self.offset();
        match self.peek().clone() {
            Token::Literal(Literal::Int(i64::MIN)) => self.error(offset, "invalid int literal"),
            Token::Literal(literal) => {
                self.advance();
                Ok(self.nodes.make(offset, Node::Literal(literal)))
            }
            Token::Symbol("(") => {
                self.advance();
                let expr = self.expression()?;
                self.expect(")")?;
                Ok(expr)
            }
            Token::Symbol("[") => self.list(offset),
            Token::Symbol("{") => self.map(offset),
            Token::Symbol(".") | Token::Ident(_) => self.name(offset),
            _ => self.unexpected(),
        }
    }

    fn name(&mut self, offset: usize) -> Result<Expr, Issue> {
        self.accept(".");
        let Token::Ident(name) = self.peek().clone() else {
            return self.unexpected();
        };
        self.advance();
        if is_cel_word(&name) {
            return self.error(offset, format!("reserved identifier: {name}"));
        }
        let offset_of_call = self.offset();
        if self.accept("(") {
            let args = self.arguments()?;
            return macros::global(&mut self.nodes, offset_of_call, name, args);
        }
        if matches!(self.peek(), Token::Symbol("{")) {
            return self.structure(name);
        }
        Ok(self.nodes.make(offset, Node::Ident(name)))
    }

    /// `Type{field: value}`. No type of ours can be made that way; the checker says so.
    fn structure(&mut self, name: String) -> Result<Expr, Issue> {
        let offset = self.offset();
        self.expect("{")?;
        while !self.accept("}") {
            self.advance();
            self.expect(":")?;
            self.expression()?;
            if !self.accept(",") && !matches!(self.peek(), Token::Symbol("}")) {
                return self.unexpected();
            }
        }
        Ok(self.nodes.make(offset, Node::Struct(name)))
    }

    fn list(&mut self, offset: usize) -> Result<Expr, Issue> {
        self.expect("[")?;
        let (mut items, mut optional) = (Vec::new(), Vec::new());
        while !self.accept("]") {
            if self.accept("?") {
                optional.push(items.len());
            }
            items.push(self.expression()?);
            if !self.accept(",") {
                self.expect("]")?;
                break;
            }
        }
        Ok(self.nodes.make(offset, Node::List { items, optional }))
    }

    fn map(&mut self, offset: usize) -> Result<Expr, Issue> {
        self.expect("{")?;
        let mut entries = Vec::new();
        while !self.accept("}") {
            let optional = self.accept("?");
            let key = self.expression()?;
            self.expect(":")?;
            let value = self.expression()?;
            entries.push(Entry { key, value, optional });
            if !self.accept(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(self.nodes.make(offset, Node::Map(entries)))
    }
}
