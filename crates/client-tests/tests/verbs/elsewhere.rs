//! `why` and `logs` on what other commands make: tasks and workflows.

use crate::{until, with_clusters};

const OBJECTS: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: gate}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: ask, template: ask}
  - name: ask
    suspend: {}
    outputs: {parameters: [{name: who, valueFrom: {supplied: {}}}]}
---
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: breaks}
spec:
  entrypoint: main
  templates:
  - name: main
    container: {image: host, command: [sh, -c, 'echo all is lost; exit 3']}
---
apiVersion: trainyard.dev/v1alpha1
kind: Task
metadata: {name: lost}
spec: {values: {taskDef: nowhere}}
";

#[test]
fn tasks_and_workflows_are_explained_and_their_commands_are_named() {
    with_clusters(|_, shell| {
        shell.ok(&format!(
            "until kubectl get tasks,workflows; do sleep 0.1; done > /dev/null 2>&1; kubectl apply -f - <<'END'\n{OBJECTS}\nEND"
        ));
        // What is told of each, by a name alone and with its kind.
        for (reference, what, hint) in [
            (
                "gate",
                "ask: it waits for values: who",
                "pipeline resume gate -p who=VALUE",
            ),
            (
                "workflow/gate",
                "ask: it waits for values: who",
                "pipeline resume gate -p who=VALUE",
            ),
            ("wf/breaks", "its last line: all is lost", "pipeline show breaks"),
            (
                "lost",
                "there is no TaskDefinition `nowhere`",
                "trainyard definition apply",
            ),
            (
                "task/lost",
                "there is no TaskDefinition `nowhere`",
                "trainyard definition apply",
            ),
        ] {
            let told = until(shell, &format!("trainyard why {reference}"), what);
            assert_eq!(told.code, 1, "{reference}: {}", told.stdout);
            assert!(told.stdout.contains(hint), "{reference}: {}", told.stdout);
        }
        for (reference, what, hint) in [
            (
                "gate",
                "`gate` is a workflow, not a training job",
                "pipeline show gate",
            ),
            ("lost", "`lost` is a task, not a training job", "task logs lost"),
            (
                "task/lost",
                "`lost` is a task, not a training job",
                "task logs lost",
            ),
        ] {
            let told = shell.run(&format!("trainyard logs {reference}"));
            assert!(
                told.code == 2 && told.stderr.contains(what) && told.stderr.contains(hint),
                "{reference}: {}",
                told.stderr
            );
        }
        shell.ok("trainyard pipeline resume gate -p who=ada");
        let told = until(shell, "trainyard why gate", "gate is Succeeded");
        assert_eq!(told.code, 0, "{}", told.stdout);
        assert_eq!(shell.run("trainyard why nothing").code, 1);
    });
}
