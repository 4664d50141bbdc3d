//! The tables were written by the real server's own quantity type, from random texts.

use super::*;

const TEXTS: &str = include_str!("../../testdata/quantities/texts.txt");
const SUMS: &str = include_str!("../../testdata/quantities/sums.txt");

fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
    table.lines().map(|line| {
        let mut columns = line.split('\t');
        std::array::from_fn(|_| columns.next().unwrap_or_default())
    })
}

fn parse(text: &str) -> Quantity {
    Quantity::parse(text).unwrap()
}

#[test]
fn texts_are_read_and_written_as_the_real_server_does() {
    for [text, kept, canonical, in_milli, value, milli] in rows(TEXTS) {
        let quantity = match Quantity::parse(text) {
            Ok(quantity) => quantity,
            Err(error) => {
                assert_eq!(format!("!{error}"), kept, "for {text}");
                continue;
            }
        };
        assert_eq!(quantity.to_string(), kept, "for {text}");
        assert_eq!(quantity.plus(Quantity::ZERO).to_string(), canonical, "for {text}");
        assert_eq!(quantity.rounded_up_to_milli().to_string(), in_milli, "for {text}");
        if value != "-" {
            assert_eq!(quantity.value().to_string(), value, "for {text}");
            assert_eq!(quantity.milli_value().to_string(), milli, "for {text}");
        }
    }
}

#[test]
fn amounts_are_added_and_compared_as_on_the_real_server() {
    for [left, right, sum, difference, order] in rows(SUMS) {
        let (a, b) = (parse(left), parse(right));
        assert_eq!(a.plus(b).to_string(), sum, "for {left} + {right}");
        assert_eq!(a.minus(b).to_string(), difference, "for {left} - {right}");
        let expected = match order {
            "<" => Ordering::Less,
            "=" => Ordering::Equal,
            _ => Ordering::Greater,
        };
        assert_eq!(a.cmp(&b), expected, "for {left} and {right}");
        assert_eq!(b.cmp(&a), expected.reverse(), "for {right} and {left}");
    }
}

#[test]
fn a_multiple_is_the_sum_of_as_many() {
    for text in ["1Gi", "500m", "1.5", "2e3", "-7", "0"] {
        let amount = parse(text);
        let sum = (0..5).fold(Quantity::ZERO, |sum, _| sum.plus(amount));
        assert_eq!(amount.times(5).to_string(), sum.to_string(), "{text}");
    }
}

#[track_caller]
fn reads(text: &str, expected: &str) {
    assert_eq!(parse(text).to_string(), expected, "for {text}");
}

#[test]
fn text_is_canonical_or_close_to_it() {
    reads("1000m", "1");
    reads("0.5", "500m");
    reads("1500m", "1500m");
    reads("1024Ki", "1Mi");
    reads("1000Ki", "1000Ki");
    reads("1.5Gi", "1536Mi");
    reads("1000", "1k");
    reads("2e3", "2e3");
    reads("0.5Ki", "512");
    reads("0Ki", "0");
    reads("0.1n", "1n");
    reads("1.125", "1.125");
    reads("+5", "+5");
    reads("1E3", "1E3");
}

#[test]
fn only_binary_amounts_end_at_64_bits() {
    reads("12E", "12E");
    reads("100000000000000000000", "100E");
    reads("1e30", "1e30");
    reads("20Ei", "9223372036854775807");
    assert_eq!(parse("12E").plus(parse("12E")).to_string(), "24E");
    assert_eq!(parse("12E").value(), i64::MAX);
    assert!(parse("1e2147483647") > parse("1e2147483646"));
    assert!(parse("-1e2147483647") < parse("1n"));
}

#[test]
fn nonsense_is_refused() {
    for text in ["", "1.2.3", "abc", "1 Gi", "1Zi", "5!", "½"] {
        assert_eq!(
            Quantity::parse(text).unwrap_err(),
            ParseError::Format,
            "for {text:?}"
        );
    }
    for text in ["1e", "--1", "1ki", "1mm", "1e9999999999999999999"] {
        assert_eq!(
            Quantity::parse(text).unwrap_err(),
            ParseError::Suffix,
            "for {text:?}"
        );
    }
    assert_eq!(Quantity::parse("Ei").unwrap_err(), ParseError::Number);
}

#[test]
fn numbers_too_large_to_count_are_whole() {
    for (text, is_whole) in [
        ("1.5e300", true),
        ("1e-9", false),
        ("0.5Ki", true),
        ("1500m", false),
        ("0", true),
    ] {
        assert_eq!(Quantity::parse(text).unwrap().is_whole(), is_whole, "{text}");
    }
}
