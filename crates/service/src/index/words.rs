//! Words that many rows share, kept once: names of namespaces, definitions and people.

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use parking_lot::Mutex;

struct Words {
    known: HashSet<Arc<str>>,
    /// When there are so many, those that nobody uses any more are let go.
    limit: usize,
}

/// The one copy of a word.
pub(crate) fn word(text: &str) -> Arc<str> {
    static WORDS: OnceLock<Mutex<Words>> = OnceLock::new();
    let words = WORDS.get_or_init(|| {
        Mutex::new(Words {
            known: HashSet::new(),
            limit: 1024,
        })
    });
    let mut words = words.lock();
    if let Some(known) = words.known.get(text) {
        return known.clone();
    }
    if words.known.len() >= words.limit {
        words.known.retain(|word| Arc::strong_count(word) > 1);
        words.limit = (words.known.len() * 2).max(1024);
    }
    let new: Arc<str> = text.into();
    words.known.insert(new.clone());
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_kept_once() {
        assert!(Arc::ptr_eq(&word("team"), &word("team")));
    }
}
