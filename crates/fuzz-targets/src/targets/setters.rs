//! A scalar of a YAML text is changed, and nothing else: neither another byte nor another value. So by itself, by
//! `set` in a file of a package, and by `edit set` in a kustomization file.

use std::collections::BTreeMap;

use setters::{
    Found, KustomizationEdit, Outcome, Package, Set,
    document::{Content, Document, Edit, Id, Style},
};

use crate::cost;

pub(super) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let Ok(document) = cost::within(input.len(), 40_000, || Document::parse("input", text)) else {
        return;
    };
    assert_eq!(document.text(), text);
    let scalars: Vec<Id> = scalars(&document).collect();
    if let Some(chosen) = scalars.get(input.len() % scalars.len().max(1)) {
        for value in ["new", "5", "it's: \"quoted\" # here", ""] {
            if let Some(edit) = document.set_text(*chosen, value) {
                check_edit(&document, *chosen, &edit, value);
            }
        }
    }
    set(text);
}

fn check_edit(document: &Document, chosen: Id, edit: &Edit, value: &str) {
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
        for other in scalars(document).filter(|other| *other != chosen) {
            assert_eq!(
                again.value(other),
                document.value(other),
                "{text}\nbecame\n{changed}"
            );
        }
    }
}

/// The setter that the words of the target name.
const DEFINITIONS: &str = "apiVersion: config.k8s.io/v1alpha1\nkind: Krmfile\nopenAPI:\n  definitions:\n    \
                           io.k8s.cli.setters.a:\n      x-k8s-cli:\n        setter:\n          name: a\n          value: old\n";

/// `set` in a package of which the text is a file.
fn set(text: &str) {
    let Some(package) = package(&[("Krmfile", DEFINITIONS), ("input.yaml", text)]) else {
        return;
    };
    let command = Set {
        name: "a".to_owned(),
        values: vec!["new-value".to_owned()],
        ..Set::default()
    };
    // Setters of the first kind write into comments who set them.
    if let Some(changed) = changed(command.run(&package), "input.yaml").filter(|_| !text.contains("\"type\""))
    {
        only_values_changed(text, &changed, "new-value");
    }
}

/// `edit set` in a kustomization file, which the text is.
pub(super) fn edit(input: &[u8]) {
    const FILE: &str = "kustomization.yaml";
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let edited = |text: &str, edit: KustomizationEdit| {
        changed(edit.run(&package(&[(FILE, text)])?, &Found::new()), FILE)
    };
    let namespace = |name: &str| KustomizationEdit::SetNamespace(vec![name.to_owned()]);
    let prefix = |prefix: &str| KustomizationEdit::SetNamePrefix(vec![prefix.to_owned()]);
    // The first edit also adds what is missing and moves what is deprecated; the second has one thing to do.
    let Some(first) = edited(text, namespace("first")) else {
        return;
    };
    let second = edited(&first, namespace("second")).unwrap_or_else(|| panic!("refused:\n{first}"));
    only_values_changed(&first, &second, "second");

    let Ok(document) = Document::parse(FILE, &first) else {
        panic!("an edit left no YAML behind:\n{first}");
    };
    let is_prefixed = document.roots().iter().any(|root| {
        let mut entries = document.entries(*root).iter();
        entries.any(|entry| {
            let key = document.value(entry.key);
            key.is_some_and(|key| key.eq_ignore_ascii_case("namePrefix"))
        })
    });
    if is_prefixed {
        return;
    }
    let prefixed = edited(&first, prefix("new-")).unwrap_or_else(|| panic!("refused:\n{first}"));
    let restored = edited(&prefixed, prefix("")).unwrap_or_else(|| panic!("refused:\n{prefixed}"));
    assert_eq!(
        restored, first,
        "a field that is added and removed leaves something"
    );
}

fn package(files: &[(&str, &str)]) -> Option<Package> {
    let files: BTreeMap<String, Vec<u8>> = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect();
    Package::new(".", files).ok()
}

/// What a command made of a file, unless something is wrong with it.
fn changed(outcome: Outcome, file: &str) -> Option<String> {
    let mut edits = outcome.edits;
    edits.remove(file).filter(|_| outcome.problem.is_none())
}

fn scalars(document: &Document) -> impl Iterator<Item = Id> {
    let nodes = document.nodes();
    nodes
        .filter(|(_, node)| matches!(node.content, Content::Scalar(_)))
        .map(|(id, _)| id)
}

/// Values may have become the one that was set; every byte that is not of such a value is as it was.
fn only_values_changed(before: &str, after: &str, value: &str) {
    let parsed =
        |text: &str| Document::parse("text", text).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    let (old, new) = (parsed(before), parsed(after));
    assert_eq!(
        old.nodes().count(),
        new.nodes().count(),
        "{before}\nbecame\n{after}"
    );
    let changed: Vec<Id> = scalars(&old)
        .filter(|id| old.value(*id) != new.value(*id))
        .collect();
    let is_block = |id: &Id| {
        let style = old.scalar(*id).map(|scalar| scalar.style);
        matches!(style, Some(Style::Literal | Style::Folded))
    };
    for id in &changed {
        assert_eq!(new.value(*id), Some(value), "{before}\nbecame\n{after}");
    }
    // The comment behind the sign of a block scalar is among its bytes, and stays.
    if !changed.iter().any(is_block) {
        assert_eq!(
            without(&old, &changed),
            without(&new, &changed),
            "{before}\nbecame\n{after}"
        );
    }
}

/// The text without the bytes of some values.
fn without(document: &Document, values: &[Id]) -> String {
    let mut spans: Vec<_> = values.iter().map(|id| document.node(*id).span.clone()).collect();
    spans.sort_by_key(|span| span.start);
    let (mut rest, mut from) = (String::new(), 0);
    for span in spans {
        rest.push_str(&document.text()[from..span.start]);
        from = span.end;
    }
    rest + &document.text()[from..]
}
