//! The conditions of `when`: a C-like language in which a bare word is a text, so that `{{x}} == yes` is a
//! condition whatever `x` is.

use regex::Regex;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhenError {
    #[error("Invalid 'when' expression '{when}': {message}")]
    Syntax { when: String, message: String },
    #[error("Failed to evaluate 'when' expresion '{when}': {message}")]
    Run { when: String, message: String },
}

/// Whether the condition holds; there may be none.
pub fn holds(when: &str) -> Result<bool, WhenError> {
    if when.trim().is_empty() {
        return Ok(true);
    }
    let syntax = |message: String| WhenError::Syntax {
        when: when.to_owned(),
        message,
    };
    let tokens = lex(when).map_err(syntax)?;
    let mut reader = Reader { tokens, next: 0 };
    let tree = reader.choice().map_err(syntax)?;
    if let Some(token) = reader.tokens.get(reader.next) {
        return Err(syntax(format!("Invalid token: {}", token.shown())));
    }
    let run = |message: String| WhenError::Run {
        when: when.to_owned(),
        message,
    };
    match run_tree(&tree).map_err(run)? {
        Value::Truth(truth) => Ok(truth),
        other => Err(run(format!("Expected boolean evaluation. Got {}", other.shown()))),
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(f64),
    Text(String),
    Truth(bool),
    List(Vec<Value>),
}

impl Value {
    fn shown(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::Truth(truth) => truth.to_string(),
            Self::List(items) => {
                let shown: Vec<String> = items.iter().map(Self::shown).collect();
                format!("({})", shown.join(", "))
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Value(Value),
    Sign(&'static str),
}

impl Token {
    fn shown(&self) -> String {
        match self {
            Self::Value(value) => format!("'{}'", value.shown()),
            Self::Sign(sign) => format!("'{sign}'"),
        }
    }
}

const SIGNS: [&str; 25] = [
    "==", "!=", ">=", "<=", "=~", "!~", "&&", "||", "**", "??", "<<", ">>", ">", "<", "!", "+", "-", "*",
    "/", "%", "(", ")", ",", "?", ":",
];

fn lex(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else {
            return Ok(tokens);
        };
        if first == '"' || first == '\'' {
            let (value, after) = quoted(&rest[1..], first)?;
            tokens.push(Token::Value(Value::Text(value)));
            rest = after;
        } else if first == '[' {
            let end = rest.find(']').ok_or("Unclosed parameter bracket")?;
            tokens.push(Token::Value(Value::Text(rest[1..end].to_owned())));
            rest = &rest[end + 1..];
        } else if first.is_ascii_digit() || first == '.' {
            let end = rest
                .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.')
                .unwrap_or(rest.len());
            let word = &rest[..end];
            let value =
                number(word).ok_or_else(|| format!("Unable to parse numeric value '{word}' to float64"))?;
            tokens.push(Token::Value(Value::Number(value)));
            rest = &rest[end..];
        } else if first.is_alphabetic() || first == '_' {
            let end = rest
                .find(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '.')
                .unwrap_or(rest.len());
            let word = &rest[..end];
            tokens.push(match word {
                "true" => Token::Value(Value::Truth(true)),
                "false" => Token::Value(Value::Truth(false)),
                "in" | "IN" => Token::Sign("in"),
                word => Token::Value(Value::Text(word.to_owned())),
            });
            rest = &rest[end..];
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            tokens.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        } else {
            return Err(format!(
                "Invalid token: '{first}' (hint: try wrapping the affected expression in quotes (\"))"
            ));
        }
    }
}

fn number(word: &str) -> Option<f64> {
    match word.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok().map(|number| number as f64),
        None => word.parse().ok(),
    }
}

fn quoted(rest: &str, quote: char) -> Result<(String, &str), String> {
    let mut text = String::new();
    let mut letters = rest.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            letter if letter == quote => return Ok((text, &rest[at + letter.len_utf8()..])),
            '\\' => text.extend(letters.next().map(|(_, escaped)| escaped)),
            letter => text.push(letter),
        }
    }
    Err("Unclosed string literal".to_owned())
}

