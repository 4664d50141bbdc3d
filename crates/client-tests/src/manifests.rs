//! Manifests of jobs, as short as they get.

/// A program that runs until somebody writes a number into a file; the number is how it ends.
pub const UNTIL_TOLD: &str =
    "echo started; until [ -s /tmp/end ]; do sleep 0.1; done; echo the last words; exit $(cat /tmp/end)";

/// A job of `kubeflow.org/v1` whose replicas run one shell command.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    pub kind: &'a str,
    pub name: &'a str,
    /// Role, number of replicas, restart policy (empty for the kind's own).
    pub roles: &'a [(&'a str, u32, &'a str)],
    pub command: &'a str,
    /// Fields of the specification beside the replicas, in YAML's short form.
    pub more: &'a str,
    pub annotations: &'a str,
    /// Fields of the container.
    pub container: &'a str,
    /// Fields of the pod.
    pub pod: &'a str,
}

impl Default for Job<'_> {
    fn default() -> Self {
        Self {
            kind: "PyTorchJob",
            name: "job",
            roles: &[("Worker", 1, "")],
            command: "true",
            more: "",
            annotations: "",
            container: "",
            pod: "",
        }
    }
}

impl Job<'_> {
    pub fn manifest(&self) -> String {
        let (field, container) = match self.kind {
            "TFJob" => ("tfReplicaSpecs", "tensorflow"),
            "XGBoostJob" => ("xgbReplicaSpecs", "xgboost"),
            "PaddleJob" => ("paddleReplicaSpecs", "paddle"),
            "JAXJob" => ("jaxReplicaSpecs", "jax"),
            "MXJob" => ("mxReplicaSpecs", "mxnet"),
            "MPIJob" => ("mpiReplicaSpecs", "mpi"),
            _ => ("pytorchReplicaSpecs", "pytorch"),
        };
        let template = format!(
            "{{spec: {{terminationGracePeriodSeconds: 0{}, containers: [{{name: {container}, image: host, \
             command: [sh, -c, {:?}]{}}}]}}}}",
            after_comma(self.pod),
            self.command,
            after_comma(self.container),
        );
        let roles = self.roles.iter().map(|(role, count, policy)| {
            let policy = match *policy {
                "" => String::new(),
                policy => format!("restartPolicy: {policy}"),
            };
            format!(
                "{role}: {{replicas: {count}, template: {template}{}}}",
                after_comma(&policy)
            )
        });
        let roles = roles.collect::<Vec<_>>().join(", ");
        format!(
            "{{apiVersion: kubeflow.org/v1, kind: {}, metadata: {{name: {}, annotations: {{{}}}}}, \
             spec: {{{field}: {{{roles}}}{}}}}}",
            self.kind,
            self.name,
            self.annotations,
            after_comma(self.more),
        )
    }
}

fn after_comma(fields: &str) -> String {
    if fields.is_empty() {
        String::new()
    } else {
        format!(", {fields}")
    }
}
