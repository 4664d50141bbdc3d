//! Words to a tree.

use super::{
    ExpressionError,
    lex::{Token, lex, syntax},
};

/// An expression that has been read.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    Nil,
    Truth(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<Expression>),
    Map(Vec<(Expression, Expression)>),
    Name(String),
    /// `#`, the item a predicate is asked about, or one of its fields (`.name`).
    Item,
    Member {
        of: Box<Expression>,
        name: Box<Expression>,
        /// Nil has no members, and that is no mistake.
        is_optional: bool,
    },
    Slice {
        of: Box<Expression>,
        from: Option<Box<Expression>>,
        to: Option<Box<Expression>>,
    },
    Call {
        function: Box<Expression>,
        arguments: Vec<Expression>,
    },
    /// What is asked about each item of a list.
    Predicate(Box<Expression>),
    Unary(&'static str, Box<Expression>),
    Binary(&'static str, Box<Expression>, Box<Expression>),
    Choice(Box<Expression>, Box<Expression>, Box<Expression>),
    Let {
        name: String,
        value: Box<Expression>,
        body: Box<Expression>,
    },
}

impl Expression {
    /// The names it speaks of, members with their paths: `steps.a.outputs.result`.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.collect_names(&mut names);
        names
    }

    fn collect_names(&self, names: &mut Vec<String>) {
        if let Some(path) = self.path() {
            names.push(path);
            return;
        }
        match self {
            Self::List(items) => items.iter().for_each(|item| item.collect_names(names)),
            Self::Map(pairs) => {
                for (_, value) in pairs {
                    value.collect_names(names);
                }
            }
            Self::Member { of, name, .. } => {
                of.collect_names(names);
                name.collect_names(names);
            }
            Self::Slice { of, from, to } => {
                of.collect_names(names);
                for bound in [from, to].into_iter().flatten() {
                    bound.collect_names(names);
                }
            }
            Self::Call { function, arguments } => {
                // A function is not a variable; what it is a member of may be.
                if let Self::Member { of, .. } = &**function
                    && of.path().as_deref() != Some("sprig")
                {
                    of.collect_names(names);
                }
                for argument in arguments {
                    argument.collect_names(names);
                }
            }
            Self::Predicate(body) | Self::Unary(_, body) => body.collect_names(names),
            Self::Binary(_, left, right) => {
                left.collect_names(names);
                right.collect_names(names);
            }
            Self::Choice(condition, yes, no) => {
                for part in [condition, yes, no] {
                    part.collect_names(names);
                }
            }
            Self::Let { name, value, body } => {
                value.collect_names(names);
                let mut inner = Vec::new();
                body.collect_names(&mut inner);
                inner.retain(|path| path.split('.').next() != Some(name));
                names.append(&mut inner);
            }
            _ => {}
        }
    }

    /// The dotted path of a name and its members, if that is all it is.
    fn path(&self) -> Option<String> {
        match self {
            Self::Name(name) => Some(name.clone()),
            Self::Member { of, name, .. } => match &**name {
                Self::Text(member) => Some(format!("{}.{member}", of.path()?)),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Nobody nests deeper by hand.
const DEEPEST: usize = 100;

pub(super) fn parse(text: &str) -> Result<Expression, ExpressionError> {
    let mut parser = Parser {
        tokens: lex(text)?,
        next: 0,
        end: text.len(),
        depth: 0,
    };
    let expression = parser.sequence()?;
    match parser.tokens.get(parser.next) {
        None => Ok(expression),
        Some((at, token)) => Err(syntax(*at, format!("{} was not expected", shown(token)))),
    }
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
    end: usize,
    depth: usize,
}

fn shown(token: &Token) -> String {
    match token {
        Token::Integer(number) => format!("`{number}`"),
        Token::Float(number) => format!("`{number}`"),
        Token::Text(text) => format!("the text `{text}`"),
        Token::Name(name) => format!("`{name}`"),
        Token::Sign(sign) => format!("`{sign}`"),
    }
}

/// How tightly a binary operator binds, and whether it groups to the right.
fn binding(token: &Token) -> Option<(&'static str, u8, bool)> {
    let (name, strength) = match token {
        Token::Sign("|") => ("|", 1),
        Token::Sign("||") => ("||", 10),
        Token::Sign("&&") => ("&&", 15),
        Token::Sign("==") => ("==", 20),
        Token::Sign("!=") => ("!=", 20),
        Token::Sign("<") => ("<", 20),
        Token::Sign(">") => (">", 20),
        Token::Sign("<=") => ("<=", 20),
        Token::Sign(">=") => (">=", 20),
        Token::Sign("..") => ("..", 25),
        Token::Sign("+") => ("+", 30),
        Token::Sign("-") => ("-", 30),
        Token::Sign("*") => ("*", 60),
        Token::Sign("/") => ("/", 60),
        Token::Sign("%") => ("%", 60),
        Token::Sign("**" | "^") => return Some(("**", 100, true)),
        Token::Sign("??") => ("??", 110),
        Token::Name(word) => match word.as_str() {
            "or" => ("||", 10),
            "and" => ("&&", 15),
            "in" => ("in", 20),
            "matches" => ("matches", 20),
            "contains" => ("contains", 20),
            "startsWith" => ("startsWith", 20),
            "endsWith" => ("endsWith", 20),
            _ => return None,
        },
        _ => return None,
    };
    Some((name, strength, false))
}

const UNARY_STRENGTH: u8 = 50;
const MINUS_STRENGTH: u8 = 90;

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |(at, _)| *at)
    }

    fn take(&mut self, sign: &str) -> bool {
        let is_there = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.next += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, sign: &str) -> Result<(), ExpressionError> {
        if self.take(sign) {
            return Ok(());
        }
        let found = self.peek().map_or_else(|| "the end".to_owned(), shown);
        Err(syntax(self.at(), format!("`{sign}` was expected, not {found}")))
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(self.peek(), Some(Token::Name(found)) if found == name)
    }

    fn sequence(&mut self) -> Result<Expression, ExpressionError> {
        if !self.is_name("let") {
            return self.choice();
        }
        self.next += 1;
        let Some(Token::Name(name)) = self.peek().cloned() else {
            return Err(syntax(self.at(), "`let` needs a name".to_owned()));
        };
        self.next += 1;
        self.expect("=")?;
        let value = Box::new(self.choice()?);
        self.expect(";")?;
        let body = Box::new(self.sequence()?);
        Ok(Expression::Let { name, value, body })
    }

    fn choice(&mut self) -> Result<Expression, ExpressionError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(syntax(self.at(), "it is nested too deeply".to_owned()));
        }
        let condition = self.binary(0)?;
        let chosen = if self.take("?") {
            if self.take(":") {
                let otherwise = self.choice()?;
                Expression::Choice(
                    Box::new(condition.clone()),
                    Box::new(condition),
                    Box::new(otherwise),
                )
            } else {
                let yes = self.choice()?;
                self.expect(":")?;
                let no = self.choice()?;
                Expression::Choice(Box::new(condition), Box::new(yes), Box::new(no))
            }
        } else {
            condition
        };
        self.depth -= 1;
        Ok(chosen)
    }

    fn binary(&mut self, weakest: u8) -> Result<Expression, ExpressionError> {
        let mut left = self.unary()?;
        loop {
            let is_negated = self.is_name("not")
                && matches!(self.tokens.get(self.next + 1), Some((_, Token::Name(name)))
                    if ["in", "matches", "contains", "startsWith", "endsWith"].contains(&name.as_str()));
            let operator = self
                .tokens
                .get(self.next + usize::from(is_negated))
                .and_then(|(_, token)| binding(token));
            let Some((name, strength, is_right)) = operator else {
                break;
            };
            if strength < weakest {
                break;
            }
            self.next += 1 + usize::from(is_negated);
            if name == "|" {
                left = self.pipe(left)?;
                continue;
            }
            let right = self.binary(if is_right { strength } else { strength + 1 })?;
            left = Expression::Binary(name, Box::new(left), Box::new(right));
            if is_negated {
                left = Expression::Unary("!", Box::new(left));
            }
        }
        Ok(left)
    }

    /// `a | f(b)` is `f(a, b)`.
    fn pipe(&mut self, first: Expression) -> Result<Expression, ExpressionError> {
        let at = self.at();
        let mut call = self.postfix()?;
        // What is piped goes into the innermost call of a chain: `x | f().g`.
        let mut innermost = &mut call;
        while let Expression::Member { of, .. } = innermost {
            innermost = &mut **of;
        }
        match innermost {
            Expression::Call { arguments, .. } => arguments.insert(0, first),
            _ => return Err(syntax(at, "a function was expected behind `|`".to_owned())),
        }
        Ok(call)
    }

    fn unary(&mut self) -> Result<Expression, ExpressionError> {
        let (sign, strength) = match self.peek() {
            Some(Token::Sign("!")) => ("!", UNARY_STRENGTH),
            Some(Token::Sign("-")) => ("-", MINUS_STRENGTH),
            Some(Token::Sign("+")) => ("+", MINUS_STRENGTH),
            Some(Token::Name(name)) if name == "not" => ("!", UNARY_STRENGTH),
            _ => return self.postfix(),
        };
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(syntax(self.at(), "it is nested too deeply".to_owned()));
        }
        self.next += 1;
        let operand = self.binary(strength)?;
        self.depth -= 1;
        Ok(Expression::Unary(sign, Box::new(operand)))
    }

    fn postfix(&mut self) -> Result<Expression, ExpressionError> {
        let mut value = self.primary()?;
        loop {
            if self.take(".") {
                value = self.member(value, false)?;
            } else if self.take("?.") {
                value = if self.take("[") {
                    let name = self.choice()?;
                    self.expect("]")?;
                    member(value, name, true)
                } else {
                    self.member(value, true)?
                };
            } else if self.take("[") {
                value = self.index(value)?;
            } else if self.take("(") {
                value = Expression::Call {
                    function: Box::new(value),
                    arguments: self.arguments()?,
                };
            } else {
                return Ok(value);
            }
        }
    }

    fn member(&mut self, of: Expression, is_optional: bool) -> Result<Expression, ExpressionError> {
        let Some(Token::Name(name)) = self.peek().cloned() else {
            return Err(syntax(self.at(), "a name was expected behind `.`".to_owned()));
        };
        self.next += 1;
        Ok(member(of, Expression::Text(name), is_optional))
    }

    fn index(&mut self, of: Expression) -> Result<Expression, ExpressionError> {
        if self.take(":") {
            let to = self.bound()?;
            return Ok(slice(of, None, to));
        }
        let first = self.choice()?;
        if self.take(":") {
            let to = self.bound()?;
            return Ok(slice(of, Some(first), to));
        }
        self.expect("]")?;
        Ok(member(of, first, false))
    }

    fn bound(&mut self) -> Result<Option<Expression>, ExpressionError> {
        if self.take("]") {
            return Ok(None);
        }
        let bound = self.choice()?;
        self.expect("]")?;
        Ok(Some(bound))
    }

    fn arguments(&mut self) -> Result<Vec<Expression>, ExpressionError> {
        let mut arguments = Vec::new();
        if self.take(")") {
            return Ok(arguments);
        }
        loop {
            let is_block = matches!(self.peek(), Some(Token::Sign("{"))) && self.is_predicate();
            arguments.push(if is_block {
                self.next += 1;
                let body = self.sequence()?;
                self.expect("}")?;
                Expression::Predicate(Box::new(body))
            } else {
                self.sequence()?
            });
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(arguments)
    }

    /// `{# > 1}` and `{.a == 1}` are predicates, `{"a": 1}` and `{a: 1}` are maps.
    fn is_predicate(&self) -> bool {
        let after = |offset: usize| self.tokens.get(self.next + offset).map(|(_, token)| token);
        let is_map = matches!(after(1), Some(Token::Sign("}")))
            || matches!(
                after(1),
                Some(Token::Text(_) | Token::Name(_) | Token::Integer(_))
            ) && matches!(after(2), Some(Token::Sign(":")));
        !is_map
    }

    fn primary(&mut self) -> Result<Expression, ExpressionError> {
        let at = self.at();
        let Some(token) = self.peek().cloned() else {
            return Err(syntax(at, "something is missing at the end".to_owned()));
        };
        self.next += 1;
        match token {
            Token::Integer(number) => Ok(Expression::Integer(number)),
            Token::Float(number) => Ok(Expression::Float(number)),
            Token::Text(text) => Ok(Expression::Text(text)),
            Token::Name(name) => Ok(match name.as_str() {
                "true" => Expression::Truth(true),
                "false" => Expression::Truth(false),
                "nil" | "null" => Expression::Nil,
                _ => Expression::Name(name),
            }),
            Token::Sign("(") => {
                let inner = self.sequence()?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Sign("[") => {
                let mut items = Vec::new();
                while !self.take("]") {
                    items.push(self.choice()?);
                    if !self.take(",") {
                        self.expect("]")?;
                        break;
                    }
                }
                Ok(Expression::List(items))
            }
            Token::Sign("{") => self.map(),
            Token::Sign("#") => Ok(Expression::Item),
            Token::Sign(".") => self.member(Expression::Item, false),
            other @ Token::Sign(_) => Err(syntax(at, format!("{} was not expected", shown(&other)))),
        }
    }

    fn map(&mut self) -> Result<Expression, ExpressionError> {
        let mut pairs = Vec::new();
        while !self.take("}") {
            let key = match self.peek().cloned() {
                Some(Token::Name(name) | Token::Text(name)) => {
                    self.next += 1;
                    Expression::Text(name)
                }
                Some(Token::Integer(number)) => {
                    self.next += 1;
                    Expression::Text(number.to_string())
                }
                Some(Token::Sign("(")) => {
                    self.next += 1;
                    let key = self.choice()?;
                    self.expect(")")?;
                    key
                }
                _ => return Err(syntax(self.at(), "a key was expected".to_owned())),
            };
            self.expect(":")?;
            pairs.push((key, self.choice()?));
            if !self.take(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(Expression::Map(pairs))
    }
}

fn member(of: Expression, name: Expression, is_optional: bool) -> Expression {
    Expression::Member {
        of: Box::new(of),
        name: Box::new(name),
        is_optional,
    }
}

fn slice(of: Expression, from: Option<Expression>, to: Option<Expression>) -> Expression {
    Expression::Slice {
        of: Box::new(of),
        from: from.map(Box::new),
        to: to.map(Box::new),
    }
}
