//! What the printed manifests allow is what the operator needs, and no less.

use std::fs;

use client_tests::{Server, Shell, binary, is_real};

use crate::{
    apply, job, pods,
    process::{Operator, refusal},
    until, with_server,
};

/// A kubeconfig of a service account.
pub(crate) fn kubeconfig(server: &Server, shell: &Shell<'_>, namespace: &str, account: &str) -> String {
    let token = shell.ok(&format!("kubectl create token {account} -n {namespace}"));
    let text = fs::read_to_string(server.kubeconfig()).unwrap();
    let path = server.home().join(format!("{account}.kubeconfig"));
    fs::write(&path, text.replace(&server.token(), token.trim())).unwrap();
    path.display().to_string()
}

#[test]
fn an_account_without_rights_is_told_which_it_needs() {
    with_server(|server, shell| {
        shell.ok("kubectl create serviceaccount nobody");
        let path = kubeconfig(server, shell, "default", "nobody");
        let said = refusal(server, &["--kubeconfig", &path, "--kinds=tfjobs"]);
        assert!(
            said.contains("this account may not get pods, list pods, watch pods, create pods"),
            "{said}"
        );
        assert!(said.contains("watch tfjobs.kubeflow.org"), "{said}");
        assert!(said.contains("ClusterRole trainyard-operator"), "{said}");
    });
}

#[test]
fn the_account_of_the_printed_manifests_can_do_all_it_has_to() {
    with_server(|server, shell| {
        let print = format!("{} operator --print-manifests", binary().display());
        shell.ok(&format!("{print} | kubectl apply --server-side -f -"));
        shell.ok("kubectl wait --for=condition=established crd --all --timeout=60s");
        let deployment =
            "kubectl get deployment -n trainyard trainyard-operator -o jsonpath={.spec.replicas}";
        assert_eq!(shell.ok(deployment), "2");
        let path = kubeconfig(server, shell, "trainyard", "trainyard-operator");
        let arguments = ["--kubeconfig", &path, "--lease-namespace=trainyard"];
        let operator = Operator::start(server, &arguments);
        operator.leads(shell);
        apply(shell, "default", &job("torch", 1));
        apply(
            shell,
            "default",
            "apiVersion: kubeflow.org/v1\nkind: MPIJob\nmetadata: {name: mpi}\nspec:\n  mpiReplicaSpecs:\n    Launcher: {replicas: 1, template: {spec: {containers: [{name: mpi, image: user/mpi, command: [mpirun]}]}}}\n    Worker: {replicas: 2, template: {spec: {containers: [{name: mpi, image: user/mpi}]}}}\n",
        );
        until("all pods are made", || pods(shell, "default").len() == 5);
        until("its role is made", || {
            shell.run("kubectl get role mpi-launcher").code == 0
        });
        shell.ok("kubectl patch pod torch-master-0 --subresource=status --type=merge -p '{\"status\":{\"phase\":\"Succeeded\"}}'");
        let state = "kubectl get pytorchjob torch -o jsonpath='{.status.conditions[-1:].type}'";
        until("it has succeeded", || shell.ok(state) == "Succeeded");
        let denied = operator.metric("rest_client_requests_total{code=\"403\"");
        assert_eq!(denied, 0);
    });
}

#[test]
fn inside_the_cluster_it_may_do_what_it_is_asked_for_elsewhere() {
    if is_real() {
        // There it has an account of its own.
        return;
    }
    with_server(|server, _| {
        let text = fs::read_to_string(server.kubeconfig()).unwrap();
        let token = text.lines().find(|line| line.contains("token: ")).unwrap();
        let user = token.replace("token: ", "as: system:trainyard-operator # ");
        let path = server.home().join("operator.kubeconfig");
        fs::write(&path, text.replace(token, &format!("{token}\n{user}"))).unwrap();
        let path = path.display().to_string();
        let said = refusal(
            server,
            &[
                "--kubeconfig",
                &path,
                "--lease-namespace=default",
                "--leader-elect",
            ],
        );
        assert!(
            said.contains("this account may not get leases"),
            "of all rights only those of a lease are missing: {said}"
        );
    });
}
