//! Variables of JAX's distributed runtime; worker 0 is the coordinator.

use crate::job::Job;

pub(super) fn variables(job: &Job, index: u32) -> Vec<(&'static str, String)> {
    vec![
        ("PYTHONUNBUFFERED", "1".to_owned()),
        ("COORDINATOR_PORT", job.port("Worker").to_string()),
        ("COORDINATOR_ADDRESS", job.child_name("Worker", 0)),
        ("NUM_PROCESSES", job.total().to_string()),
        ("PROCESS_ID", index.to_string()),
    ]
}
