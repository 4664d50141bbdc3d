//! Making new inputs of old ones: bytes at random, and where the lines are JSON also their values, so
//! that what is made gets past the parser.

use serde_json::{Map, Value, json};

use crate::dice::Dice;

const MAX_LENGTH: usize = 64 << 10;

/// An input made of the corpus.
pub(crate) fn made_of(corpus: &[Vec<u8>], words: &[&str], dice: &mut Dice) -> Vec<u8> {
    let mut input = dice.pick(corpus).cloned().unwrap_or_default();
    for _ in 0..=dice.roll(4) {
        if dice.roll(3) > 0
            && let Some(changed) = change_line(&input, corpus, words, dice)
        {
            input = changed;
        } else {
            change_bytes(&mut input, corpus, words, dice);
        }
    }
    input.truncate(MAX_LENGTH);
    input
}

fn change_bytes(input: &mut Vec<u8>, corpus: &[Vec<u8>], words: &[&str], dice: &mut Dice) {
    let at = dice.roll(input.len() + 1);
    let end = (at + 1 + dice.roll(24)).min(input.len());
    match dice.roll(9) {
        0 if at < input.len() => input[at] ^= 1 << dice.roll(8),
        1 if at < input.len() => input[at] = dice.roll(256) as u8,
        2 => input.insert(at, *dice.pick(b"{}[]()\"',:=!\\.-+0 \n\t\xff\x00").unwrap_or(&0)),
        3 => drop(input.drain(at.min(end)..end)),
        4 => drop(input.drain(at..)),
        5 => {
            let word = dice.pick(words).map_or("", |word| word);
            input.splice(at..at, word.bytes());
        }
        6 => {
            // The same again and again: nesting and size.
            let piece = input[at.min(end)..end].to_vec();
            let times = 1 << dice.roll(10);
            input.splice(at..at, piece.iter().copied().cycle().take(piece.len() * times));
        }
        _ => {
            let other = dice.pick(corpus).cloned().unwrap_or_default();
            let from = dice.roll(other.len() + 1);
            let to = (from + dice.roll(64)).min(other.len());
            input.splice(at..at, other[from..to].iter().copied());
        }
    }
}

/// Changes a value in one of the lines; `None` where that line is no JSON.
fn change_line(input: &[u8], corpus: &[Vec<u8>], words: &[&str], dice: &mut Dice) -> Option<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = input.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let index = dice.roll(lines.len());
    let mut value: Value = serde_json::from_slice(&lines[index]).ok()?;
    let other = dice.pick(corpus)?.split(|byte| *byte == b'\n').next()?;
    let other: Value = serde_json::from_slice(other).unwrap_or_default();
    let borrowed = somewhere(&mut other.clone(), dice).clone();
    let place = somewhere(&mut value, dice);
    *place = match (dice.roll(6), std::mem::take(place)) {
        (0, _) => borrowed,
        (1, _) => scalar(words, dice),
        (2, Value::Array(mut items)) => {
            let copied = items.get(dice.roll(items.len())).cloned();
            items.insert(dice.roll(items.len() + 1), copied.unwrap_or(borrowed));
            Value::Array(items)
        }
        (3, Value::Array(mut items)) if !items.is_empty() => {
            items.remove(dice.roll(items.len()));
            Value::Array(items)
        }
        (2 | 3, Value::Object(mut fields)) => {
            let name = name(&fields, words, dice);
            fields.insert(
                name,
                if dice.roll(2) == 0 {
                    borrowed
                } else {
                    scalar(words, dice)
                },
            );
            Value::Object(fields)
        }
        (4, Value::Object(mut fields)) => {
            let name = fields.keys().nth(dice.roll(fields.len())).cloned();
            fields.remove(&name.unwrap_or_default());
            Value::Object(fields)
        }
        (5, value) => json!([value]),
        (_, value) => value,
    };
    lines[index] = value.to_string().into_bytes();
    Some(lines.join(&b'\n'))
}

/// A value somewhere inside of a value, or itself.
fn somewhere<'a>(value: &'a mut Value, dice: &mut Dice) -> &'a mut Value {
    let inside = match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    };
    if inside == 0 || dice.roll(5) == 0 {
        return value;
    }
    let index = dice.roll(inside);
    match value {
        Value::Array(items) => somewhere(&mut items[index], dice),
        Value::Object(fields) => match fields.values_mut().nth(index) {
            Some(field) => somewhere(field, dice),
            None => unreachable!("the index is below the number of fields"),
        },
        other => other,
    }
}

fn name(fields: &Map<String, Value>, words: &[&str], dice: &mut Dice) -> String {
    let known = fields.keys().nth(dice.roll(fields.len()));
    match (known, dice.pick(words)) {
        (Some(known), _) if dice.roll(2) == 0 => known.clone(),
        (_, Some(word)) => (*word).to_owned(),
        (_, None) => String::new(),
    }
}

fn scalar(words: &[&str], dice: &mut Dice) -> Value {
    match dice.roll(10) {
        0 => Value::Null,
        1 => json!(dice.roll(2) == 0),
        2 => json!(dice.roll(20)),
        3 => json!(-1),
        4 => json!(i64::MAX),
        5 => json!(1.5e300),
        6 => json!("\u{fffd}é\u{0}\u{1F600}"),
        7 => json!("x".repeat(1 << dice.roll(12))),
        _ => json!(dice.pick(words).map_or("", |word| word)),
    }
}
