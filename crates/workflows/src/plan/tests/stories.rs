use serde_json::{Value, json};

use super::{
    Cluster,
    cluster::{End, fail, ok, result},
};
use crate::{
    TemplateSource,
    node::{NodeType, Phase},
    report::Report,
};

fn container() -> Value {
    json!({"image": "host", "command": ["true"]})
}

fn name_of(pod: &Value) -> &str {
    pod["metadata"]["annotations"]["workflows.argoproj.io/node-name"]
        .as_str()
        .unwrap()
}

#[test]
fn one_container() {
    let spec = json!({"entrypoint": "main", "templates": [{"name": "main", "container": container()}]});
    let cluster = Cluster::new(spec, |_, _| ok()).play();
    assert_eq!(cluster.phase(), Phase::Succeeded);
    let node = cluster.node("w");
    assert_eq!(
        (node.id.as_str(), node.r#type, node.display_name.as_str()),
        ("w", NodeType::Pod, "w")
    );
    assert_eq!(node.template_scope, "local/w");
    assert_eq!(node.progress, "1/1");
    assert_eq!(node.outputs.unwrap().exit_code.as_deref(), Some("0"));
    assert_eq!(cluster.made, ["w"]);
    let labels = &cluster.workflow["metadata"]["labels"];
    assert_eq!(labels["workflows.argoproj.io/phase"], "Succeeded");
    assert_eq!(labels["workflows.argoproj.io/completed"], "true");
    let pod = &cluster.pods["w"];
    // Nothing is to be taken out of it: it runs as it is.
    assert_eq!(pod["spec"]["containers"][0]["command"], json!(["true"]));
    assert_eq!(
        pod["metadata"]["labels"]["workflows.argoproj.io/completed"],
        "true"
    );
}

#[test]
fn a_container_that_fails() {
    let spec = json!({"entrypoint": "main", "templates": [{"name": "main", "container": container()}]});
    let cluster = Cluster::new(spec, |_, _| fail(3)).play();
    assert_eq!(cluster.phase(), Phase::Failed);
    assert_eq!(cluster.status().message, "main: Error (exit code 3)");
}

fn steps() -> Value {
    json!({"entrypoint": "main", "templates": [
        {"name": "main", "steps": [
            [{"name": "a", "template": "t"}],
            [{"name": "b", "template": "t", "when": "{{steps.a.outputs.result}} == yes"},
             {"name": "c", "template": "t", "when": "{{steps.a.outputs.result}} == no"}],
        ]},
        {"name": "t", "container": container()},
    ]})
}

#[test]
fn steps_follow_each_other_and_speak_of_results() {
    let cluster = Cluster::new(steps(), |_, order| match order {
        Some(order) if order.capture_result => result("yes"),
        _ => ok(),
    })
    .play();
    assert_eq!(
        cluster.told(),
        [
            "w Succeeded",
            "w[0] Succeeded",
            "w[0].a Succeeded",
            "w[1] Succeeded",
            "w[1].b Succeeded",
            "w[1].c Skipped"
        ]
    );
    assert_eq!(cluster.node("w[1].c").message, "when 'yes == no' evaluated false");
    assert_eq!(cluster.node("w").children, [cluster.node("w[0]").id]);
    assert_eq!(cluster.node("w[0].a").children, [cluster.node("w[1]").id]);
    assert_eq!(cluster.node("w[0].a").boundary_id, "w");
    assert_eq!(
        cluster.node("w").outbound_nodes,
        [cluster.node("w[1].b").id, cluster.node("w[1].c").id]
    );
    assert_eq!(cluster.status().progress, "2/2");
}

#[test]
fn a_step_that_fails_ends_its_group_and_the_whole() {
    let cluster = Cluster::new(steps(), |_, _| fail(1)).play();
    assert_eq!(cluster.told(), ["w Failed", "w[0] Failed", "w[0].a Failed"]);
    assert_eq!(
        cluster.status().message,
        format!("child '{}' failed", cluster.node("w[0].a").id)
    );
}

fn diamond() -> Value {
    json!({"entrypoint": "main", "templates": [
        {"name": "main", "dag": {"tasks": [
            {"name": "A", "template": "t"},
            {"name": "B", "template": "t", "depends": "A"},
            {"name": "C", "template": "t", "dependencies": ["A"], "depends": ""},
            {"name": "D", "template": "t", "depends": "B && C"},
        ]}},
        {"name": "t", "container": container()},
    ]})
}

#[test]
fn tasks_wait_for_each_other() {
    let mut spec = diamond();
    spec["templates"][0]["dag"]["tasks"][2] = json!({"name": "C", "template": "t", "depends": "A"});
    let cluster = Cluster::new(spec, |_, _| ok()).play();
    assert_eq!(
        cluster.told(),
        [
            "w Succeeded",
            "w.A Succeeded",
            "w.B Succeeded",
            "w.C Succeeded",
            "w.D Succeeded"
        ]
    );
    assert_eq!(cluster.node("w").children, [cluster.node("w.A").id]);
    assert_eq!(
        cluster.node("w.A").children,
        [cluster.node("w.B").id, cluster.node("w.C").id]
    );
    assert_eq!(cluster.node("w.B").children, cluster.node("w.C").children);
    assert_eq!(cluster.node("w").outbound_nodes, [cluster.node("w.D").id]);
}

#[test]
fn what_cannot_be_met_is_omitted_and_takes_the_phase_of_its_branch() {
    let mut spec = diamond();
    spec["templates"][0]["dag"]["tasks"][2] = json!({"name": "C", "template": "t", "depends": "A"});
    let cluster = Cluster::new(spec, |pod, _| if name_of(pod) == "w.B" { fail(1) } else { ok() }).play();
    assert_eq!(
        cluster.told(),
        [
            "w Failed",
            "w.A Succeeded",
            "w.B Failed",
            "w.C Succeeded",
            "w.D Omitted"
        ]
    );
    assert_eq!(cluster.node("w.D").message, "omitted: depends condition not met");
}

#[test]
fn attempts_are_nodes_of_their_own() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "retryStrategy": {"limit": "2", "backoff": {"duration": "5", "factor": 2}},
         "container": {"image": "host", "command": ["x", "{{retries}}", "{{lastRetry.exitCode}}"]}},
    ]});
    let mut count = 0;
    let cluster = Cluster::new(spec.clone(), move |_, _| {
        count += 1;
        if count < 3 { fail(count) } else { ok() }
    })
    .play();
    assert_eq!(
        cluster.told(),
        ["w Succeeded", "w(0) Failed", "w(1) Failed", "w(2) Succeeded"]
    );
    assert_eq!(cluster.node("w").r#type, NodeType::Retry);
    assert_eq!(
        cluster.node("w(1)").node_flag.map(|flag| flag.retried),
        Some(true)
    );
    let last = cluster.pods.values().find(|pod| name_of(pod) == "w(2)").unwrap();
    assert_eq!(last["spec"]["containers"][0]["command"], json!(["x", "2", "2"]));
    let waited = cluster.node("w(2)").started_at.unwrap().as_second()
        - cluster.node("w(1)").finished_at.unwrap().as_second();
    assert_eq!(waited, 10);
    let failed = Cluster::new(spec, |_, _| fail(1)).play();
    assert_eq!(failed.status().message, "No more retries left");
    assert_eq!(failed.made.len(), 3);
}

