//! The phase of a pod, by the rules of the kubelet.

use k8s_openapi::api::core::v1::{Container, Pod};

use super::{
    ending::Ending,
    record::{Record, Records, State},
    roles::{self, Restart},
};

#[derive(Default)]
struct Count {
    waiting: usize,
    running: usize,
    stopped: usize,
    succeeded: usize,
}

pub(crate) fn phase(pod: &Pod, records: &Records, ending: Option<&Ending>) -> &'static str {
    if matches!(ending, Some(Ending::TooLong | Ending::InitFailed)) {
        return "Failed";
    }
    let count = count(roles::work(pod), records);
    if matches!(ending, Some(Ending::Evicted(_))) && count.running == 0 {
        return "Failed";
    }
    let has_begun = count.running + count.stopped > 0;
    if !has_begun && is_initializing(pod, records) || count.waiting > 0 {
        return "Pending";
    }
    if count.running > 0 {
        return "Running";
    }
    if count.stopped == 0 {
        return "Pending";
    }
    // Somebody's deletion ends it whatever the policy says.
    let is_over = matches!(ending, Some(Ending::Deleted { .. }));
    match Restart::of(roles::spec(pod)) {
        Restart::Always if !is_over => "Running",
        _ if count.succeeded == count.stopped => "Succeeded",
        Restart::OnFailure if !is_over => "Running",
        _ => "Failed",
    }
}

fn is_initializing(pod: &Pod, records: &Records) -> bool {
    roles::init(pod).iter().any(|container| {
        let record = records.get(&container.name);
        if roles::is_sidecar(container) {
            !record.is_some_and(Record::is_up)
        } else {
            !record.is_some_and(Record::has_succeeded)
        }
    })
}

fn count(containers: &[Container], records: &Records) -> Count {
    let mut count = Count::default();
    for container in containers {
        let record = records.get(&container.name);
        match record.map(|record| &record.state) {
            Some(State::Running { .. } | State::Stopping { .. }) => count.running += 1,
            Some(State::Ended(ended)) => {
                count.stopped += 1;
                count.succeeded += usize::from(ended.exit_code == 0);
            }
            // It ran before and will again: for the phase it has stopped.
            Some(_) if record.is_some_and(|record| record.previous.is_some()) => count.stopped += 1,
            _ => count.waiting += 1,
        }
    }
    count
}
