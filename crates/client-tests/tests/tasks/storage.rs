//! Claims of tasks on a cluster as `trainyard up` makes it by default: one class, `standard`.

use client_tests::team::{Scenario, Team};
use serde_json::json;

use crate::{definition, play_with, submit, task, template, until_is};

#[test]
fn no_claim_waits_for_a_class_that_is_not_there() {
    let scenarios: [Scenario; 4] = [
        ("as-written", the_default_class_takes_the_place_of_aws_efs),
        ("built-in", built_in_templates_take_the_default_class),
        ("named", a_class_that_the_values_name_is_named_when_it_is_missing),
        ("by-hand", a_volume_made_by_hand_needs_no_class),
    ];
    play_with(&["--images", "host"], &scenarios);
}

fn the_default_class_takes_the_place_of_aws_efs(team: &Team<'_>) {
    submit(team, "echo kept > $STORAGE/file && cat $STORAGE/file", |_| {});
    until_is(team, "Succeeded");
    assert_eq!(
        team.find("persistentvolumeclaims/t")["spec"]["storageClassName"],
        "standard"
    );
    let told =
        team.ok("get events --field-selector reason=DefaultStorageClass -o jsonpath={.items[*].message}");
    assert_eq!(
        told,
        "claim t uses the default storage class `standard`: there is no `aws-efs` here"
    );
}

fn built_in_templates_take_the_default_class(team: &Team<'_>) {
    for template in ["non-distributed-task", "single-gpu-task"] {
        team.apply(
            &json!({
                "apiVersion": "trainyard.dev/v1alpha1",
                "kind": "TaskDefinition",
                "metadata": {"name": template},
                "spec": {
                    "creator": "admin",
                    "task_template_name": template,
                    "system_values": "image: {repository: registry.example/base, tag: latest}",
                    "application": "Production",
                    "append_uuid": 0,
                },
            })
            .to_string(),
        );
        team.apply(&task(template, template).to_string());
        team.until(&format!("persistentvolumeclaims/{template}"), |claim| {
            claim["status"]["phase"] == "Bound" && claim["spec"]["storageClassName"] == "standard"
        });
    }
}

fn a_class_that_the_values_name_is_named_when_it_is_missing(team: &Team<'_>) {
    submit(team, "true", |task| {
        task["spec"]["values"]["resources"] = json!({"storageClass": "aws-efs"});
    });
    let waiting = team.until("tasks/t", |task| {
        task["status"]["reason"] == "StorageClassNotFound"
    });
    let message = waiting["status"]["message"].as_str().unwrap();
    assert!(
        message.starts_with(
            "claim t asks for storage class `aws-efs`, which does not exist; this cluster has `standard` (default); "
        ) && message.contains("trainyard up --storage-class standard --storage-class aws-efs"),
        "{message}"
    );
    assert_eq!(waiting["status"]["phase"], "Pending");
}

fn a_volume_made_by_hand_needs_no_class(team: &Team<'_>) {
    let folder = team.server.home().join("by-hand");
    team.apply(
        &json!({
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "by-hand"},
            "spec": {
                "storageClassName": "by-hand",
                "accessModes": ["ReadWriteMany"],
                "capacity": {"storage": "1Gi"},
                "hostPath": {"path": folder, "type": "DirectoryOrCreate"},
            },
        })
        .to_string(),
    );
    let mut by_hand = template("by-hand");
    let text = by_hand["spec"]["template"].as_str().unwrap();
    by_hand["spec"]["template"] = json!(text.replace("aws-efs", "by-hand"));
    team.apply(&by_hand.to_string());
    team.apply(&definition("run", "by-hand", "touch $STORAGE/file").to_string());
    team.apply(&task("t", "run").to_string());
    until_is(team, "Succeeded");
}
