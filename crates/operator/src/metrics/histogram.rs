//! How long things took, in the buckets controller-runtime has for reconciles.

use std::fmt::Write as _;

const BOUNDS: [f64; 27] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

#[derive(Default)]
pub(super) struct Histogram {
    buckets: [u64; BOUNDS.len()],
    count: u64,
    sum: f64,
}

impl Histogram {
    pub(super) fn observe(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        if let Some(at) = BOUNDS.iter().position(|bound| value <= *bound) {
            self.buckets[at] += 1;
        }
    }

    pub(super) fn write(&self, text: &mut String, name: &str, labels: &str) {
        let mut so_far = 0;
        for (bound, count) in BOUNDS.iter().zip(self.buckets) {
            so_far += count;
            let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{bound}\"}} {so_far}");
        }
        let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {}", self.count);
        let _ = writeln!(text, "{name}_sum{{{labels}}} {}", self.sum);
        let _ = writeln!(text, "{name}_count{{{labels}}} {}", self.count);
    }
}
