//! Literals that can never work: lists of several types, and texts that are no pattern, duration or
//! time where one is read.

use super::for_each_child;
use crate::{
    cel::{
        parse::Issue,
        syntax::{Expr, Literal, Node},
        types::Type,
    },
    structural::compile_pattern,
    validate::formats,
};

/// Checks a tree whose types are known. The arguments of `format` may be of any types.
pub(super) fn check(expr: &Expr, types: &[Type], exempt: bool, issues: &mut Vec<Issue>) {
    match &expr.node {
        Node::List { items, optional } if !exempt => {
            let listed = items
                .iter()
                .enumerate()
                .map(|(i, item)| (item, optional.contains(&i)));
            check_uniform(listed, types, issues);
        }
        Node::Map(entries) if !exempt => {
            check_uniform(entries.iter().map(|entry| (&entry.key, false)), types, issues);
            check_uniform(
                entries.iter().map(|entry| (&entry.value, entry.optional)),
                types,
                issues,
            );
        }
        Node::Call { function, args, .. } => {
            if let Some(Expr {
                node: Node::Literal(Literal::Text(text)),
                offset,
                ..
            }) = args.last()
                && !is_readable(function, text)
            {
                issues.push(Issue {
                    offset: *offset,
                    message: format!("invalid {function} argument"),
                });
            }
        }
        _ => {}
    }
    let exempt = exempt || matches!(&expr.node, Node::Call { function, .. } if function == "format");
    for_each_child(expr, &mut |child| check(child, types, exempt, issues));
}

/// All items have the type of the first.
fn check_uniform<'a>(items: impl Iterator<Item = (&'a Expr, bool)>, types: &[Type], issues: &mut Vec<Issue>) {
    let mut first: Option<&Type> = None;
    for (item, optional) in items {
        let of = &types[item.id];
        let of = if optional { of.unwrapped().0 } else { of };
        match first {
            None => first = Some(of),
            Some(first) if first.is_exactly(of) => {}
            Some(first) => {
                let message = format!("expected type '{first}' but found '{of}'");
                issues.push(Issue {
                    offset: item.offset,
                    message,
                });
                return;
            }
        }
    }
}

fn is_readable(function: &str, text: &str) -> bool {
    match function {
        "duration" => formats::go_duration(text).is_some(),
        "timestamp" => formats::date_time(text).is_some(),
        "matches" => compile_pattern(text).is_ok(),
        _ => true,
    }
}
