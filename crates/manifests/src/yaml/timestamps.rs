//! Dates and times as YAML 1.1 knows them, and as JSON has them afterwards.

/// The time as RFC 3339 has it; none for text that is no time.
pub fn read(text: &str) -> Option<String> {
    let (year, rest) = digits(text, 4..=4)?;
    let (month, rest) = digits(rest.strip_prefix('-')?, 1..=2)?;
    let (day, rest) = digits(rest.strip_prefix('-')?, 1..=2)?;
    if !(1..=12).contains(&month) || !(1..=days(year, month)).contains(&day) {
        return None;
    }
    let date = format!("{year:04}-{month:02}-{day:02}");
    let mut characters = rest.chars();
    let time = match characters.next() {
        None => "00:00:00Z".to_owned(),
        Some('T' | 't') => time_of_day(characters.as_str(), zone)?,
        Some(' ') => time_of_day(characters.as_str(), |rest| {
            rest.is_empty().then(|| "Z".to_owned())
        })?,
        Some(_) => return None,
    };
    Some(format!("{date}T{time}"))
}

fn time_of_day(text: &str, zone: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (hour, rest) = digits(text, 1..=2)?;
    let (minute, rest) = digits(rest.strip_prefix(':')?, 1..=2)?;
    let (second, rest) = digits(rest.strip_prefix(':')?, 1..=2)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (fraction, rest) = fraction(rest);
    let zone = zone(rest)?;
    Some(format!("{hour:02}:{minute:02}:{second:02}{fraction}{zone}"))
}

/// Parts of a second with their point, without zeros at the end, and what follows.
fn fraction(text: &str) -> (String, &str) {
    let Some(rest) = text.strip_prefix(['.', ',']) else {
        return (String::new(), text);
    };
    let count = rest.bytes().take_while(u8::is_ascii_digit).count();
    if count == 0 {
        return (String::new(), text);
    }
    let digits = rest[..count.min(9)].trim_end_matches('0');
    let shown = if digits.is_empty() {
        String::new()
    } else {
        format!(".{digits}")
    };
    (shown, &rest[count..])
}

fn zone(text: &str) -> Option<String> {
    if text == "Z" {
        return Some("Z".to_owned());
    }
    let sign = text.chars().next().filter(|sign| matches!(sign, '+' | '-'))?;
    let (hours, rest) = digits(&text[1..], 2..=2)?;
    let (minutes, rest) = digits(rest.strip_prefix(':')?, 2..=2)?;
    if !rest.is_empty() || hours > 24 || minutes >= 60 {
        return None;
    }
    if (hours, minutes) == (0, 0) {
        return Some("Z".to_owned());
    }
    Some(format!("{sign}{hours:02}:{minutes:02}"))
}

/// A number of so many digits, and what follows.
fn digits(text: &str, count: std::ops::RangeInclusive<usize>) -> Option<(u32, &str)> {
    let found = text
        .bytes()
        .take(*count.end())
        .take_while(u8::is_ascii_digit)
        .count();
    let number = count.contains(&found).then(|| text[..found].parse().ok())??;
    Some((number, &text[found..]))
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 31,
    }
}
