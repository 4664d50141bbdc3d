//! Variables of XGBoost's tracker and of LightGBM.

use crate::job::Job;

pub(super) fn variables(job: &Job, role: &str, index: u32) -> Vec<(&'static str, String)> {
    let rank = if role == "Worker" {
        index + job.count("Master")
    } else {
        index
    };
    let total = job.total();
    let mut variables = vec![
        ("MASTER_PORT", job.port("Master").to_string()),
        ("MASTER_ADDR", job.child_name("Master", 0)),
        ("WORLD_SIZE", total.to_string()),
        ("RANK", rank.to_string()),
        ("PYTHONUNBUFFERED", "1".to_owned()),
    ];
    if total > 1 {
        let workers: Vec<String> = (0..total - 1)
            .map(|index| job.child_name("Worker", index))
            .collect();
        variables.push(("WORKER_PORT", job.port("Worker").to_string()));
        variables.push(("WORKER_ADDRS", workers.join(",")));
    }
    variables
}
