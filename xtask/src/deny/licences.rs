//! SPDX licence expressions: whether one can be fulfilled with licences we allow.

use std::{iter::Peekable, vec::IntoIter};

/// `MIT OR (Apache-2.0 AND ISC)`, also with the slash that older crates have for `OR`.
pub(super) fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut words = Words {
        words: words.into_iter().peekable(),
        allowed,
    };
    words.any() && words.words.next().is_none()
}

struct Words<'a> {
    words: Peekable<IntoIter<&'a str>>,
    allowed: &'a [String],
}

// Both sides are always read, so that the words are used up whatever the answer is.
impl Words<'_> {
    fn any(&mut self) -> bool {
        let mut allowed = self.all();
        while self.takes("OR") {
            allowed |= self.all();
        }
        allowed
    }

    fn all(&mut self) -> bool {
        let mut allowed = self.one();
        while self.takes("AND") {
            allowed &= self.one();
        }
        allowed
    }

    fn one(&mut self) -> bool {
        if self.takes("(") {
            let allowed = self.any();
            return self.takes(")") && allowed;
        }
        let mut licence = self.words.next().unwrap_or_default().to_owned();
        if self.takes("WITH") {
            licence = format!("{licence} WITH {}", self.words.next().unwrap_or_default());
        }
        self.allowed.contains(&licence)
    }

    fn takes(&mut self, word: &str) -> bool {
        self.words.next_if(|next| *next == word).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_fine(expression: &str) -> bool {
        let ours = [
            "MIT",
            "Apache-2.0",
            "Apache-2.0 WITH LLVM-exception",
            "BSD-3-Clause",
        ];
        is_allowed(expression, &ours.map(str::to_owned))
    }

    #[test]
    fn one_alternative_is_enough_and_every_part_is_needed() {
        for allowed in [
            "MIT",
            "MIT/Apache-2.0",
            "Unlicense OR MIT",
            "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
            "(Apache-2.0 OR MIT) AND BSD-3-Clause",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0-only",
        ] {
            assert!(is_fine(allowed), "{allowed}");
        }
        for refused in [
            "",
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "MIT WITH GPL-exception",
            "(MIT OR Apache-2.0) AND LGPL-2.1-or-later",
            "(MIT",
            "MIT MIT",
        ] {
            assert!(!is_fine(refused), "{refused}");
        }
    }
}
