//! Why a job is not (yet) what its user wants it to be: one sentence, the most telling cause first.

use jiff::Timestamp;

use crate::{
    account::Account,
    job::Job,
    observed::{Observed, Phase, Pod},
};

/// The short name of a pod: what distinguishes it within its job.
pub(crate) fn short_name<'a>(job: &Job, pod: &'a str) -> &'a str {
    pod.strip_prefix(job.name())
        .and_then(|rest| rest.strip_prefix('-'))
        .unwrap_or(pod)
}

/// How a pod ended: `worker-7 exit 137, OOMKilled: last line`.
pub(crate) fn ending(job: &Job, pod: &Pod) -> String {
    let name = short_name(job, &pod.name);
    let container = job.kind.container;
    if let Some(exit) = pod.exit(container).filter(|exit| exit.code != 0) {
        let reason = if ["", "Error"].contains(&exit.reason.as_str()) {
            String::new()
        } else {
            format!(", {}", exit.reason)
        };
        return format!(
            "{name} exit {}{reason}{}",
            exit.code,
            quoted(last_line(&exit.message))
        );
    }
    match (pod.reason.as_str(), pod.is_disrupted) {
        ("", true) => format!("{name} disrupted{}", quoted(&pod.message)),
        ("", false) => format!("{name} failed{}", quoted(&pod.message)),
        (reason, _) => format!("{name} {reason}{}", quoted(&pod.message)),
    }
}

/// What could not be made of a job.
pub(crate) fn refused(job: &Job, observed: &Observed) -> Option<String> {
    let refusal = observed.refusals.first()?;
    Some(format!("{}: {}", short_name(job, &refusal.name), refusal.message))
}

/// What a job waits for; nothing when all its pods run or have done their work.
pub(crate) fn waiting(job: &Job, account: &Account<'_>) -> Option<String> {
    let unfinished = || {
        account
            .pods()
            .filter(|pod| pod.phase == Phase::Pending || pod.waiting.is_some())
    };
    let stuck = unfinished().find_map(|pod| {
        let (reason, message) = pod.waiting.as_ref()?;
        let name = short_name(job, &pod.name);
        let end = pod.exits.iter().find(|exit| exit.code != 0);
        let end = end.map(|exit| format!(" after exit {}{}", exit.code, quoted(last_line(&exit.message))));
        Some(match end {
            Some(end) => format!("{name}: {reason}{end}"),
            None => format!("{name}: {reason}{}", quoted(message)),
        })
    });
    let unplaced = || {
        unfinished().find_map(|pod| {
            let message = pod.unscheduled.as_deref().filter(|message| !message.is_empty())?;
            Some(format!("{}: {message}", short_name(job, &pod.name)))
        })
    };
    let gathering = || {
        let is_pending = |pod: &Pod| pod.phase == Phase::Pending;
        let there: i32 = account.roles.iter().map(|role| role.active() + role.done()).sum();
        account
            .pods()
            .any(is_pending)
            .then(|| format!("{there} of {} pods run", job.total()))
    };
    stuck.or_else(unplaced).or_else(gathering)
}

/// The same of a job one of whose pods hangs on a node that does not answer.
pub(crate) fn lost(job: &Job, pod: &Pod, given_up: Timestamp) -> String {
    let name = short_name(job, &pod.name);
    format!("{name}: its node has not said that it has stopped; it is given up at {given_up:.0}")
}

/// The same of a job whose pods are not made before their group is let in.
pub(crate) fn queued(pods: usize, group: &str) -> String {
    format!("{pods} pods wait for Volcano to let PodGroup {group} in")
}

fn quoted(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(": {text}")
    }
}

/// The last line that says something: many programs end with a ruled one.
fn last_line(text: &str) -> &str {
    let says = |line: &&str| line.contains(char::is_alphanumeric);
    text.lines().rfind(says).unwrap_or_default().trim()
}
