//! Made-up values, the same in every run.

use serde_json::{Map, Value, json};

/// A small generator of numbers (xorshift); what is made of it is wanted again when a test fails.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }

    /// A text of what makes trouble and what does not.
    pub(crate) fn text(&mut self) -> String {
        const PARTS: &[&str] = &[
            "a",
            "B7",
            "-",
            "_",
            ".",
            " ",
            "word",
            "0",
            "1e3",
            "yes",
            "null",
            "~",
            ": ",
            "- ",
            "#",
            " #x",
            "'",
            "\"",
            "\\",
            "\n",
            "\n  x: y",
            "\t",
            "{",
            "}",
            "[",
            "]",
            ",",
            "&a",
            "*a",
            "!",
            "!!int ",
            "|",
            ">",
            "%",
            "@",
            "`",
            "é",
            "日本",
            "\u{1f600}",
            "\u{a0}",
            "\u{2028}",
            "{{ 7*7 }}",
            "{% raw %}",
            "{#",
            "$(id)",
            ";",
            "<b>",
            "---\n",
            "...\n",
            "\u{7f}",
            "\u{feff}",
            "<<: ",
            "? ",
            "0x1F",
            "1_000",
            "012",
            "2020-01-01",
            ".inf",
            "=",
        ];
        let length = self.below(5);
        (0..length).map(|_| *self.pick(PARTS)).collect()
    }

    pub(crate) fn value(&mut self, depth: usize) -> Value {
        let kinds = if depth == 0 { 7 } else { 9 };
        match self.below(kinds) {
            0 => Value::Null,
            1 => (self.below(2) == 1).into(),
            2 => (self.below(100_000) as i64 - 5_000).into(),
            3 => json!(self.below(1_000_000) as f64 / 7.0 * 10_f64.powi(self.below(40) as i32 - 20)),
            7 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            8 => {
                let entries = (0..self.below(4)).map(|_| (self.text(), self.value(depth - 1)));
                Value::Object(entries.collect::<Map<String, Value>>())
            }
            _ => self.text().into(),
        }
    }
}
