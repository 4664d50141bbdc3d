//! Edits change what they are for and nothing else.

use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> Document {
    Document::parse("a.yaml", text).unwrap_or_else(|problem| panic!("{problem}\n{text}"))
}

fn put(text: &str, path: &[&str], value: Fragment) -> String {
    let document = parsed(text);
    let changed = document.put(document.roots()[0], path, value);
    parsed(&changed);
    changed
}

fn removed(text: &str, path: &[&str]) -> String {
    let document = parsed(text);
    let changed = document.remove(document.roots()[0], path).unwrap();
    parsed(&changed);
    changed
}

#[test]
fn every_scalar_knows_its_bytes() {
    let text = "# h\na: 1 # c\nb:\n# x\nc: |  # q\n  l1\n\n  l2\n\n# after\nd: \"x\\ny\"\ne: [a, {b: 'c'}, ] # z\n\
                f: &k !!str v\ng:\n- 1\n-\n- k: v\n  w: x\nh: multi\n  line # e\n? ex\n: pl\n---\n- z\n";
    let document = parsed(text);
    let scalars: Vec<&str> = document
        .nodes()
        .filter(|(id, _)| document.scalar(*id).is_some())
        .map(|(_, node)| &text[node.span.clone()])
        .collect();
    let expected = [
        "a",
        "1",
        "b",
        "",
        "c",
        "|  # q\n  l1\n\n  l2",
        "d",
        "\"x\\ny\"",
        "e",
        "a",
        "b",
        "'c'",
        "f",
        "v",
        "g",
        "1",
        "",
        "k",
        "v",
        "w",
        "x",
        "h",
        "multi\n  line",
        "ex",
        "pl",
        "z",
    ];
    assert_eq!(scalars, expected);
    assert_eq!(document.roots().len(), 2);
}

#[test]
fn a_value_keeps_its_quotes_and_comments() {
    assert_eq!(
        put("a: 'x' # c\nb: 2\n", &["a"], Fragment::text("it's")),
        "a: 'it''s' # c\nb: 2\n"
    );
    assert_eq!(put("a: x # c\n", &["a"], Fragment::text("5")), "a: \"5\" # c\n");
    assert_eq!(
        put("a: 1\n", &["a"], Fragment::Plain("true".to_owned())),
        "a: true\n"
    );
    assert_eq!(put("a:\nb: 1\n", &["a"], Fragment::text("x")), "a: x\nb: 1\n");
    assert_eq!(
        put("a: | # c\n  x\n  y\nb: 1\n", &["a"], Fragment::text("z")),
        "a: z # c\nb: 1\n"
    );
}

#[test]
fn fields_are_added_in_the_style_of_their_neighbours() {
    let list = || Fragment::texts(["x", "z"]);
    assert_eq!(
        put("a:\n  b: 1 # c\n# end\n", &["a", "d"], Fragment::text("e")),
        "a:\n  b: 1 # c\n  d: e\n# end\n"
    );
    assert_eq!(
        put("a: {b: 1}\n", &["a", "c"], Fragment::text("d")),
        "a: {b: 1, c: d}\n"
    );
    assert_eq!(put("a: {}\n", &["a", "c", "d"], list()), "a: {c: {d: [x, z]}}\n");
    assert_eq!(
        put("a:\n  - b\n", &["c"], list()),
        "a:\n  - b\nc:\n  - x\n  - z\n"
    );
    assert_eq!(put("a: b", &["c"], list()), "a: b\nc:\n- x\n- z");
    assert_eq!(
        put("a: b\r\n", &["c", "d"], list()),
        "a: b\r\nc:\r\n  d:\r\n  - x\r\n  - z\r\n"
    );
    assert_eq!(
        put("{\"a\": \"b\"}\n", &["c"], Fragment::text("d")),
        "{\"a\": \"b\", \"c\": \"d\"}\n"
    );
    assert_eq!(put("a:\n", &["a", "b"], Fragment::text("c")), "a:\n  b: c\n");
}

#[test]
fn lists_are_replaced_where_they_are() {
    let list = || Fragment::List(vec![Fragment::Quoted("x".to_owned())]);
    assert_eq!(
        put("a: # c\n  - 1\n  - 2 # d\nb: 1\n", &["a"], list()),
        "a: # c\n  - \"x\"\nb: 1\n"
    );
    assert_eq!(
        put("a: [1, 2] # c\nb: 1\n", &["a"], list()),
        "a: [\"x\"] # c\nb: 1\n"
    );
    assert_eq!(put("a: 1 # c\nb: 1\n", &["a"], list()), "a: # c\n- \"x\"\nb: 1\n");
}

