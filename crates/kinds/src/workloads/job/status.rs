//! The status of a job. Jobs can be run by other controllers than the cluster's own, so what they
//! report is checked closely, but only where it changed.

use std::collections::HashSet;

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{indexes, is_indexed};
use crate::{
    checks::{Errors, IMMUTABLE, not_negative, same},
    internal_form,
    read::{flag, get, has, int, list, text},
};

/// A status and what became of it.
struct Report<'a> {
    spec: &'a Value,
    new: &'a Value,
    old: &'a Value,
    path: Path,
}

impl<'a> Report<'a> {
    fn is(&self, condition: &str) -> bool {
        is_true(self.new, condition)
    }

    fn was(&self, condition: &str) -> bool {
        is_true(self.old, condition)
    }

    /// Whether a condition came or went.
    fn turned(&self, condition: &str) -> bool {
        self.is(condition) != self.was(condition)
    }

    fn changed(&self, key: &str) -> bool {
        get(self.new, key) != get(self.old, key)
    }

    fn is_finished(&self) -> bool {
        self.is("Complete") || self.is("Failed")
    }

    fn finished_changed(&self) -> bool {
        self.is_finished() != (self.was("Complete") || self.was("Failed"))
    }

    fn number(&self, key: &str) -> i64 {
        int(self.new, key).unwrap_or_default()
    }

    fn field(&self, key: &str) -> (&'a Value, Path) {
        (get(self.new, key), self.path.child(key))
    }

    fn refuse_conditions(&self, detail: impl Into<String>, errors: &mut Errors) {
        errors.push(FieldError::invalid_unshown(
            &self.path.child("conditions"),
            detail,
        ));
    }

    fn refuse(&self, key: &str, detail: impl Into<String>, errors: &mut Errors) {
        let (value, path) = self.field(key);
        errors.push(FieldError::invalid(&path, value, detail));
    }

    fn require(&self, key: &str, detail: &str, errors: &mut Errors) {
        errors.push(FieldError::required(&self.path.child(key), detail));
    }
}

fn is_true(status: &Value, condition: &str) -> bool {
    list(status, "conditions")
        .iter()
        .any(|item| text(item, "type") == condition && text(item, "status") == "True")
}

/// Checks a changed status against what it was.
pub(super) fn validate(new: &Value, old: &Value, errors: &mut Errors) {
    let report = Report {
        spec: get(new, "spec"),
        new: get(new, "status"),
        old: get(old, "status"),
        path: Path::new("status"),
    };
    for key in ["active", "succeeded", "failed", "ready", "terminating"] {
        not_negative(report.new, key, &report.path, errors);
    }
    validate_uncounted(&report, errors);
    validate_outcome(&report, errors);
    validate_finished(&report, errors);
    validate_indexes(&report, errors);
    validate_pods(&report, errors);
    validate_transition(&report, errors);
}

fn validate_uncounted(report: &Report<'_>, errors: &mut Errors) {
    let (uncounted, path) = report.field("uncountedTerminatedPods");
    let mut seen = HashSet::new();
    for key in ["succeeded", "failed"] {
        for (i, uid) in list(uncounted, key).iter().enumerate() {
            let path = path.child(key).index(i);
            let uid = uid.as_str().unwrap_or_default();
            if uid.is_empty() {
                errors.push(FieldError::invalid(&path, &json!(uid), "must not be empty"));
            } else if !seen.insert(uid) {
                errors.push(FieldError::duplicate(&path, &json!(uid)));
            }
        }
    }
}

fn validate_outcome(report: &Report<'_>, errors: &mut Errors) {
    let complete = report.is("Complete");
    let complete_changed = report.turned("Complete");
    if (complete_changed || report.turned("Failed")) && complete && report.is("Failed") {
        report.refuse_conditions("cannot set Complete=True and Failed=true conditions", errors);
    }
    if (complete_changed || report.turned("FailureTarget")) && complete && report.is("FailureTarget") {
        report.refuse_conditions(
            "cannot set Complete=True and FailureTarget=true conditions",
            errors,
        );
    }
    let completion_changed = complete_changed || report.changed("completionTime");
    let has_completion = has(report.new, "completionTime");
    if completion_changed && has_completion && !complete {
        let detail = "cannot set completionTime when there is no Complete=True condition";
        report.refuse("completionTime", detail, errors);
    }
    if completion_changed && !has_completion && complete {
        report.require(
            "completionTime",
            "completionTime is required for Complete jobs",
            errors,
        );
    }
    let (start, completion) = (text(report.new, "startTime"), text(report.new, "completionTime"));
    let times_changed = report.changed("startTime") || report.changed("completionTime");
    // Times of one zone and precision sort as texts.
    if times_changed && !start.is_empty() && !completion.is_empty() && completion < start {
        report.refuse("completionTime", "must be equal to or after `startTime`", errors);
    }
    let failed_changed = report.turned("Failed") || report.changed("failedIndexes");
    if failed_changed && report.is("Failed") && !report.is("FailureTarget") {
        let detail = "cannot set Failed=True condition without the FailureTarget=true condition";
        report.refuse_conditions(detail, errors);
    }
    let met_changed = complete_changed || report.turned("SuccessCriteriaMet");
    if met_changed && complete && !report.is("SuccessCriteriaMet") {
        let detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        report.refuse_conditions(detail, errors);
    }
}

