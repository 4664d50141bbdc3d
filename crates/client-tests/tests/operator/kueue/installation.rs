//! Kueue on a cluster of a test: what its own manifests bring, and its program beside the server instead of in a pod.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use client_tests::{Kueue, Server, Shell};
use serde_json::{Value, json};

use crate::{rights::kubeconfig, until};

const NAMESPACE: &str = "kueue-system";
/// What runs Kueue in a cluster, and the service of its own for pages about what waits: neither is there.
const LEFT_OUT: [&str; 2] = ["Deployment", "APIService"];
/// What calls Kueue back.
const CALLERS: [&str; 7] = [
    "mutatingwebhookconfiguration/kueue-mutating-webhook-configuration",
    "validatingwebhookconfiguration/kueue-validating-webhook-configuration",
    "crd/localqueues.kueue.x-k8s.io",
    "crd/clusterqueues.kueue.x-k8s.io",
    "crd/cohorts.kueue.x-k8s.io",
    "crd/workloads.kueue.x-k8s.io",
    "crd/multikueueclusters.kueue.x-k8s.io",
];

/// Certificates as Kueue would make them for itself, which it takes for its own, and which are good for this machine's
/// address too.
const CERTIFICATES: &str = "
    mkdir certificates && cd certificates
    new='openssl req -newkey rsa:2048 -nodes'
    $new -x509 -days 3650 -subj /CN=kueue-ca -addext subjectAltName=DNS:kueue-ca -keyout ca.pem -out ca.crt
    openssl rsa -traditional -in ca.pem -out ca.key
    $new -subj /CN=kueue -keyout tls.key -out tls.csr
    openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -days 3650 -out tls.crt -extfile <(
        echo subjectAltName=DNS:kueue-webhook-service.kueue-system.svc,IP:127.0.0.1)
    rm ca.pem tls.csr";

/// Kueue that runs, with the rights that its manifests give it.
pub(super) struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    /// Installs it, starts it and waits until it takes queues. Whoever looks after jobs has brought their kinds.
    #[track_caller]
    pub(super) fn start(kueue: &Kueue, server: &Server, shell: &Shell<'_>) -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let certificates = server.home().join("certificates");
        shell.ok(CERTIFICATES);
        let authority = shell.ok("base64 -w0 certificates/ca.crt");
        install(kueue, server.home(), shell);
        shell.ok(&format!(
            "kubectl delete secret kueue-webhook-server-cert -n {NAMESPACE} --ignore-not-found && kubectl create secret \
             generic kueue-webhook-server-cert -n {NAMESPACE} --from-file={}",
            certificates.display()
        ));
        for caller in CALLERS {
            let object = shell.ok(&format!("kubectl get {caller} -o json"));
            let object = called_back(serde_json::from_str(&object).unwrap(), port, &authority);
            fs::write(server.home().join("caller.json"), object.to_string()).unwrap();
            shell.ok("kubectl replace -f caller.json");
        }
        let config = server.home().join("kueue.json");
        fs::write(&config, configuration(port, &certificates).to_string()).unwrap();
        let log = server.home().join("kueue.log");
        let output = fs::File::create(&log).unwrap();
        let child = Command::new(&kueue.program)
            .arg("--config")
            .arg(&config)
            .env(
                "KUBECONFIG",
                kubeconfig(server, shell, NAMESPACE, "kueue-controller-manager"),
            )
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn()
            .expect("Kueue can be started");
        let mut running = Self { child, log };
        let flavor = "kubectl apply -f - <<'END'\n{apiVersion: kueue.x-k8s.io/v1beta1, kind: ResourceFlavor, metadata: \
                      {name: simulated}, spec: {nodeLabels: {trainyard.dev/simulated: \"true\"}}}\nEND";
        until("Kueue takes a flavor", || {
            assert!(matches!(running.child.try_wait(), Ok(None)), "Kueue has ended");
            shell.run(flavor).code == 0
        });
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            println!("--- Kueue's log\n{log}");
        }
    }
}

/// Its namespace, kinds, rights and webhooks, as its users have them.
fn install(kueue: &Kueue, home: &Path, shell: &Shell<'_>) {
    let manifests = shell.ok(&format!("kubectl kustomize {}", kueue.config.display()));
    let is_wanted = |manifest: &&str| {
        let is = |kind: &str| manifest.lines().any(|line| line == format!("kind: {kind}"));
        !LEFT_OUT.into_iter().any(is)
    };
    let wanted: Vec<&str> = manifests.split("\n---\n").filter(is_wanted).collect();
    fs::write(home.join("kueue.yaml"), wanted.join("\n---\n")).unwrap();
    shell.ok("kubectl apply --server-side -f kueue.yaml");
}

/// There is nobody who brings what goes to a Service to a process of this machine, so it is called by its address.
fn called_back(mut caller: Value, port: u16, authority: &str) -> Value {
    let address = |client: &mut Value| {
        let path = client["service"]["path"].as_str().expect("it calls a Service");
        *client = json!({"url": format!("https://127.0.0.1:{port}{path}"), "caBundle": authority});
    };
    match caller.get_mut("webhooks").and_then(Value::as_array_mut) {
        Some(webhooks) => webhooks
            .iter_mut()
            .for_each(|webhook| address(&mut webhook["clientConfig"])),
        None => address(&mut caller["spec"]["conversion"]["webhook"]["clientConfig"]),
    }
    caller
}

/// As it is shipped, but for where it listens, for kinds that are not there, and for what a single one has no use for.
fn configuration(port: u16, certificates: &Path) -> Value {
    json!({
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": "127.0.0.1:0"},
        "metrics": {"bindAddress": "127.0.0.1:0"},
        "webhook": {"host": "127.0.0.1", "port": port, "certDir": certificates},
        "leaderElection": {"leaderElect": false},
        "featureGates": {"VisibilityOnDemand": false},
        "integrations": {"frameworks": [
            "batch/job", "pod", "deployment", "statefulset", "kubeflow.org/mpijob", "kubeflow.org/paddlejob",
            "kubeflow.org/pytorchjob", "kubeflow.org/tfjob", "kubeflow.org/xgboostjob", "kubeflow.org/jaxjob",
        ]},
    })
}
