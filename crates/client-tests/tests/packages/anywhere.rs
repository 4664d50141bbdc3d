//! The packages under `examples/` on any cluster, ours or one of another make: applied, compared, pruned and deleted.
//! What their programs print is of no interest here, so pods need only seem to run.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};

use client_tests::{Release, Server, Shell, binary, kubectl, needed};

/// The training operator beside a cluster, which brings the kinds that packages have jobs of.
struct Operator(Child);

impl Operator {
    fn start(server: &Server) -> Self {
        let mut operator = Command::new(binary());
        operator
            .args(["operator", "--install-definitions", "--leader-elect=false"])
            .args(["--metrics-bind-address=0", "--health-probe-bind-address=0"])
            .env("KUBECONFIG", server.kubeconfig())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        Self(operator.spawn().unwrap())
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Leaves the service account out.
const LESS: &str = "
patches:
- target: {kind: ServiceAccount}
  patch: |
    apiVersion: v1
    kind: ServiceAccount
    metadata: {name: any}
    $patch: delete
";

/// How many objects were told of, all with this word.
#[track_caller]
fn count(told: &str, word: &str) -> usize {
    assert!(told.lines().all(|line| line.ends_with(word)), "{word}: {told}");
    told.lines().count()
}

#[test]
fn examples_are_applied_compared_pruned_and_deleted() {
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let server = Server::start_with_simulated_nodes();
    let _operator = Operator::start(&server);
    let shell = Shell::new(&server, &[("trainyard", binary()), ("kubectl", &kubectl)]);
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/packages");
    shell.ok(&format!("cp -r {} packages", examples.display()));
    shell.ok("timeout 180 sh -c 'until kubectl get mpijobs; do sleep 0.1; done'");
    for package in [
        "env-file/multi-node",
        "env-file/single-node",
        "setters/multi-node",
    ] {
        let what = format!("-k packages/{package} --package line");
        let made = count(&shell.ok(&format!("trainyard apply {what}")), " created");
        assert!(made >= 3, "{package}: {made}");
        // What controllers have added meanwhile is no difference.
        assert_eq!(shell.ok(&format!("trainyard diff {what}")), "", "{package}");
        let again = shell.ok(&format!("trainyard apply {what} --prune"));
        assert_eq!(again.lines().count(), made, "{package}: {again}");
        // What controllers write to as well, claims and jobs, may say so: a status that is written in another version
        // takes labels away from who applied them, on either cluster, and applying brings them back.
        let is_mine = |line: &&str| line.starts_with("configmap/") || line.starts_with("serviceaccount/");
        for line in again.lines() {
            let is_changed = line.ends_with(" configured") && !is_mine(&line);
            assert!(line.ends_with(" unchanged") || is_changed, "{package}: {again}");
        }

        // One object less is one that is pruned, after the others.
        let file = server
            .home()
            .join(format!("packages/{package}/kustomization.yaml"));
        let whole = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{whole}{LESS}")).unwrap();
        let pruned = shell.run(&format!("trainyard apply {what} --prune"));
        assert_eq!(pruned.code, 0, "{package}: {pruned:?}");
        let account = pruned.stdout.lines().last().unwrap_or_default();
        assert!(
            account.starts_with("serviceaccount/") && account.ends_with(" pruned"),
            "{package}: {pruned:?}"
        );
        fs::write(&file, whole).unwrap();

        let deleted = shell.ok(&format!("trainyard delete {what} --wait"));
        let (gone, absent) = deleted
            .lines()
            .partition::<Vec<&str>, _>(|line| line.ends_with(" deleted"));
        assert_eq!((gone.len(), absent.len()), (made - 1, 1), "{package}: {deleted}");
        // What belonged to them goes a moment later.
        let is_gone = "left=$(kubectl get pods,pvc,pv,mpijobs -o name) && [ -z \"$left\" ]";
        shell.ok(&format!(
            "timeout 120 sh -c 'until {is_gone}; do sleep 0.1; done'"
        ));
    }
}
