//! Jobs that cannot be: refused when they are submitted, or shown as failed with the field that is wrong;
//! and nothing is made of them.

use client_tests::User;
use client_tests::{
    manifests::Job,
    team::{Scenario, Team, message, names, play_as},
};

#[test]
fn a_wrong_job_is_told_what_is_wrong_with_it() {
    // Who runs the cluster makes no difference here.
    let scenarios: [Scenario; 6] = [
        ("admission", refused_at_admission),
        ("ports", with_ports_of_its_own),
        ("versions", through_all_versions),
        ("condition", shown_as_a_condition),
        ("taken", whose_names_are_taken),
        ("mended", mended),
    ];
    play_as(User::Us, &scenarios);
}

/// A PyTorchJob with this specification.
fn pytorch(name: &str, spec: &str) -> String {
    let spec = spec.replace(
        "GOOD",
        "template: {spec: {containers: [{name: pytorch, image: host, command: [\"true\"]}]}}",
    );
    format!("{{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {{name: {name}}}, spec: {{{spec}}}}}")
}

fn refused_at_admission(team: &Team<'_>) {
    let replicas = |replicas: &str| pytorch("job", &format!("pytorchReplicaSpecs: {{{replicas}}}"));
    let policy = |policy: &str| {
        pytorch(
            "job",
            &format!("runPolicy: {{{policy}}}, pytorchReplicaSpecs: {{Worker: {{GOOD}}}}"),
        )
    };
    let mpi = |replicas: &str| {
        let replicas = replicas.replace("GOOD", "template: {spec: {containers: [{name: m, image: host}]}}");
        format!(
            "{{apiVersion: kubeflow.org/v2beta1, kind: MPIJob, metadata: {{name: job}}, spec: {{mpiReplicaSpecs: {{{replicas}}}}}}}"
        )
    };
    let long = "a".repeat(60);
    let cases = [
        (
            replicas(""),
            "spec.pytorchReplicaSpecs: Required value: must be required",
        ),
        (
            replicas("Worker: {replicas: -1, GOOD}"),
            "spec.pytorchReplicaSpecs.Worker.replicas: Invalid value: -1",
        ),
        (
            replicas("Worker: {replicas: 2000000000, GOOD}"),
            "spec.pytorchReplicaSpecs.Worker.replicas: Invalid value: 2000000000",
        ),
        (
            replicas("Worker: {replicas: 1}"),
            "spec.pytorchReplicaSpecs[Worker].template.spec.containers: Required value: must be specified",
        ),
        (
            replicas("Worker: {template: {spec: {containers: [{name: torch, image: host}]}}}"),
            "spec.pytorchReplicaSpecs[Worker].template.spec.containers: Required value: must have at least one container with name pytorch",
        ),
        (
            replicas("Worker: {template: {spec: {containers: [{image: host}]}}}"),
            "spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].name: Required value",
        ),
        (
            replicas("Worker: {template: {spec: {containers: [{name: pytorch}]}}}"),
            "spec.pytorchReplicaSpecs[Worker].template.spec.containers: Required value: image must be required",
        ),
        (
            replicas("Master: {replicas: 2, GOOD}"),
            "spec.pytorchReplicaSpecs: Forbidden: Master replicas must be 1",
        ),
        (
            replicas("Master: {GOOD}, Worker: {replicas: 0, GOOD}"),
            "spec.pytorchReplicaSpecs: Forbidden: Worker replicas must be at least 1",
        ),
        (
            pytorch(&long, "pytorchReplicaSpecs: {Worker: {GOOD}}"),
            "metadata.name: Invalid value: \"object\": must be shorter: the names of its pods, `<name>-<role>-<number>`, have at most 63 characters",
        ),
        (
            policy("backoffLimit: -1"),
            "spec.runPolicy.backoffLimit: Invalid value: -1",
        ),
        (
            policy("cleanPodPolicy: Most"),
            "spec.runPolicy.cleanPodPolicy: Unsupported value: \"Most\": supported values: \"All\", \"Running\", \"None\"",
        ),
        (
            pytorch(
                "job",
                "cleanPodPolicy: all, pytorchReplicaSpecs: {Worker: {GOOD}}",
            ),
            "spec.cleanPodPolicy: Unsupported value: \"all\"",
        ),
        (
            pytorch(
                "job",
                "nprocPerNode: eight, pytorchReplicaSpecs: {Worker: {GOOD}}",
            ),
            "spec.nprocPerNode: Invalid value: \"\": must be auto, a type of device (cpu, ",
        ),
        (
            policy("managedBy: me"),
            "spec.runPolicy.managedBy: Invalid value: \"object\": supported values: kubeflow.org/training-operator",
        ),
        (
            policy("backofLimit: 1"),
            "unknown field \"spec.runPolicy.backofLimit\"",
        ),
        (
            pytorch("job", "runPolcy: {}, pytorchReplicaSpecs: {Worker: {GOOD}}"),
            "unknown field \"spec.runPolcy\"",
        ),
        (
            mpi("Worker: {replicas: 1, GOOD}"),
            "spec.mpiReplicaSpecs: Required value: must have Launcher replica spec",
        ),
        (
            mpi("Launcher: {replicas: 2, GOOD}, Worker: {replicas: 1, GOOD}"),
            "spec.mpiReplicaSpecs: Forbidden: Launcher replicas must be 1",
        ),
        (
            mpi("Launcher: {GOOD}, Worker: {replicas: 1, GOOD}")
                .replace("spec: {mpi", "spec: {mpiImplementation: Mpich, mpi"),
            "spec.mpiImplementation: Unsupported value: \"Mpich\": supported values: \"OpenMPI\", \"Intel\", \"MPICH\"",
        ),
    ];
    for (manifest, wanted) in cases {
        let refusal = team.refusal(&manifest);
        assert!(refusal.contains(wanted), "{manifest}\n{refusal}");
    }
    assert!(names(&team.find("pytorchjobs")).is_empty() && names(&team.find("mpijobs")).is_empty());
}

