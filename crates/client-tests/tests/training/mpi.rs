//! `mpirun` in MPIJobs of every version, with images that have nothing but their own MPI: no sshd, no keys,
//! no kubectl.

use std::path::{Path, PathBuf};

use client_tests::{User, needed, openmpi, prefix};
use serde_json::Value;

use client_tests::team::{Scenario, Team, conditions, message, names, play, state};

/// MPICH is had as a Python package, beside whatever else is installed.
const MPICH: &str = "mpich==4.3.2";

#[test]
fn mpirun_reaches_the_workers_of_a_job_of_every_version() {
    if needed(openmpi()).is_none() || needed(prefix("mpich", &[MPICH])).is_none() {
        return;
    }
    let scenarios: [Scenario; 8] = [
        ("v1alpha2", |team| goes_round(team, "v1alpha2")),
        ("v1", |team| goes_round(team, "v1")),
        ("v2beta1", |team| goes_round(team, "v2beta1")),
        ("mpich-v1alpha2", |team| {
            goes_round_with_mpich(team, "v1alpha2", "mpiDistribution");
        }),
        ("mpich-v2beta1", |team| {
            goes_round_with_mpich(team, "v2beta1", "mpiImplementation");
        }),
        ("launcher-works", the_launcher_works_too),
        ("read-only", on_a_read_only_image),
        ("ssh", by_ssh),
    ];
    play(&scenarios);
}

#[test]
fn a_worker_that_dies_ends_mpirun_and_the_job_says_so() {
    if needed(openmpi()).is_none() || needed(prefix("mpich", &[MPICH])).is_none() {
        return;
    }
    let scenarios: [Scenario; 5] = [
        ("never", a_worker_ends),
        ("onfailure", |team| tried_again(team, "v1", "OnFailure")),
        ("batch", |team| tried_again(team, "v2beta1", "Never")),
        ("batch-v1alpha2", |team| tried_again(team, "v1alpha2", "Never")),
        ("mpich", tried_again_with_mpich),
    ];
    play(&scenarios);
}

/// An MPIJob with four workers; replicas have `/program` and what `more` puts into their pods.
struct Mpi<'a> {
    version: &'a str,
    launcher: &'a str,
    restart: &'a str,
    worker: &'a str,
    worker_pod: &'a str,
    more: &'a str,
    container: &'a str,
    volumes: &'a str,
}

impl Default for Mpi<'_> {
    fn default() -> Self {
        Self {
            version: "v2beta1",
            launcher: "exec mpirun --allow-run-as-root -np 4 /program/ring",
            restart: "Never",
            worker: "",
            worker_pod: "",
            more: "",
            container: "",
            volumes: "",
        }
    }
}

impl Mpi<'_> {
    fn submit(&self, team: &Team<'_>) {
        let container = format!(
            "name: mpi, image: host, volumeMounts: [{{name: program, mountPath: /program}}{}]",
            self.container
        );
        let volumes = format!(
            "volumes: [{{name: program, configMap: {{name: program, defaultMode: 0755}}}}{}]",
            self.volumes
        );
        let (launcher, restart) = (self.launcher, self.restart);
        let (worker, worker_pod) = (self.worker, self.worker_pod);
        team.apply(&format!(
            "apiVersion: kubeflow.org/{}\n\
             kind: MPIJob\n\
             metadata: {{name: job}}\n\
             spec:\n{}  \
               slotsPerWorker: 1\n  \
               mpiReplicaSpecs:\n    \
                 Launcher: {{replicas: 1, restartPolicy: {restart}, template: {{spec: {{terminationGracePeriodSeconds: 0, {volumes}, containers: [{{{container}, command: [sh, -c, {launcher:?}]}}]}}}}}}\n    \
                 Worker: {{replicas: 4, template: {{spec: {{{worker_pod}terminationGracePeriodSeconds: 0, {volumes}, containers: [{{{container}{worker}}}]}}}}}}\n",
            self.version, self.more
        ));
    }
}

