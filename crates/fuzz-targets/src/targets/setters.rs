//! A scalar of a YAML text is changed, and nothing else: neither another byte nor another value.

use setters::document::{Document, Edit};

use crate::cost;

pub(super) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let Ok(document) = cost::within(input.len(), 40_000, || Document::parse("input", text)) else {
        return;
    };
    assert_eq!(document.text(), text);
    let scalars: Vec<usize> = document
        .nodes()
        .map(|(id, _)| id)
        .filter(|id| document.scalar(*id).is_some())
        .collect();
    let Some(chosen) = scalars.get(input.len() % scalars.len().max(1)) else {
        return;
    };
    for value in ["new", "5", "it's: \"quoted\" # here", ""] {
        let Some(edit) = document.set_text(*chosen, value) else {
            continue;
        };
        check(&document, *chosen, &edit, value);
    }
}

fn check(document: &Document, chosen: usize, edit: &Edit, value: &str) {
    let text = document.text();
    let span = &document.node(chosen).span;
    assert!(
        span.start <= edit.range.start && edit.range.end <= span.end,
        "more than the value is changed\n{text}"
    );
    let changed = format!(
        "{}{}{}",
        &text[..edit.range.start],
        edit.text,
        &text[edit.range.end..]
    );
    // What the text means can depend on a scalar in ways no edit can keep, such as an alias of its anchor.
    let Ok(again) = Document::parse("changed", &changed) else {
        return;
    };
    if again.nodes().count() == document.nodes().count() {
        assert_eq!(again.value(chosen), Some(value), "{text}\nbecame\n{changed}");
    }
}
