//! What the OpenAPI document says is what happens: schemathesis tries everything it allows, and much it does not.

use std::{fs, process::Command};

use client_tests::{environment, is_real, needed, run};

use crate::Service;

/// What is left out, and why: where `If-Match` is missing, `missing_required_header` wants any refusal but the one
/// that RFC 6585 has for just that, 428.
const EXCLUDED: &str = "missing_required_header";

/// What a schema allows may be refused for reasons that no schema can tell: names that are not there or taken,
/// templates, definitions and values that do not fit each other.
const CONFIGURATION: &str = "
[checks.positive_data_acceptance]
expected-statuses = [200, 201, 202, 204, 304, 401, 403, 404, 409, 410, 412, 422, 428]
";

#[test]
fn every_answer_is_documented_and_none_is_a_failure_of_the_service() {
    let Some(python) = needed(environment("schemathesis", &["schemathesis==4.32.5"])) else {
        return;
    };
    let service = Service::start();
    service.register_countdown("countdown");
    if is_real() {
        // Its nodes only seem to be there, and answer nobody who wants logs.
        service.endless();
    } else {
        service.countdown("countdown", 1);
    }
    let folder = service.server.home().join("schemathesis");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("schemathesis.toml"), CONFIGURATION).unwrap();
    let mut command = Command::new(python.with_file_name("schemathesis"));
    command
        .arg("run")
        .arg(format!("{}/openapi.json", service.address))
        .args(["--header", &format!("Authorization: Bearer {}", service.token)])
        .args(["--exclude-checks", EXCLUDED])
        .args([
            "--phases",
            "examples,coverage,fuzzing,stateful",
            "--max-examples",
            "20",
        ])
        .args([
            "--seed",
            "7",
            "--suppress-health-check",
            "all",
            "--continue-on-failure",
            "--no-color",
        ])
        .current_dir(&folder);
    let output = run(&mut command, "");
    assert_eq!(output.code, 0, "{}\n{}", output.stdout, output.stderr);
}