#[test]
fn an_error_is_not_a_failure_to_retry() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "retryStrategy": {"limit": 2}, "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |_, _| End::Never);
    cluster.step();
    cluster.run_pods();
    cluster.step();
    cluster.pods.clear();
    cluster.step();
    assert_eq!(cluster.phase(), Phase::Error);
    assert_eq!(cluster.node("w(0)").message, "pod deleted");
}

#[test]
fn items_run_side_by_side_and_their_outputs_are_a_list() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "dag": {"tasks": [
            {"name": "each", "template": "t", "withItems": [1, 2, 3],
             "arguments": {"parameters": [{"name": "x", "value": "{{item}}"}]}},
            {"name": "sum", "template": "t", "depends": "each",
             "arguments": {"parameters": [{"name": "x", "value": "{{tasks.each.outputs.result}} {{tasks.each.outputs.parameters.p}}"}]}},
        ]}},
        {"name": "t", "inputs": {"parameters": [{"name": "x"}]},
         "outputs": {"parameters": [{"name": "p", "valueFrom": {"path": "/tmp/p"}}]},
         "container": {"image": "host", "command": ["echo", "{{inputs.parameters.x}}"]}},
    ]});
    let cluster = Cluster::new(spec, |pod, _| {
        let command = &pod["spec"]["containers"][0]["command"];
        let text = command[command.as_array().unwrap().len() - 1]
            .as_str()
            .unwrap()
            .to_owned();
        End::With {
            code: 0,
            report: Report {
                result: Some(text.clone()),
                parameters: vec![("p".to_owned(), text)],
                ..Report::default()
            },
        }
    })
    .play();
    assert_eq!(cluster.phase(), Phase::Succeeded);
    assert_eq!(cluster.node("w.each").r#type, NodeType::TaskGroup);
    assert_eq!(cluster.node("w.each").children.len(), 3);
    assert_eq!(
        cluster.node("w.sum").inputs.unwrap().parameters[0]
            .value
            .as_ref()
            .unwrap()
            .0,
        "[1,2,3] [1,2,3]"
    );
    assert_eq!(cluster.node("w.each(1:2)").children, [cluster.node("w.sum").id]);
}