#[track_caller]
fn compile(team: &Team<'_>, compiler: &Path) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/ring.c");
    let folder = team.namespace;
    team.shell.ok(&format!(
        "mkdir {folder} && {} -O1 -o {folder}/ring {source}",
        compiler.display()
    ));
    team.ok(&format!("create configmap program --from-file={folder}/ring"));
}

#[track_caller]
fn compile_with_openmpi(team: &Team<'_>) {
    compile(team, &openmpi().expect("it was there before").mpicc);
}

/// What the launcher's program has printed, in an order that does not depend on who was first.
fn log(team: &Team<'_>, launcher: &str) -> Vec<String> {
    let log = team.ok(&format!("logs {launcher} -c mpi"));
    let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
    // mpirun itself may warn of a harmless race with its remote shells; its own lines begin with a bracket.
    lines.retain(|line| !line.starts_with('['));
    lines.sort_unstable();
    lines
}

#[track_caller]
fn check_log(team: &Team<'_>, launcher: &str) {
    let mut wanted: Vec<String> = (0..4)
        .map(|rank| format!("{rank} of 4 on job-worker-{rank}: the sum is 10"))
        .collect();
    wanted.push("the token comes back as 6".to_owned());
    assert_eq!(log(team, launcher), wanted);
}

fn launcher(version: &str) -> &'static str {
    if version == "v1" {
        "job-launcher"
    } else {
        "job/job-launcher"
    }
}

fn goes_round(team: &Team<'_>, version: &str) {
    compile_with_openmpi(team);
    Mpi {
        version,
        more: "  runPolicy: {cleanPodPolicy: Running}\n",
        // One worker is late; an `mpirun` that does not wait for it fails.
        worker_pod: "initContainers: [{name: late, image: host, command: [sh, -c, 'case $(hostname) in *-1) sleep 2;; esac']}], ",
        ..Mpi::default()
    }
    .submit(team);
    let done = team.until_is("mpijobs/job", "Succeeded");
    assert_eq!(conditions(&done), "Created -Running Succeeded");
    check_log(team, launcher(version));
    // The launcher's own container began when all workers ran.
    let pods = team.find("pods");
    let pods = pods["items"].as_array().cloned().unwrap_or_default();
    let is_launcher = |pod: &&Value| {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        name.starts_with("job-launcher")
    };
    let launcher = pods.iter().find(is_launcher).expect("the launcher stays");
    let waited = &launcher["status"]["initContainerStatuses"][0];
    assert_eq!(waited["name"], "trainyard-wait");
    assert_eq!(waited["state"]["terminated"]["exitCode"], 0);
    // The workers do not outlive the job.
    team.until("pods", |pods| {
        names(pods).iter().all(|name| name.starts_with("job-launcher"))
    });
}

/// The folder that pods have as `/mpich`.
fn compile_with_mpich(team: &Team<'_>) -> PathBuf {
    let from = prefix("mpich", &[MPICH]).expect("it was there before");
    let folder = format!("{}-mpich", team.namespace);
    // Where it is kept, not everybody may look. Links take no time.
    team.shell.ok(&format!(
        "cp -al {from} {folder} || cp -r {from} {folder}",
        from = from.display()
    ));
    let folder = team.server.home().join(folder);
    compile(team, &folder.join("bin/mpicc"));
    folder
}

fn goes_round_with_mpich(team: &Team<'_>, version: &str, field: &str) {
    let folder = compile_with_mpich(team);
    Mpi {
        version,
        launcher: "exec /mpich/bin/mpiexec -genv LD_LIBRARY_PATH /mpich/lib -np 4 /program/ring",
        more: &format!("  {field}: MPICH\n"),
        container: ", {name: mpich, mountPath: /mpich, readOnly: true}",
        volumes: &format!(", {{name: mpich, hostPath: {{path: {}}}}}", folder.display()),
        ..Mpi::default()
    }
    .submit(team);
    team.until_is("mpijobs/job", "Succeeded");
    check_log(team, launcher(version));
}

