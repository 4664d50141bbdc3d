//! Jobs that Kueue holds back: the queue's own words say what they wait for.

use serde_json::Value;

use super::causes::{Cause, Class};
use crate::jobs::{
    job::{Job, text},
    queue,
};

/// The queue that a job waits in, if it waits in one.
pub(super) fn of(job: &Job) -> Option<&str> {
    let waits = job.object["spec"]["runPolicy"]["suspend"] == true && !job.state().has_ended();
    queue::of(job).filter(|_| waits)
}

/// Why a job has to stand there. The workload is what Kueue has made of it, if it has.
pub(super) fn cause(
    queue: &str,
    job: &str,
    workload: Option<&Value>,
    command: &dyn Fn(&str) -> String,
) -> Cause {
    let resume = command(&format!("resume {job}"));
    let held = |what: String, advice: String| Cause::new(Class::Held, what).advise(advice);
    let Some(workload) = workload else {
        return held(
            format!("it waits in the queue `{queue}`, of which Kueue has not taken notice"),
            format!(
                "see whether Kueue runs there and looks after jobs of this kind; `{resume}` does without it"
            ),
        );
    };
    if workload["spec"]["active"] == false {
        return held(
            format!("it was taken out of the queue `{queue}`"),
            format!("`{resume}` puts it back"),
        );
    }
    let what = match words(workload).as_slice() {
        [] => format!("it waits in the queue `{queue}`"),
        words => format!("it waits in the queue `{queue}`: {}", words.join("; ")),
    };
    let look = command("ps -A");
    held(
        what,
        format!("it goes on by itself when there is room in the queue; `{look}` shows what runs"),
    )
}

/// Why it had to leave its place, and the first thing on the way to the next that is not so yet.
fn words(workload: &Value) -> Vec<&str> {
    let find = |name: &str, status: &str| {
        let conditions = workload["status"]["conditions"].as_array()?;
        let mut found = conditions.iter();
        found.find(|condition| condition["type"] == name && condition["status"] == status)
    };
    // It stands in the queue again: that it was taken out of it is over.
    let evicted = find("Evicted", "True").filter(|why| !text(&why["reason"]).starts_with("Deactivated"));
    let missing = find("QuotaReserved", "False").or_else(|| find("Admitted", "False"));
    let told = [evicted, missing].into_iter().flatten();
    let mut words: Vec<&str> = told.map(|condition| text(&condition["message"])).collect();
    words.retain(|words| !words.is_empty());
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use resources::kinds;
    use serde_json::json;

    use super::*;

    fn what(workload: Option<&Value>) -> String {
        cause("lab", "digits", workload, &|words| format!("trainyard {words}")).what
    }

    fn workload(conditions: &[(&str, &str, &str)]) -> Value {
        let conditions = conditions
            .iter()
            .map(|(name, status, message)| json!({"type": name, "status": status, "message": message}));
        json!({"status": {"conditions": conditions.collect::<Value>()}})
    }

    #[test]
    fn the_words_of_the_queue_are_told() {
        let waits = ("QuotaReserved", "False", "insufficient unused quota for cpu");
        assert_eq!(
            what(Some(&workload(&[waits]))),
            "it waits in the queue `lab`: insufficient unused quota for cpu"
        );
        let evicted = ("Evicted", "True", "Preempted by another");
        assert_eq!(
            what(Some(&workload(&[waits, evicted]))),
            "it waits in the queue `lab`: Preempted by another; insufficient unused quota for cpu"
        );
        assert_eq!(
            what(Some(&workload(&[evicted, ("QuotaReserved", "False", evicted.2)]))),
            "it waits in the queue `lab`: Preempted by another"
        );
        assert_eq!(what(Some(&workload(&[]))), "it waits in the queue `lab`");
        assert_eq!(
            what(None),
            "it waits in the queue `lab`, of which Kueue has not taken notice"
        );
    }

    #[test]
    fn who_was_taken_out_of_the_queue_does_not_wait_in_it() {
        let evicted = ("Evicted", "True", "The workload is deactivated");
        let mut found = workload(&[evicted, ("QuotaReserved", "False", "insufficient quota")]);
        found["status"]["conditions"][0]["reason"] = json!("DeactivatedByUser");
        found["spec"] = json!({"active": false});
        assert_eq!(what(Some(&found)), "it was taken out of the queue `lab`");
        found["spec"]["active"] = json!(true);
        assert_eq!(
            what(Some(&found)),
            "it waits in the queue `lab`: insufficient quota"
        );
    }

    #[test]
    fn a_job_waits_in_a_queue_while_it_is_suspended() {
        let job = |labels: Value, suspend: bool| Job {
            kind: &kinds::PYTORCH_JOB,
            object: json!({"metadata": {"labels": labels}, "spec": {"runPolicy": {"suspend": suspend}}}),
        };
        assert_eq!(
            of(&job(json!({"kueue.x-k8s.io/queue-name": "lab"}), true)),
            Some("lab")
        );
        assert_eq!(of(&job(json!({"kueue.x-k8s.io/queue-name": "lab"}), false)), None);
        assert_eq!(of(&job(json!({}), true)), None);
    }
}
