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
