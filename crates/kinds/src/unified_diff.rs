//! Differences between two texts, line by line, in the unified format. The same lines are chosen as
//! by the classic matcher (longest run first, then left and right of it), because users compare.

use std::{
    collections::HashMap,
    fmt::{self, Write as _},
    ops::Range,
};

const CONTEXT: usize = 3;
/// From this many lines on, lines that appear all over are no anchors.
const MANY_LINES: usize = 200;

/// The difference between two texts, without file names.
pub(crate) fn unified_diff(old: &str, new: &str) -> String {
    between(&lines(old), &lines(new))
}

/// The difference between two files, without their names. Their last lines end as all do; one that is not there has
/// none.
pub fn of_files(old: &str, new: &str) -> String {
    let lines = |text: &str| text.strip_suffix('\n').map(lines).unwrap_or_default();
    between(&lines(old), &lines(new))
}

fn between(old: &[String], new: &[String]) -> String {
    let changes = changes(old, new);
    let mut out = String::new();
    for hunk in hunks(&changes) {
        // Writing to a string cannot fail.
        let _ = write_hunk(&mut out, old, new, hunk);
    }
    out
}

fn lines(text: &str) -> Vec<String> {
    text.split('\n').map(|line| format!("{line}\n")).collect()
}

/// A part of both texts; `equal` says whether it is the same in both.
#[derive(Clone, Debug)]
struct Change {
    equal: bool,
    old: Range<usize>,
    new: Range<usize>,
}

fn changes(old: &[String], new: &[String]) -> Vec<Change> {
    let mut changes = Vec::new();
    let (mut i, mut j) = (0, 0);
    for run in matching_runs(old, new) {
        if i < run.old || j < run.new {
            changes.push(Change {
                equal: false,
                old: i..run.old,
                new: j..run.new,
            });
        }
        (i, j) = (run.old + run.length, run.new + run.length);
        if run.length > 0 {
            changes.push(Change {
                equal: true,
                old: run.old..i,
                new: run.new..j,
            });
        }
    }
    changes
}

/// Lines that are the same from `old` and `new` on.
#[derive(Clone, Copy)]
struct Run {
    old: usize,
    new: usize,
    length: usize,
}

fn matching_runs(old: &[String], new: &[String]) -> Vec<Run> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (j, line) in new.iter().enumerate() {
        places.entry(line).or_default().push(j);
    }
    if new.len() >= MANY_LINES {
        places.retain(|_, lines| lines.len() <= new.len() / 100 + 1);
    }
    let mut runs = Vec::new();
    collect_runs(old, new, &places, 0..old.len(), 0..new.len(), &mut runs);
    let mut joined: Vec<Run> = Vec::new();
    for run in runs {
        match joined.last_mut() {
            Some(last) if last.old + last.length == run.old && last.new + last.length == run.new => {
                last.length += run.length;
            }
            _ => joined.push(run),
        }
    }
    joined.push(Run {
        old: old.len(),
        new: new.len(),
        length: 0,
    });
    joined
}

fn collect_runs(
    old: &[String],
    new: &[String],
    places: &HashMap<&str, Vec<usize>>,
    in_old: Range<usize>,
    in_new: Range<usize>,
    runs: &mut Vec<Run>,
) {
    let run = longest_run(old, new, places, &in_old, &in_new);
    if run.length == 0 {
        return;
    }
    if in_old.start < run.old && in_new.start < run.new {
        collect_runs(
            old,
            new,
            places,
            in_old.start..run.old,
            in_new.start..run.new,
            runs,
        );
    }
    runs.push(run);
    let (i, j) = (run.old + run.length, run.new + run.length);
    if i < in_old.end && j < in_new.end {
        collect_runs(old, new, places, i..in_old.end, j..in_new.end, runs);
    }
}