#[derive(Debug)]
enum Tree {
    Value(Value),
    Unary(&'static str, Box<Tree>),
    Binary(&'static str, Box<Tree>, Box<Tree>),
    Choice(Box<Tree>, Box<Tree>, Option<Box<Tree>>),
    List(Vec<Tree>),
}

struct Reader {
    tokens: Vec<Token>,
    next: usize,
}

/// From the loosest to the tightest.
const LEVELS: [&[&str]; 6] = [
    &["||", "??"],
    &["&&"],
    &["==", "!=", ">", "<", ">=", "<=", "=~", "!~", "in"],
    &["+", "-"],
    &["*", "/", "%"],
    &["**"],
];

impl Reader {
    fn sign(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        let found = match self.tokens.get(self.next)? {
            Token::Sign(sign) => signs.iter().find(|wanted| *wanted == sign).copied()?,
            Token::Value(_) => return None,
        };
        self.next += 1;
        Some(found)
    }

    fn choice(&mut self) -> Result<Tree, String> {
        let condition = self.level(0)?;
        if self.sign(&["?"]).is_none() {
            return Ok(condition);
        }
        let yes = self.choice()?;
        let no = match self.sign(&[":"]) {
            Some(_) => Some(Box::new(self.choice()?)),
            None => None,
        };
        Ok(Tree::Choice(Box::new(condition), Box::new(yes), no))
    }

    fn level(&mut self, level: usize) -> Result<Tree, String> {
        let Some(signs) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.level(level + 1)?;
        while let Some(sign) = self.sign(signs) {
            let right = self.level(level + 1)?;
            left = Tree::Binary(sign, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Tree, String> {
        if let Some(sign) = self.sign(&["!", "-"]) {
            return Ok(Tree::Unary(sign, Box::new(self.unary()?)));
        }
        if self.sign(&["("]).is_some() {
            let mut items = vec![self.choice()?];
            while self.sign(&[","]).is_some() {
                items.push(self.choice()?);
            }
            if self.sign(&[")"]).is_none() {
                return Err("Unbalanced parenthesis".to_owned());
            }
            return Ok(if items.len() == 1 {
                items.remove(0)
            } else {
                Tree::List(items)
            });
        }
        match self.tokens.get(self.next) {
            Some(Token::Value(value)) => {
                let value = value.clone();
                self.next += 1;
                Ok(Tree::Value(value))
            }
            Some(sign) => Err(format!("Invalid token: {}", sign.shown())),
            None => Err("Unexpected end of expression".to_owned()),
        }
    }
}

fn run_tree(tree: &Tree) -> Result<Value, String> {
    match tree {
        Tree::Value(value) => Ok(value.clone()),
        Tree::List(items) => items
            .iter()
            .map(run_tree)
            .collect::<Result<_, _>>()
            .map(Value::List),
        Tree::Unary("!", operand) => truth("!", &run_tree(operand)?).map(|truth| Value::Truth(!truth)),
        Tree::Unary(sign, operand) => match run_tree(operand)? {
            Value::Number(number) => Ok(Value::Number(-number)),
            other => Err(not_for(sign, &other)),
        },
        Tree::Choice(condition, yes, no) => {
            if truth("?", &run_tree(condition)?)? {
                return run_tree(yes);
            }
            no.as_ref().map_or(Ok(Value::Truth(false)), |no| run_tree(no))
        }
        Tree::Binary("&&", left, right) => {
            let holds = truth("&&", &run_tree(left)?)? && truth("&&", &run_tree(right)?)?;
            Ok(Value::Truth(holds))
        }
        Tree::Binary("||", left, right) => {
            let holds = truth("||", &run_tree(left)?)? || truth("||", &run_tree(right)?)?;
            Ok(Value::Truth(holds))
        }
        Tree::Binary(sign, left, right) => operate(sign, run_tree(left)?, run_tree(right)?),
    }
}

fn truth(sign: &str, value: &Value) -> Result<bool, String> {
    match value {
        Value::Truth(truth) => Ok(*truth),
        other => Err(not_for(sign, other)),
    }
}

fn not_for(sign: &str, value: &Value) -> String {
    format!(
        "Value '{}' cannot be used with the operator '{sign}'",
        value.shown()
    )
}

fn operate(sign: &str, left: Value, right: Value) -> Result<Value, String> {
    match (sign, &left, &right) {
        ("!=", ..) => Ok(Value::Truth(left != right)),
        ("??", ..) => Ok(left),
        ("in", _, Value::List(items)) => Ok(Value::Truth(items.contains(&left))),
        ("==" | "in", ..) => Ok(Value::Truth(left == right)),
        ("=~" | "!~", Value::Text(text), Value::Text(pattern)) => {
            let pattern = Regex::new(pattern).map_err(|error| error.to_string())?;
            Ok(Value::Truth(pattern.is_match(text) == (sign == "=~")))
        }
        (_, Value::Number(a), Value::Number(b)) => numbers(sign, *a, *b).ok_or_else(|| not_for(sign, &left)),
        ("+", Value::Text(_), _) | ("+", _, Value::Text(_)) => {
            Ok(Value::Text(format!("{}{}", left.shown(), right.shown())))
        }
        (_, Value::Text(a), Value::Text(b)) => {
            let holds = match sign {
                ">" => a > b,
                "<" => a < b,
                ">=" => a >= b,
                "<=" => a <= b,
                _ => return Err(not_for(sign, &left)),
            };
            Ok(Value::Truth(holds))
        }
        (_, Value::Number(_), other) | (_, other, _) => Err(not_for(sign, other)),
    }
}

fn numbers(sign: &str, a: f64, b: f64) -> Option<Value> {
    Some(match sign {
        ">" => Value::Truth(a > b),
        "<" => Value::Truth(a < b),
        ">=" => Value::Truth(a >= b),
        "<=" => Value::Truth(a <= b),
        "+" => Value::Number(a + b),
        "-" => Value::Number(a - b),
        "*" => Value::Number(a * b),
        "/" => Value::Number(a / b),
        "%" => Value::Number(a % b),
        "**" => Value::Number(a.powf(b)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(when: &str, expected: bool) {
        assert_eq!(holds(when), Ok(expected), "{when}");
    }

    #[test]
    fn bare_words_are_texts() {
        check("heads == heads", true);
        check("heads != tails", true);
        check("\"a b\" == 'a b'", true);
        check("True == False", false);
        check("", true);
        check("true", true);
        check("false", false);
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        check("10 > 9", true);
        check("1 + 2 * 3 == 7", true);
        check("0.5 <= .5", true);
        check("-1 < 0", true);
        check("1 == 1.0", true);
        check("1 == one", false);
    }

    #[test]
    fn conditions_are_combined() {
        check("a == a && (1 > 2 || !false)", true);
        check("x in (x, y)", true);
        check("x in (y, z)", false);
    }

    #[test]
    fn patterns_are_matched() {
        check("\"release-1\" =~ \"^release-[0-9]+$\"", true);
        check("\"release-1\" !~ \"x\"", true);
    }

    #[test]
    fn mistakes_are_told_with_the_condition() {
        for (when, message) in [
            (
                "a == ",
                "Invalid 'when' expression 'a == ': Unexpected end of expression",
            ),
            (
                "(a == a",
                "Invalid 'when' expression '(a == a': Unbalanced parenthesis",
            ),
            (
                "{{steps.x}} == a",
                "Invalid 'when' expression '{{steps.x}} == a': Invalid token: '{' (hint: try wrapping the affected expression in quotes (\"))",
            ),
            (
                "abc",
                "Failed to evaluate 'when' expresion 'abc': Expected boolean evaluation. Got abc",
            ),
            (
                "a && true",
                "Failed to evaluate 'when' expresion 'a && true': Value 'a' cannot be used with the operator '&&'",
            ),
        ] {
            assert_eq!(holds(when).unwrap_err().to_string(), message);
        }
    }
}
