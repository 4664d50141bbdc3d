//! Clusters with a gang scheduler are told which pods belong together.

use crate::{apply, job, pods, process::Operator, until, with_server};

fn definition(group: &str, version: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: podgroups.{group}, annotations: {{api-approved.kubernetes.io: unapproved}}}}
spec:
  group: {group}
  names: {{kind: PodGroup, plural: podgroups, singular: podgroup}}
  scope: Namespaced
  versions:
  - name: {version}
    served: true
    storage: true
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
"
    )
}

#[test]
fn volcano_is_found_and_pods_are_made_when_it_lets_their_group_in() {
    with_server(|server, shell| {
        apply(shell, "default", &definition("scheduling.volcano.sh", "v1beta1"));
        shell.ok("kubectl wait --for=condition=established crd/podgroups.scheduling.volcano.sh");
        let operator = Operator::start(server, &["--install-definitions"]);
        operator.says("pods are placed together by volcano");
        operator.leads(shell);
        apply(shell, "default", &job("j", 3));
        let group = |path: &str| {
            shell
                .run(&format!("kubectl get podgroup j -o jsonpath='{path}'"))
                .stdout
        };
        until("its group is made", || {
            group("{.spec.minMember} {.spec.queue}") == "4 default"
        });
        assert!(pods(shell, "default").is_empty(), "the group is not let in yet");
        shell.ok("kubectl patch podgroup j --type=merge -p '{\"status\":{\"phase\":\"Inqueue\"}}'");
        until("its pods are made", || pods(shell, "default").len() == 4);
        let scheduler = "kubectl get pod j-worker-2 -o jsonpath='{.spec.schedulerName}'";
        assert_eq!(shell.ok(scheduler), "volcano");
        shell.ok("kubectl scale pytorchjob j --replicas=5");
        until("its group grows with it", || group("{.spec.minMember}") == "6");
        until("its pods are made", || pods(shell, "default").len() == 6);
        shell.ok("kubectl patch pod j-master-0 --subresource=status --type=merge -p '{\"status\":{\"phase\":\"Succeeded\"}}'");
        until("its group is gone", || {
            shell.run("kubectl get podgroup j").code != 0
        });
        assert_eq!(operator.metric("deleted_pod_groups_total"), 1);
        assert_eq!(operator.metric("created_pod_groups_total"), 1);
    });
}

#[test]
fn a_named_scheduler_gets_its_groups_and_none_gets_none() {
    with_server(|server, shell| {
        let missing = crate::process::refusal(
            server,
            &["--gang-scheduler-name=coscheduler", "--install-definitions"],
        );
        assert!(missing.contains("has no PodGroups of coscheduler"), "{missing}");
        apply(shell, "default", &definition("scheduling.x-k8s.io", "v1alpha1"));
        shell.ok("kubectl wait --for=condition=established crd/podgroups.scheduling.x-k8s.io");
        let named = [
            "--install-definitions",
            "--leader-elect=false",
            "--gang-scheduler-name=coscheduler",
        ];
        let operator = Operator::start(server, &named);
        until("the kind is served", || {
            shell.run("kubectl get pytorchjobs").code == 0
        });
        apply(shell, "default", &job("j", 1));
        until("its pods are made", || pods(shell, "default").len() == 2);
        let pod = "kubectl get pod j-worker-0 -o jsonpath='{.spec.schedulerName} {.metadata.labels.scheduling\\.x-k8s\\.io/pod-group}'";
        assert_eq!(shell.ok(pod), "coscheduler j");
        assert_eq!(
            shell.ok("kubectl get podgroup j -o jsonpath={.spec.minMember}"),
            "2"
        );
        drop(operator);
        let _operator = Operator::start(server, &["--leader-elect=false", "--gang-scheduler-name=none"]);
        apply(shell, "default", &job("alone", 1));
        until("its pods are made", || pods(shell, "default").len() == 4);
        assert!(shell.run("kubectl get podgroup alone").code != 0);
    });
}

const MX_JOB: &str = "{apiVersion: mxnet.mlkube.io/v1beta1, kind: MxJob, metadata: {name: digits}, spec: {jobMode: dist, replicaSpecs: [\
{mxReplicaType: SCHEDULER, PsRootPort: 9091, replicas: 1, template: {spec: {containers: [{name: mxnet, image: host}]}}}, \
{mxReplicaType: SERVER, replicas: 1, template: {spec: {containers: [{name: mxnet, image: host}]}}}, \
{mxReplicaType: WORKER, replicas: 2, template: {spec: {containers: [{name: mxnet, image: host, resources: {requests: {cpu: 2}}}]}}}]}}\n";

#[test]
fn an_mxjob_has_a_group_until_it_has_ended() {
    with_server(|server, shell| {
        apply(shell, "default", &definition("scheduling.volcano.sh", "v1beta1"));
        shell.ok("kubectl wait --for=condition=established crd/podgroups.scheduling.volcano.sh");
        let operator = Operator::start(server, &["--install-definitions"]);
        operator.leads(shell);
        until("the kind is served", || {
            shell.run("kubectl get mxjobs.mxnet.mlkube.io").code == 0
        });
        apply(shell, "default", MX_JOB);
        let status = |field: &str| {
            let path = format!("kubectl get mxjobs.mxnet.mlkube.io digits -o jsonpath={{.status.{field}}}");
            shell.ok(&path)
        };
        until("it waits for its group", || !status("reason").is_empty());
        let group = shell.ok("kubectl get podgroups -o jsonpath='{.items[*].metadata.name}'");
        let waits = format!("4 pods wait for Volcano to let PodGroup {group} in");
        assert_eq!(status("reason"), waits);
        let asks = format!(
            "kubectl get podgroup {group} -o jsonpath='{{.spec.minMember}} {{.spec.minResources.cpu}}'"
        );
        assert_eq!(shell.ok(&asks), "4 4");
        let jobs = |path: &str| shell.ok(&format!("kubectl get jobs -o jsonpath='{{.items[*]{path}}}'"));
        assert_eq!(jobs(".metadata.name"), "");
        shell.ok(&format!(
            "kubectl patch podgroup {group} --type=merge -p '{{\"status\":{{\"phase\":\"Inqueue\"}}}}'"
        ));
        until("its batch Jobs are made", || {
            jobs(".spec.template.spec.schedulerName") == "volcano volcano volcano volcano"
        });
        let members = jobs(".spec.template.metadata.annotations.scheduling\\.k8s\\.io/group-name");
        assert_eq!(members, [group.as_str(); 4].join(" "));
        // Its group has the name that it began with, whatever is written over that.
        let edit = "kubectl patch mxjobs.mxnet.mlkube.io digits --type=merge -p '{\"spec\":{\"RuntimeId\":\"Not_A_Name\"}}'";
        shell.ok(edit);
        until("the edit is seen", || {
            status("reason").starts_with("invalid job spec")
        });
        for job in jobs(".metadata.name").split(' ') {
            let patch = "--subresource=status --type=merge -p '{\"status\":{\"succeeded\":1}}'";
            shell.ok(&format!("kubectl patch job {job} {patch}"));
        }
        until("its group is gone", || {
            shell.ok("kubectl get podgroups -o name").is_empty()
        });
        assert_eq!(status("state"), "Succeeded");
    });
}
