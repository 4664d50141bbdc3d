//! Sets of indexes written as `1,3-5,7`.

use manifests::field::quoted;

/// How many indexes there are; they must be in order and below the number of completions.
pub(super) fn count(written: &str, completions: i64) -> Result<i64, String> {
    if written.is_empty() {
        return Ok(0);
    }
    let mut last: Option<i64> = None;
    let mut total = 0;
    for interval in written.split(',') {
        let (first, end) = parse_interval(interval, completions)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(not_increasing(last, first));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

/// The first index that is in both sets. Intervals that make no sense are passed over.
pub(super) fn first_common(a: &str, b: &str, completions: i64) -> Option<i64> {
    let intervals = |written: &str| -> Vec<(i64, i64)> {
        written
            .split(',')
            .filter_map(|interval| parse_interval(interval, completions).ok())
            .collect()
    };
    let (a, b) = (intervals(a), intervals(b));
    let (mut i, mut j) = (0, 0);
    while let (Some((a_first, a_last)), Some((b_first, b_last))) = (a.get(i), b.get(j)) {
        if a_first <= b_last && b_first <= a_last {
            return Some(*a_first.max(b_first));
        }
        if a_first <= b_first {
            i += 1;
        } else {
            j += 1;
        }
    }
    None
}

fn parse_interval(interval: &str, completions: i64) -> Result<(i64, i64), String> {
    let parts: Vec<&str> = interval.split('-').collect();
    if parts.len() > 2 {
        return Err(format!(
            "the fragment {} violates the requirement that an index interval can have at most two parts separated by '-'",
            quoted(interval)
        ));
    }
    let first = parse_index(parts[0], completions)?;
    let Some(last) = parts.get(1) else {
        return Ok((first, first));
    };
    let last = parse_index(last, completions)?;
    if first >= last {
        return Err(not_increasing(first, last));
    }
    Ok((first, last))
}

fn parse_index(index: &str, completions: i64) -> Result<i64, String> {
    let number: i64 = index
        .parse()
        .map_err(|_| format!("cannot convert string to integer for index: {}", quoted(index)))?;
    if number >= completions {
        return Err(format!("too large index: {}", quoted(index)));
    }
    Ok(number)
}

fn not_increasing(previous: i64, current: i64) -> String {
    format!("non-increasing order, previous: {previous}, current: {current}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_counted_or_refused() {
        assert_eq!(count("", 5), Ok(0));
        assert_eq!(count("0,2-4", 5), Ok(4));
        assert_eq!(
            count("1,x", 5),
            Err("cannot convert string to integer for index: \"x\"".to_owned())
        );
        assert_eq!(count("5", 5), Err("too large index: \"5\"".to_owned()));
        assert_eq!(
            count("3,2", 5),
            Err("non-increasing order, previous: 3, current: 2".to_owned())
        );
    }

    #[test]
    fn sets_overlap_at_their_first_common_index() {
        assert_eq!(first_common("0-2,5", "3-4,5", 10), Some(5));
        assert_eq!(first_common("0-2", "3", 10), None);
    }
}
