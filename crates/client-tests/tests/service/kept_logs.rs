//! Logs of pods that are gone, shown by a service of its own that is told where the operator keeps them.

use client_tests::{Server, User, is_real};

use crate::{Service, curl, until};

#[test]
fn a_service_of_its_own_shows_logs_that_outlive_their_pods() {
    // The pods of the other cluster print nothing.
    if is_real() {
        return;
    }
    let options = ["--images", "host", "--no-service"];
    let server = Server::start_with_options(User::Us, &options);
    let folder = server.data_dir().join("task-logs");
    let folder = folder.to_str().expect("a path in text").to_owned();
    let service = Service::process(server, &["--task-logs", &folder]);
    service.register_countdown("countdown");
    let task = service.countdown("countdown", 2);
    service.wait_for(&task, &["Succeeded"]);
    until("the log to be whole", || {
        let files = std::fs::read_dir(format!("{folder}/default/{task}/1"));
        let files = files.map_err(|error| error.to_string())?;
        let mut names = files.flatten().map(|file| file.file_name());
        let is_whole = names.any(|name| name.to_string_lossy().ends_with(".log"));
        is_whole.then_some(()).ok_or_else(|| "it is not".to_owned())
    });
    let logs = format!("/v1/tasks/{task}/logs");
    assert_eq!(service.get(&logs).body.replace('\r', ""), "2\n1\n");
    let job = format!("/apis/batch/v1/namespaces/default/jobs/{task}?propagationPolicy=Background");
    kubernetes(&service, "DELETE", &job).expect(200);
    until("the pod to be gone", || {
        let pods = kubernetes(&service, "GET", "/api/v1/namespaces/default/pods").expect(200);
        let is_gone = pods["items"].as_array().is_some_and(Vec::is_empty);
        is_gone.then_some(()).ok_or_else(|| pods.to_string())
    });
    assert_eq!(service.get(&logs).body.replace('\r', ""), "2\n1\n");
}

/// Asks the API server.
#[track_caller]
fn kubernetes(service: &Service, method: &str, path: &str) -> curl::Reply {
    let authorization = format!("Authorization: Bearer {}", service.server.token());
    let address = service.server.address();
    let address = address.trim_start_matches("https://");
    let arguments = ["--insecure", "-X", method, "-H", authorization.as_str()];
    curl::ask(&format!("https://{address}{path}"), &arguments, None)
}
