//! Which jobs a CronJob starts, which it stops, and what its status says. Pure.

use std::sync::Arc;

use jiff::{Timestamp, tz::TimeZone};
use k8s_openapi::{
    api::{
        batch::v1::{CronJob, CronJobSpec, CronJobStatus, Job},
        core::v1::ObjectReference,
    },
    apimachinery::pkg::apis::meta::v1::Time,
};
use kinds::workloads::timetable::{self, Timetable};
use reconcile::Next;

use super::{
    make,
    missed::{self, Missed},
};
use crate::jobs::{self, notice::Notice};

#[derive(Debug)]
pub(crate) struct Plan {
    /// Finished jobs that are more than are to be kept.
    pub forget: Vec<Arc<Job>>,
    /// Running jobs that give way to the next.
    pub replace: Vec<ObjectReference>,
    /// The time for which a job is to be started.
    pub start: Option<Timestamp>,
    /// As it is before anything is stopped or started.
    pub status: CronJobStatus,
    pub notices: Vec<Notice>,
    pub next: Next,
}

/// `jobs` are all that the CronJob controls.
pub(crate) fn plan(cron_job: &CronJob, jobs: &[Arc<Job>], now: Timestamp) -> Plan {
    let mut plan = Plan {
        forget: Vec::new(),
        replace: Vec::new(),
        start: None,
        status: cron_job.status.clone().unwrap_or_default(),
        notices: Vec::new(),
        next: Next::Wait,
    };
    let Some(spec) = &cron_job.spec else {
        return plan;
    };
    plan.forget = superfluous(spec, jobs);
    for job in plan.forget.clone() {
        plan.strike(job.metadata.uid.as_ref());
    }
    plan.follow(jobs);
    let is_leaving = cron_job.metadata.deletion_timestamp.is_some();
    if !is_leaving {
        plan.schedule(cron_job, spec, now);
    }
    plan
}

/// The oldest finished jobs beyond what is to be kept.
fn superfluous(spec: &CronJobSpec, jobs: &[Arc<Job>]) -> Vec<Arc<Job>> {
    let oldest = |kind: &str, limit: Option<i32>| {
        let is_meant = |job: &&Arc<Job>| jobs::end(job).is_some_and(|end| end.type_ == kind);
        let mut finished: Vec<Arc<Job>> = jobs.iter().filter(is_meant).cloned().collect();
        finished.sort_by_key(|job| {
            let start = job.status.as_ref().and_then(|status| status.start_time.clone());
            (start.is_none(), start, job.metadata.name.clone())
        });
        let kept = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or_default());
        finished.truncate(finished.len().saturating_sub(kept));
        finished
    };
    let mut superfluous = oldest("Complete", spec.successful_jobs_history_limit);
    superfluous.extend(oldest("Failed", spec.failed_jobs_history_limit));
    superfluous
}

impl Plan {
    /// Brings the list of running jobs and the time of the last success up to date.
    fn follow(&mut self, jobs: &[Arc<Job>]) {
        for job in jobs {
            let name = job.metadata.name.as_deref().unwrap_or_default();
            let is_listed = self.active().any(|active| active.uid == job.metadata.uid);
            let Some(end) = jobs::end(job) else {
                if !is_listed {
                    let text = format!("Saw a job that the controller did not create or forgot: {name}");
                    self.notices.push(Notice::warning("UnexpectedJob", text));
                }
                continue;
            };
            if is_listed {
                self.strike(job.metadata.uid.as_ref());
                let text = format!("Saw completed job: {name}, condition: {}", end.type_);
                self.notices.push(Notice::normal("SawCompletedJob", text));
            }
            if end.type_ == "Complete" {
                let completed = job
                    .status
                    .as_ref()
                    .and_then(|status| status.completion_time.clone());
                let last = &mut self.status.last_successful_time;
                *last = completed.max(last.take());
            }
        }
        let missing: Vec<ObjectReference> = self
            .active()
            .filter(|active| !jobs.iter().any(|job| job.metadata.uid == active.uid))
            .cloned()
            .collect();
        for job in missing {
            let text = format!("Active job went missing: {}", job.name.unwrap_or_default());
            self.notices.push(Notice::normal("MissingJob", text));
            self.strike(job.uid.as_ref());
        }
    }

    fn schedule(&mut self, cron_job: &CronJob, spec: &CronJobSpec, now: Timestamp) {
        let Some(zone) = spec
            .time_zone
            .as_deref()
            .map_or(Some(TimeZone::UTC), timetable::zone)
        else {
            let name = spec.time_zone.as_deref().unwrap_or_default();
            let text = format!("invalid timeZone: {name:?}: unknown time zone {name}");
            self.notices.push(Notice::warning("UnknownTimeZone", text));
            return;
        };
        if spec.suspend == Some(true) {
            return;
        }
        let schedule = &spec.schedule;
        if schedule.contains("TZ") {
            let text = format!(
                "CRON_TZ or TZ used in schedule {schedule:?} is not officially supported, see \
                 https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
            );
            self.notices.push(Notice::warning("UnsupportedSchedule", text));
        }
        match Timetable::read(schedule, zone) {
            Ok(table) => self.start_if_due(cron_job, spec, &table, now),
            Err(error) => {
                let text = format!("unparseable schedule: {schedule:?} : {error}");
                self.notices.push(Notice::warning("UnparseableSchedule", text));
            }
        }
    }

