//! The jobs a CronJob makes.

use jiff::{Timestamp, tz::TimeZone};
use k8s_openapi::{
    api::batch::v1::{CronJob, Job},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kinds::workloads::timetable;
use kube::Resource as _;

const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// One name for one time, so that no job is started twice for it.
pub(crate) fn name(cron_job: &CronJob, at: Timestamp) -> String {
    let name = cron_job.metadata.name.as_deref().unwrap_or_default();
    format!("{name}-{}", at.as_second() / 60)
}

pub(crate) fn job(cron_job: &CronJob, at: Timestamp) -> Job {
    let spec = cron_job.spec.as_ref();
    let template = spec.map(|spec| spec.job_template.clone()).unwrap_or_default();
    let meta = template.metadata.unwrap_or_default();
    let zone = spec
        .and_then(|spec| spec.time_zone.as_deref())
        .and_then(timetable::zone);
    let mut annotations = meta.annotations.unwrap_or_default();
    annotations.insert(SCHEDULED.to_owned(), written(at, zone.unwrap_or(TimeZone::UTC)));
    let owner = OwnerReference {
        block_owner_deletion: Some(true),
        ..cron_job.controller_owner_ref(&()).unwrap_or_default()
    };
    Job {
        metadata: ObjectMeta {
            name: Some(name(cron_job, at)),
            labels: meta.labels,
            annotations: Some(annotations),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        spec: template.spec,
        status: None,
    }
}

/// `2026-01-05T09:00:00+01:00`, or with a `Z` where the clock shows universal time.
fn written(at: Timestamp, zone: TimeZone) -> String {
    let local = at.to_zoned(zone);
    let format = if local.offset().is_zero() {
        "%Y-%m-%dT%H:%M:%SZ"
    } else {
        "%Y-%m-%dT%H:%M:%S%:z"
    };
    local.strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_is_named_after_its_minute_and_says_its_time() {
        let mut cron_job: CronJob = serde_json::from_value(json!({
            "metadata": {"name": "tick", "uid": "u"},
            "spec": {"schedule": "0 9 * * *", "timeZone": "Europe/Berlin", "jobTemplate": {
                "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
                "spec": {"parallelism": 2, "template": {}},
            }},
        }))
        .unwrap();
        let at: Timestamp = "2026-01-05T08:00:00Z".parse().unwrap();
        let made = job(&cron_job, at);
        assert_eq!(made.metadata.name.as_deref(), Some("tick-29460000"));
        assert_eq!(made.metadata.labels.unwrap()["a"], "b");
        let annotations = made.metadata.annotations.unwrap();
        assert_eq!(
            (annotations["c"].as_str(), annotations[SCHEDULED].as_str()),
            ("d", "2026-01-05T09:00:00+01:00")
        );
        assert_eq!(made.spec.unwrap().parallelism, Some(2));
        let owner = &made.metadata.owner_references.unwrap()[0];
        assert_eq!((owner.kind.as_str(), owner.controller), ("CronJob", Some(true)));

        cron_job.spec.as_mut().unwrap().time_zone = None;
        assert_eq!(
            job(&cron_job, at).metadata.annotations.unwrap()[SCHEDULED],
            "2026-01-05T08:00:00Z"
        );
    }
}
