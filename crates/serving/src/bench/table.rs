//! The rows of a table: lines of cells with commas between them, the label first. Rows are shuffled as they come.

use std::{
    collections::VecDeque,
    io::{self, BufRead},
};

/// What is wrong with a table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error("the data cannot be read")]
    Read(#[source] io::Error),
    #[error("line {line} of the data is no text")]
    NotText { line: u64 },
    #[error("line {line} of the data has {found} cells, not {wanted} as the first")]
    Width { line: u64, found: usize, wanted: usize },
    #[error("line {line} of the data has a quotation mark that is never closed")]
    OpenQuote { line: u64 },
    #[error("line {line} of the data: the label is {found:?}, not a whole number")]
    Label { line: u64, found: String },
    #[error("line {line} of the data: `{column}` is {found:?}, not a number")]
    Number {
        line: u64,
        column: String,
        found: String,
    },
}

/// One line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Counted from 1.
    pub line: u64,
    pub(crate) text: String,
}

impl Row {
    /// The cells, of which some may be quoted.
    pub fn cells(&self) -> Result<Vec<String>, TableError> {
        let mut cells = Vec::new();
        let mut rest = self.text.as_str();
        loop {
            let (cell, next) = match rest.strip_prefix('"') {
                None => match rest.split_once(',') {
                    Some((cell, next)) => (cell.to_owned(), Some(next)),
                    None => (rest.to_owned(), None),
                },
                Some(quoted) => quoted_cell(quoted).ok_or(TableError::OpenQuote { line: self.line })?,
            };
            cells.push(cell);
            match next {
                Some(next) => rest = next,
                None => return Ok(cells),
            }
        }
    }

    /// The label that a cell says.
    pub(crate) fn label(&self, cell: &str) -> Result<i64, TableError> {
        let text = cell.trim();
        let whole = text.parse().ok();
        // Tables made by others write labels as 1.0.
        let as_float = || {
            text.parse::<f64>()
                .ok()
                .filter(|value| value.fract() == 0.0)
                .map(|value| value as i64)
        };
        whole.or_else(as_float).ok_or_else(|| TableError::Label {
            line: self.line,
            found: cell.to_owned(),
        })
    }
}

/// What is between quotation marks, two of which stand for one, and what follows the comma after it.
fn quoted_cell(text: &str) -> Option<(String, Option<&str>)> {
    let mut cell = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"')?;
        cell.push_str(before);
        match after.strip_prefix('"') {
            Some(next) => {
                cell.push('"');
                rest = next;
            }
            None => match after.split_once(',') {
                Some((tail, next)) => return Some((cell + tail, Some(next))),
                None => return Some((cell + after, None)),
            },
        }
    }
}

/// The rows of a reader, one after the other. Empty lines are none.
pub struct Rows<R> {
    reader: R,
    line: u64,
}

impl<R: BufRead> Rows<R> {
    pub fn new(reader: R) -> Self {
        Self { reader, line: 0 }
    }
}

impl<R: BufRead> Iterator for Rows<R> {
    type Item = Result<Row, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut bytes = Vec::new();
            match self.reader.read_until(b'\n', &mut bytes) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => return Some(Err(TableError::Read(error))),
            }
            self.line += 1;
            let line = self.line;
            let Ok(mut text) = String::from_utf8(bytes) else {
                return Some(Err(TableError::NotText { line }));
            };
            text.truncate(text.trim_end_matches(['\n', '\r']).len());
            if line == 1 && text.starts_with('\u{feff}') {
                text.remove(0);
            }
            if !text.is_empty() {
                return Some(Ok(Row { line, text }));
            }
        }
    }
}

/// Rows in an order of chance: each is drawn from so many that follow.
pub struct Shuffled<I: Iterator> {
    rows: I,
    buffer: VecDeque<I::Item>,
    size: usize,
    chance: fastrand::Rng,
}

impl<I: Iterator> Shuffled<I> {
    pub fn new(rows: I, size: usize, seed: u64) -> Self {
        Self {
            rows,
            buffer: VecDeque::new(),
            size: size.max(1),
            chance: fastrand::Rng::with_seed(seed),
        }
    }
}

impl<I: Iterator> Iterator for Shuffled<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        while self.buffer.len() < self.size
            && let Some(row) = self.rows.next()
        {
            self.buffer.push_back(row);
        }
        if self.buffer.is_empty() {
            return None;
        }
        let place = self.chance.usize(..self.buffer.len());
        self.buffer.swap_remove_back(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Result<Row, TableError>> {
        Rows::new(text.as_bytes()).collect()
    }

    fn cells(text: &str) -> Vec<String> {
        let row = Row {
            line: 1,
            text: text.to_owned(),
        };
        row.cells().unwrap()
    }

    #[test]
    fn lines_are_counted_and_empty_ones_are_skipped() {
        let rows = rows("\u{feff}1,a\r\n\n0,b");
        let rows: Vec<(u64, String)> = rows
            .into_iter()
            .map(|row| row.unwrap())
            .map(|row| (row.line, row.text))
            .collect();
        assert_eq!(rows, [(1, "1,a".to_owned()), (3, "0,b".to_owned())]);
    }

    #[test]
    fn cells_may_be_empty_or_quoted() {
        assert_eq!(cells("1,,x,"), ["1", "", "x", ""]);
        assert_eq!(
            cells(r#"1,"a,b","say ""no""",c"#),
            ["1", "a,b", "say \"no\"", "c"]
        );
        assert_eq!(cells(r#""a""#), ["a"]);
        let open = Row {
            line: 7,
            text: "1,\"a".to_owned(),
        };
        assert_eq!(
            open.cells().unwrap_err().to_string(),
            "line 7 of the data has a quotation mark that is never closed"
        );
    }

    #[test]
    fn labels_are_whole_numbers() {
        let row = Row {
            line: 2,
            text: String::new(),
        };
        assert_eq!(row.label(" 1 ").unwrap(), 1);
        assert_eq!(row.label("3.0").unwrap(), 3);
        assert_eq!(
            row.label("clicked").unwrap_err().to_string(),
            "line 2 of the data: the label is \"clicked\", not a whole number"
        );
        assert!(row.label("0.5").is_err() && row.label("").is_err());
    }

    #[test]
    fn what_is_no_text_is_told_with_its_line() {
        let found: Vec<_> = Rows::new(&b"1,a\n\xff\n"[..]).collect();
        assert_eq!(
            found[1].as_ref().unwrap_err().to_string(),
            "line 2 of the data is no text"
        );
    }

    #[test]
    fn shuffled_rows_are_the_same_rows_in_another_order() {
        let mut shuffled: Vec<u32> = Shuffled::new(0..1000, 100, 1).collect();
        assert_ne!(shuffled, (0..1000).collect::<Vec<_>>());
        assert_eq!(shuffled, Shuffled::new(0..1000, 100, 1).collect::<Vec<_>>());
        shuffled.sort_unstable();
        assert_eq!(shuffled, (0..1000).collect::<Vec<_>>());
        assert_eq!(Shuffled::new(0..5, 1, 1).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    }
}