fn longest_run(
    old: &[String],
    new: &[String],
    places: &HashMap<&str, Vec<usize>>,
    in_old: &Range<usize>,
    in_new: &Range<usize>,
) -> Run {
    let mut best = Run {
        old: in_old.start,
        new: in_new.start,
        length: 0,
    };
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for i in in_old.clone() {
        let mut next = HashMap::new();
        for &j in places
            .get(old[i].as_str())
            .into_iter()
            .flatten()
            .filter(|j| in_new.contains(j))
        {
            let before = j
                .checked_sub(1)
                .and_then(|j| lengths.get(&j))
                .copied()
                .unwrap_or_default();
            let length = before + 1;
            next.insert(j, length);
            if length > best.length {
                best = Run {
                    old: i + 1 - length,
                    new: j + 1 - length,
                    length,
                };
            }
        }
        lengths = next;
    }
    // Lines that are no anchors still lengthen a run.
    while best.old > in_old.start && best.new > in_new.start && old[best.old - 1] == new[best.new - 1] {
        best = Run {
            old: best.old - 1,
            new: best.new - 1,
            length: best.length + 1,
        };
    }
    while best.old + best.length < in_old.end
        && best.new + best.length < in_new.end
        && old[best.old + best.length] == new[best.new + best.length]
    {
        best.length += 1;
    }
    best
}

/// Groups changes that are near to each other, with a few equal lines around them.
fn hunks(changes: &[Change]) -> Vec<Vec<Change>> {
    let mut changes = changes.to_vec();
    if let Some(first) = changes.first_mut().filter(|first| first.equal) {
        first.old.start = first.old.start.max(first.old.end.saturating_sub(CONTEXT));
        first.new.start = first.new.start.max(first.new.end.saturating_sub(CONTEXT));
    }
    if let Some(last) = changes.last_mut().filter(|last| last.equal) {
        last.old.end = last.old.end.min(last.old.start + CONTEXT);
        last.new.end = last.new.end.min(last.new.start + CONTEXT);
    }
    let mut hunks = Vec::new();
    let mut hunk: Vec<Change> = Vec::new();
    for mut change in changes {
        if change.equal && change.old.len() > 2 * CONTEXT {
            let mut head = change.clone();
            head.old.end = head.old.start + CONTEXT;
            head.new.end = head.new.start + CONTEXT;
            hunk.push(head);
            hunks.push(std::mem::take(&mut hunk));
            change.old.start = change.old.end - CONTEXT;
            change.new.start = change.new.end - CONTEXT;
        }
        hunk.push(change);
    }
    hunks.push(hunk);
    hunks.retain(|hunk| hunk.iter().any(|change| !change.equal));
    hunks
}

fn write_hunk(out: &mut String, old: &[String], new: &[String], hunk: Vec<Change>) -> fmt::Result {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
        return Ok(());
    };
    let of_old = range(first.old.start..last.old.end);
    let of_new = range(first.new.start..last.new.end);
    writeln!(out, "@@ -{of_old} +{of_new} @@")?;
    for change in hunk {
        if change.equal {
            old[change.old]
                .iter()
                .try_for_each(|line| write!(out, " {line}"))?;
        } else {
            old[change.old]
                .iter()
                .try_for_each(|line| write!(out, "-{line}"))?;
            new[change.new]
                .iter()
                .try_for_each(|line| write!(out, "+{line}"))?;
        }
    }
    Ok(())
}

/// Lines count from one; an empty range names the line before it.
fn range(range: Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        length => format!("{},{length}", range.start + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_three_lines_around_them() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh";
        let new = "a\nb\nc\nd\nE\nf\ng\nh";
        assert_eq!(
            unified_diff(old, new),
            "@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+E\n f\n g\n h\n"
        );
    }

    #[test]
    fn far_changes_stand_apart() {
        let old = "1\na\nb\nc\nd\ne\nf\ng\n2";
        let new = "one\na\nb\nc\nd\ne\nf\ng\ntwo";
        assert_eq!(
            unified_diff(old, new),
            "@@ -1,4 +1,4 @@\n-1\n+one\n a\n b\n c\n@@ -6,4 +6,4 @@\n e\n f\n g\n-2\n+two\n"
        );
    }

    #[test]
    fn files_may_be_new_and_have_no_line_behind_their_last() {
        assert_eq!(of_files("", "a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(of_files("a\n", "a\nb\n"), "@@ -1 +1,2 @@\n a\n+b\n");
        assert_eq!(of_files("a\n", "a\n"), "");
    }

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(unified_diff("a\nb", "a\nb"), "");
    }
}
