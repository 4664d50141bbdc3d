//! Names of the task service: labels, annotations, keys of Secrets. What people type becomes names in `templates`.

pub mod labels {
    /// On everything that is made for a task: its name.
    pub const TASK: &str = "trainyard.dev/task";
    /// On what runs, and on its pods: the attempt of the task they were made for.
    pub const ATTEMPT: &str = "trainyard.dev/attempt";
    /// On notes of Idempotency-Keys; and on tasks that were made by one: its name.
    pub const IDEMPOTENCY_KEY: &str = "trainyard.dev/idempotency-key";
    /// On revisions: the TaskDefinition or TaskTemplate they are of.
    pub const REVISION_OF: &str = "trainyard.dev/revision-of";
}

/// On notes of Idempotency-Keys whose task was made: then nobody makes it again, also when it is gone.
pub const TASK_MADE: &str = "trainyard.dev/task-made";

/// What names of notes of Idempotency-Keys begin with.
pub const KEY_NOTE_PREFIX: &str = "idempotency-";

/// Holds a task until what it has made is gone.
pub const FINALIZER: &str = "trainyard.dev/task";

/// Keys of the Secret of a task's callbacks: the key all of them are signed with.
pub const SIGNING_KEY: &str = "signing-secret";

/// The key of the headers, as a JSON object, of an endpoint, by its place in `values.endpoints`.
pub fn headers_key(endpoint: usize) -> String {
    format!("endpoint-{endpoint}.headers")
}

/// The key of the address those headers are for, and no other.
pub fn url_key(endpoint: usize) -> String {
    format!("endpoint-{endpoint}.url")
}

/// The Secret with the key that callbacks of a namespace are signed with, where a task has none of its own.
pub const NAMESPACE_SIGNING_SECRET: &str = "trainyard-callback-signing";

/// The name of the Secret of a task's callbacks.
pub fn callback_secret(task: &str) -> String {
    format!("{task}-callbacks")
}
