//! Workflows where pods are plain processes: what steps say is heard, and what they cannot have is said first.

use client_tests::{Release, Server, Shell, User, binary, is_real, kubectl, needed, team::Team};

use crate::{node, parameter, until_ended};

pub(crate) fn steps_speak_to_each_other() {
    if is_real() {
        return;
    }
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    for user in User::all() {
        let server = Server::start_with_options(user, &["--tier", "process"]);
        let shell = Shell::new(&server, &[("kubectl", &kubectl), ("trainyard", binary())]);
        client_tests::team::ready(&shell);
        let team = Team {
            server: &server,
            shell: &shell,
            user,
            namespace: "default",
        };
        parameters_and_results(&team);
        artifacts_are_refused_first(&team);
    }
}

/// Two steps at a time, each with words of its own.
fn parameters_and_results(team: &Team<'_>) {
    let left = team.server.home().join("left");
    let workflow = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: speaks}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: number, template: number, withItems: [20, 22], arguments: {parameters: [{name: number, value: '{{item}}'}]}}
    - - name: double
        template: double
        arguments: {parameters: [{name: all, value: '{{steps.number.outputs.result}}'}]}
    - - name: say
        template: say
        arguments: {parameters: [{name: text, value: '{{steps.double.outputs.parameters.kept}}'}]}
    - - {name: program, template: program}
  - name: program
    container: {image: host, command: [trainyard, --version]}
  - name: number
    inputs: {parameters: [{name: number}]}
    script: {image: host, command: [sh], source: 'echo {{inputs.parameters.number}}'}
  - name: double
    inputs: {parameters: [{name: all}]}
    container: {image: host, command: [sh, -c], args: [\"echo '{{inputs.parameters.all}}' > LEFT\"]}
    outputs: {parameters: [{name: kept, valueFrom: {path: LEFT}}]}
  - name: say
    inputs: {parameters: [{name: text}]}
    container: {image: host, command: [echo], args: ['{{inputs.parameters.text}}']}
";
    team.apply(&workflow.replace("LEFT", &left.display().to_string()));
    let workflow = until_ended(team, "speaks", "Succeeded");
    let double = node(&workflow, "speaks[1].double");
    assert_eq!(*parameter(double, "kept"), "[20,22]");
}

fn artifacts_are_refused_first(team: &Team<'_>) {
    let before = team.pods();
    team.apply(
        "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: artifacts}
spec:
  entrypoint: main
  templates:
  - name: main
    steps: [[{name: make, template: make}]]
  - name: make
    container: {image: host, command: [sh, -c, 'echo one > made']}
    outputs: {artifacts: [{name: made, path: made}]}
",
    );
    let workflow = until_ended(team, "artifacts", "Failed");
    assert_eq!(
        workflow["status"]["message"],
        "invalid spec: spec.templates[1].outputs.artifacts[0]: artifacts lie in a volume, which plain processes cannot \
         have: this machine allows no namespaces; hand values on as parameters"
    );
    assert_eq!(team.pods(), before);
}