    fn start_if_due(&mut self, cron_job: &CronJob, spec: &CronJobSpec, table: &Timetable, now: Timestamp) {
        let due = match missed::due(cron_job, table, now) {
            Ok(due) => due,
            Err(error) => {
                let text = format!("invalid schedule: {} : {error}", spec.schedule);
                self.notices.push(Notice::warning("InvalidSchedule", text));
                return;
            }
        };
        let mut last = missed::last_start(cron_job);
        if let Some(at) = due.at {
            if due.missed == Missed::Many {
                let text = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
                self.notices.push(Notice::warning("TooManyMissedTimes", text));
            }
            if self.may_start(cron_job, spec, at, now) {
                self.start = Some(at);
                last = at;
            }
        }
        self.next = missed::until_next(last, table, now).map_or(Next::Wait, Next::After);
    }

    fn may_start(&mut self, cron_job: &CronJob, spec: &CronJobSpec, at: Timestamp, now: Timestamp) -> bool {
        let lateness = now.duration_since(at);
        let deadline = spec
            .starting_deadline_seconds
            .map(jiff::SignedDuration::from_secs);
        if deadline.is_some_and(|deadline| lateness > deadline) {
            let time = at.strftime("%a, %d %b %Y %H:%M:%S +0000");
            let text = format!("Missed scheduled time to start a job: {time}");
            self.notices.push(Notice::warning("MissSchedule", text));
            return false;
        }
        let name = make::name(cron_job, at);
        let was_started = self.active().any(|active| active.name.as_ref() == Some(&name))
            || self.status.last_schedule_time.as_ref() == Some(&Time(at));
        if was_started {
            return false;
        }
        match spec.concurrency_policy.as_deref() {
            Some("Forbid") if self.active().next().is_some() => {
                let text =
                    "Not starting job because prior execution is running and concurrency policy is Forbid";
                self.notices.push(Notice::normal("JobAlreadyActive", text));
                false
            }
            Some("Replace") => {
                self.replace = self.active().cloned().collect();
                true
            }
            _ => true,
        }
    }

    fn active(&self) -> impl Iterator<Item = &ObjectReference> {
        self.status.active.iter().flatten()
    }

    fn strike(&mut self, uid: Option<&String>) {
        strike(&mut self.status, uid);
    }
}