fn validate_finished(report: &Report<'_>, errors: &mut Errors) {
    let finished = report.is_finished();
    let changed = report.finished_changed();
    if (changed || report.changed("active")) && finished && report.number("active") > 0 {
        report.refuse("active", "active>0 is invalid for finished job", errors);
    }
    let never_ran = flag(report.spec, "suspend") && int(report.spec, "completions") == Some(0);
    let start_changed = changed || report.changed("startTime");
    if start_changed && !never_ran && finished && !has(report.new, "startTime") {
        report.require("startTime", "startTime is required for finished job", errors);
    }
    let (uncounted, path) = report.field("uncountedTerminatedPods");
    let any = ["failed", "succeeded"]
        .iter()
        .any(|key| !list(uncounted, key).is_empty());
    let uncounted_changed = !same(uncounted, get(report.old, "uncountedTerminatedPods"));
    if (changed || uncounted_changed) && finished && any {
        let detail = "must be empty for finished job";
        errors.push(internal_form::invalid(
            &path,
            uncounted,
            "*UncountedTerminatedPods",
            detail,
        ));
    }
}

fn validate_indexes(report: &Report<'_>, errors: &mut Errors) {
    let completed = text(report.new, "completedIndexes");
    let failed = get(report.new, "failedIndexes").as_str();
    let (completed_changed, failed_changed) = (
        text(report.old, "completedIndexes") != completed,
        report.changed("failedIndexes"),
    );
    let completions = int(report.spec, "completions");
    let per_index = has(report.spec, "backoffLimitPerIndex");
    let check = |key: &str, written: &str, errors: &mut Errors| {
        if let Some(Err(error)) = completions.map(|completions| indexes::count(written, completions)) {
            report.refuse(key, format!("error parsing {key}: {error}"), errors);
        }
    };
    if completed_changed {
        check("completedIndexes", completed, errors);
    }
    if let Some(failed) = failed.filter(|_| failed_changed && per_index) {
        check("failedIndexes", failed, errors);
    }
    if completed_changed && !completed.is_empty() && !is_indexed(report.spec) {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        report.refuse("completedIndexes", detail, errors);
    }
    if failed_changed && failed.is_some() && !per_index {
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        report.refuse("failedIndexes", detail, errors);
    }
    if let (Some(failed), Some(completions)) = (failed, completions)
        && (failed_changed || completed_changed)
        && let Some(index) = indexes::first_common(completed, failed, completions)
    {
        let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
        report.refuse("failedIndexes", detail, errors);
    }
}

fn validate_pods(report: &Report<'_>, errors: &mut Errors) {
    let finished = report.is_finished();
    let changed = report.finished_changed() || report.changed("terminating");
    if changed && finished && report.number("terminating") > 0 {
        report.refuse("terminating", "terminating>0 is invalid for finished job", errors);
    }
    let counts_changed =
        report.changed("ready") || report.number("active") != int(report.old, "active").unwrap_or_default();
    if counts_changed && int(report.new, "ready").is_some_and(|ready| ready > report.number("active")) {
        report.refuse("ready", "cannot set more ready pods than active", errors);
    }
    let met = report.is("SuccessCriteriaMet");
    if met && report.is("Failed") {
        report.refuse_conditions(
            "cannot set SuccessCriteriaMet=True and Failed=true conditions",
            errors,
        );
    }
    if met && report.is("FailureTarget") {
        let detail = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions";
        report.refuse_conditions(detail, errors);
    }
    if has(report.spec, "successPolicy") && !met && report.is("Complete") {
        let detail = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
        report.refuse_conditions(detail, errors);
    }
}

fn validate_transition(report: &Report<'_>, errors: &mut Errors) {
    for condition in ["Failed", "Complete", "FailureTarget"] {
        if report.was(condition) && !report.is(condition) {
            let detail = format!("cannot disable the terminal {condition}=True condition");
            report.refuse_conditions(detail, errors);
        }
    }
    let decreased = |key: &str| report.number(key) < int(report.old, key).unwrap_or_default();
    let shown = |key: &str| (report.path.child(key), json!(report.number(key)));
    if decreased("failed") {
        let (path, value) = shown("failed");
        errors.push(FieldError::invalid(
            &path,
            &value,
            "cannot decrease the failed counter",
        ));
    }
    // A job whose indexes all run at once can shrink, and forget the indexes cut off.
    let elastic =
        is_indexed(report.spec) && get(report.spec, "completions") == get(report.spec, "parallelism");
    if !elastic && decreased("succeeded") {
        let (path, value) = shown("succeeded");
        errors.push(FieldError::invalid(
            &path,
            &value,
            "cannot decrease the succeeded counter",
        ));
    }
    let had_completion = has(report.old, "completionTime") && has(report.new, "completionTime");
    if had_completion && report.changed("completionTime") {
        report.refuse("completionTime", IMMUTABLE, errors);
    }
    let resumes = is_true(report.old, "Suspended")
        && list(report.new, "conditions")
            .iter()
            .any(|item| text(item, "type") == "Suspended" && text(item, "status") == "False");
    let restarted = has(report.old, "startTime") && report.changed("startTime");
    if restarted && !resumes && !flag(report.spec, "suspend") {
        report.require(
            "startTime",
            "startTime cannot be removed for unsuspended job",
            errors,
        );
    }
    if report.was("SuccessCriteriaMet") && !report.is("SuccessCriteriaMet") {
        report.refuse_conditions("cannot disable the SuccessCriteriaMet=True condition", errors);
    }
    if report.was("Complete") && !report.was("SuccessCriteriaMet") && report.is("SuccessCriteriaMet") {
        let detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        report.refuse_conditions(detail, errors);
    }
}
