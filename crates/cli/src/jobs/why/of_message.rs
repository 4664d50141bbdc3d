//! Causes that nobody but the operator knows: it says in the job's status what the job waits for.

use resources::conditions::{FAILED, FAILED_VALIDATION};

use super::causes::{Cause, Class};
use crate::jobs::job::{Job, State, text};

/// Before what a job waits for stands what became of it, if anything did.
const NOW: &str = "; now ";

/// How servers begin to say why they do not make something.
const REFUSALS: [&str; 3] = [" is forbidden: ", " is invalid: ", " denied the request"];

pub(super) fn causes(job: &Job) -> Vec<Cause> {
    if job.state().has_ended() {
        return Vec::new();
    }
    doubt(job).into_iter().chain(waiting(job)).collect()
}

/// What the operator says that the job waits for; nothing where it has all it needs.
pub(super) fn waits_for(job: &Job) -> &str {
    let detail = job.detail();
    match detail.split_once(NOW) {
        Some((_, now)) => now,
        None if job.state() == State::Restarting || detail.starts_with("restart ") => "",
        None => detail,
    }
}

/// A specification that was made invalid when the job had begun. That is no state, and so not its last condition.
fn doubt(job: &Job) -> Option<Cause> {
    let doubt = job.conditions().find(|condition| {
        condition["type"] == FAILED
            && condition["status"] == "False"
            && text(&condition["reason"]).ends_with(FAILED_VALIDATION)
    })?;
    let message = text(&doubt["message"]);
    let findings = message
        .split_once(" because ")
        .map_or(message, |(_, findings)| findings);
    let what = format!(
        "its specification is not valid any more; what runs goes on, and nothing more is made of it: {findings}"
    );
    let advice = "correct the manifest and apply it again; `trainyard render -f FILE` checks it";
    Some(Cause::new(Class::Refused, what).advise(advice))
}

fn waiting(job: &Job) -> Option<Cause> {
    let waits = waits_for(job);
    if let Some((_, group)) = waits.split_once(" wait for Volcano to let PodGroup ") {
        let advice = format!(
            "Volcano lets it in when its queue has room: `kubectl describe podgroups.scheduling.volcano.sh {} -n {}` and `kubectl get queues.scheduling.volcano.sh` say more",
            group.strip_suffix(" in").unwrap_or(group),
            job.namespace()
        );
        return Some(Cause::new(Class::Held, waits).advise(advice));
    }
    if waits.contains("its node has not said that it has stopped") {
        let (who, what) = waits.split_once(": ")?;
        let advice = "the job goes on by itself then, or when the node answers; a machine that is gone for good is let go at once by `kubectl delete node NAME`";
        return Some(Cause::new(Class::Held, what).of(who).advise(advice));
    }
    if waits.contains(" already exists and is not managed by ") {
        let advice = "it is another's: remove it if it is not needed, or give the job another name";
        return Some(Cause::new(Class::Refused, waits).advise(advice));
    }
    // Quotas are told with their numbers.
    let is_refused = REFUSALS.iter().any(|words| waits.contains(words));
    (is_refused && !waits.contains("exceeded quota")).then(|| {
        let what = format!("the cluster refuses what it is made of: {waits}");
        Cause::new(Class::Refused, what).advise(
            "the words of the server say what has to be different: in the manifest, in the policies of the namespace or in the rights of the operator",
        )
    })
}

#[cfg(test)]
mod tests {
    use resources::kinds;
    use serde_json::{Value, json};

    use super::*;

    fn job(conditions: Value) -> Job {
        Job {
            kind: &kinds::TF_JOB,
            object: json!({
                "metadata": {"name": "digits", "namespace": "lab"},
                "status": {"conditions": conditions},
            }),
        }
    }

    fn saying(state: &str, message: &str) -> Job {
        job(json!([{"type": state, "status": "True", "message": format!("TFJob digits is {message}")}]))
    }

    #[track_caller]
    fn check(job: &Job, expected: &[(Class, &str, &str)]) {
        let causes = causes(job);
        let told: Vec<(Class, String, &str)> = causes
            .iter()
            .map(|cause| (cause.class, cause.who.join(","), cause.what.as_str()))
            .collect();
        let told: Vec<(Class, &str, &str)> = told
            .iter()
            .map(|(class, who, what)| (*class, who.as_str(), *what))
            .collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn what_the_operator_says_that_a_job_waits_for_is_a_cause() {
        let queued = "3 pods wait for Volcano to let PodGroup digits in";
        check(
            &saying("Created", &format!("created. {queued}")),
            &[(Class::Held, "", queued)],
        );
        let lost = "its node has not said that it has stopped; it is given up at 2026-01-01T00:05:00Z";
        check(
            &saying(
                "Restarting",
                &format!(
                    "restarting because 1 Worker replica(s) failed. restart 1 of 3: worker-0 NodeLost; now worker-0: {lost}"
                ),
            ),
            &[(Class::Held, "worker-0", lost)],
        );
        let taken = "Resource \"digits-worker-0\" of Kind \"Pod\" already exists and is not managed by TFJob";
        check(
            &saying(
                "Running",
                &format!("running. restart 1: worker-0 exit 3; now {taken}"),
            ),
            &[(Class::Refused, "", taken)],
        );
        check(
            &saying(
                "Created",
                "created. digits: roles \"digits\" is forbidden: no right",
            ),
            &[(
                Class::Refused,
                "",
                "the cluster refuses what it is made of: digits: roles \"digits\" is forbidden: no right",
            )],
        );
    }

    #[test]
    fn a_job_that_gathers_its_pods_or_was_restarted_is_in_nobodys_way() {
        check(&saying("Created", "created. 3 of 4 pods run"), &[]);
        check(
            &saying("Running", "running. restart 1: pods \"a\" is forbidden: no"),
            &[],
        );
        check(
            &saying("Failed", "failed because pods \"a\" is forbidden: no"),
            &[],
        );
    }

    #[test]
    fn a_specification_that_became_invalid_is_refused_though_the_job_runs() {
        let doubted = job(json!([
            {"type": "Failed", "status": "False", "reason": "TFJobFailedValidation",
             "message": "TFJob failed validation because spec: no"},
            {"type": "Created", "status": "True"},
            {"type": "Running", "status": "True", "message": "TFJob digits is running."},
        ]));
        let what = "its specification is not valid any more; what runs goes on, and nothing more is made of it: spec: no";
        check(&doubted, &[(Class::Refused, "", what)]);
    }
}