#[test]
fn handlers_run_at_the_end_whatever_it_was() {
    let spec = json!({"entrypoint": "main", "onExit": "bye", "templates": [
        {"name": "main", "container": container()},
        {"name": "bye", "container": {"image": "host", "command": ["echo", "{{workflow.status}}"]}},
    ]});
    let cluster = Cluster::new(spec, |pod, _| if name_of(pod) == "w" { fail(1) } else { ok() }).play();
    assert_eq!(cluster.told(), ["w Failed", "w.onExit Succeeded"]);
    assert_eq!(cluster.phase(), Phase::Failed);
    let pod = cluster
        .pods
        .values()
        .find(|pod| name_of(pod) == "w.onExit")
        .unwrap();
    assert_eq!(pod["spec"]["containers"][0]["command"], json!(["echo", "Failed"]));
    assert_eq!(pod["metadata"]["labels"]["workflows.argoproj.io/on-exit"], "true");
}

#[test]
fn hooks_run_beside_a_step_while_a_condition_holds() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "steps": [[{"name": "a", "template": "t", "hooks": {
            "running": {"expression": "steps.a.status == 'Running'", "template": "t"},
            "exit": {"template": "bye", "arguments": {"parameters": [{"name": "x", "value": "{{steps.a.status}}"}]}},
        }}]]},
        {"name": "t", "container": container()},
        {"name": "bye", "inputs": {"parameters": [{"name": "x"}]}, "container": {"image": "host", "command": ["echo", "{{inputs.parameters.x}}"]}},
    ]});
    let mut seen = 0;
    let cluster = Cluster::new(spec, move |pod, _| {
        if name_of(pod) == "w[0].a" {
            seen += 1;
            if seen < 3 {
                return End::Never;
            }
        }
        ok()
    })
    .play();
    assert_eq!(
        cluster.told(),
        [
            "w Succeeded",
            "w[0] Succeeded",
            "w[0].a Succeeded",
            "w[0].a.hooks.running Succeeded",
            "w[0].a.onExit Succeeded"
        ]
    );
    let bye = cluster.node("w[0].a.onExit");
    assert!(bye.is_hook());
    assert_eq!(
        bye.inputs.unwrap().parameters[0].value.as_ref().unwrap().0,
        "Succeeded"
    );
}

