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
pub(super) fn cause(queue: &str, workload: Option<&Value>, command: &dyn Fn(&str) -> String) -> Cause {
    let Some(workload) = workload else {
        let what = format!("it waits in the queue `{queue}`, of which Kueue has not taken notice");
        return Cause::new(Class::Held, what)
            .advise("see whether Kueue runs there and looks after jobs of this kind");
    };
    let words = [told(workload, "Evicted", true), waits_for(workload)];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    let what = match words.as_slice() {
        [] => format!("it waits in the queue `{queue}`"),
        words => format!("it waits in the queue `{queue}`: {}", words.join("; ")),
    };
    Cause::new(Class::Held, what).advise(format!(
        "it goes on by itself when there is room in the queue; `{}` shows what runs",
        command("ps")
    ))
}

/// The first thing on the way to its pods that is not so yet.
fn waits_for(workload: &Value) -> Option<&str> {
    let steps = ["QuotaReserved", "Admitted"];
    steps.into_iter().find_map(|step| told(workload, step, false))
}

/// What is said of a condition that stands like this.
fn told<'w>(workload: &'w Value, name: &str, is_so: bool) -> Option<&'w str> {
    let conditions = workload["status"]["conditions"].as_array()?;
    let status = if is_so { "True" } else { "False" };
    let mut said = conditions
        .iter()
        .filter(|condition| condition["type"] == name && condition["status"] == status);
    said.next()
        .map(|condition| text(&condition["message"]))
        .filter(|message| !message.is_empty())
}

#[cfg(test)]
mod tests {
    use resources::kinds;
    use serde_json::json;

    use super::*;

    fn what(workload: Option<&Value>) -> String {
        cause("lab", workload, &|words| format!("trainyard {words}")).what
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
        assert_eq!(what(Some(&workload(&[]))), "it waits in the queue `lab`");
        assert_eq!(
            what(None),
            "it waits in the queue `lab`, of which Kueue has not taken notice"
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
