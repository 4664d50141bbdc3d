//! The limits of a range and the objects that break them.

use serde_json::Value;

use super::Limited;
use crate::{
    pod_resources::{containers, total},
    quantity::Quantity,
    read::{entries, get, text},
    resource_list::{Amounts, amount_of, amounts},
};

/// Complains about everything in an object that one entry of a range does not allow.
pub(super) fn check(limited: Limited, limit: &Value, object: &Value, complaints: &mut Vec<String>) {
    let spec = get(object, "spec");
    match (limited, text(limit, "type")) {
        (Limited::Pod, "Container") => {
            for container in containers(spec) {
                Asked::by_container(container).check("Container", limit, complaints);
            }
        }
        (Limited::Pod, "Pod") => Asked::by_pod(spec).check("Pod", limit, complaints),
        (Limited::VolumeClaim, "PersistentVolumeClaim") => {
            Asked::by_volume_claim(spec).check_requests("PersistentVolumeClaim", limit, complaints);
        }
        _ => {}
    }
}

/// One amount of a range.
struct Bound<'a> {
    /// What has to keep to it: `Container`.
    subject: &'a str,
    resource: &'a str,
    amount: Quantity,
}

impl<'a> Bound<'a> {
    fn all(limit: &'a Value, subject: &'a str, field: &str) -> impl Iterator<Item = Self> {
        entries(limit, field).map(move |(resource, value)| Self {
            subject,
            resource,
            amount: amount_of(value),
        })
    }
}

/// What a container or a whole pod asks for.
struct Asked<'a> {
    requests: Amounts<'a>,
    limits: Amounts<'a>,
}

impl<'a> Asked<'a> {
    fn by_container(container: &'a Value) -> Self {
        let resources = get(container, "resources");
        Self {
            requests: amounts(resources, "requests"),
            limits: amounts(resources, "limits"),
        }
    }

    fn by_pod(spec: &'a Value) -> Self {
        let asked = |field| {
            let mut asked = total(spec, |container, _| amounts(get(container, "resources"), field));
            let own = entries(get(spec, "resources"), field);
            let own = own.filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory"));
            asked.extend(own.map(|(name, value)| (name.as_str(), amount_of(value))));
            asked
        };
        Self {
            requests: asked("requests"),
            limits: asked("limits"),
        }
    }

    /// Claims only have requests; limits are not looked at.
    fn by_volume_claim(spec: &'a Value) -> Self {
        Self {
            requests: amounts(get(spec, "resources"), "requests"),
            limits: Amounts::new(),
        }
    }

    fn check(&self, subject: &str, limit: &Value, complaints: &mut Vec<String>) {
        let bounds = |field| Bound::all(limit, subject, field);
        complaints.extend(bounds("min").filter_map(|bound| self.below_minimum(&bound)));
        complaints.extend(bounds("max").filter_map(|bound| self.above_maximum(&bound)));
        complaints.extend(bounds("maxLimitRequestRatio").filter_map(|bound| self.above_ratio(&bound)));
    }

    fn check_requests(&self, subject: &str, limit: &Value, complaints: &mut Vec<String>) {
        let bounds = |field| Bound::all(limit, subject, field);
        complaints.extend(bounds("min").filter_map(|bound| self.below_minimum(&bound)));
        complaints.extend(bounds("max").filter_map(|bound| self.above_maximum_request(&bound)));
    }

    fn below_minimum(&self, bound: &Bound<'_>) -> Option<String> {
        let what = bound.described("minimum");
        let compared = self.compared(bound);
        let Some(request) = self.requests.get(bound.resource) else {
            return Some(format!("{what}.  No request is specified"));
        };
        if compared.request < compared.bound {
            return Some(format!("{what}, but request is {request}"));
        }
        let limit = self.limits.get(bound.resource)?;
        (compared.limit < compared.bound).then(|| format!("{what}, but limit is {limit}"))
    }

    fn above_maximum(&self, bound: &Bound<'_>) -> Option<String> {
        let what = bound.described("maximum");
        let compared = self.compared(bound);
        let Some(limit) = self.limits.get(bound.resource) else {
            return Some(format!("{what}.  No limit is specified"));
        };
        if compared.limit > compared.bound {
            return Some(format!("{what}, but limit is {limit}"));
        }
        let request = self.requests.get(bound.resource)?;
        (compared.request > compared.bound).then(|| format!("{what}, but request is {request}"))
    }

    fn above_maximum_request(&self, bound: &Bound<'_>) -> Option<String> {
        let what = bound.described("maximum");
        let Some(request) = self.requests.get(bound.resource) else {
            return Some(format!("{what}.  No request is specified"));
        };
        let compared = self.compared(bound);
        (compared.request > compared.bound).then(|| format!("{what}, but request is {request}"))
    }

    fn above_ratio(&self, bound: &Bound<'_>) -> Option<String> {
        let what = format!(
            "{} max limit to request ratio per {} is {}",
            bound.resource, bound.subject, bound.amount
        );
        let compared = self.compared(bound);
        if compared.request == 0 {
            return Some(format!("{what}, but no request is specified or request is 0"));
        }
        if compared.limit == 0 {
            return Some(format!("{what}, but no limit is specified or limit is 0"));
        }
        let ratio = compared.limit as f64 / compared.request as f64;
        let is_above = if bound.amount.value() <= MAX_IN_MILLI {
            ratio * 1000.0 > bound.amount.milli_value() as f64
        } else {
            ratio > bound.amount.value() as f64
        };
        is_above.then(|| format!("{what}, but provided ratio is {ratio:.6}"))
    }

    fn compared(&self, bound: &Bound<'_>) -> Compared {
        let asked = |list: &Amounts<'_>| list.get(bound.resource).copied().unwrap_or(Quantity::ZERO);
        Compared::new(asked(&self.requests), asked(&self.limits), bound.amount)
    }
}

impl Bound<'_> {
    /// `maximum memory usage per Container is 1Gi`
    fn described(&self, side: &str) -> String {
        format!(
            "{side} {} usage per {} is {}",
            self.resource, self.subject, self.amount
        )
    }
}

/// The largest whole number that can also be counted in thousandths.
const MAX_IN_MILLI: i64 = i64::MAX / 1000;

/// Three amounts in the same unit: thousandths, if all are small enough.
struct Compared {
    request: i64,
    limit: i64,
    bound: i64,
}

impl Compared {
    fn new(request: Quantity, limit: Quantity, bound: Quantity) -> Self {
        let fits = [request, limit, bound]
            .iter()
            .all(|amount| amount.value() <= MAX_IN_MILLI);
        let count = if fits {
            Quantity::milli_value
        } else {
            Quantity::value
        };
        Self {
            request: count(&request),
            limit: count(&limit),
            bound: count(&bound),
        }
    }
}
