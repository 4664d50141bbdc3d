//! `/v1/tasks`.

use http::Method;

use super::{
    Content::{Json, JsonOrEvents, Nothing, TextOrEvents},
    Operation as Op, Route, parameters as p,
    row::{may, row},
};
use crate::roles::{
    Resource::{Logs, Tasks},
    Verb::{Create, Delete, Get, List, Update},
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        row(
            Op::ListTasks,
            "listTasks",
            Method::GET,
            "/v1/tasks",
            may(List, Tasks),
            "List tasks, the latest first",
        )
        .with(p::namespace_or_all())
        .with(p::phase())
        .with(p::filter("task_def", "Those of this definition"))
        .with(p::filter("creator", "Those of this person"))
        .pages("TaskPage"),
        row(
            Op::CreateTask,
            "createTask",
            Method::POST,
            "/v1/tasks",
            may(Create, Tasks),
            "Submit filled values; `taskDef` names the definition",
        )
        .with(p::namespace())
        .with(p::idempotency_key())
        .with(p::ttl())
        .with(p::claims())
        .takes_body("TaskInput")
        .with(p::dry_run())
        .answers(200, Json("TaskPreview"))
        .answers(201, Json("Task"))
        .fails(&[404, 409, 410]),
        row(
            Op::GetTask,
            "getTask",
            Method::GET,
            "/v1/tasks/{task}",
            may(Get, Tasks),
            "Show a task",
        )
        .with(p::namespace())
        .with(p::if_none_match())
        .answers(200, Json("Task"))
        .answers(304, Nothing)
        .fails(&[404]),
        row(
            Op::DeleteTask,
            "deleteTask",
            Method::DELETE,
            "/v1/tasks/{task}",
            may(Delete, Tasks),
            "Delete a task and what it has made",
        )
        .with(p::namespace())
        .with(p::claims())
        .with(p::if_match(false))
        .answers(202, Json("Task"))
        .answers(204, Nothing)
        .fails(&[404, 412]),
        row(
            Op::CancelTask,
            "cancelTask",
            Method::POST,
            "/v1/tasks/{task}:cancel",
            may(Update, Tasks),
            "End a task; what it runs is stopped",
        )
        .with(p::namespace())
        .answers(202, Json("Task"))
        .fails(&[404, 409, 412]),
        row(
            Op::RetryTask,
            "retryTask",
            Method::POST,
            "/v1/tasks/{task}:retry",
            may(Update, Tasks),
            "Run a task that has ended once more, as it was submitted",
        )
        .with(p::namespace())
        .answers(202, Json("Task"))
        .fails(&[404, 409, 412]),
        row(
            Op::GetStatus,
            "getTaskStatus",
            Method::GET,
            "/v1/tasks/{task}/status",
            may(Get, Tasks),
            "The state of a task, or a stream of its states until it has ended",
        )
        .with(p::namespace())
        .with(p::last_event_id())
        .answers(200, JsonOrEvents("TaskState"))
        .fails(&[404]),
        row(
            Op::GetEvents,
            "getTaskEvents",
            Method::GET,
            "/v1/tasks/{task}/events",
            may(Get, Tasks),
            "What has happened to a task, or a stream of it until it has ended",
        )
        .with(p::namespace())
        .with(p::last_event_id())
        .answers(200, JsonOrEvents("TaskEvents"))
        .fails(&[404]),
        row(
            Op::GetLogs,
            "getTaskLogs",
            Method::GET,
            "/v1/tasks/{task}/logs",
            may(Get, Logs),
            "What a task has printed, or a stream of it until it has ended",
        )
        .with(p::namespace())
        .with(p::attempt())
        .with(p::tail())
        .with(p::last_event_id())
        .answers(200, TextOrEvents)
        .fails(&[404]),
    ]
}
