//! How versions of an API compare: by stability, then by number, then by name.

use std::cmp::Reverse;

/// Where a version stands among others; the preferred one is the greatest. Kubernetes orders
/// `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha1`, and then what has no such form by its name.
pub fn rank(version: &str) -> impl Ord + use<> {
    let (stability, major, minor) = parse(version).unwrap_or_default();
    (stability, major, minor, Reverse(version.to_owned()))
}

fn parse(version: &str) -> Option<(u8, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, stage) = rest.split_at(digits);
    let major: u32 = major.parse().ok()?;
    if stage.is_empty() {
        return Some((3, major, 0));
    }
    let (stability, minor) = match stage.strip_prefix("beta") {
        Some(minor) => (2, minor),
        None => (1, stage.strip_prefix("alpha")?),
    };
    Some((stability, major, minor.parse().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_sort_by_stability_then_number() {
        let mut versions = vec!["v1alpha1", "foo", "v1beta1", "v10", "v2", "v1beta2", "v1"];
        versions.sort_by_key(|version| Reverse(rank(version)));
        assert_eq!(
            versions,
            ["v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "foo"]
        );
    }
}
