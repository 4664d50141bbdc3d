//! What a task is made of does not change under it, and what it refers to may come later.

use client_tests::team::{Scenario, Team};
use serde_json::{Value, json};

use crate::{definition, patch, play, submit, task, template, until_is};

#[test]
fn a_task_keeps_what_it_was_made_of() {
    let scenarios: [Scenario; 3] = [
        ("changed", the_definition_changes_while_it_runs),
        ("template-gone", its_template_is_deleted),
        ("late", its_definition_and_template_come_later),
    ];
    play(&scenarios);
}

fn command(team: &Team<'_>) -> String {
    let job = team.find("jobs/t");
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    let mut environment = container["env"].as_array().into_iter().flatten();
    let command = environment.find(|variable| variable["name"] == "COMMAND");
    command
        .map(|command| command["value"].as_str().unwrap().to_owned())
        .unwrap_or_default()
}

fn the_definition_changes_while_it_runs(team: &Team<'_>) {
    submit(team, "echo first; exit 1", |_| {});
    until_is(team, "Failed");
    let before = command(team);
    let of_template = format!("run-{}", team.namespace);
    team.apply(&definition("run", &of_template, "echo second; exit 0").to_string());
    patch(team, &json!({"attempt": 2}));
    let again = team.until("tasks/t", |task| {
        task["status"]["attempt"] == 2 && task["status"]["phase"] == "Failed"
    });
    assert_eq!(command(team), before);
    let revision = |task: &Value| task["status"]["pinned"]["definition"]["revision"].clone();
    // Another task has the new one.
    team.apply(&task("other", "run").to_string());
    let other = team.until("tasks/other", |task| task["status"]["phase"] == "Succeeded");
    assert_ne!(revision(&other), revision(&again));
    let revisions = team.find("controllerrevisions");
    let revisions = revisions["items"].as_array().unwrap().len();
    assert_eq!(revisions, 3, "two of the definition, one of the template");
}

fn its_template_is_deleted(team: &Team<'_>) {
    submit(team, "exit 1", |_| {});
    until_is(team, "Failed");
    team.ok(&format!("delete tasktemplate run-{}", team.namespace));
    patch(team, &json!({"attempt": 2}));
    team.until("tasks/t", |task| {
        task["status"]["attempt"] == 2 && task["status"]["phase"] == "Failed"
    });
    assert_eq!(team.find("tasks/t")["status"]["reason"], "BackoffLimitExceeded");
    team.apply(&task("new", "run").to_string());
    let new = team.until("tasks/new", |task| task["status"]["reason"] == "TemplateNotFound");
    assert_eq!(new["status"]["phase"], "Pending");
}

fn its_definition_and_template_come_later(team: &Team<'_>) {
    team.apply(&task("t", "early_bird").to_string());
    let waiting = team.until("tasks/t", |task| task["status"]["reason"] == "DefinitionNotFound");
    assert!(
        waiting["status"]["message"]
            .as_str()
            .unwrap()
            .contains("early_bird")
    );
    let name = format!("late-{}", team.namespace);
    let mut late = definition("any-name", &name, "true");
    // Found by the name users know, under the name the service would give it.
    late["spec"]["name"] = json!("early_bird");
    let slug = team.ok("get tasks t -o jsonpath={.metadata.name}");
    assert_eq!(slug, "t");
    late["metadata"]["name"] = json!("early-bird");
    team.apply(&late.to_string());
    // That is not its name; a task may say which object it means.
    patch(team, &json!({"definition": "early-bird"}));
    team.until("tasks/t", |task| task["status"]["reason"] == "TemplateNotFound");
    team.apply(&template(&name).to_string());
    until_is(team, "Succeeded");
}
