//! Columns for people.

use jiff::{SignedDuration, Timestamp};

/// Rows under their heads, as wide as they need to be; the last column is as long as it is.
pub(crate) fn table<const N: usize>(heads: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = heads.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let heads = heads.map(str::to_owned);
    let line = |row: &[String; N]| {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        let text = cells.collect::<Vec<_>>().join("   ");
        format!("{}\n", text.trim_end())
    };
    std::iter::once(&heads).chain(rows).map(line).collect()
}

/// How long ago something was, as `kubectl` says it: `45s`, `3m`, `5h`, `2d`.
pub(crate) fn age(then: Option<Timestamp>, now: Timestamp) -> String {
    then.map_or_else(String::new, |then| duration(now.duration_since(then)))
}

pub(crate) fn duration(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            ["a".to_owned(), "x y".to_owned()],
            ["long".to_owned(), String::new()],
        ];
        assert_eq!(table(["NAME", "WHY"], &rows), "NAME   WHY\na      x y\nlong\n");
    }

    #[test]
    fn ages_are_short() {
        let of = |seconds| duration(SignedDuration::from_secs(seconds));
        assert_eq!(
            [of(-3), of(119), of(120), of(7200), of(172_800)],
            ["0s", "119s", "2m", "2h", "2d"]
        );
    }
}
