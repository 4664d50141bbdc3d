//! `batch/v1` CronJob.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{NAME_USE, job, keep, prepare_for_status_update, schedule, validate_meta_update};
use crate::{
    checks::{Errors, not_negative, one_of},
    label_selector, names, object_meta,
    pods::{Options, defaults::default_text, template, warnings::hostname_warning},
    read::{at, default, flag, get, has, text},
    strategy::Strategy,
};

const CONCURRENCY_POLICIES: &[&str] = &["Allow", "Forbid", "Replace"];
/// Names of jobs get eleven more letters.
const NAME_LIMIT: usize = 52;
const TEMPLATE: &[&str] = &["spec", "jobTemplate", "spec", "template"];

pub static CRON_JOB: Strategy = Strategy {
    default: set_defaults,
    prepare_for_create: |cron_job| {
        cron_job["status"] = json!({});
        drop_disabled(cron_job, &Value::Null);
    },
    prepare_for_update: |new, old| {
        keep(new, old, "status");
        drop_disabled(new, old);
    },
    validate,
    validate_update,
    prepare_for_status_update,
    validate_status_update: |_, _, _| {},
    warnings_on_create: |cron_job| {
        let name = text(get(cron_job, "metadata"), "name");
        let mut warnings: Vec<String> = hostname_warning(name, NAME_USE).into_iter().collect();
        warnings.extend(job_warnings(cron_job));
        warnings
    },
    warnings_on_update: |new, old| {
        let mut warnings = if get(new, "spec") == get(old, "spec") {
            Vec::new()
        } else {
            job_warnings(new)
        };
        if text(get(new, "spec"), "schedule").contains("TZ") {
            warnings.push(
                "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
                    .to_owned(),
            );
        }
        warnings
    },
    name_syntax: names::dns_subdomain,
    ..Strategy::NONE
};

fn set_defaults(cron_job: &mut Value) {
    default(cron_job, "status", json!({}));
    default(cron_job, "spec", json!({}));
    let spec = &mut cron_job["spec"];
    default_text(spec, "concurrencyPolicy", "Allow");
    default(spec, "suspend", false);
    default(spec, "successfulJobsHistoryLimit", 3);
    default(spec, "failedJobsHistoryLimit", 1);
    default(spec, "jobTemplate", json!({}));
    let job_template = &mut spec["jobTemplate"];
    default(job_template, "metadata", json!({}));
    default(job_template, "spec", json!({}));
    let job_spec = &mut job_template["spec"];
    job::default_conditions(job_spec);
    default(job_spec, "template", json!({}));
    template::default(&mut job_spec["template"]);
}

fn drop_disabled(cron_job: &mut Value, old: &Value) {
    let pod_template = &mut cron_job["spec"]["jobTemplate"]["spec"]["template"];
    template::drop_disabled(pod_template, at(old, TEMPLATE));
}

fn validate(cron_job: &Value, errors: &mut Errors) {
    let (meta, path) = (get(cron_job, "metadata"), Path::new("metadata"));
    object_meta::validate(meta, true, names::dns_subdomain, &path, errors);
    validate_spec(get(cron_job, "spec"), &Value::Null, Options::NEW, errors);
    let name = text(meta, "name");
    if name.len() > NAME_LIMIT {
        let detail = format!("must be no more than {NAME_LIMIT} characters");
        errors.push(FieldError::invalid(&path.child("name"), &json!(name), detail));
    }
}

fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate_meta_update(new, old, errors);
    let options = Options::after_template(at(old, TEMPLATE));
    validate_spec(get(new, "spec"), get(old, "spec"), options, errors);
}

fn validate_spec(spec: &Value, old: &Value, options: Options, errors: &mut Errors) {
    let path = Path::new("spec");
    validate_schedule(spec, old, &path, errors);
    not_negative(spec, "startingDeadlineSeconds", &path, errors);
    let zone = get(spec, "timeZone");
    if (old.is_null() || zone != get(old, "timeZone"))
        && let Some(name) = zone.as_str()
    {
        for detail in schedule::time_zone_errors(name) {
            errors.push(FieldError::invalid(&path.child("timeZone"), zone, detail));
        }
    }
    one_of(spec, "concurrencyPolicy", CONCURRENCY_POLICIES, &path, errors);
    validate_job_template(
        get(spec, "jobTemplate"),
        options,
        &path.child("jobTemplate"),
        errors,
    );
    not_negative(spec, "successfulJobsHistoryLimit", &path, errors);
    not_negative(spec, "failedJobsHistoryLimit", &path, errors);
}

fn validate_schedule(spec: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    let written = text(spec, "schedule");
    let path = path.child("schedule");
    if written.is_empty() {
        errors.push(FieldError::required(&path, ""));
        return;
    }
    if let Err(error) = schedule::parse(written) {
        errors.push(FieldError::invalid(&path, &json!(written), error));
    }
    let had_zone = text(old, "schedule").contains("TZ");
    let detail = match (had_zone, written.contains("TZ")) {
        (true, true) if has(spec, "timeZone") => {
            "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        }
        (false, true) => "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
        _ => return,
    };
    errors.push(FieldError::invalid(&path, &json!(written), detail));
}

fn validate_job_template(job_template: &Value, options: Options, path: &Path, errors: &mut Errors) {
    let (spec, path) = (get(job_template, "spec"), path.child("spec"));
    job::validate_spec(spec, options, &path, errors);
    if has(spec, "selector") {
        let detail = "`selector` will be auto-generated";
        errors.push(label_selector::invalid(
            &path.child("selector"),
            get(spec, "selector"),
            detail,
        ));
    }
    if flag(spec, "manualSelector") {
        let choices = ["nil", "false"];
        errors.push(FieldError::not_supported(
            &path.child("manualSelector"),
            &json!(true),
            &choices,
        ));
    }
}

fn job_warnings(cron_job: &Value) -> Vec<String> {
    let path = Path::new("spec").child("jobTemplate").child("spec");
    job::spec_warnings(at(cron_job, &["spec", "jobTemplate", "spec"]), &path)
}
