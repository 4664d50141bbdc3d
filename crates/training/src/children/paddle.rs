//! Variables of PaddlePaddle: collective without a Master, parameter server with one.

use serde_json::{Value, json};

use crate::{job::Job, template};

pub(super) fn add_variables(job: &Job, role: &str, index: u32, template: &mut Value) {
    let has_master = job.replica("Master").is_some();
    let first_role = if has_master { "Master" } else { "Worker" };
    let is_first = index == 0 && role == first_role;
    let port = job.port(first_role);
    // The first one listens on its own address, which it only learns when it has one.
    let endpoint = if is_first {
        format!("$(POD_IP_DUMMY):{port}")
    } else {
        format!("{}:{port}", job.child_name(first_role, 0))
    };
    for container in template::containers_mut(template) {
        let env = template::list(container, "env");
        let mut add = |name: &str, value: &str| env.push(json!({"name": name, "value": value}));
        add("PYTHONUNBUFFERED", "1");
        add("PADDLE_JOB_ID", job.name());
        add("PADDLE_NNODES", &job.total().to_string());
        if is_first {
            let source = json!({"fieldRef": {"fieldPath": "status.podIP"}});
            env.push(json!({"name": "POD_IP_DUMMY", "valueFrom": source}));
        }
        env.push(json!({"name": "PADDLE_MASTER", "value": endpoint}));
        if has_master {
            let name = if role == "Master" {
                "PADDLE_SERVER_NUM"
            } else {
                "PADDLE_TRAINER_NUM"
            };
            env.push(json!({"name": name, "value": "1"}));
        }
    }
}
