//! Causes that concern a job as a whole: whether it is taken, held back, looked after, and its past.

use jiff::SignedDuration;
use resources::{
    conditions::FAILED_VALIDATION,
    names::{MANAGED_BY, MPI_MANAGED_BY},
};
use serde_json::Value;

use super::{
    causes::{Cause, Class, Observed},
    observe::QUOTAS,
    of_message, of_pod, of_queue, of_task, of_workflow,
    subject::{Subject, TASK, WORKFLOW},
};
use crate::jobs::{
    job::{Job, State, text, time},
    queue,
    table::duration,
};

/// An operator takes notice of a job within moments.
const UNNOTICED: SignedDuration = SignedDuration::from_secs(3);

pub(super) const UNNOTICED_WORDS: &str = "no operator has taken notice of it";

pub(super) fn causes(observed: &Observed, command: &dyn Fn(&str) -> String) -> Vec<Cause> {
    let mut causes = Vec::new();
    match &observed.subject {
        Subject::Job(job) => of_training_job(job, observed, command, &mut causes),
        Subject::Other { kind, object } if *kind == &WORKFLOW => {
            let has_failed_pods = observed
                .pods
                .iter()
                .any(|(_, pod)| pod["status"]["phase"] == "Failed");
            causes.extend(of_workflow::causes(
                object,
                has_failed_pods,
                observed.now,
                command,
            ));
        }
        Subject::Other { kind, object } if *kind == &TASK => {
            causes.extend(of_task::causes(object, !observed.pods.is_empty(), command));
        }
        Subject::Other { object, .. } => of_other(observed, object, &mut causes),
    }
    causes.extend(refused_creation(observed));
    causes
}

fn of_training_job(
    job: &Job,
    observed: &Observed,
    command: &dyn Fn(&str) -> String,
    causes: &mut Vec<Cause>,
) {
    let latest = job
        .conditions()
        .rev()
        .find(|condition| condition["status"] == "True");
    let reason = latest.map_or("", |condition| text(&condition["reason"]));
    if reason.ends_with(FAILED_VALIDATION) {
        let cause = Cause::new(
            Class::Refused,
            format!("its specification is not valid: {}", job.detail()),
        );
        causes.push(
            cause.advise("correct the manifest and apply it again; `trainyard render -f FILE` checks it"),
        );
    }
    let policy = &job.object["spec"]["runPolicy"];
    let manager = text(&policy["managedBy"]);
    if !["", MANAGED_BY, MPI_MANAGED_BY].contains(&manager) {
        causes.push(Cause::new(
            Class::Held,
            format!("it is left to `{manager}` (spec.runPolicy.managedBy)"),
        ));
    } else if let Some(queue) = of_queue::of(job) {
        // What may not be looked at may say anything.
        let hidden = observed.has_not_seen(queue::WORKLOADS).then_some(&Value::Null);
        let workload = observed.workload.as_ref().or(hidden);
        causes.push(of_queue::cause(queue, job.name(), workload, command));
    } else if policy["suspend"] == true && !job.state().has_ended() {
        let resume = command(&format!("resume {}", job.name()));
        let cause = Cause::new(Class::Held, "it is suspended (spec.runPolicy.suspend)");
        causes.push(cause.advise(format!(
            "`{resume}` lets it go on; a queue such as Kueue does so by itself"
        )));
    } else if job.state() == State::New {
        let age = job.created().map(|created| observed.now.duration_since(created));
        if age.is_some_and(|age| age > UNNOTICED) {
            let cause = Cause::new(Class::Held, UNNOTICED_WORDS);
            causes.push(cause.advise(
                "`trainyard operator` looks after training jobs; the embedded cluster has it built in",
            ));
        }
    }
    causes.extend(of_message::causes(job));
    causes.extend(restarts(job, observed));
}

fn restarts(job: &Job, observed: &Observed) -> Option<Cause> {
    let restarts = &job.object["status"]["restarts"];
    let count = job.restarts();
    if count == 0 {
        return None;
    }
    let times = if count == 1 {
        "once".to_owned()
    } else {
        format!("{count} times")
    };
    let limit = job.object["spec"]["runPolicy"]["backoffLimit"].as_i64();
    let allowed = limit.map_or(String::new(), |limit| format!(" of {limit} allowed"));
    let mut what = format!(
        "it was restarted {times}{allowed}; last because of {}",
        text(&restarts["cause"])
    );
    let wait = time(&restarts["notBefore"]).map(|until| until.duration_since(observed.now));
    if let Some(wait) = wait.filter(|wait| !wait.is_negative() && !job.state().has_ended()) {
        what += &format!("; the next start is in {}", duration(wait));
    }
    Some(Cause::new(Class::Restarted, what))
}

fn of_other(observed: &Observed, object: &Value, causes: &mut Vec<Cause>) {
    let subject = &observed.subject;
    match subject.kind() {
        "Job" if object["spec"]["suspend"] == true => {
            causes.push(Cause::new(Class::Held, "it is suspended (spec.suspend)"));
        }
        "Job" if subject.has_failed() => {
            let condition = subject.ended_as().unwrap_or(&Value::Null);
            let what = format!("{}: {}", text(&condition["reason"]), text(&condition["message"]));
            causes.push(Cause::new(Class::Failed, what));
        }
        "PersistentVolumeClaim" if object["status"]["phase"] == "Pending" => {
            let class = text(&object["spec"]["storageClassName"]);
            causes.push(match class {
                "" => Cause::new(
                    Class::Unplaced,
                    "no volume fits it, and it names no StorageClass that would make one",
                ),
                class => of_pod::missing_class("it", class, observed).unwrap_or_else(|| {
                    let what = format!("no volume fits it, and none was made by StorageClass `{class}`");
                    Cause::new(Class::Unplaced, what)
                }),
            });
        }
        _ => {}
    }
}

/// Pods that the API does not let be made: nobody but the events and the job's message tells.
fn refused_creation(observed: &Observed) -> Option<Cause> {
    let events = observed.events.iter().filter(|event| {
        let about = text(&event["involvedObject"]["uid"]);
        let uid = |object: &Value| text(&object["metadata"]["uid"]) == about;
        uid(observed.subject.object()) || observed.between.iter().any(uid)
    });
    let own = observed.subject.message();
    let messages = events.map(|event| text(&event["message"]));
    let is_quota = |message: &&str| message.contains("exceeded quota");
    let message = std::iter::once(own.as_str()).chain(messages).find(is_quota)?;
    if observed.subject.has_succeeded() {
        return None;
    }
    let cause = Cause::new(
        Class::Refused,
        format!("the quota of the namespace is used up: {message}"),
    );
    Some(cause.advise(format!(
        "wait for others to end, ask for less, or raise the quota ({})",
        if observed.has_not_seen(QUOTAS) {
            "its numbers may not be looked at".to_owned()
        } else {
            quotas(&observed.quotas)
        }
    )))
}

/// `pods: 4 of 4, requests.cpu: 7 of 8`.
fn quotas(quotas: &[Value]) -> String {
    let lines = quotas.iter().flat_map(|quota| {
        let hard = quota["status"]["hard"].as_object().into_iter().flatten();
        hard.map(|(name, limit)| {
            let used = text(&quota["status"]["used"][name]);
            format!(
                "{}: {name} {used} of {}",
                text(&quota["metadata"]["name"]),
                text(limit)
            )
        })
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        "none is there any more".to_owned()
    } else {
        lines.join(", ")
    }
}
