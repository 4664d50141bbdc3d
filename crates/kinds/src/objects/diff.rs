//! The difference between two texts as a few immutability complaints show it: the changed lines with
//! three lines around them.

use std::fmt::Write as _;

use super::shown::Shown;

const CONTEXT: usize = 3;

pub(crate) fn unified(old: &Shown<'_>, new: &Shown<'_>) -> String {
    let (before, after) = (old.pretty(), new.pretty());
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    hunks(&edits(&before, &after))
}

#[derive(Clone, Copy)]
enum Edit<'a> {
    Keep(&'a str),
    Remove(&'a str),
    Add(&'a str),
}

/// The shortest way from one text to the other, by their longest common subsequence.
fn edits<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Edit<'a>> {
    let width = after.len() + 1;
    let mut common = vec![0_u32; (before.len() + 1) * width];
    for i in (0..before.len()).rev() {
        for j in (0..after.len()).rev() {
            common[i * width + j] = if before[i] == after[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut edits) = (0, 0, Vec::new());
    while i < before.len() || j < after.len() {
        if i < before.len() && j < after.len() && before[i] == after[j] {
            edits.push(Edit::Keep(before[i]));
            i += 1;
            j += 1;
        } else if j == after.len()
            || (i < before.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            edits.push(Edit::Remove(before[i]));
            i += 1;
        } else {
            edits.push(Edit::Add(after[j]));
            j += 1;
        }
    }
    edits
}

fn hunks(edits: &[Edit<'_>]) -> String {
    let changed = |edit: &Edit<'_>| !matches!(edit, Edit::Keep(_));
    let mut out = String::new();
    let mut start = 0;
    while let Some(first) = edits[start..]
        .iter()
        .position(changed)
        .map(|offset| start + offset)
    {
        let from = first.saturating_sub(CONTEXT).max(start);
        let mut to = first + 1;
        while let Some(next) = edits[to..].iter().take(2 * CONTEXT + 1).position(changed) {
            to += next + 1;
        }
        let to = (to + CONTEXT).min(edits.len());
        write_hunk(&mut out, edits, from, to);
        start = to;
    }
    out
}

fn write_hunk(out: &mut String, edits: &[Edit<'_>], from: usize, to: usize) {
    let old_lines = |edits: &[Edit<'_>]| edits.iter().filter(|edit| !matches!(edit, Edit::Add(_))).count();
    let new_lines = |edits: &[Edit<'_>]| {
        edits
            .iter()
            .filter(|edit| !matches!(edit, Edit::Remove(_)))
            .count()
    };
    let (before, hunk) = (&edits[..from], &edits[from..to]);
    let _ = writeln!(
        out,
        "@@ -{} +{} @@",
        range(old_lines(before), old_lines(hunk)),
        range(new_lines(before), new_lines(hunk))
    );
    for edit in hunk {
        let (sign, line) = match edit {
            Edit::Keep(line) => (' ', line),
            Edit::Remove(line) => ('-', line),
            Edit::Add(line) => ('+', line),
        };
        let _ = writeln!(out, "{sign}{line}");
    }
}

fn range(before: usize, length: usize) -> String {
    match length {
        0 => format!("{before},0"),
        1 => format!("{}", before + 1),
        _ => format!("{},{length}", before + 1),
    }
}
