//! The order of keys: letters by their code, before them all that is no letter, numbers by how much they
//! are.

use std::cmp::Ordering;

pub(super) fn compare(left: &str, right: &str) -> Ordering {
    let same = left
        .bytes()
        .zip(right.bytes())
        .take_while(|(left, right)| left == right)
        .count();
    // Most keys differ in a letter; only numbers and unusual letters need a closer look.
    match (left.as_bytes().get(same), right.as_bytes().get(same)) {
        (Some(a), Some(b)) if a.is_ascii_alphabetic() && b.is_ascii_alphabetic() => a.cmp(b),
        _ => compare_characters(left, right),
    }
}

fn compare_characters(left: &str, right: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let Some(at) = (0..a.len().min(b.len())).find(|at| a[*at] != b[*at]) else {
        return a.len().cmp(&b.len());
    };
    match (a[at].is_alphabetic(), b[at].is_alphabetic()) {
        (true, true) => return a[at].cmp(&b[at]),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero that differs counts only when a number has begun before it.
    let is_within = (a[at] == '0' || b[at] == '0')
        && a[..at]
            .iter()
            .rev()
            .take_while(|digit| digit.is_numeric())
            .any(|digit| *digit != '0');
    let start = i64::from(is_within);
    let (left_digits, left_number) = number(&a[at..], start);
    let (right_digits, right_number) = number(&b[at..], start);
    left_number
        .cmp(&right_number)
        .then(left_digits.cmp(&right_digits))
        .then(a[at].cmp(&b[at]))
}

/// How many digits come first, and what they are worth.
fn number(text: &[char], start: i64) -> (usize, i64) {
    let digits = text.iter().take_while(|digit| digit.is_numeric());
    digits.fold((0, start), |(count, number), digit| {
        let digit = i64::from(u32::from(*digit)) - i64::from(u32::from('0'));
        (count + 1, number.wrapping_mul(10).wrapping_add(digit))
    })
}
