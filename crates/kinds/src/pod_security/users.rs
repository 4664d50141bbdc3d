//! Who the processes of a container run as: nobody runs as root.

use super::{
    Violation,
    subject::{Subject, in_context},
    wording::containers,
};

pub(super) fn run_as_non_root(pod: &Subject<'_>) -> Option<Violation> {
    const FIELD: &[&str] = &["runAsNonRoot"];
    let violation = |detail| Some(Violation::new("runAsNonRoot != true", detail));
    let setters = pod.setters(FIELD, |value| *value == false);
    if !setters.is_empty() {
        let setters = setters.join(" and ");
        return violation(format!(
            "{setters} must not set securityContext.runAsNonRoot=false"
        ));
    }
    if *in_context(pod.spec, FIELD) == true {
        return None;
    }
    let silent = pod.containers_where(|container| in_context(container, FIELD).is_null());
    if silent.is_empty() {
        return None;
    }
    let silent = containers(&silent);
    violation(format!(
        "pod or {silent} must set securityContext.runAsNonRoot=true"
    ))
}

pub(super) fn run_as_user(pod: &Subject<'_>) -> Option<Violation> {
    let setters = pod.setters(&["runAsUser"], |value| *value == 0);
    (!setters.is_empty()).then(|| {
        let detail = format!("{} must not set runAsUser=0", setters.join(" and "));
        Violation::new("runAsUser=0", detail)
    })
}
