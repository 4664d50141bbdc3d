//! Completion indexes, as ranges: a status that names a hundred thousand of them must stay short.

use std::{fmt, iter};

/// Ordered ranges with gaps between them, written `0,1,3-7`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Indexes {
    ranges: Vec<Range>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Range {
    first: u32,
    last: u32,
}

impl Indexes {
    /// Reads what is below `limit`, and leaves out what cannot be read.
    pub(crate) fn parse(written: &str, limit: u32) -> Self {
        let ranges = written.split(',').filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let first: u32 = first.parse().ok()?;
            let last: u32 = last.parse().ok()?;
            (first < limit && first <= last).then(|| Range {
                first,
                last: last.min(limit - 1),
            })
        });
        Self::merged(ranges.collect())
    }

    pub(crate) fn contains(&self, index: u32) -> bool {
        let position = self.ranges.partition_point(|range| range.last < index);
        self.ranges
            .get(position)
            .is_some_and(|range| range.first <= index)
    }

    pub(crate) fn count(&self) -> usize {
        self.ranges.iter().copied().map(Range::count).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn union(&self, other: &Self) -> Self {
        Self::merged(self.ranges.iter().chain(&other.ranges).copied().collect())
    }

    /// How many indexes both have.
    pub(crate) fn overlap(&self, other: &Self) -> usize {
        self.count() + other.count() - self.union(other).count()
    }

    /// What is missing below `limit`.
    pub(crate) fn gaps(&self, limit: u32) -> impl Iterator<Item = u32> {
        let starts = iter::once(0).chain(self.ranges.iter().map(|range| range.last.saturating_add(1)));
        let ends = self.ranges.iter().map(|range| range.first).chain([limit]);
        starts
            .zip(ends)
            .flat_map(move |(start, end)| start..end.min(limit))
    }

    fn merged(mut ranges: Vec<Range>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<Range> = Vec::new();
        for range in ranges {
            match merged.last_mut() {
                Some(previous) if range.first <= previous.last.saturating_add(1) => {
                    previous.last = previous.last.max(range.last);
                }
                _ => merged.push(range),
            }
        }
        Self { ranges: merged }
    }
}

impl Range {
    fn count(self) -> usize {
        (self.last - self.first) as usize + 1
    }
}

impl FromIterator<u32> for Indexes {
    fn from_iter<I: IntoIterator<Item = u32>>(indexes: I) -> Self {
        let single = |index| Range {
            first: index,
            last: index,
        };
        Self::merged(indexes.into_iter().map(single).collect())
    }
}

impl fmt::Display for Indexes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, Range { first, last }) in self.ranges.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            match last - first {
                0 => write!(formatter, "{comma}{first}")?,
                1 => write!(formatter, "{comma}{first},{last}")?,
                _ => write!(formatter, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbours_are_written_as_ranges_and_pairs_are_not() {
        let indexes = Indexes::from_iter([7, 1, 5, 6, 0, 3, 3]);
        assert_eq!(indexes.to_string(), "0,1,3,5-7");
        assert_eq!(Indexes::default().to_string(), "");
    }

    #[test]
    fn what_is_beyond_the_limit_or_not_a_number_is_left_out() {
        assert_eq!(Indexes::parse("0,x,9-8,2-9,12", 5).to_string(), "0,2-4");
        assert_eq!(Indexes::parse("", 5), Indexes::default());
    }

    proptest! {
        #[test]
        fn they_are_sets(one: BTreeSet<u8>, other: BTreeSet<u8>) {
            let indexes = |set: &BTreeSet<u8>| set.iter().map(|index| u32::from(*index)).collect::<Indexes>();
            let (a, b) = (indexes(&one), indexes(&other));
            prop_assert_eq!(a.count(), one.len());
            prop_assert_eq!(a.overlap(&b), one.intersection(&other).count());
            prop_assert_eq!(&a.union(&b), &indexes(&one.union(&other).copied().collect()));
            prop_assert_eq!(&Indexes::parse(&a.to_string(), 256), &a);
            prop_assert!((0..=255_u8).all(|index| a.contains(index.into()) == one.contains(&index)));
            let gaps: Vec<u32> = a.gaps(100).collect();
            let missing: Vec<u32> = (0..100_u8).filter(|index| !one.contains(index)).map(u32::from).collect();
            prop_assert_eq!(gaps, missing);
        }
    }
}