/// Takes a job off the list of running ones.
pub(crate) fn strike(status: &mut CronJobStatus, uid: Option<&String>) {
    let active = status.active.take().unwrap_or_default();
    let left: Vec<ObjectReference> = active.into_iter().filter(|job| job.uid.as_ref() != uid).collect();
    status.active = (!left.is_empty()).then_some(left);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;

    const NOW: &str = "2026-01-05T10:00:30Z";

    fn cron_job(spec: Value, status: Value) -> CronJob {
        let mut cron_job = json!({
            "metadata": {"name": "tick", "namespace": "n", "uid": "c", "creationTimestamp": "2026-01-05T09:59:10Z"},
            "spec": {"schedule": "* * * * *", "jobTemplate": {}},
            "status": status,
        });
        for (name, value) in spec.as_object().unwrap() {
            cron_job["spec"][name] = value.clone();
        }
        serde_json::from_value(cron_job).unwrap()
    }

    fn job(name: &str, end: Option<&str>, second: u32) -> Arc<Job> {
        let conditions: Vec<Value> = end
            .map(|end| json!({"type": end, "status": "True"}))
            .into_iter()
            .collect();
        let time = format!("2026-01-05T09:00:{second:02}Z");
        Arc::new(
            serde_json::from_value(json!({
                "metadata": {"name": name, "uid": name},
                "status": {"conditions": conditions, "startTime": time, "completionTime": time},
            }))
            .unwrap(),
        )
    }

    fn running(names: &[&str]) -> Value {
        let active: Vec<Value> = names
            .iter()
            .map(|name| json!({"name": name, "uid": name}))
            .collect();
        json!({ "active": active })
    }

    fn check(spec: Value, status: Value, jobs: &[Arc<Job>]) -> Plan {
        plan(&cron_job(spec, status), jobs, NOW.parse().unwrap())
    }

    fn reasons(plan: &Plan) -> Vec<&str> {
        plan.notices.iter().map(|notice| notice.reason.as_str()).collect()
    }

    fn start(plan: &Plan) -> Option<String> {
        plan.start.map(|at| at.to_string())
    }

    #[test]
    fn a_job_is_started_when_its_time_comes_and_the_next_is_awaited() {
        let plan = check(json!({}), json!({}), &[]);
        assert_eq!(start(&plan).as_deref(), Some("2026-01-05T10:00:00Z"));
        assert_eq!(plan.next, Next::After(Duration::from_millis(30_100)));
        assert!(plan.notices.is_empty());
    }

    #[test]
    fn a_job_is_started_once() {
        let last = json!({"lastScheduleTime": "2026-01-05T10:00:00Z"});
        let plan = check(json!({}), last, &[]);
        assert_eq!(
            (start(&plan), plan.next),
            (None, Next::After(Duration::from_millis(30_100)))
        );
        // The same job, already made, before a crash kept its time from being written down.
        let name = format!("tick-{}", 29_460_120);
        let status = running(&[&name]);
        assert_eq!(start(&check(json!({}), status, &[job(&name, None, 0)])), None);
    }

    #[test]
    fn nothing_starts_while_suspended_or_leaving_or_without_a_time_zone() {
        assert_eq!(start(&check(json!({"suspend": true}), json!({}), &[])), None);
        let plan = check(json!({"timeZone": "Mars/Base"}), json!({}), &[]);
        assert_eq!((start(&plan), reasons(&plan)), (None, vec!["UnknownTimeZone"]));
        let mut leaving = cron_job(json!({}), json!({}));
        leaving.metadata.deletion_timestamp = serde_json::from_value(json!(NOW)).unwrap();
        assert_eq!(start(&plan_at(&leaving)), None);
    }

    fn plan_at(cron_job: &CronJob) -> Plan {
        plan(cron_job, &[], NOW.parse().unwrap())
    }

    #[test]
    fn a_running_job_forbids_or_gives_way_or_stays() {
        let with = |policy: &str| {
            let spec = json!({ "concurrencyPolicy": policy });
            check(spec, running(&["a"]), &[job("a", None, 0)])
        };
        let forbid = with("Forbid");
        assert_eq!(
            (start(&forbid), reasons(&forbid)),
            (None, vec!["JobAlreadyActive"])
        );
        let replace = with("Replace");
        assert!(replace.start.is_some() && replace.replace[0].name.as_deref() == Some("a"));
        let allow = with("Allow");
        assert!(allow.start.is_some() && allow.replace.is_empty());
    }

    #[test]
    fn a_start_that_would_be_too_late_is_missed() {
        let plan = check(json!({"startingDeadlineSeconds": 20}), json!({}), &[]);
        assert_eq!(start(&plan), None);
        let plan = check(json!({"startingDeadlineSeconds": 31}), json!({}), &[]);
        assert!(plan.start.is_some());
    }

    #[test]
    fn many_missed_times_are_told_and_the_last_is_started() {
        let plan = check(
            json!({}),
            json!({"lastScheduleTime": "2026-01-05T08:00:00Z"}),
            &[],
        );
        assert_eq!(reasons(&plan), ["TooManyMissedTimes"]);
        assert_eq!(start(&plan).as_deref(), Some("2026-01-05T10:00:00Z"));
    }

    #[test]
    fn the_list_of_running_jobs_follows_them() {
        let jobs = [
            job("done", Some("Complete"), 5),
            job("runs", None, 6),
            job("strange", None, 7),
        ];
        let plan = check(json!({}), running(&["done", "runs", "gone"]), &jobs);
        let active: Vec<_> = plan.active().filter_map(|job| job.name.as_deref()).collect();
        assert_eq!(active, ["runs"]);
        assert_eq!(reasons(&plan), ["SawCompletedJob", "UnexpectedJob", "MissingJob"]);
        let texts: Vec<_> = plan.notices.iter().map(|notice| notice.text.as_str()).collect();
        assert_eq!(texts[0], "Saw completed job: done, condition: Complete");
        assert_eq!(texts[2], "Active job went missing: gone");
        assert_eq!(
            plan.status.last_successful_time,
            jobs[0].status.as_ref().unwrap().completion_time
        );
    }

    #[test]
    fn the_oldest_finished_jobs_are_forgotten_each_sort_by_its_own_limit() {
        let jobs = [
            job("c", Some("Complete"), 3),
            job("a", Some("Complete"), 1),
            job("b", Some("Complete"), 2),
            job("f", Some("Failed"), 0),
            job("r", None, 0),
        ];
        let spec = json!({"successfulJobsHistoryLimit": 1, "failedJobsHistoryLimit": 1});
        let plan = check(spec, running(&["a", "r"]), &jobs);
        let forgotten: Vec<_> = plan
            .forget
            .iter()
            .filter_map(|job| job.metadata.name.as_deref())
            .collect();
        assert_eq!(forgotten, ["a", "b"]);
        assert_eq!(plan.active().count(), 1);
        assert!(check(json!({}), json!({}), &jobs).forget.is_empty());
    }

    #[test]
    fn a_schedule_that_says_nothing_is_told() {
        let reasons = |schedule: &str| {
            let plan = check(json!({ "schedule": schedule }), json!({}), &[]);
            plan.notices
                .into_iter()
                .map(|notice| notice.text)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            reasons("often")[0],
            "unparseable schedule: \"often\" : expected exactly 5 fields, found 1: [often]"
        );
        assert_eq!(
            reasons("0 0 31 2 *")[0],
            "invalid schedule: 0 0 31 2 * : time difference between two schedules is less than 1 second"
        );
    }
}
