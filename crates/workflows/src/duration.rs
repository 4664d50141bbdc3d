//! Lengths of time as users write them: `90`, `1m30s`, `2h`, `1d`.

use std::time::Duration;

/// Without a unit it is seconds.
pub fn parse(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let wrong = || format!("`{text}` is no duration; write `30s`, `5m`, `1h30m`");
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest
            .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .ok_or_else(wrong)?;
        let amount: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let end = rest
            .find(|letter: char| letter.is_ascii_digit() || letter == '.')
            .unwrap_or(rest.len());
        let unit = match &rest[..end] {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return Err(wrong()),
        };
        total += amount * unit;
        rest = &rest[end..];
    }
    Duration::try_from_secs_f64(total).map_err(|_| wrong())
}

/// For messages: `5 seconds`, `1 minutes 30 seconds`.
pub fn shown(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let parts = [
        (seconds / 3600, "hours"),
        (seconds / 60 % 60, "minutes"),
        (seconds % 60, "seconds"),
    ];
    let told: Vec<String> = parts
        .iter()
        .filter(|(amount, _)| *amount > 0)
        .map(|(amount, unit)| format!("{amount} {unit}"))
        .collect();
    if told.is_empty() {
        return "0 seconds".to_owned();
    }
    told.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_optional() {
        for (text, seconds) in [
            ("10", 10.0),
            ("1m30s", 90.0),
            ("0.5h", 1800.0),
            ("2d", 172_800.0),
            ("250ms", 0.25),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "s", "1x", "-3", "1m-3s"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_are_shown_in_words() {
        assert_eq!(shown(Duration::from_secs(5)), "5 seconds");
        assert_eq!(shown(Duration::from_secs(3690)), "1 hours 1 minutes 30 seconds");
    }
}
