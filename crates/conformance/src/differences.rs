//! Where ours is known to differ. The table people read is the one the suite reads.

/// A check that ours does not pass, and why that is as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub area: String,
    pub name: String,
    pub reason: String,
}

const PAGE: &str = include_str!("../../../docs/conformance-differences.md");

/// Every listed difference.
pub fn listed() -> Vec<Difference> {
    parse(PAGE)
}

/// Rows of three cells, but for the head and the line below it.
fn parse(page: &str) -> Vec<Difference> {
    let rows = page.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.filter_map(|row| {
        let mut cells = row
            .trim_matches('|')
            .splitn(3, '|')
            .map(|cell| cell.trim().to_owned());
        Some(Difference {
            area: cells.next()?,
            name: cells.next()?,
            reason: cells.next()?,
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_a_row_of_the_table() {
        let page =
            "# Title\n\n| area | check | reason |\n|---|---|---|\n| watch | it ends | ours never ends |\n";
        let expected = Difference {
            area: "watch".to_owned(),
            name: "it ends".to_owned(),
            reason: "ours never ends".to_owned(),
        };
        assert_eq!(parse(page), [expected]);
    }

    #[test]
    fn every_listed_difference_names_a_check_and_has_a_reason() {
        for difference in listed() {
            let known =
                crate::checks().any(|check| check.area == difference.area && check.name == difference.name);
            assert!(known, "no check `{}` in `{}`", difference.name, difference.area);
            assert!(
                difference.reason.len() > 10,
                "`{}` needs a reason",
                difference.name
            );
        }
    }
}
