//! How long to wait before volumes are tried again. What a missing object was the cause of is tried
//! when it appears; this is for everything else.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(122);

/// The wait after this many failures in a row.
pub fn wait(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(8);
    (FIRST * (1 << doublings)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_two_minutes() {
        let waits: Vec<_> = [1, 2, 3, 8, 9, 1000]
            .map(|failures| wait(failures).as_millis())
            .to_vec();
        assert_eq!(waits, [500, 1000, 2000, 64_000, 122_000, 122_000]);
    }
}
