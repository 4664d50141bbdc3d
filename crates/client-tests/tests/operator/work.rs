//! What an operator looks after, and what it counts.

use std::fs;

use crate::{apply, job, pods, process::Operator, until, with_server};

#[test]
fn namespaces_that_are_not_named_are_left_alone() {
    with_server(|server, shell| {
        for namespace in ["one", "two", "three"] {
            shell.ok(&format!("kubectl create namespace {namespace}"));
        }
        let arguments = ["--install-definitions", "--namespace=one", "--namespace=two"];
        let operator = Operator::start(server, &arguments);
        operator.leads(shell);
        for namespace in ["three", "two", "one"] {
            apply(shell, namespace, &job("j", 1));
        }
        for namespace in ["one", "two"] {
            until("its pods are made", || pods(shell, namespace).len() == 2);
        }
        assert!(pods(shell, "three").is_empty());
    });
}

#[test]
fn kinds_that_are_not_named_are_left_alone() {
    with_server(|server, shell| {
        let everything = Operator::start(server, &["--install-definitions", "--leader-elect=false"]);
        everything.says("looking after tfjobs.kubeflow.org, pytorchjobs");
        until("the kinds are served", || {
            shell.run("kubectl get tfjobs,pytorchjobs").code == 0
        });
        drop(everything);
        let operator = Operator::start(server, &["--kinds=TFJob", "--leader-elect"]);
        operator.leads(shell);
        apply(shell, "default", &job("torch", 1));
        let tensorflow = "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: flow}\nspec: {tfReplicaSpecs: {Worker: {replicas: 2, template: {spec: {containers: [{name: tensorflow, image: host}]}}}}}\n";
        apply(shell, "default", tensorflow);
        until("its pods are made", || pods(shell, "default").len() == 2);
        assert!(pods(shell, "default").iter().all(|pod| pod.starts_with("flow-")));
    });
}

#[test]
fn jobs_are_counted_once_when_they_begin_and_end() {
    with_server(|server, shell| {
        let operator = Operator::start(server, &["--install-definitions"]);
        operator.leads(shell);
        apply(shell, "default", &job("j", 1));
        until("its pods are made", || pods(shell, "default").len() == 2);
        let labels = "{job_namespace=\"default\",framework=\"pytorch\"}";
        let jobs = |what: &str| operator.metric(&format!("training_operator_jobs_{what}_total{labels}"));
        until("it is counted", || jobs("created") == 1);
        assert_eq!(operator.metric("succeeded_service_creation_total"), 2);
        shell.ok("kubectl patch pod j-master-0 --subresource=status --type=merge -p '{\"status\":{\"phase\":\"Succeeded\"}}'");
        until("it is counted", || jobs("successful") == 1);
        assert_eq!((jobs("created"), jobs("failed")), (1, 0));
        assert!(operator.metric("controller_runtime_reconcile_time_seconds_count") >= 2);
        shell.ok("kubectl delete pytorchjob j");
        until("it is counted", || jobs("deleted") == 1);
        assert!(operator.get("/healthz").starts_with("HTTP/1.1 200"));
        assert!(operator.get("/readyz").contains("ok: leads"));
        assert!(operator.get("/else").starts_with("HTTP/1.1 404"));
    });
}

#[test]
fn containers_get_what_their_accelerator_needs() {
    with_server(|server, shell| {
        let path = server.home().join("accelerators.yaml");
        fs::write(&path, "accelerators:\n  example.com/gpu:\n    volumes:\n    - {name: lib, hostPath: /opt/gpu, mountPath: /usr/local/gpu}\n    envVars:\n    - {name: GPU_HOME, value: /usr/local/gpu}\n").unwrap();
        let file = path.display().to_string();
        shell.ok(&format!(
            "kubectl create configmap accelerators --from-file=controller_config_file.yaml={file}"
        ));
        let by_file = format!("--controller-config-file={file}");
        let by_map = "--controller-config-map=default/accelerators".to_owned();
        for (name, argument) in [("by-file", by_file), ("by-map", by_map)] {
            let operator = Operator::start(
                server,
                &["--install-definitions", "--leader-elect=false", &argument],
            );
            until("the kind is served", || {
                shell.run("kubectl get mxjobs.mxnet.mlkube.io").code == 0
            });
            let job = "apiVersion: mxnet.mlkube.io/v1beta1\nkind: MxJob\nmetadata: {name: NAME}\nspec:\n  jobMode: local\n  replicaSpecs:\n  - mxReplicaType: WORKER\n    template: {spec: {containers: [{name: mxnet, image: host, resources: {limits: {example.com/gpu: 1}}}]}}\n";
            apply(shell, "default", &job.replace("NAME", name));
            let volumes =
                "kubectl get jobs -o jsonpath='{.items[*].spec.template.spec.volumes[*].hostPath.path}'";
            until("its Job is made", || shell.ok(volumes) == "/opt/gpu");
            shell.ok(&format!("kubectl delete mxjob.mxnet.mlkube.io {name}"));
            until("its Job is gone", || {
                shell.ok("kubectl get jobs -o name").is_empty()
            });
            drop(operator);
        }
    });
}

#[test]
fn the_program_comes_to_pods_by_an_image_or_from_their_node() {
    with_server(|server, shell| {
        let launcher = "apiVersion: kubeflow.org/v1\nkind: MPIJob\nmetadata: {name: NAME}\nspec:\n  mpiReplicaSpecs:\n    Launcher: {replicas: 1, template: {spec: {containers: [{name: mpi, image: user/mpi, command: [mpirun]}]}}}\n    Worker: {replicas: 1, template: {spec: {containers: [{name: mpi, image: user/mpi}]}}}\n";
        for (argument, name, path, expected) in [
            (
                "--tools-image=registry/trainyard:7",
                "by-image",
                "{.spec.initContainers[?(@.name==\"trainyard-delivery\")].image}",
                "registry/trainyard:7",
            ),
            (
                "--tools-path=/usr/bin/trainyard",
                "by-path",
                "{.spec.volumes[?(@.name==\"trainyard-tools\")].hostPath.path}",
                "/usr/bin/trainyard",
            ),
        ] {
            let operator = Operator::start(
                server,
                &["--install-definitions", "--leader-elect=false", argument],
            );
            until("the kind is served", || {
                shell.run("kubectl get mpijobs").code == 0
            });
            apply(shell, "default", &launcher.replace("NAME", name));
            let found = || shell.run(&format!("kubectl get pod {name}-launcher -o jsonpath='{path}'"));
            until("its launcher is made", || found().stdout == expected);
            drop(operator);
        }
    });
}
