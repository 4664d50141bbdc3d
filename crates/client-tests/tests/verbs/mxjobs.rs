//! `stop` and `resume` on MxJobs, whose operator knew no suspension.

use crate::with_clusters;

const JOB: &str = "
apiVersion: mxnet.mlkube.io/v1beta1
kind: MxJob
metadata: {name: held}
spec:
  jobMode: local
  replicaSpecs:
  - mxReplicaType: WORKER
    template:
      spec:
        restartPolicy: Never
        terminationGracePeriodSeconds: 1
        containers: [{name: mxnet, image: host, command: [sh, -c, 'trap \"exit 0\" TERM; while :; do sleep 0.1; done']}]
";

#[test]
fn an_mxjob_is_stopped_and_resumed() {
    with_clusters(|_, shell| {
        shell.ok(&format!(
            "until kubectl get mxjobs; do sleep 0.1; done > /dev/null 2>&1; kubectl apply -f - <<'END'\n{JOB}\nEND"
        ));
        let phase = |wanted: &str| {
            shell.ok(&format!(
                "kubectl wait mxjob/held --for=jsonpath={{.status.phase}}={wanted} --timeout=60s"
            ));
        };
        phase("Running");
        let stopped = shell.ok("trainyard stop held");
        assert_eq!(stopped.trim(), "MxJob/held stopped");
        phase("Suspended");
        let why = shell.run("trainyard why held");
        assert!(
            why.code == 1 && why.stdout.contains("it is suspended (spec.runPolicy.suspend)"),
            "{}",
            why.stdout
        );
        assert_eq!(shell.ok("kubectl get jobs -o name").trim(), "");
        shell.ok("trainyard resume held");
        phase("Running");
        // The program that was stopped ended with 0, which decides nothing.
        assert!(shell.ok("kubectl get jobs -o name").contains("held-worker-"));
        shell.ok("trainyard rm held");
    });
}
