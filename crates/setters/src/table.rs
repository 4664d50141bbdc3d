//! Tables as `list-setters` prints them: plain, or as Markdown.

/// Cells are wrapped at this many columns, or where one word is longer, at that word's.
const WRAP: usize = 30;

/// Which lines a table has around its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// None: columns stand apart.
    Plain,
    /// Bars at both sides and a rule below the header.
    Markdown,
    /// A rule above the header, and in Markdown one below it.
    Ruled { is_markdown: bool },
}

pub(crate) fn render(header: &[&str], rows: &[Vec<String>], frame: Frame) -> String {
    let wrapped: Vec<Vec<Vec<String>>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| wrap(cell)).collect())
        .collect();
    let widths: Vec<usize> = (0..header.len())
        .map(|column| {
            // A wrapped cell takes all the room it may, even where its lines are shorter.
            let room = rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| room(cell));
            let lines = wrapped.iter().filter_map(|row| row.get(column)).flatten();
            let widest = lines.map(|line| width(line)).chain(room).max();
            widest.unwrap_or(0).max(width(header[column]))
        })
        .collect();
    let layout = Layout::of(frame);
    let mut table = String::new();
    if matches!(frame, Frame::Ruled { .. }) {
        table += &layout.rule(&widths);
    }
    table += &layout.header(header, &widths);
    if layout.has_header_rule {
        table += &layout.rule(&widths);
    }
    for row in &wrapped {
        let height = row.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            let cells = row.iter().map(|cell| cell.get(line).map_or("  ", String::as_str));
            table += &layout.row(cells, &widths);
        }
    }
    table
}

struct Layout {
    column: &'static str,
    center: &'static str,
    has_sides: bool,
    has_header_rule: bool,
}

impl Layout {
    fn of(frame: Frame) -> Self {
        let is_markdown = matches!(frame, Frame::Markdown | Frame::Ruled { is_markdown: true });
        Self {
            column: if is_markdown { "|" } else { " " },
            center: if is_markdown { "|" } else { " " },
            has_sides: frame == Frame::Markdown,
            has_header_rule: is_markdown,
        }
    }

    fn side(&self) -> &'static str {
        if self.has_sides { self.column } else { " " }
    }

    fn rule(&self, widths: &[usize]) -> String {
        let end = |is_outer: bool| match (is_outer, self.has_sides) {
            (true, false) => "-",
            _ => self.center,
        };
        let last = widths.len().saturating_sub(1);
        let columns = widths
            .iter()
            .enumerate()
            .map(|(index, width)| "-".repeat(width + 2) + end(index == last));
        format!("{}{}\n", end(true), columns.collect::<String>())
    }

    fn header(&self, names: &[&str], widths: &[usize]) -> String {
        let centred = names.iter().zip(widths).map(|(name, wide)| {
            let gap = wide.saturating_sub(width(name));
            format!("{}{name}{}", " ".repeat(gap / 2), " ".repeat(gap - gap / 2))
        });
        self.line(centred.collect())
    }

    fn row<'a>(&self, cells: impl Iterator<Item = &'a str>, widths: &[usize]) -> String {
        let padded = cells.zip(widths).map(|(cell, wide)| {
            let gap = wide.saturating_sub(width(cell));
            format!("{cell}{}", " ".repeat(gap))
        });
        self.line(padded.collect())
    }

    fn line(&self, cells: Vec<String>) -> String {
        let cells = cells.join(&format!(" {} ", self.column));
        format!("{side} {cells} {side}\n", side = self.side())
    }
}

/// The lines of a cell: as even as they can be, not as full as they can be.
fn wrap(cell: &str) -> Vec<String> {
    let paragraph = cell.replace('\n', " ");
    let words: Vec<&str> = paragraph.split(' ').collect();
    let limit = words
        .iter()
        .map(|word| width(word))
        .chain([room(cell)])
        .max()
        .unwrap_or(0);
    let breaks = even_breaks(&words, limit);
    let mut lines = Vec::new();
    let mut start = 0;
    while start < words.len() {
        lines.push(words[start..breaks[start]].join(" "));
        start = breaks[start];
    }
    lines
}

/// How wide the lines of a cell may become, if no word is longer.
fn room(cell: &str) -> usize {
    cell.lines().map(width).max().unwrap_or(0).min(WRAP)
}

/// For each word, which word begins the line after the one it begins, so that the squares of the room left over
/// in all lines but the last sum up to the least. Of equals the earliest break counts.
fn even_breaks(words: &[&str], limit: usize) -> Vec<usize> {
    let count = words.len();
    let length = |from: usize, to: usize| {
        let letters: usize = words[from..to].iter().map(|word| width(word)).sum();
        letters + (to - from - 1)
    };
    let mut breaks = vec![count; count];
    let mut costs = vec![i64::from(i32::MAX); count];
    for from in (0..count).rev() {
        if length(from, count) <= limit {
            costs[from] = 0;
            continue;
        }
        for to in from + 1..count {
            let room = limit as i64 - length(from, to) as i64;
            let too_long = if room < 0 { 100_000 } else { 0 };
            let cost = room * room + costs[to] + too_long;
            if cost < costs[from] {
                costs[from] = cost;
                breaks[from] = to;
            }
        }
    }
    breaks
}

/// Columns a text takes on a terminal.
fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

fn char_width(c: char) -> usize {
    match u32::from(c) {
        0..=0x1f | 0x7f..=0x9f | 0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "number of replicas that should be running at all times in the cluster";

    #[test]
    fn lines_are_as_even_as_they_can_be() {
        let lines = [
            "number of replicas that should",
            "be running at all times in the",
            "cluster",
        ];
        assert_eq!(wrap(TEXT), lines);
        assert_eq!(
            wrap("a-word-that-is-far-longer-than-any-line b"),
            ["a-word-that-is-far-longer-than-any-line", "b"]
        );
        assert_eq!(wrap(""), [""]);
    }

    #[test]
    fn a_plain_table_stands_apart() {
        let rows = vec![vec!["a".to_owned(), "x".to_owned()]];
        assert_eq!(
            render(&["NAME", "V"], &rows, Frame::Plain),
            "  NAME   V  \n  a      x  \n"
        );
    }

    #[test]
    fn a_markdown_table_has_bars_and_a_rule() {
        let rows = vec![vec!["a".to_owned(), "x".to_owned()]];
        let table = "| NAME | V |\n|------|---|\n| a    | x |\n";
        assert_eq!(render(&["NAME", "V"], &rows, Frame::Markdown), table);
    }
}
