//! Durations as people read them: two or three significant figures, as ages are shown in tables.

use jiff::SignedDuration;

const INVALID: &str = "<invalid>";

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// The usual form, also of date columns of custom resources: `45s`, `3m20s`, `5h12m`, `2d3h`, `3y40d`.
pub fn human_duration(elapsed: SignedDuration) -> String {
    let Some(seconds) = whole_seconds(elapsed) else {
        return INVALID.to_owned();
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two_units(seconds, (MINUTE, "m"), (1, "s")),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two_units(seconds, (HOUR, "h"), (MINUTE, "m")),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two_units(seconds, (DAY, "d"), (HOUR, "h")),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two_units(seconds, (YEAR, "y"), (DAY, "d")),
        _ => format!("{}y", seconds / YEAR),
    }
}

/// The shortest form, one unit: `45s`, `3m`, `5h`, `2d`, `3y`.
pub fn short_human_duration(elapsed: SignedDuration) -> String {
    let Some(seconds) = whole_seconds(elapsed) else {
        return INVALID.to_owned();
    };
    match seconds {
        0..MINUTE => format!("{seconds}s"),
        MINUTE..HOUR => format!("{}m", seconds / MINUTE),
        HOUR..DAY => format!("{}h", seconds / HOUR),
        DAY..YEAR => format!("{}d", seconds / DAY),
        _ => format!("{}y", seconds / YEAR),
    }
}

/// A time up to two seconds ahead counts as now, because clocks differ; further ahead is invalid.
fn whole_seconds(elapsed: SignedDuration) -> Option<i64> {
    match elapsed.as_secs() {
        ..-1 => None,
        -1 => Some(0),
        seconds => Some(seconds),
    }
}

/// `3m20s`, or `3m` when the rest is less than the smaller unit.
fn two_units(seconds: i64, (large, large_name): (i64, &str), (small, small_name): (i64, &str)) -> String {
    match seconds % large / small {
        0 => format!("{}{large_name}", seconds / large),
        rest => format!("{}{large_name}{rest}{small_name}", seconds / large),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_keep_two_or_three_figures() {
        let cases = [
            (-3, "<invalid>"),
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (59, "59s"),
            (119, "119s"),
            (120, "2m"),
            (200, "3m20s"),
            (599, "9m59s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (3 * HOUR + 59, "3h"),
            (8 * HOUR - 1, "7h59m"),
            (8 * HOUR, "8h"),
            (48 * HOUR - 1, "47h"),
            (2 * DAY, "2d"),
            (2 * DAY + 3 * HOUR, "2d3h"),
            (8 * DAY - 1, "7d23h"),
            (8 * DAY, "8d"),
            (2 * YEAR - 1, "729d"),
            (2 * YEAR, "2y"),
            (2 * YEAR + DAY, "2y1d"),
            (8 * YEAR - 1, "7y364d"),
            (8 * YEAR, "8y"),
        ];
        for (seconds, text) in cases {
            assert_eq!(
                human_duration(SignedDuration::from_secs(seconds)),
                text,
                "{seconds}s"
            );
        }
    }

    #[test]
    fn short_ages_have_one_unit() {
        let cases = [
            (-2, "<invalid>"),
            (-1, "0s"),
            (59, "59s"),
            (60, "1m"),
            (HOUR - 1, "59m"),
            (HOUR, "1h"),
            (DAY - 1, "23h"),
            (DAY, "1d"),
            (YEAR - 1, "364d"),
            (YEAR, "1y"),
        ];
        for (seconds, text) in cases {
            assert_eq!(
                short_human_duration(SignedDuration::from_secs(seconds)),
                text,
                "{seconds}s"
            );
        }
    }

    #[test]
    fn parts_of_a_second_are_dropped_towards_now() {
        assert_eq!(human_duration(SignedDuration::from_millis(-1_900)), "0s");
        assert_eq!(human_duration(SignedDuration::from_millis(-2_000)), "<invalid>");
        assert_eq!(human_duration(SignedDuration::from_millis(5_900)), "5s");
    }
}
