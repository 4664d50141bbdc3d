//! The figures side by side, and which bars they miss.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::measures::{Bar, Measure, Samples, Unit};

pub(super) struct Report {
    lines: Vec<Line>,
    rounds: u32,
    /// What the reader has to know besides.
    note: Option<&'static str>,
}

/// One measure, as the median of its samples.
struct Line {
    measure: &'static Measure,
    ours: Option<f64>,
    real: Option<f64>,
    /// What the machine itself takes.
    floor: Option<f64>,
    samples: Value,
}

impl Report {
    pub(super) fn new(measures: &'static [Measure], samples: Samples, rounds: u32) -> Self {
        let line = |measure: &'static Measure| {
            let [ours, real, floor] = ["ours", "real", "floor"].map(|name| samples.of(measure.id, name));
            Line {
                measure,
                ours: median(ours),
                real: median(real),
                floor: median(floor),
                samples: json!({ "ours": ours, "real": real, "floor": floor }),
            }
        };
        Self {
            lines: measures.iter().map(line).collect(),
            rounds,
            note: None,
        }
    }

    pub(super) fn with_note(self, note: &'static str) -> Self {
        Self {
            note: Some(note),
            ..self
        }
    }

    pub(super) fn text(&self) -> String {
        let mut rows = vec![["", "floor", "ours", "real", "times", "bar", ""].map(str::to_owned)];
        rows.extend(self.lines.iter().map(Line::row));
        if self.lines.iter().all(|line| line.floor.is_none()) {
            for row in &mut rows {
                row[1].clear();
            }
        }
        let mut text = table(&rows);
        text.push_str(&format!("\nmedians of {} rounds", self.rounds));
        text.push_str(match self.misses().count() {
            0 => "; every bar is reached\n",
            _ => "; ✗ marks a missed bar\n",
        });
        if let Some(note) = self.note {
            text.push_str(note);
            text.push('\n');
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let lines: Vec<Value> = self.lines.iter().map(Line::json).collect();
        json!({ "rounds": self.rounds, "measures": lines, "note": self.note })
    }

    pub(super) fn check(&self) -> Result<()> {
        let missed: Vec<&str> = self.misses().map(|line| line.measure.title).collect();
        if !missed.is_empty() {
            bail!("missed: {}", missed.join("; "));
        }
        Ok(())
    }

    fn misses(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.is_met() == Some(false))
    }
}

impl Line {
    /// How many times better ours is.
    fn times(&self) -> Option<f64> {
        let (ours, real) = (self.ours?, self.real?);
        let (better, worse) = if self.measure.more_is_better {
            (ours, real)
        } else {
            (real, ours)
        };
        (worse > 0.0).then(|| better / worse)
    }

    /// Whether all bars are reached; none where there is none or not enough was measured.
    fn is_met(&self) -> Option<bool> {
        let results: Vec<bool> = self
            .measure
            .bars
            .iter()
            .filter_map(|bar| match bar {
                Bar::AtMost(most) => self.ours.map(|ours| ours <= *most),
                Bar::Times(least) => self.times().map(|times| times >= *least),
            })
            .collect();
        (!results.is_empty()).then(|| results.iter().all(|met| *met))
    }

    fn row(&self) -> Row {
        let unit = self.measure.unit;
        let value = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| unit.show(value));
        [
            self.measure.title.to_owned(),
            value(self.floor),
            value(self.ours),
            value(self.real),
            self.times()
                .map_or_else(|| "–".to_owned(), |times| format!("{times:.1}×")),
            self.bar(),
            match self.is_met() {
                Some(true) => "✓",
                Some(false) => "✗",
                None => "",
            }
            .to_owned(),
        ]
    }

    fn bar(&self) -> String {
        let shown: Vec<String> = self
            .measure
            .bars
            .iter()
            .map(|bar| match bar {
                Bar::AtMost(most) => format!("≤ {}", self.measure.unit.show(*most)),
                Bar::Times(least) => format!("≥ {least}×"),
            })
            .collect();
        shown.join(", ")
    }

    fn json(&self) -> Value {
        json!({
            "id": self.measure.id,
            "title": self.measure.title,
            "unit": self.measure.unit.name(),
            "ours": self.ours,
            "real": self.real,
            "floor": self.floor,
            "times": self.times(),
            "bar": self.bar(),
            "met": self.is_met(),
            "samples": self.samples,
        })
    }
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Megabytes => "MB",
            Self::Percent => "%",
            Self::PerSecond => "/s",
        }
    }

    fn show(self, value: f64) -> String {
        let digits = match value {
            value if value >= 100.0 => 0,
            value if value >= 10.0 => 1,
            _ => 2,
        };
        format!("{value:.digits$} {}", self.name())
    }
}

pub(super) fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], upper)
    } else {
        upper
    })
}

type Row = [String; 7];

/// Columns as wide as their widest cell, and left out where all cells are empty; all but the first and
/// the last two are numbers.
fn table(rows: &[Row]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; 7] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .enumerate()
            .filter(|(column, _)| widths[*column] > 0)
            .map(|(column, cell)| match column {
                1..=4 => format!("{cell:>width$}", width = widths[column]),
                _ => format!("{cell:<width$}", width = widths[column]),
            })
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::bench::measures::{API, PODS};

    fn report(figures: &[(&str, &str, f64)]) -> Report {
        let mut samples = Samples::default();
        for (measure, server, value) in figures {
            samples.add(measure, server, *value);
        }
        Report::new(API, samples, 1)
    }

    #[test]
    fn the_median_is_not_moved_by_one_bad_round() {
        assert_eq!(median(&[1.0, 900.0, 2.0]), Some(2.0));
        assert_eq!(median(&[1.0, 3.0]), Some(2.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn times_say_how_much_better_ours_is_whichever_way_is_better() {
        let report = report(&[
            ("creates_16", "ours", 80.0),
            ("creates_16", "real", 10.0),
            ("list_p50", "ours", 2.0),
            ("list_p50", "real", 10.0),
        ]);
        let times = |id| {
            let line = report.lines.iter().find(|line| line.measure.id == id);
            line.and_then(Line::times)
        };
        assert_eq!((times("creates_16"), times("list_p50")), (Some(8.0), Some(5.0)));
    }

    #[test]
    fn the_floor_is_shown_where_there_is_one() {
        let mut samples = Samples::default();
        samples.add("job_running", "floor", 70.0);
        let text = Report::new(PODS, samples, 1).with_note("not run: a thing").text();
        assert!(text.contains("floor") && text.contains("70.0 ms"));
        assert!(text.ends_with("not run: a thing\n"));
        assert!(!report(&[]).text().contains("floor"));
    }

    #[test]
    fn a_missed_bar_is_marked_and_fails_the_check() {
        let report = report(&[("idle_memory", "ours", 41.0)]);
        assert!(report.text().contains("✗"));
        assert!(report.check().is_err());
    }

    #[test]
    fn a_bar_that_needs_the_other_side_is_left_open_without_it() {
        let report = report(&[("creates_16", "ours", 41.0)]);
        assert!(report.check().is_ok());
    }
}