fn shown_as_a_condition(team: &Team<'_>) {
    let worker = |name: &str, replica: &str| {
        pytorch(
            name,
            &format!("pytorchReplicaSpecs: {{Worker: {{{replica}GOOD}}}}"),
        )
    };
    let cases = [
        (
            worker("policy", "restartPolicy: Sometimes, "),
            "spec.pytorchReplicaSpecs[Worker].restartPolicy: Unsupported value: \"Sometimes\"",
        ),
        (
            worker("role", "").replace("Worker", "Helper"),
            "spec.pytorchReplicaSpecs[Helper]: Unsupported value: \"Helper\": supported values: \"Master\", \"Worker\"",
        ),
        (
            pytorch("twice", "pytorchReplicaSpecs: {Worker: {GOOD}, worker: {GOOD}}"),
            "spec.pytorchReplicaSpecs[worker]: Duplicate value: \"worker\"",
        ),
        (
            worker("template", "").replace("image: host", "image: host, imagePullPolicy: Often"),
            "spec.pytorchReplicaSpecs[Worker].template.spec.containers[0].imagePullPolicy: Unsupported value: \"Often\"",
        ),
        (
            pytorch(
                "elastic",
                "elasticPolicy: {minReplicas: 3, maxReplicas: 2}, pytorchReplicaSpecs: {Worker: {GOOD}}",
            ),
            "spec.elasticPolicy.minReplicas: Invalid value: 3: must not be greater than maxReplicas",
        ),
    ];
    for (manifest, _) in &cases {
        team.apply(manifest);
    }
    let all = team.until("pytorchjobs", |jobs| {
        let jobs = jobs["items"].as_array().into_iter().flatten();
        jobs.filter(|job| !job["status"].is_null()).count() == cases.len()
    });
    let said: Vec<String> = all["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|job| format!("{} {}", job["status"]["conditions"][0]["reason"], message(job)))
        .collect();
    for (manifest, wanted) in cases {
        let wanted = format!("\"PyTorchJobFailedValidation\" PyTorchJob failed validation because {wanted}");
        assert!(
            said.iter().any(|said| said.starts_with(&wanted)),
            "{manifest}\n{wanted}\n{said:#?}"
        );
    }
    team.apply(
        "{apiVersion: mxnet.mlkube.io/v1beta1, kind: MxJob, metadata: {name: job}, spec: {jobMode: dist, \
         replicaSpecs: [{mxReplicaType: WORKER, template: {spec: {containers: [{name: mxnet, image: host}]}}}]}}",
    );
    let failed = team.until("mxjobs.mxnet.mlkube.io/job", |job| {
        job["status"]["phase"] == "Failed"
    });
    let reason = failed["status"]["reason"].as_str().unwrap_or_default();
    assert!(
        reason.starts_with(
            "invalid job spec: spec.replicaSpecs: Required value: a dist job must have SCHEDULER replicas"
        ),
        "{reason}"
    );
    assert!(team.pods().is_empty() && names(&team.find("services")).is_empty());
}

/// Somebody else's objects are left alone, and half a job is not made.
fn whose_names_are_taken(team: &Team<'_>) {
    team.ok("create service clusterip job-worker-1 --tcp=80");
    team.ok("create configmap mpi-config");
    let job = Job {
        roles: &[("Worker", 2, "")],
        ..Job::default()
    };
    team.apply(&job.manifest());
    let mpi = Job {
        kind: "MPIJob",
        name: "mpi",
        roles: &[("Launcher", 1, ""), ("Worker", 1, "")],
        ..Job::default()
    };
    team.apply(&mpi.manifest());
    team.until_says(
        "pytorchjobs/job",
        "Resource \"job-worker-1\" of Kind \"Service\" already exists and is not managed by PyTorchJob",
    );
    team.until_says(
        "mpijobs/mpi",
        "Resource \"mpi-config\" of Kind \"ConfigMap\" already exists and is not managed by MPIJob",
    );
    assert!(team.pods().is_empty());
    assert_eq!(names(&team.find("services")), ["job-worker-1"]);
    assert!(names(&team.find("roles")).is_empty());
    team.ok("delete service job-worker-1");
    team.until_is("pytorchjobs/job", "Succeeded");
    assert!(team.find("configmaps/mpi-config")["data"].is_null());
}

/// A job that was refused and is then corrected runs as if it had always been right.
fn mended(team: &Team<'_>) {
    let job = Job {
        kind: "TFJob",
        roles: &[("Worker", 1, "Sometimes")],
        ..Job::default()
    };
    team.apply(&job.manifest());
    team.until_is("tfjobs/job", "Failed");
    let job = Job {
        roles: &[("Worker", 1, "Never")],
        ..job
    };
    team.apply(&job.manifest());
    let done = team.until_is("tfjobs/job", "Succeeded");
    assert_eq!(done["status"]["observedGeneration"], 2);
}

/// Ports without names, and those that the operator would add again, are no reason to have no Service.
fn with_ports_of_its_own(team: &Team<'_>) {
    team.apply(
        "{apiVersion: kubeflow.org/v1, kind: TFJob, metadata: {name: job}, spec: {tfReplicaSpecs: {Worker: {template: \
         {spec: {containers: [{name: tensorflow, image: host, command: [\"true\"], ports: [{containerPort: 2222}, \
         {containerPort: 6006}]}]}}}}}}",
    );
    team.until_is("tfjobs/job", "Succeeded");
    let service = team.find("services/job-worker-0");
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    let ports: Vec<String> = ports
        .map(|port| format!("{} {}", port["name"], port["port"]))
        .collect();
    assert_eq!(ports, ["\"tfjob-port\" 2222", "\"port-6006\" 6006"]);
}

/// An MPIJob that is read and written in each of its versions in turn is what it was.
fn through_all_versions(team: &Team<'_>) {
    let spec = "{slotsPerWorker: 2, mainContainer: m, cleanPodPolicy: Running, backoffLimit: 7, activeDeadlineSeconds: 8, \
                mpiDistribution: IntelMPI, sshAuthMountPath: /keys, launcherCreationPolicy: WaitForWorkersReady, \
                mpiImplementation: Intel, runLauncherAsWorker: true, runPolicy: {suspend: true, managedBy: \
                kueue.x-k8s.io/multikueue, schedulingPolicy: {queue: q, minAvailable: 1}}, mpiReplicaSpecs: \
                {Launcher: {GOOD}, Worker: {replicas: 1, GOOD}}}";
    let spec = spec.replace(
        "GOOD",
        "template: {spec: {hostIPC: true, containers: [{name: m, image: host}]}}",
    );
    team.apply(&format!(
        "{{apiVersion: kubeflow.org/v1alpha2, kind: MPIJob, metadata: {{name: job}}, spec: {spec}}}"
    ));
    let stored = team.find("mpijobs/job")["spec"].clone();
    assert_eq!(
        (&stored["mpiDistribution"], &stored["sshAuthMountPath"]),
        (&"IntelMPI".into(), &"/keys".into())
    );
    for version in ["v1", "v2beta1", "v1alpha2"] {
        let resource = format!("mpijobs.{version}.kubeflow.org");
        team.ok(&format!(
            "get {resource} job -o json | kubectl --namespace {} replace -f -",
            team.namespace
        ));
        assert_eq!(team.find("mpijobs/job")["spec"], stored, "{version}");
    }
}
