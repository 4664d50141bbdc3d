//! Work that ends: jobs, and the schedules that start them.

use serde_json::Value;

use super::{
    AGE, CONTAINERS, Column, IMAGES, NAME, SELECTOR, Table, boolean,
    duration::human_duration,
    integer,
    row::{NONE, Row, UNSET, cells, containers, count, is_condition_true, number, text_or, timestamp},
    selector::selector,
    string,
};
use crate::read::{at, get, int, text};

pub(super) static JOB: Table = Table {
    columns: &[
        NAME,
        string("Status", "How the job stands."),
        string("Completions", "Pods that succeeded, of those that must."),
        string("Duration", "Time from start to end, or until now."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cells: |row| {
        let (names, images) = containers(get(row.spec(), "template"));
        cells![
            row.name(),
            job_status(row),
            completions(row),
            running_time(row),
            row.age(),
            names,
            images,
            selector(get(row.spec(), "selector")),
        ]
    },
};

/// What ends a job comes before its deletion, what is still under way after it.
fn job_status(row: &Row<'_>) -> &'static str {
    let is = |condition: &str| is_condition_true(row.status(), condition);
    match () {
        () if is("Complete") => "Complete",
        () if is("Failed") => "Failed",
        () if row.is_deleted() => "Terminating",
        () if is("Suspended") => "Suspended",
        () if is("FailureTarget") => "FailureTarget",
        () if is("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(row: &Row<'_>) -> String {
    let succeeded = number(row.status(), "succeeded");
    match (int(row.spec(), "completions"), number(row.spec(), "parallelism")) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism @ 2..) => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

fn running_time(row: &Row<'_>) -> String {
    let Some(start) = timestamp(get(row.status(), "startTime")) else {
        return String::new();
    };
    let end = timestamp(get(row.status(), "completionTime")).unwrap_or(row.now);
    human_duration(end.duration_since(start))
}

pub(super) static CRON_JOB: Table = Table {
    columns: CRON_JOB_COLUMNS,
    cells: cron_job_cells,
};

const CRON_JOB_COLUMNS: &[Column] = &[
    NAME,
    string("Schedule", "When jobs are started, in cron syntax."),
    string("Timezone", "Time zone the schedule is read in."),
    boolean("Suspend", "Whether no more jobs are started."),
    integer("Active", "Jobs running now."),
    string("Last Schedule", "Time since a job was last started."),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

fn cron_job_cells(row: &Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let job = at(spec, &["jobTemplate", "spec"]);
    let (names, images) = containers(get(job, "template"));
    let last_schedule = match get(status, "lastScheduleTime") {
        Value::Null => NONE.to_owned(),
        time => row.since(time),
    };
    let suspend = get(spec, "suspend")
        .as_bool()
        .map_or(UNSET, |yes| if yes { "True" } else { "False" });
    cells![
        row.name(),
        text(spec, "schedule"),
        text_or(spec, "timeZone", NONE),
        suspend,
        count(status, "active"),
        last_schedule,
        row.age(),
        names,
        images,
        selector(get(job, "selector")),
    ]
}
