use serde_json::{Value, json};

use super::{compare_keys, shortest_float, write};

#[track_caller]
fn check(value: Value, expected: &str) {
    assert_eq!(write(&value), expected);
}

#[test]
fn lists_are_not_indented_and_keys_are_sorted() {
    check(
        json!({"b": [1, {"y2": [[1, 2], []], "x": {}}], "a": null}),
        "a: null\nb:\n- 1\n- x: {}\n  y2:\n  - - 1\n    - 2\n  - []\n",
    );
}

#[test]
fn text_that_reads_as_something_else_is_quoted() {
    check(
        json!([
            "yes",
            "n",
            "1e3",
            "0x1F",
            "12:30:45",
            "2020-01-01",
            "",
            "~",
            "null",
            "0o17",
            "<<"
        ]),
        "- \"yes\"\n- \"n\"\n- \"1e3\"\n- \"0x1F\"\n- \"12:30:45\"\n- \"2020-01-01\"\n- \"\"\n- \"~\"\n\
         - \"null\"\n- \"0o17\"\n- \"<<\"\n",
    );
    check(
        json!([" lead", "a: b", "a #b", "*x", "it's", "- x", "-x", "a:b", "%"]),
        "- ' lead'\n- 'a: b'\n- 'a #b'\n- '*x'\n- it's\n- '- x'\n- -x\n- a:b\n- '%'\n",
    );
    check(
        json!(["a\tb", "\u{1F600}", "caf\u{e9}"]),
        "- \"a\\tb\"\n- \"\\U0001F600\"\n- caf\u{e9}\n",
    );
}

#[test]
fn several_lines_are_a_block_unless_a_line_ends_in_a_space() {
    check(
        json!({"a": "x\n", "b": "x\ny", "c": "x\n\n", "d": " x\n", "e": "x \ny\n", "f": "\n"}),
        "a: |\n  x\nb: |-\n  x\n  y\nc: |+\n  x\n\nd: |2\n   x\ne: \"x \\ny\\n\"\nf: |2+\n\n",
    );
}

#[test]
fn every_line_end_of_yaml_1_1_is_one() {
    check(
        json!({"a": {"b": "x\u{2028}y", "c": "x\u{2029}y\nz", "d": " x\u{2028}\n", "e": "x\n\u{2028}", "f": "g"}}),
        "a:\n  b: 'x\u{2028}    y'\n  c: |-\n    x\u{2029}    y\n    z\n  d: |2+\n     x\u{2028}\n  \
         e: |+\n    x\n\u{2028}  f: g\n",
    );
    check(json!({"a": "x\u{85}y"}), "a: \"x\\Ny\"\n");
    let value =
        json!({"a": [{"b": "it's\u{2028}\u{2029}y"}, "x\u{2028}y\n", "\u{2028}x\n\u{2029}"], "z": "q"});
    assert_eq!(crate::yaml::parse(write(&value).as_bytes()).unwrap().value, value);
}

#[test]
fn long_lines_are_folded_behind_the_eightieth_column() {
    let words = ["word"; 20].join(" ");
    let (head, tail) = words.split_at(79);
    check(
        json!({"k": words}),
        &format!("k: {head}\n  {}\n", tail.trim_start()),
    );
    check(
        json!({"k": format!("{words} #x")}),
        &format!("k: '{head}\n  {} #x'\n", tail.trim_start()),
    );
}

#[test]
fn long_keys_take_a_line_of_their_own() {
    let key = "k".repeat(129);
    check(
        json!({ key.clone(): {"a": [1]} }),
        &format!("? {key}\n: a:\n  - 1\n"),
    );
    check(json!({ key.clone(): ["x"] }), &format!("? {key}\n: - x\n"));
}

#[test]
fn numbers_lose_needless_digits() {
    check(
        json!([1.0, 1.5, 1_234_567.5, 0.00001, 1e20, 1e21, u64::MAX, -1]),
        "- 1\n- 1.5\n- 1.2345675e+06\n- 1e-05\n- 1e+20\n- 1e+21\n- 18446744073709551615\n- -1\n",
    );
    assert_eq!(shortest_float(100_000.0), "100000");
    assert_eq!(shortest_float(0.0001), "0.0001");
}

#[test]
fn keys_are_in_the_order_people_count_in() {
    let mut keys = ["a10", "a2", "b", "a", "A", "a-b", "ab", "_", "a02", "1"];
    keys.sort_by(|left, right| compare_keys(left, right));
    assert_eq!(keys, ["_", "1", "A", "a", "a-b", "a2", "a02", "a10", "ab", "b"]);
}
