//! What a task is made of does not change under it, and what it refers to may come later.

use client_tests::team::{Scenario, Team};
use serde_json::{Value, json};

use crate::{definition, patch, play, submit, task, template, until_is};

#[test]
fn a_task_keeps_what_it_was_made_of() {
    let scenarios: [Scenario; 4] = [
        ("trust", only_administrators_trust_templates),
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
    // Not as long as a definition uses it.
    let template = format!("run-{}", team.namespace);
    team.shell.ok(&format!(
        "timeout 60 sh -c 'until kubectl get tasktemplate {template} -o jsonpath={{.status.usedBy}} | grep -q definition; do sleep 0.1; done'"
    ));
    let refused = team.run(&format!("delete tasktemplate {template}"));
    assert!(
        refused.code != 0
            && refused
                .stderr
                .contains(&format!("used by definition {}/run", team.namespace)),
        "{}",
        refused.stderr
    );
    team.ok("delete taskdefinition run");
    team.shell.ok(&format!(
        "timeout 60 sh -c 'until kubectl delete tasktemplate {template}; do sleep 0.1; done'"
    ));
    patch(team, &json!({"attempt": 2}));
    team.until("tasks/t", |task| {
        task["status"]["attempt"] == 2 && task["status"]["phase"] == "Failed"
    });
    assert_eq!(team.find("tasks/t")["status"]["reason"], "BackoffLimitExceeded");
    team.apply(&definition("run", &template, "exit 1").to_string());
    team.apply(&task("new", "run").to_string());
    let new = team.until("tasks/new", |task| task["status"]["reason"] == "TemplateNotFound");
    assert_eq!(new["status"]["phase"], "Pending");
}

/// Whoever may write templates may not therefore do anything.
fn only_administrators_trust_templates(team: &Team<'_>) {
    team.shell.ok(
        "kubectl create clusterrole template-writers --verb=create,get,patch,update --resource=tasktemplates.trainyard.dev
         kubectl create clusterrolebinding template-writers --clusterrole=template-writers --user=tom",
    );
    // It comes a moment after everything else.
    team.shell.ok(
        "timeout 60 sh -c 'until kubectl get validatingadmissionpolicybinding trainyard-templates-trusted; do sleep 0.1; done'",
    );
    let create =
        |template: &Value, user: &str| team.run(&format!("create {user} -f - <<'END'\n{template}\nEND"));
    let plain = template(&format!("plain-{}", team.namespace));
    let made = create(&plain, "--as=tom");
    assert_eq!(made.code, 0, "{}", made.stderr);
    for (field, value) in [("trusted", json!(true)), ("allowedKinds", json!(["Secret"]))] {
        let mut more = template(&format!("{}-{}", field.to_lowercase(), team.namespace));
        more["spec"][field] = value;
        let refused = create(&more, "--as=tom");
        assert!(
            refused.code != 0 && refused.stderr.contains("`trust`"),
            "{}",
            refused.stderr
        );
        let made = create(&more, "");
        assert_eq!(made.code, 0, "{}", made.stderr);
    }
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
    // Found by the name users know, whatever its object is called.
    late["spec"]["name"] = json!("early_bird");
    team.apply(&late.to_string());
    team.until("tasks/t", |task| task["status"]["reason"] == "TemplateNotFound");
    team.apply(&template(&name).to_string());
    until_is(team, "Succeeded");
    // A task may say which object it means, unless users call another by that name.
    team.apply(&task("by-object", "any-name").to_string());
    let by_object = team.until("tasks/by-object", |task| task["status"]["phase"] == "Succeeded");
    assert_eq!(by_object["status"]["pinned"]["definition"]["name"], "any-name");
    let mut other = definition("other", &name, "true");
    other["spec"]["name"] = json!("any-name");
    team.apply(&other.to_string());
    team.apply(&task("by-name", "any-name").to_string());
    let by_name = team.until("tasks/by-name", |task| task["status"]["phase"] == "Succeeded");
    assert_eq!(by_name["status"]["pinned"]["definition"]["name"], "other");
}