fn the_launcher_works_too(team: &Team<'_>) {
    compile_with_openmpi(team);
    Mpi {
        launcher: "exec mpirun --allow-run-as-root -np 5 /program/ring",
        more: "  runLauncherAsWorker: true\n",
        ..Mpi::default()
    }
    .submit(team);
    team.until_is("mpijobs/job", "Succeeded");
    let log = log(team, launcher("v2beta1"));
    assert_eq!(log[0], "0 of 5 on job-launcher: the sum is 15");
    assert_eq!(log[4], "4 of 5 on job-worker-3: the sum is 15");
}

/// Our part writes nothing and needs no rights; Open MPI itself wants a folder for its sockets.
fn on_a_read_only_image(team: &Team<'_>) {
    compile_with_openmpi(team);
    let user = match team.user {
        User::Us => "runAsUser: 12345, runAsNonRoot: true, ",
        User::Nobody => "",
    };
    Mpi {
        container: &format!(
            ", {{name: tmp, mountPath: /tmp}}], securityContext: {{{user}allowPrivilegeEscalation: false, readOnlyRootFilesystem: true}}, env: [{{name: HOME, value: /tmp}}"
        ),
        volumes: ", {name: tmp, emptyDir: {}}",
        ..Mpi::default()
    }
    .submit(team);
    team.until_is("mpijobs/job", "Succeeded");
    check_log(team, launcher("v2beta1"));
}

/// A v2beta1 job whose workers start something of their own is left to talk by SSH.
fn by_ssh(team: &Team<'_>) {
    team.ok("create configmap program");
    Mpi {
        more: "  sshAuthMountPath: /home/mpiuser/.ssh\n  runPolicy: {suspend: true}\n",
        worker: ", command: [/usr/sbin/sshd, -De]",
        ..Mpi::default()
    }
    .submit(team);
    let job = team.until("jobs/job-launcher", Value::is_object);
    let template = &job["spec"]["template"]["spec"];
    assert_eq!(template["initContainers"], Value::Null);
    let mounts = template["containers"][0]["volumeMounts"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let places: Vec<&str> = mounts
        .iter()
        .filter_map(|mount| mount["mountPath"].as_str())
        .collect();
    assert_eq!(places, ["/program", "/home/mpiuser/.ssh", "/etc/mpi"]);
    let secret = team.find("secrets/job-ssh");
    assert_eq!(secret["type"], "kubernetes.io/ssh-auth");
    // OpenSSH reads the key, and it is the key that belongs to the public one.
    let key = |name: &str| format!("get secret job-ssh -o jsonpath='{{.data.{name}}}' | base64 -d");
    let folder = team.namespace;
    team.shell.ok(&format!("mkdir {folder}"));
    team.ok(&format!(
        "{} > {folder}/key && chmod 600 {folder}/key",
        key("ssh-privatekey")
    ));
    let public = team.ok(&key("ssh-publickey"));
    if team.shell.run("command -v ssh-keygen").code == 0 {
        let derived = team.shell.ok(&format!("ssh-keygen -y -f {folder}/key"));
        assert_eq!(derived.trim_end(), public.trim_end());
    }
    let config = team.find("configmaps/job-config");
    assert_eq!(
        config["data"]["hostfile"]
            .as_str()
            .unwrap_or_default()
            .lines()
            .next(),
        Some("job-worker-0.job.ssh.svc slots=1")
    );
    assert!(names(&team.find("roles")).is_empty());
    // A job that needs no key has one all the same: scripts look for it.
    let plain = "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: plain}\nspec:\n  runPolicy: {suspend: true}\n  mpiReplicaSpecs:\n    Launcher: {replicas: 1, template: {spec: {containers: [{name: m, image: host}]}}}\n    Worker: {replicas: 1, template: {spec: {containers: [{name: m, image: host}]}}}\n";
    team.apply(plain);
    team.until("secrets/plain-ssh", Value::is_object);
}

#[track_caller]
fn until_it_goes_round(team: &Team<'_>, launcher: &str) {
    team.shell.ok(&format!(
        "timeout 120 sh -c 'until kubectl --namespace {} logs {launcher} -c mpi | grep \"the token comes back\"; do sleep 0.2; done' 2> /dev/null",
        team.namespace
    ));
}

/// What a worker runs ends, and with it the worker, `mpirun` and the job.
fn a_worker_ends(team: &Team<'_>) {
    compile_with_openmpi(team);
    Mpi {
        version: "v1",
        launcher: "exec mpirun --allow-run-as-root -np 4 /program/ring forever",
        worker: ", command: [sh, -c, 'until [ -s /tmp/end ]; do sleep 0.1; done; exit $(cat /tmp/end)']",
        ..Mpi::default()
    }
    .submit(team);
    until_it_goes_round(team, "job-launcher");
    team.until("mpijobs/job", |job| state(job) == "Running");
    team.ok("exec job-worker-2 -- sh -c 'echo 9 > /tmp/end'");
    let failed = team.until_is("mpijobs/job", "Failed");
    assert!(
        message(&failed)
            .starts_with("MPIJob job is failed because 1 Worker replica(s) failed. worker-2 exit 9")
            || message(&failed).contains("launcher exit "),
        "{}",
        message(&failed)
    );
    // `mpirun` ends by itself: it is not killed with the job.
    let ended = team.until("pods/job-launcher", |pod| pod["status"]["phase"] == "Failed");
    let code = &ended["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"];
    assert!(code.as_i64().is_some_and(|code| code > 0), "{code}");
    let log = team.ok("logs job-launcher -c mpi");
    assert!(log.contains("job-worker-2"), "{log}");
}

/// What is kept from one attempt for the next.
const KEPT: &str = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: kept}, spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Mi}}}}";

