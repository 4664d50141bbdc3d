use proptest::prelude::*;
use serde_json::{Value, json};

use super::{MAX_DEPTH, parse, read_own};
use crate::testing::{check_cases, value};

/// Cases with `latin1` are bytes, one for each character.
fn bytes(case: &Value) -> Vec<u8> {
    let input = case["input"].as_str().unwrap();
    if case["latin1"] == true {
        input.chars().map(|c| c as u8).collect()
    } else {
        input.into()
    }
}

#[test]
fn documents_are_read_as_by_the_real_server() {
    check_cases(include_str!("../../testdata/json.json"), |case| {
        let parsed = parse(&bytes(case)).map_err(|error| error.to_string())?;
        assert_eq!(json!(parsed.duplicates), case["duplicates"], "{case}");
        Ok(parsed.value)
    });
}

#[test]
fn integers_stay_integers_and_large_ones_become_floats() {
    let value = parse(b"[1, 1.0, 9223372036854775807, 9223372036854775808, -9.223372036854775808e18]")
        .unwrap()
        .value;
    assert_eq!(
        value.to_string(),
        "[1,1,9223372036854775807,9.223372036854776e+18,-9223372036854775808]"
    );
}

#[test]
fn nesting_is_bounded_on_a_small_stack() {
    let nested = |depth: usize| [b"{\"a\":".repeat(depth), b"1".to_vec(), b"}".repeat(depth)].concat();
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    let handle = thread.spawn(move || {
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        let error = parse(&nested(MAX_DEPTH + 1)).unwrap_err();
        assert_eq!(error.to_string(), "invalid character '{' exceeded max depth");
        assert!(parse(&vec![b'['; 1_000_000]).is_err());
    });
    handle.unwrap().join().unwrap();
}

#[test]
fn a_hundred_duplicates_are_enough() {
    let fields: Vec<String> = (0..300).map(|n| format!("\"k{n}\":1,\"k{n}\":2")).collect();
    let parsed = parse(format!("{{{}}}", fields.join(",")).as_bytes()).unwrap();
    assert_eq!(parsed.duplicates.len(), 100);
    assert_eq!(parsed.duplicates[0], "duplicate field \"k0\"");
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn any_scraps_of_json_are_read_or_refused(
        text in "(\\{|\\}|\\[|\\]|\"|:|,|\\\\|u|d8|00|\\\\ud800|\\\\udc00|1|-|e|\\.|true|null| |é){0,24}",
    ) {
        // Whatever one reader accepts, so does the other, except for what Go repairs.
        let ours = parse(text.as_bytes());
        if serde_json::from_str::<Value>(&text).is_ok() {
            prop_assert!(ours.is_ok());
        }
        if let Err(error) = ours {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn written_documents_are_read_again(document in value()) {
        let parsed = parse(document.to_string().as_bytes()).unwrap();
        prop_assert_eq!(parsed.value, document);
        prop_assert!(parsed.duplicates.is_empty());
    }
}

#[test]
fn repeated_fields_below_a_long_name_are_named_once() {
    let repeated = vec![r#""a":1"#; 50_000].join(",");
    let document = format!(r#"{{"{}":{{{repeated}}}}}"#, "k".repeat(100_000));
    let parsed = parse(document.as_bytes()).unwrap();
    assert_eq!(parsed.duplicates.len(), 1);
}

#[test]
fn fractions_are_read_to_the_last_bit() {
    for text in [
        "9.223372036854773e+32",
        "0.1",
        "1.7976931348623157e308",
        "2.2250738585072011e-308",
    ] {
        let parsed = parse(text.as_bytes()).unwrap().value;
        assert_eq!(parsed.as_f64(), Some(text.parse().unwrap()), "{text}");
    }
}

#[test]
fn what_was_written_here_is_read_however_deep_it_is() {
    let deep = format!("{}1{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
    let value = read_own(deep.as_bytes()).unwrap();
    assert_eq!(value.to_string(), deep);
    assert!(read_own(b"[1] [2]").is_err());
}
