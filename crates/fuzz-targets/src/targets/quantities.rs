//! Quantities and times: what is printed is the same amount, and prints the same.

use kinds::quantity::Quantity;
use schemas::cel::Expression;

pub(super) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let mut lines = text.lines();
    let Some(first) = lines.next().and_then(|line| Quantity::parse(line).ok()) else {
        return times(text);
    };
    check(first);
    if let Some(second) = lines.next().and_then(|line| Quantity::parse(line).ok()) {
        for result in [first.plus(second), first.minus(second)] {
            check(result);
            let _ = result.to_string();
        }
    }
}

fn check(quantity: Quantity) {
    // Beyond its largest suffix the API server prints the digits alone, and so do we.
    if quantity.value().unsigned_abs() >= i64::MAX.unsigned_abs() {
        return;
    }
    let printed = quantity.to_string();
    let again = Quantity::parse(&printed).unwrap_or_else(|_| panic!("{printed} is no quantity"));
    assert_eq!(again.to_string(), printed);
    assert_eq!(
        (
            again.value(),
            again.milli_value(),
            again.is_negative(),
            again.is_zero()
        ),
        (
            quantity.value(),
            quantity.milli_value(),
            quantity.is_negative(),
            quantity.is_zero()
        ),
        "{printed}"
    );
    check_rounded(quantity);
}

fn check_rounded(quantity: Quantity) {
    let whole = quantity.rounded_up();
    assert!(whole.is_whole(), "{quantity} rounded up is {whole}");
    assert_eq!(whole.rounded_up().to_string(), whole.to_string());
    let _ = quantity.rounded_up_to_milli().to_string();
}

/// A time that an expression reads is printed as a time it reads again.
fn times(text: &str) {
    if text.contains(['\'', '\\', '\n', '\r']) {
        return;
    }
    for function in ["timestamp", "duration"] {
        let source = format!("string({function}('{text}'))");
        let Ok(expression) = Expression::compile(&source) else {
            continue;
        };
        let Ok(printed) = expression.evaluate(&[]) else {
            continue;
        };
        let printed = printed.as_str().unwrap_or_default().to_owned();
        let again = Expression::compile(&format!("string({function}('{printed}'))"));
        let again = again.and_then(|again| again.evaluate(&[]));
        assert_eq!(again, Ok(printed.into()), "{function} {text:?}");
    }
}