#[test]
fn fields_go_with_the_comments_above_them() {
    assert_eq!(
        removed("# top\n\n# of a\na: 1\nb: 2\n", &["a"]),
        "# top\n\nb: 2\n"
    );
    assert_eq!(
        removed("a: 1\nb:\n  c: 2\n  d: 3", &["b", "d"]),
        "a: 1\nb:\n  c: 2"
    );
    assert_eq!(removed("a:\n  b: 1\nc: 2\n", &["a", "b"]), "a: {}\nc: 2\n");
    assert_eq!(removed("a: {b: 1, c: 2}\n", &["a", "b"]), "a: {c: 2}\n");
    assert_eq!(removed("a: {b: 1, c: 2}\n", &["a", "c"]), "a: {b: 1}\n");
    assert_eq!(removed("a: |\n  x\n\nb: 1\n", &["a"]), "\nb: 1\n");
}

#[test]
fn elements_come_and_go() {
    let insert = |text: &str| {
        let document = parsed(text);
        let list = document.get(document.roots()[0], "l").unwrap();
        apply(text, vec![document.insert_item(list, &Fragment::text("z"))])
    };
    assert_eq!(insert("l:\n  - a # c\nb: 1\n"), "l:\n  - a # c\n  - z\nb: 1\n");
    assert_eq!(insert("l: [a]\n"), "l: [a, z]\n");
    assert_eq!(insert("l: []\n"), "l: [z]\n");
    let remove = |text: &str, index: usize| {
        let document = parsed(text);
        let list = document.get(document.roots()[0], "l").unwrap();
        apply(text, vec![document.remove_item(list, index)])
    };
    assert_eq!(remove("l:\n- a\n# of b\n- b\n- c\n", 1), "l:\n- a\n- c\n");
    assert_eq!(remove("l:\n- a\nm: 1\n", 0), "l: []\nm: 1\n");
    assert_eq!(remove("l: [a, b, c]\n", 1), "l: [a, c]\n");
    assert_eq!(remove("l: [a, b]\n", 1), "l: [a]\n");
}

#[test]
fn malformed_text_is_pointed_at() {
    let problem = Document::parse("a.yaml", "a: b\nc: [d\n").unwrap_err();
    assert_eq!(problem.file.as_deref(), Some("a.yaml"));
    assert!(problem.place.is_some());
}

#[test]
fn texts_that_look_like_something_else_are_told() {
    for text in [
        "1",
        "true",
        "yes",
        "on",
        "~",
        "null",
        "1e3",
        "0x1f",
        "2020-01-01",
        "[a]",
        "{a: b}",
        "1_000",
    ] {
        assert!(is_non_string(text), "{text}");
    }
    for text in ["", "a", "1.2.3", "a: b: c", "nginx:1.7.9", "v1", "10.0.0.1"] {
        assert!(!is_non_string(text), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_written_so_that_it_is_read_again(value in "\\PC{0,12}|[ -~\\n\\t]{0,12}") {
        for text in ["a: x\nb: 1\n", "a: 'x'\nb: 1\n", "a: \"x\"\nb: 1\n", "a:\nb: 1\n", "{a: x, b: 1}\n", "a: |\n  x\nb: 1\n"] {
            let changed = put(text, &["a"], Fragment::text(value.clone()));
            let document = parsed(&changed);
            prop_assert_eq!(document.text_at(document.roots()[0], &["a"]), value.as_str(), "{}", changed);
            prop_assert_eq!(document.text_at(document.roots()[0], &["b"]), "1");
            let read = manifests::yaml::parse(changed.as_bytes()).unwrap();
            prop_assert_eq!(read.value["a"].as_str(), Some(value.as_str()), "{}", changed);
        }
    }

    #[test]
    fn every_other_byte_stays(words in prop::collection::vec(prop::sample::select(WORDS), 0..24), choice: usize) {
        let text: String = words.concat();
        let Ok(document) = Document::parse("a.yaml", &text) else { return Ok(()) };
        let scalars: Vec<Id> = document.nodes().map(|(id, _)| id).filter(|id| document.scalar(*id).is_some()).collect();
        if scalars.is_empty() {
            return Ok(());
        }
        let chosen = scalars[choice % scalars.len()];
        let Some(edit) = document.set_text(chosen, "new: text") else { return Ok(()) };
        let span = &document.node(chosen).span;
        prop_assert!(span.start <= edit.range.start && edit.range.end <= span.end);
        let changed = apply(&text, vec![edit]);
        if let Ok(again) = Document::parse("a.yaml", &changed)
            && again.nodes().count() == document.nodes().count()
        {
            prop_assert_eq!(again.value(chosen), Some("new: text"), "{}\nbecame\n{}", text, changed);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(text in "\\PC*|[ -~\\n\\t]{0,40}") {
        if let Ok(document) = Document::parse("a.yaml", &text) {
            for (_, node) in document.nodes() {
                prop_assert!(text.get(node.span.clone()).is_some());
            }
        }
    }
}

/// What texts are made of to have something to change.
const WORDS: &[&str] = &[
    "a: ",
    "b: ",
    "- ",
    "  ",
    "\n",
    "\n",
    "\n  ",
    "x",
    "'y'",
    "\"z\"",
    " # c",
    "[a, b]",
    "{k: v}",
    "|\n  t\n",
    ">-\n  t\n",
    "&n ",
    "*n",
    "!!str ",
    "? ",
    ": ",
    "---\n",
    "\r\n",
    "é",
];
