//! When some of the indexes are enough.

use k8s_openapi::api::batch::v1::{SuccessPolicy, SuccessPolicyRule};

use super::indexes::Indexes;

/// The position of the first rule that is met.
pub(crate) fn met(policy: Option<&SuccessPolicy>, completions: u32, succeeded: &Indexes) -> Option<usize> {
    let rules = &policy?.rules;
    rules.iter().position(|rule| is_met(rule, completions, succeeded))
}

fn is_met(rule: &SuccessPolicyRule, completions: u32, succeeded: &Indexes) -> bool {
    let enough = rule.succeeded_count.and_then(|count| usize::try_from(count).ok());
    let (achieved, all) = match &rule.succeeded_indexes {
        Some(written) => {
            let wanted = Indexes::parse(written, completions);
            if wanted.is_empty() {
                return false;
            }
            (wanted.overlap(succeeded), Some(wanted.count()))
        }
        None => (succeeded.count(), None),
    };
    achieved > 0 && [enough, all].into_iter().flatten().any(|goal| achieved >= goal)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(rules: Value, succeeded: &[u32]) -> Option<usize> {
        let policy: SuccessPolicy = serde_json::from_value(json!({ "rules": rules })).unwrap();
        met(Some(&policy), 10, &succeeded.iter().copied().collect())
    }

    #[test]
    fn all_named_indexes_or_enough_of_them() {
        let all = json!([{"succeededIndexes": "0,2-3"}]);
        assert_eq!(check(all.clone(), &[0, 2]), None);
        assert_eq!(check(all, &[0, 2, 3]), Some(0));
        let some = json!([{"succeededIndexes": "0,2-3", "succeededCount": 2}]);
        assert_eq!(check(some.clone(), &[0, 1]), None);
        assert_eq!(check(some, &[0, 3]), Some(0));
    }

    #[test]
    fn any_number_of_indexes_and_the_first_rule_counts() {
        let rules = json!([{"succeededCount": 3}, {"succeededCount": 1}]);
        assert_eq!(check(rules.clone(), &[]), None);
        assert_eq!(check(rules.clone(), &[9]), Some(1));
        assert_eq!(check(rules, &[7, 8, 9]), Some(0));
    }
}
