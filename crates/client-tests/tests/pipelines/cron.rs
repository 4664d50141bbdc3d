//! Workflows that begin by the clock.

use client_tests::team::{Team, names};

use crate::until_ended;

/// One that was due before it was seen begins at once, one time, and is counted.
pub(crate) fn due_workflows_begin_once(team: &Team<'_>) {
    team.ok("create -f - <<'END'
apiVersion: argoproj.io/v1alpha1
kind: CronWorkflow
metadata: {name: nightly}
spec:
  schedules: ['0 3 1 1 *']
  timezone: Europe/Berlin
  concurrencyPolicy: Forbid
  workflowMetadata: {labels: {made-by: clock}}
  workflowSpec:
    entrypoint: main
    templates:
    - name: main
      container: {image: host, command: [echo, '{{workflow.scheduledTime}}']}
status: {lastScheduledTime: '2020-06-01T00:00:00Z'}
END");
    let workflows = team.until("workflows", |workflows| names(workflows).len() == 1);
    let name = names(&workflows).remove(0);
    assert!(name.starts_with("nightly-"), "{name}");
    let workflow = until_ended(team, &name, "Succeeded");
    let meta = &workflow["metadata"];
    assert_eq!(meta["labels"]["workflows.argoproj.io/cron-workflow"], "nightly");
    assert_eq!(meta["labels"]["made-by"], "clock");
    assert_eq!(meta["ownerReferences"][0]["kind"], "CronWorkflow");
    let cron = team.until("cronworkflows/nightly", |cron| cron["status"]["succeeded"] == 1);
    assert_eq!(
        cron["status"]["active"].as_array().map(Vec::len),
        Some(0),
        "{:#}",
        cron["status"]
    );
    assert_eq!(names(&team.find("workflows")), [name]);
    // A schedule that cannot be read is told.
    team.ok("patch cronworkflow nightly --type merge -p '{\"spec\": {\"schedules\": [\"every day\"]}}'");
    let wrong = team.until("cronworkflows/nightly", |cron| {
        cron["status"]["conditions"][0]["type"] == "SpecError"
    });
    let message = wrong["status"]["conditions"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("spec.schedules[0]"), "{message}");
}