#[test]
fn a_template_calls_itself_until_a_condition_ends_it() {
    let spec = json!({"entrypoint": "loop", "arguments": {"parameters": [{"name": "n", "value": "0"}]}, "templates": [
        {"name": "loop", "inputs": {"parameters": [{"name": "n"}]}, "steps": [
            [{"name": "work", "template": "t"}],
            [{"name": "again", "template": "loop", "when": "{{inputs.parameters.n}} < 3",
              "arguments": {"parameters": [{"name": "n", "value": "{{=asInt(inputs.parameters.n) + 1}}"}]}}],
        ]},
        {"name": "t", "container": container()},
    ]});
    let cluster = Cluster::new(spec, |_, _| ok()).play();
    assert_eq!(cluster.phase(), Phase::Succeeded);
    assert_eq!(cluster.made.len(), 4);
}

#[test]
fn outputs_reach_the_workflow_by_a_name_of_their_own() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "outputs": {"parameters": [{"name": "all", "valueFrom": {"parameter": "{{steps.a.outputs.parameters.p}}"}}]},
         "steps": [
            [{"name": "a", "template": "t"}],
            [{"name": "b", "template": "u", "arguments": {"parameters": [{"name": "x", "value": "{{workflow.outputs.parameters.global}}"}]}}],
        ]},
        {"name": "t", "outputs": {"parameters": [{"name": "p", "globalName": "global", "valueFrom": {"path": "/tmp/p"}}]}, "container": container()},
        {"name": "u", "inputs": {"parameters": [{"name": "x"}]}, "container": container()},
    ]});
    let cluster = Cluster::new(spec, |_, order| match order {
        Some(order) => End::With {
            code: 0,
            report: Report {
                parameters: vec![(order.parameters[0].name.clone(), "value".to_owned())],
                ..Report::default()
            },
        },
        None => ok(),
    })
    .play();
    assert_eq!(cluster.phase(), Phase::Succeeded);
    assert_eq!(
        cluster.node("w[1].b").inputs.unwrap().parameters[0]
            .value
            .as_ref()
            .unwrap()
            .0,
        "value"
    );
    assert_eq!(
        cluster.node("w").outputs.unwrap().parameters[0]
            .value
            .as_ref()
            .unwrap()
            .0,
        "value"
    );
    assert_eq!(cluster.status().outputs.unwrap().parameters[0].name, "global");
}

#[test]
fn skipped_outputs_have_defaults_or_are_refused() {
    let spec = |default: Value, input: Value| {
        json!({"entrypoint": "main", "templates": [
            {"name": "main", "steps": [
                [{"name": "p", "template": "produce", "when": "false"}],
                [{"name": "c", "template": "consume", "arguments": {"parameters": [{"name": "in", "value": "{{steps.p.outputs.parameters.m}}"}]}}],
            ]},
            {"name": "produce", "outputs": {"parameters": [{"name": "m", "valueFrom": default}]}, "container": container()},
            {"name": "consume", "inputs": {"parameters": [input]}, "container": container()},
        ]})
    };
    let got = |cluster: &Cluster| {
        cluster.node("w[1].c").inputs.unwrap().parameters[0]
            .value
            .as_ref()
            .unwrap()
            .0
            .clone()
    };
    let produced = Cluster::new(
        spec(
            json!({"path": "/p", "default": "from-producer"}),
            json!({"name": "in"}),
        ),
        |_, _| ok(),
    )
    .play();
    assert_eq!(got(&produced), "from-producer");
    let consumed = Cluster::new(
        spec(
            json!({"path": "/p"}),
            json!({"name": "in", "default": "from-input"}),
        ),
        |_, _| ok(),
    )
    .play();
    assert_eq!(got(&consumed), "from-input");
    let refused = Cluster::new(spec(json!({"path": "/p"}), json!({"name": "in"})), |_, _| ok()).play();
    assert_eq!(refused.phase(), Phase::Failed);
    assert!(
        refused.status().message.contains("skipped"),
        "{}",
        refused.status().message
    );
}

