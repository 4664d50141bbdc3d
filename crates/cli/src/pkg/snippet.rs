//! A line of a text with a caret under what is meant.

/// As much of a line as a terminal has room for.
const WIDTH: usize = 100;

/// The line and the caret; none where there is no such line. Lines and columns are counted from one.
pub(super) fn snippet(text: &str, line: u64, column: u64) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let index = usize::try_from(line.checked_sub(1)?).ok()?;
    let column = usize::try_from(column.saturating_sub(1)).ok()?;
    // What is missing at the end of a text is missing behind its last line.
    let (index, column) = match lines.len() {
        0 => return None,
        count if index == count => (count - 1, usize::MAX),
        _ => (index, column),
    };
    let shown: Vec<char> = lines.get(index)?.chars().map(visible).collect();
    let at = column.min(shown.len());
    let start = at
        .saturating_sub(WIDTH * 2 / 3)
        .min(shown.len().saturating_sub(WIDTH));
    let window: String = shown.iter().skip(start).take(WIDTH).collect();
    let number = (index + 1).to_string();
    let margin = " ".repeat(number.len());
    let indent = " ".repeat(at - start);
    Some(format!(
        "{margin} |\n{number} | {}\n{margin} | {indent}^",
        window.trim_end()
    ))
}

/// A character that takes one column and tells the terminal nothing.
fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, line: u64, column: u64, expected: &[&str]) {
        assert_eq!(
            snippet(text, line, column).as_deref(),
            Some(expected.join("\n").as_str())
        );
    }

    #[test]
    fn the_caret_stands_under_the_column() {
        check("a: 1\nbad: x\n", 2, 6, &["  |", "2 | bad: x", "  |      ^"]);
        check("a:\n\tb: 1\n", 2, 2, &["  |", "2 |  b: 1", "  |  ^"]);
        check("a: 1\n", 1, 99, &["  |", "1 | a: 1", "  |     ^"]);
        check("a: [\n", 2, 1, &["  |", "1 | a: [", "  |     ^"]);
    }

    #[test]
    fn of_a_long_line_the_part_around_the_column_is_shown() {
        let text = "x".repeat(500) + "!" + &"y".repeat(500);
        let shown = snippet(&text, 1, 501).unwrap();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1].chars().count(), "1 | ".len() + WIDTH);
        assert_eq!(lines[1].find('!'), lines[2].find('^'));
    }

    #[test]
    fn a_terminal_is_told_nothing() {
        check("a: \x1b[2J\n", 1, 4, &["  |", "1 | a: \u{fffd}[2J", "  |    ^"]);
    }

    #[test]
    fn there_may_be_no_such_line() {
        assert_eq!(snippet("a\n", 7, 1), None);
        assert_eq!(snippet("a\n", 0, 0), None);
    }
}
