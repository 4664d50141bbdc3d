//! What keeps an operator from starting is said, with what to do about it.

use std::{fs, process::Command};

use client_tests::{binary, run};

use crate::{
    process::{command, refusal},
    with_server,
};

#[test]
fn a_cluster_that_does_not_answer_is_named() {
    with_server(|server, _| {
        let text = fs::read_to_string(server.kubeconfig()).unwrap();
        let elsewhere = text.replace(&server.address(), "https://127.0.0.1:1");
        let path = server.home().join("elsewhere");
        fs::write(&path, elsewhere).unwrap();
        let said = refusal(server, &["--kubeconfig", &path.display().to_string()]);
        assert!(
            said.contains("error: no cluster answers at https://127.0.0.1:1\n"),
            "{said}"
        );
        let said = refusal(server, &["--kubeconfig", "/nowhere"]);
        assert!(
            said.contains("error: the kubeconfig `/nowhere` cannot be used"),
            "{said}"
        );
        let output = run(
            command(server, &[])
                .env_remove("KUBECONFIG")
                .env("HOME", server.home().join("empty")),
            "",
        );
        assert!(output.stderr.contains("error: no cluster is named"), "{output:?}");
        assert!(output.stderr.contains("trainyard up --detach"), "{output:?}");
    });
}

#[test]
fn kinds_that_are_missing_are_named_and_those_of_another_operator_left_alone() {
    with_server(|server, shell| {
        let said = refusal(server, &["--kinds=tfjobs"]);
        assert!(
            said.contains("tfjobs.kubeflow.org: it is not installed"),
            "{said}"
        );
        assert!(
            said.contains("hint: `--install-definitions` installs them"),
            "{said}"
        );
        shell.ok("kubectl apply -f - <<'END'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tfjobs.kubeflow.org}
spec:
  group: kubeflow.org
  names: {kind: TFJob, plural: tfjobs, singular: tfjob}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {status: {type: object}}}}
END");
        let said = refusal(server, &["--kinds=tfjobs"]);
        assert!(said.contains("its definition is another operator's"), "{said}");
    });
}

#[test]
fn a_bad_file_of_accelerators_is_refused_by_its_line_and_field() {
    with_server(|server, shell| {
        let path = server.home().join("accelerators.yaml");
        fs::write(
            &path,
            "accelerators:\n  nvidia.com/gpu:\n    volumes:\n    - name: lib\n      hostpath: 7\n",
        )
        .unwrap();
        let shown = path.display().to_string();
        let expected =
            "line 5: accelerators.nvidia.com/gpu.volumes.0.hostpath: must be text; put it into quotes";
        let said = refusal(server, &["--controller-config-file", &shown]);
        assert!(said.contains(&format!("error: {shown}: {expected}\n")), "{said}");
        shell.ok(&format!(
            "kubectl create configmap accelerators --from-file=controller_config_file.yaml={shown}"
        ));
        let said = refusal(server, &["--controller-config-map=default/accelerators"]);
        assert!(said.contains(expected), "{said}");
        let said = refusal(server, &["--controller-config-map=default/nothing"]);
        assert!(said.contains("cannot read ConfigMap default/nothing"), "{said}");
        let said = refusal(server, &["--controller-config-file", "/nowhere"]);
        assert!(said.contains("cannot read `/nowhere`"), "{said}");
    });
}

#[test]
fn an_address_in_use_is_named() {
    with_server(|server, _| {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        let mut command = Command::new(binary());
        command
            .args([
                "operator",
                "--metrics-bind-address=0",
                "--health-probe-bind-address",
                &address,
            ])
            .env("KUBECONFIG", server.kubeconfig());
        let said = run(&mut command, "").stderr;
        assert!(
            said.contains(&format!("error: cannot listen on {address}")),
            "{said}"
        );
    });
}