fn tried_again(team: &Team<'_>, version: &str, restart: &str) {
    compile_with_openmpi(team);
    team.apply(KEPT);
    Mpi {
        version,
        restart,
        launcher: "[ -e /kept/tried ] || forever=forever; touch /kept/tried; exec mpirun --allow-run-as-root -np 4 /program/ring $forever",
        container: ", {name: kept, mountPath: /kept}",
        volumes: ", {name: kept, persistentVolumeClaim: {claimName: kept}}",
        ..Mpi::default()
    }
    .submit(team);
    until_tried_again(team, version);
}

fn tried_again_with_mpich(team: &Team<'_>) {
    let folder = compile_with_mpich(team);
    team.apply(KEPT);
    Mpi {
        launcher: "[ -e /kept/tried ] || forever=forever; touch /kept/tried; exec /mpich/bin/mpiexec -genv LD_LIBRARY_PATH /mpich/lib -np 4 /program/ring $forever",
        more: "  mpiImplementation: MPICH\n",
        container: ", {name: kept, mountPath: /kept}, {name: mpich, mountPath: /mpich, readOnly: true}",
        volumes: &format!(
            ", {{name: kept, persistentVolumeClaim: {{claimName: kept}}}}, {{name: mpich, hostPath: {{path: {}}}}}",
            folder.display()
        ),
        ..Mpi::default()
    }
    .submit(team);
    until_tried_again(team, "v2beta1");
}

/// A worker is taken away; the next attempt finds it again.
fn until_tried_again(team: &Team<'_>, version: &str) {
    until_it_goes_round(team, launcher(version));
    team.ok("delete pod job-worker-2");
    team.until("mpijobs/job", |job| {
        message(job).contains("restart 1")
            && message(job).contains(": launcher")
            && message(job).contains(" exit ")
    });
    let done = team.until_is("mpijobs/job", "Succeeded");
    assert_eq!(done["status"]["replicaStatuses"]["Launcher"]["succeeded"], 1);
}
