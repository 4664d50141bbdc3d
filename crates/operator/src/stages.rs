//! In which order the children of a job are made.

use serde_json::Value;
use training::Child;

/// What is made together; the next is made when all of it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// What pods need.
    First,
    Pods,
    /// What is of no use before they run: their addresses, and what a launcher needs that comes after them.
    Rest,
    /// That launcher.
    Launcher,
    /// What a job runs without: where it is refused, it keeps nothing else from being made.
    Extra,
}

impl Stage {
    pub(crate) const ALL: [Self; 5] = [Self::First, Self::Pods, Self::Rest, Self::Launcher, Self::Extra];
}

/// Of the children to make, those of a stage.
pub(crate) fn of_stage(children: &[Child], stage: Stage) -> Vec<&Child> {
    let pods = || children.iter().filter(|child| child.kind() == "Pod");
    let stage_of = |child: &Child| match child.kind() {
        "Pod" => Stage::Pods,
        "Service" => Stage::Rest,
        "Job" => Stage::Launcher,
        "HorizontalPodAutoscaler" => Stage::Extra,
        // Without pods to make there is nobody who goes before it.
        _ if pods().next().is_none() || pods().any(|pod| needs(&pod.object["spec"], child)) => Stage::First,
        _ => Stage::Rest,
    };
    children.iter().filter(|child| stage_of(child) == stage).collect()
}

/// Whether a pod could not start, or not be made, without it.
fn needs(pod: &Value, child: &Child) -> bool {
    let name = child.name();
    match child.kind() {
        "ConfigMap" => {
            mounts(pod, "configMap", "name", name)
                || reads(pod, "configMapRef", name)
                || reads(pod, "configMapKeyRef", name)
        }
        "Secret" => {
            mounts(pod, "secret", "secretName", name)
                || reads(pod, "secretRef", name)
                || reads(pod, "secretKeyRef", name)
                || list(&pod["imagePullSecrets"]).any(|secret| secret["name"] == name)
        }
        // What an account may do is no use later than the account, which has an old name and a new one.
        "ServiceAccount" | "Role" | "RoleBinding" => ["serviceAccountName", "serviceAccount"]
            .iter()
            .any(|field| !pod[*field].is_null()),
        _ => true,
    }
}

/// Whether a volume holds it, alone or among others.
fn mounts(pod: &Value, kind: &str, field: &str, name: &str) -> bool {
    list(&pod["volumes"]).any(|volume| {
        let mut sources = list(&volume["projected"]["sources"]);
        volume[kind][field] == name || sources.any(|source| source[kind]["name"] == name)
    })
}

/// Whether a container has a variable of it, or all it holds as variables.
fn reads(pod: &Value, reference: &str, name: &str) -> bool {
    let mut containers = list(&pod["initContainers"]).chain(list(&pod["containers"]));
    containers.any(|container| {
        let variables = list(&container["env"]).map(|variable| &variable["valueFrom"]);
        list(&container["envFrom"])
            .chain(variables)
            .any(|source| source[reference]["name"] == name)
    })
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use training::Make;

    use super::*;

    fn child(kind: &str, name: &str, spec: Value) -> Child {
        Child {
            object: json!({"kind": kind, "metadata": {"name": name}, "spec": spec}),
            make: Make::Create,
        }
    }

    fn supports() -> Vec<Child> {
        ["Service", "ConfigMap", "ServiceAccount", "Secret", "PodGroup"]
            .map(|kind| child(kind, "j", json!({})))
            .into()
    }

    /// The kinds of each stage.
    fn stages(children: &[Child]) -> Vec<Vec<&str>> {
        let kinds = |stage| of_stage(children, stage).into_iter().map(Child::kind).collect();
        Stage::ALL.into_iter().map(kinds).collect()
    }

    #[test]
    fn what_no_pod_needs_comes_after_them_and_before_the_launcher() {
        let volumes = json!([{"name": "key", "secret": {"secretName": "j"}}]);
        let mut children = supports();
        children.push(child("Job", "j-launcher", json!({})));
        children.push(child("Pod", "j-worker-0", json!({"volumes": volumes})));
        let expected = [
            &["Secret", "PodGroup"][..],
            &["Pod"],
            &["Service", "ConfigMap", "ServiceAccount"],
            &["Job"],
            &[],
        ];
        assert_eq!(stages(&children), expected);
    }

    #[test]
    fn what_one_pod_needs_comes_before_all() {
        let volumes = json!([{"name": "config", "configMap": {"name": "j"}}]);
        let mut children = supports();
        children.push(child("Pod", "j-worker-0", json!({})));
        children.push(child(
            "Pod",
            "j-launcher",
            json!({"serviceAccountName": "j", "volumes": volumes}),
        ));
        let expected = [
            &["ConfigMap", "ServiceAccount", "PodGroup"][..],
            &["Pod", "Pod"],
            &["Service", "Secret"],
            &[],
            &[],
        ];
        assert_eq!(stages(&children), expected);
    }

    #[test]
    fn whatever_a_pod_names_comes_before_it() {
        let variable = |source: Value| json!({"containers": [{"env": [{"name": "V", "valueFrom": source}]}]});
        let all = |source: Value| json!({"initContainers": [{"envFrom": [source]}]});
        let projected = |source: Value| json!({"volumes": [{"projected": {"sources": [source]}}]});
        let name = json!({"name": "j"});
        let cases = [
            ("ConfigMap", variable(json!({"configMapKeyRef": name}))),
            ("ConfigMap", all(json!({"configMapRef": name}))),
            ("ConfigMap", projected(json!({"configMap": name}))),
            ("Secret", variable(json!({"secretKeyRef": name}))),
            ("Secret", all(json!({"secretRef": name}))),
            ("Secret", projected(json!({"secret": name}))),
            ("Secret", json!({"imagePullSecrets": [name]})),
            ("ServiceAccount", json!({"serviceAccount": "j"})),
        ];
        for (kind, pod) in cases {
            for support in supports().iter().filter(|child| child.kind() != "PodGroup") {
                let is_needed = support.kind() == kind;
                let first = [support.clone(), child("Pod", "j-worker-0", pod.clone())];
                let is_first = of_stage(&first, Stage::First).len() == 1;
                assert_eq!(is_first, is_needed, "{} of {pod}", support.kind());
            }
        }
    }

    #[test]
    fn an_autoscaler_comes_last_with_and_without_pods() {
        let mut children = supports();
        children.insert(0, child("HorizontalPodAutoscaler", "j", json!({})));
        let (end, last) = (Stage::ALL.len() - 1, vec!["HorizontalPodAutoscaler"]);
        assert_eq!(stages(&children)[end], last);
        children.push(child("Pod", "j-worker-0", json!({})));
        assert_eq!(stages(&children)[end], last);
    }

    #[test]
    fn where_no_pods_are_made_nothing_waits_for_any() {
        let kinds = ["ConfigMap", "ServiceAccount", "Secret", "PodGroup"];
        assert_eq!(stages(&supports())[0], kinds);
    }
}
