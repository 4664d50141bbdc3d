//! Formats that are numbers with check digits.

pub(super) fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let number: String = digits.iter().map(u32::to_string).collect();
    let starts = |prefixes: std::ops::RangeInclusive<u32>, width: usize| {
        number
            .get(..width)
            .and_then(|head| head.parse().ok())
            .is_some_and(|head| prefixes.contains(&head))
    };
    let known = match digits.len() {
        13 => starts(4..=4, 1),
        14 => starts(300..=305, 3) || starts(36..=36, 2) || starts(38..=38, 2),
        15 => starts(34..=34, 2) || starts(37..=37, 2) || starts(2131..=2131, 4) || starts(1800..=1800, 4),
        16 => {
            starts(4..=4, 1)
                || starts(51..=55, 2)
                || starts(6011..=6011, 4)
                || starts(65..=65, 2)
                || starts(35..=35, 2)
        }
        _ => false,
    };
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let luhn: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(i, &digit)| if i % 2 == 1 { doubled(digit) } else { digit })
        .sum();
    known && luhn.is_multiple_of(10)
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let text = without_separators(text);
    let Some((last, digits)) = text.as_bytes().split_last() else {
        return false;
    };
    if digits.len() != 9 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let check = match last {
        b'X' => 10,
        digit if digit.is_ascii_digit() => u32::from(digit - b'0'),
        _ => return false,
    };
    let sum: u32 = (1..)
        .zip(digits)
        .map(|(i, digit)| i * u32::from(digit - b'0'))
        .sum();
    (sum + 10 * check).is_multiple_of(11)
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let text = without_separators(text);
    if text.len() != 13 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return false;
    }
    let weight = |i: usize| if i.is_multiple_of(2) { 1 } else { 3 };
    let sum: u32 = text
        .bytes()
        .enumerate()
        .map(|(i, digit)| weight(i) * u32::from(digit - b'0'))
        .sum();
    sum.is_multiple_of(10)
}

fn without_separators(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '-').collect()
}

pub(super) fn is_ssn(text: &str) -> bool {
    let separator = |b: u8| matches!(b, b'-' | b' ');
    text.len() == 11
        && text.bytes().enumerate().all(|(i, b)| match i {
            3 | 6 => separator(b),
            _ => b.is_ascii_digit(),
        })
}