#[test]
fn templates_of_other_objects_are_kept_as_they_were() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "steps": [[{"name": "a", "templateRef": {"name": "lib", "template": "outer"}}]]},
    ]});
    let source = TemplateSource {
        name: "lib".to_owned(),
        is_cluster: false,
    };
    let mut cluster = Cluster::new(spec, |_, _| ok());
    cluster.templates.insert(
        source,
        json!({"spec": {"templates": [
            {"name": "outer", "steps": [[{"name": "b", "template": "inner"}]]},
            {"name": "inner", "container": container()},
        ]}}),
    );
    let cluster = cluster.play();
    assert_eq!(cluster.phase(), Phase::Succeeded);
    let inner = cluster.node("w[0].a[0].b");
    assert_eq!(inner.template_scope, "namespaced/lib");
    assert_eq!(cluster.node("w[0].a").template_scope, "local/w");
    let stored: Vec<String> = cluster.status().stored_templates.keys().cloned().collect();
    assert_eq!(stored, ["namespaced/lib/inner", "namespaced/lib/outer"]);
}

#[test]
fn a_workflow_may_be_a_template_with_other_arguments() {
    let spec = json!({
        "workflowTemplateRef": {"name": "lib"},
        "arguments": {"parameters": [{"name": "p", "value": "mine"}]},
    });
    let mut cluster = Cluster::new(spec, |_, _| ok());
    cluster.templates.insert(TemplateSource { name: "lib".to_owned(), is_cluster: false }, json!({"spec": {
        "entrypoint": "main",
        "arguments": {"parameters": [{"name": "p", "value": "theirs"}, {"name": "q", "value": "other"}]},
        "templates": [{"name": "main", "container": {"image": "host", "command": ["echo", "{{workflow.parameters.p}} {{workflow.parameters.q}}"]}}],
    }}));
    let cluster = cluster.play();
    assert_eq!(cluster.phase(), Phase::Succeeded);
    assert_eq!(
        cluster.pods["w"]["spec"]["containers"][0]["command"],
        json!(["echo", "mine other"])
    );
}

#[test]
fn only_so_many_run_at_a_time() {
    let spec = json!({"entrypoint": "main", "parallelism": 2, "templates": [
        {"name": "main", "steps": [[{"name": "a", "template": "t", "withSequence": {"count": 5}}]]},
        {"name": "t", "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |_, _| ok());
    cluster.step();
    assert_eq!(cluster.made.len(), 2);
    let cluster = cluster.play();
    assert_eq!((cluster.phase(), cluster.made.len()), (Phase::Succeeded, 5));
}

#[test]
fn a_mutex_lets_one_at_a_time() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "steps": [[{"name": "a", "template": "t", "withItems": [1, 2]}]]},
        {"name": "t", "synchronization": {"mutex": {"name": "m"}}, "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |_, _| ok());
    cluster.step();
    assert_eq!(cluster.made.len(), 1);
    assert_eq!(
        cluster.node("w[0].a(1:2)").message,
        "Waiting for n/Mutex/m lock. Lock status: 0/1"
    );
    let holding = &cluster.status().synchronization["mutex"]["holding"][0];
    assert_eq!(holding["mutex"], "n/Mutex/m");
    let cluster = cluster.play();
    assert_eq!((cluster.phase(), cluster.made.len()), (Phase::Succeeded, 2));
    assert_eq!(cluster.locks, crate::Locks::default());
}

#[test]
fn suspended_nodes_wait_for_their_time() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "steps": [[{"name": "a", "template": "wait"}], [{"name": "b", "template": "t"}]]},
        {"name": "wait", "suspend": {"duration": "20"}},
        {"name": "t", "container": container()},
    ]});
    let cluster = Cluster::new(spec, |_, _| ok()).play();
    assert_eq!(cluster.phase(), Phase::Succeeded);
    let node = cluster.node("w[0].a");
    assert_eq!(
        node.finished_at.unwrap().as_second() - node.started_at.unwrap().as_second(),
        20
    );
}

