use proptest::prelude::*;
use serde_json::json;

use super::{MAX_DEPTH, duplicates_error, parse, parse_documents};
use crate::json;

#[test]
fn documents_are_read_as_by_kubectl() {
    let cases = json::parse(include_bytes!("../../testdata/yaml.json"))
        .unwrap()
        .value;
    let cases = cases.as_array().unwrap();
    let mut failures = Vec::new();
    for case in cases {
        let input = case["input"].as_str().unwrap();
        let expected = case.get("expected").cloned();
        let strict = case["strict"].as_str().map(str::to_owned);
        let parsed = parse(input.as_bytes());
        let actual = parsed.as_ref().ok().map(|parsed| parsed.value.clone());
        let duplicates = parsed
            .as_ref()
            .ok()
            .filter(|parsed| !parsed.duplicates.is_empty());
        let duplicates = duplicates.map(|parsed| duplicates_error(&parsed.duplicates));
        if (&actual, &duplicates) != (&expected, &strict) {
            failures.push(format!("{case}\n  but got {parsed:?}"));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

#[track_caller]
fn reads(text: &str, expected: &str) {
    let parsed = parse(text.as_bytes()).unwrap();
    assert_eq!(parsed.value["a"], json!(expected), "{text:?}");
}

#[track_caller]
fn refuses(text: &str, expected: &str) {
    let error = parse(text.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), expected, "{text:?}");
}

#[test]
fn lines_end_where_yaml_1_1_ends_them() {
    let parsed = parse("a: x\u{85}b: w # c\u{2028}c:\u{2029}  - z\n".as_bytes()).unwrap();
    assert_eq!(parsed.value, json!({"a": "x", "b": "w", "c": ["z"]}));
    reads("a: \"x \u{85}  y\"", "x y");
    reads("a: |\n  x\u{85}  y\n", "x\ny\n");
    let error = parse("a: x\u{85}y\u{85}b: [\n".as_bytes()).unwrap_err();
    assert!(error.line >= 2, "{error:?}");
}

#[test]
fn separators_of_lines_and_paragraphs_stay_in_values() {
    reads(
        "a: \"x\u{2028}  y\\n\u{2029}\u{2029}z\"",
        "x\u{2028}y\n\u{2029}\u{2029}z",
    );
    reads("a: 'it''s\u{2028}\n  y'", "it's\u{2028}\ny");
    reads("a: x\u{2029} y\n  z", "x\u{2029}y z");
    reads("a: |\n  x\u{2028}  y\n  z\n", "x\u{2028}y\nz\n");
}

#[test]
fn escapes_are_those_of_yaml_1_1() {
    reads(r#"a: "it\'s\\'\U0001F600""#, "it's\\'\u{1F600}");
    refuses(r#"a: "\/""#, "yaml: found unknown escape character");
    refuses(
        "b: 1\na: \"\\ud83d\\ude00\"",
        "yaml: line 2: found invalid Unicode character escape code",
    );
    reads(r#"a: "\\/\\ud83d""#, r"\/\ud83d");
}

#[test]
fn text_in_quotes_goes_on_at_any_column() {
    reads("b:\n- a\na: \"two\nlines\n\n of text\"\n", "two lines\nof text");
    reads("a: 'two\n\tlines'", "two lines");
    let error = parse(b"a: {b: \"two\nlines\", c: *d}").unwrap_err();
    assert_eq!((error.line, error.column), (2, 12), "{error:?}");
    assert!(parse(b"a: \"two\n--- lines\"").is_err());
}

#[test]
fn tabs_may_be_where_nothing_is_indented() {
    let parsed = parse(b"a: {\n\tb: [\n\t\t1,\n\t\t2]}\n").unwrap();
    assert_eq!(parsed.value, json!({"a": {"b": [1, 2]}}));
    assert!(parse(b"a:\n\tb: 1\n").is_err());
    assert!(parse(b"a: {\n\tb: 1}\nc:\n\td: 1\n").is_err());
}

#[test]
fn comments_may_follow_without_a_blank() {
    reads("a: \"x\"#y", "x");
    reads("a: |# y\n  x#y\n", "x#y\n");
}

/// Two that are refused in our own words.
const OWN_WORDS: [&str; 2] = ["a: *missing", "? [a]\n: b"];

#[test]
fn syntax_errors_are_told_as_by_kubectl() {
    let cases = json::parse(include_bytes!("../../testdata/yaml.json"))
        .unwrap()
        .value;
    for case in cases.as_array().unwrap() {
        let input = case["input"].as_str().unwrap();
        if let Some(expected) = case["error"].as_str()
            && !OWN_WORDS.contains(&input)
        {
            assert_eq!(parse(input.as_bytes()).unwrap_err().to_string(), expected);
        }
    }
}

#[test]
fn documents_know_their_line() {
    let documents = parse_documents("# top\na: 1\n---\n---\n# nothing\n---\n\nb: 2\nb: 3\n").unwrap();
    let shown: Vec<_> = documents
        .iter()
        .map(|d| (d.line, d.value.clone(), d.duplicates.clone()))
        .collect();
    let duplicate = "line 9: key \"b\" already set in map".to_owned();
    assert_eq!(
        shown,
        [
            (2, json!({"a": 1}), vec![]),
            (8, json!({"b": 3}), vec![duplicate])
        ]
    );
}

#[test]
fn errors_have_a_place() {
    let error = parse(b"a: 1\nb: [1, 2\nc: 3\n").unwrap_err();
    assert!(error.line >= 2 && error.column >= 1, "{error}");
    let error = parse(b"a: 1\nb: \xff\n").unwrap_err();
    assert_eq!((error.line, error.column), (2, 4));
    assert_eq!(error.to_string(), "yaml: line 2: invalid UTF-8");
}

#[test]
fn long_streams_are_read() {
    assert_eq!(parse_documents(&"a: 1\n---\n".repeat(3000)).unwrap().len(), 3000);
}

#[test]
fn json_is_yaml_too() {
    let parsed = parse(br#" {"a": {"b": [1.0, "0644", 0.5]}} "#).unwrap();
    assert_eq!(parsed.value, json!({"a": {"b": [1, "0644", 0.5]}}));
    let parsed = parse(br#"{"a": 1, "a": 2}"#).unwrap();
    assert_eq!(parsed.duplicates, ["line 1: key \"a\" already set in map"]);
}

#[test]
fn aliases_cannot_grow_without_bound() {
    let level = |n: usize| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(","));
    let bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned() + &(1..12).map(level).collect::<String>();
    assert!(parse(bomb.as_bytes()).is_err());
}

#[test]
fn a_key_is_only_left_out_behind_a_question_mark() {
    for text in [
        ": x",
        "a: 1\n: x: y\n",
        "a:\n  : x\n",
        "{: x}",
        "{a: 1, : x}",
        "[: x]",
    ] {
        assert!(parse(text.as_bytes()).is_err(), "{text:?}");
    }
    // Such a key is nothing, which is told as kubectl tells it.
    for text in ["?\n: x\n", "{? : x}"] {
        let error = parse(text.as_bytes()).unwrap_err();
        assert!(
            error.message.starts_with("unsupported map key"),
            "{text:?}: {error}"
        );
    }
    for (text, expected) in [
        ("\"\": x\n", json!({"": "x"})),
        (
            "a: why?\nb: [c, d: ]\n",
            json!({"a": "why?", "b": ["c", {"d": null}]}),
        ),
        ("{a, b: }", json!({"a": null, "b": null})),
    ] {
        assert_eq!(parse(text.as_bytes()).unwrap().value, expected, "{text:?}");
    }
}

#[test]
fn nesting_is_bounded_on_a_small_stack() {
    let handle = std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(|| {
        let nested = |depth: usize| format!("{}x{}", "{a: ".repeat(depth), "}".repeat(depth));
        assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert!(parse(nested(MAX_DEPTH + 1).as_bytes()).is_err());
        assert!(parse("[".repeat(100_000).as_bytes()).is_err());
        assert!(parse("- ".repeat(100_000).as_bytes()).is_err());
    });
    handle.unwrap().join().unwrap();
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(
        text in "(a|b|: |- |\n|  |\\[|\\]|\\{|\\}|,|'|\"|#|&x |\\*x|<<: |\\||>|~|0644|yes|1\\.0|---\n|é){0,24}",
    ) {
        let _ = parse_documents(&text);
    }
}