#[test]
fn a_workflow_that_is_stopped_runs_its_exit_handler_and_one_that_is_terminated_does_not() {
    for (strategy, expected) in [("Stop", "w.onExit Succeeded"), ("Terminate", "")] {
        let spec = json!({"entrypoint": "main", "onExit": "bye", "templates": [
            {"name": "main", "steps": [[{"name": "a", "template": "t"}], [{"name": "b", "template": "t"}]]},
            {"name": "t", "container": container()}, {"name": "bye", "container": container()},
        ]});
        let mut cluster = Cluster::new(spec, |pod, _| {
            if name_of(pod) == "w.onExit" {
                ok()
            } else {
                End::Never
            }
        });
        cluster.step();
        cluster.run_pods();
        cluster.step();
        cluster.workflow["spec"]["shutdown"] = json!(strategy);
        let cluster = cluster.play();
        assert_eq!(cluster.phase(), Phase::Failed, "{strategy}");
        assert_eq!(
            cluster.status().message,
            format!("Stopped with strategy '{strategy}'")
        );
        assert_eq!(
            cluster.node("w[0].a").message,
            format!("workflow shutdown with strategy:  {strategy}")
        );
        assert_eq!(
            cluster.told().iter().any(|told| told == expected),
            strategy == "Stop"
        );
    }
}

#[test]
fn a_workflow_ends_at_its_deadline() {
    let spec = json!({"entrypoint": "main", "activeDeadlineSeconds": 10, "templates": [
        {"name": "main", "steps": [[{"name": "a", "template": "t"}], [{"name": "b", "template": "t"}]]},
        {"name": "t", "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |_, _| End::Never);
    cluster.step();
    assert_eq!(
        cluster.pods.values().next().unwrap()["spec"]["activeDeadlineSeconds"],
        10
    );
    let cluster = cluster.play();
    assert_eq!(cluster.phase(), Phase::Failed);
    assert_eq!(cluster.node("w[0].a").message, "Step exceeded its deadline");
}

#[test]
fn results_are_remembered() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "memoize": {"key": "k", "cache": {"configMap": {"name": "cache"}}},
         "outputs": {"parameters": [{"name": "p", "valueFrom": {"path": "/tmp/p"}}]}, "container": container()},
    ]});
    let report = || End::With {
        code: 0,
        report: Report {
            parameters: vec![("p".to_owned(), "v".to_owned())],
            ..Report::default()
        },
    };
    let first = Cluster::new(spec.clone(), move |_, _| report()).play();
    assert_eq!(first.phase(), Phase::Succeeded);
    let mut second = Cluster::new(spec, |_, _| fail(1));
    second.config_maps = first.config_maps;
    let second = second.play();
    assert_eq!(second.phase(), Phase::Succeeded);
    assert!(second.made.is_empty());
    let node = second.node("w");
    assert!(node.memoization_status.unwrap().hit);
    assert_eq!(node.outputs.unwrap().parameters[0].value.as_ref().unwrap().0, "v");
}

#[test]
fn a_daemon_runs_while_others_do() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "steps": [
            [{"name": "server", "template": "d"}],
            [{"name": "client", "template": "t"}],
        ]},
        {"name": "d", "daemon": true, "container": container()},
        {"name": "t", "container": container()},
    ]});
    let cluster = Cluster::new(spec, |pod, _| {
        if name_of(pod).ends_with("server") {
            End::Never
        } else {
            ok()
        }
    })
    .play();
    assert_eq!(cluster.phase(), Phase::Succeeded);
    assert_eq!(
        cluster.told(),
        [
            "w Succeeded",
            "w[0] Succeeded",
            "w[0].server Succeeded",
            "w[1] Succeeded",
            "w[1].client Succeeded"
        ]
    );
    let server = cluster
        .pods
        .values()
        .find(|pod| name_of(pod).ends_with("server"))
        .unwrap();
    assert_eq!(server["status"]["phase"], "Failed", "it was stopped");
}

#[test]
fn what_cannot_be_run_is_refused_before_it_begins() {
    let spec = json!({"entrypoint": "main", "templates": [{"name": "main", "steps": [[{"name": "a", "template": "none"}]]}]});
    let cluster = Cluster::new(spec, |_, _| ok()).play();
    assert_eq!(cluster.phase(), Phase::Failed);
    assert_eq!(
        cluster.status().message,
        "invalid spec: spec.templates[0].steps[0][0].template: template name 'none' undefined"
    );
    assert!(cluster.status().nodes.is_empty());
}
