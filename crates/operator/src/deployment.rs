//! The objects by which the operator runs in a cluster, made from the lists it works by itself.

use std::collections::BTreeMap;

use resources::{Kind, definitions};
use serde_json::{Value, json};
use training::{Delivery, Gang};

use crate::rights::{self, Right, rule};

const NAME: &str = "trainyard-operator";
const METRICS: u16 = 8080;
const HEALTH: u16 = 8081;

/// What may differ between clusters.
#[derive(Clone, Debug)]
pub struct Deployment {
    pub namespace: String,
    pub image: String,
    pub kinds: Vec<&'static Kind>,
    /// Those it looks after; without any it is the whole cluster.
    pub namespaces: Vec<String>,
    /// Where pods get the program from.
    pub tools: Delivery,
    /// Further arguments of the operator.
    pub arguments: Vec<String>,
    pub configuration: Configuration,
    /// Whether it looks after workflows, too, which it does in the whole cluster.
    pub workflows: bool,
    /// Whether it looks after tasks, too, which it does in the whole cluster.
    pub tasks: bool,
}

/// Where the operator finds the file of accelerators.
#[derive(Clone, Debug)]
pub enum Configuration {
    /// In a ConfigMap of its own, with this text.
    Own(String),
    /// In a ConfigMap that somebody else keeps.
    Of { namespace: String, name: String },
}

/// All of them, in the order in which they can be applied.
pub fn manifests(deployment: &Deployment) -> Vec<Value> {
    let mut objects = vec![json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": deployment.namespace, "labels": labels()},
    })];
    objects.extend(deployment.kinds.iter().map(|kind| definitions::definition(kind)));
    if deployment.tasks {
        objects.extend(
            resources::tasks::ALL
                .into_iter()
                .map(resources::tasks::TaskKind::definition),
        );
        objects.extend(resources::tasks::admission::policies());
    }
    if deployment.workflows {
        let kinds = resources::workflows::ALL.into_iter();
        objects.extend(kinds.map(resources::workflows::WorkflowKind::definition));
    }
    objects.push(object(deployment, "v1", "ServiceAccount", json!({})));
    objects.extend(roles(deployment));
    if let Configuration::Own(text) = &deployment.configuration {
        let data = json!({"data": {"controller_config_file.yaml": text}});
        objects.push(object(deployment, "v1", "ConfigMap", data));
    }
    objects.push(workload(deployment));
    objects
}

fn labels() -> Value {
    json!({"app.kubernetes.io/name": NAME})
}

/// An object of the operator's own namespace and name.
fn object(deployment: &Deployment, api_version: &str, kind: &str, content: Value) -> Value {
    named(api_version, kind, Some(&deployment.namespace), content)
}

fn named(api_version: &str, kind: &str, namespace: Option<&str>, mut content: Value) -> Value {
    content["apiVersion"] = json!(api_version);
    content["kind"] = json!(kind);
    content["metadata"] = json!({"name": NAME, "labels": labels()});
    if let Some(namespace) = namespace {
        content["metadata"]["namespace"] = json!(namespace);
    }
    content
}

/// Rights on jobs where they are, on the lease where it is, on definitions, which have no namespace, and on a
/// ConfigMap that somebody else keeps.
fn roles(deployment: &Deployment) -> Vec<Value> {
    // Somebody may install a gang scheduler later, and the operator finds it when it starts.
    let mut on_jobs = rights::on_jobs(&deployment.kinds, &Gang::Volcano);
    let plugins = rights::on_jobs(
        &[],
        &Gang::SchedulerPlugins {
            scheduler: String::new(),
        },
    );
    on_jobs.extend(plugins.into_iter().filter(|right| right.resource == "podgroups"));
    let on_cluster = rights::on_definitions(false);
    let mut places: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    let cluster = if deployment.namespaces.is_empty() {
        on_jobs.extend(on_cluster);
        if deployment.tasks {
            on_jobs.extend(rights::on_tasks());
        }
        if deployment.workflows {
            on_jobs.extend(rights::on_workflows());
        }
        rules(&on_jobs)
    } else {
        for namespace in &deployment.namespaces {
            places.insert(namespace, rules(&on_jobs));
        }
        rules(&on_cluster)
    };
    let own = places.entry(&deployment.namespace).or_default();
    own.extend(rules(&rights::on_lease()));
    if let Configuration::Of { namespace, name } = &deployment.configuration
        && !deployment.namespaces.is_empty()
        && !deployment.namespaces.contains(namespace)
    {
        let rule = json!({
            "apiGroups": [""], "resources": ["configmaps"], "resourceNames": [name], "verbs": ["get"],
        });
        places.entry(namespace).or_default().push(rule);
    }
    let mut objects = Vec::from(role(deployment, None, &cluster));
    for (namespace, rules) in places {
        objects.extend(role(deployment, Some(namespace), &rules));
    }
    objects
}

fn rules(rights: &[Right]) -> Vec<Value> {
    rights.iter().map(rule).collect()
}

/// A role and who has it.
fn role(deployment: &Deployment, namespace: Option<&str>, rules: &[Value]) -> [Value; 2] {
    const API: &str = "rbac.authorization.k8s.io/v1";
    let (role, binding) = match namespace {
        Some(_) => ("Role", "RoleBinding"),
        None => ("ClusterRole", "ClusterRoleBinding"),
    };
    [
        named(API, role, namespace, json!({"rules": rules})),
        named(
            API,
            binding,
            namespace,
            json!({
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": NAME},
                "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": deployment.namespace}],
            }),
        ),
    ]
}

fn workload(deployment: &Deployment) -> Value {
    let mut arguments = vec![
        "operator".to_owned(),
        format!("--metrics-bind-address=0.0.0.0:{METRICS}"),
        format!("--health-probe-bind-address=0.0.0.0:{HEALTH}"),
        match &deployment.configuration {
            Configuration::Own(_) => {
                "--controller-config-file=/etc/config/controller_config_file.yaml".to_owned()
            }
            Configuration::Of { namespace, name } => format!("--controller-config-map={namespace}/{name}"),
        },
        match &deployment.tools {
            Delivery::Image(image) => format!("--tools-image={image}"),
            Delivery::HostPath(path) => format!("--tools-path={path}"),
        },
    ];
    arguments.extend(
        deployment
            .namespaces
            .iter()
            .map(|name| format!("--namespace={name}")),
    );
    arguments.extend(deployment.arguments.iter().cloned());
    let from_pod =
        |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
    let probe = |path: &str, seconds: u32| json!({"httpGet": {"path": path, "port": "health"}, "periodSeconds": seconds});
    let mut container = json!({
        "name": "operator",
        "image": deployment.image,
        "args": arguments,
        "env": [
            from_pod("MY_POD_NAMESPACE", "metadata.namespace"),
            from_pod("MY_POD_NAME", "metadata.name"),
        ],
        "ports": [
            {"name": "metrics", "containerPort": METRICS},
            {"name": "health", "containerPort": HEALTH},
        ],
        "livenessProbe": probe("/healthz", 20),
        "readinessProbe": probe("/readyz", 5),
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
        },
    });
    let mut volumes = json!([]);
    if let Configuration::Own(_) = deployment.configuration {
        container["volumeMounts"] = json!([{"name": "config", "mountPath": "/etc/config", "readOnly": true}]);
        volumes = json!([{"name": "config", "configMap": {"name": NAME}}]);
    }
    let annotations = json!({"prometheus.io/scrape": "true", "prometheus.io/port": METRICS.to_string()});
    let spec = json!({
        // The second takes over when the first is replaced or lost.
        "replicas": 2,
        "strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
        "selector": {"matchLabels": labels()},
        "template": {
            "metadata": {"labels": labels(), "annotations": annotations},
            "spec": {
                "serviceAccountName": NAME,
                "terminationGracePeriodSeconds": 30,
                "securityContext": {
                    "runAsNonRoot": true,
                    "runAsUser": 65532,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "containers": [container],
                "volumes": volumes,
            },
        },
    });
    object(deployment, "apps/v1", "Deployment", json!({"spec": spec}))
}

#[cfg(test)]
mod tests {
    use resources::kinds::ALL;

    use super::*;

    fn deployment(namespaces: &[&str]) -> Deployment {
        Deployment {
            namespace: "trainyard".to_owned(),
            image: "registry/trainyard:1".to_owned(),
            kinds: ALL.to_vec(),
            namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect(),
            tools: Delivery::Image("registry/trainyard:1".to_owned()),
            arguments: Vec::new(),
            configuration: Configuration::Own("accelerators: {}\n".to_owned()),
            tasks: namespaces.is_empty(),
            workflows: false,
        }
    }

    fn kinds(objects: &[Value]) -> Vec<&str> {
        objects
            .iter()
            .filter_map(|object| object["kind"].as_str())
            .collect()
    }

    #[test]
    fn a_cluster_gets_definitions_rights_and_two_operators() {
        let objects = manifests(&deployment(&[]));
        assert_eq!(
            kinds(&objects)[15..],
            [
                "ValidatingAdmissionPolicy",
                "ValidatingAdmissionPolicyBinding",
                "ValidatingAdmissionPolicy",
                "ValidatingAdmissionPolicyBinding",
                "ServiceAccount",
                "ClusterRole",
                "ClusterRoleBinding",
                "Role",
                "RoleBinding",
                "ConfigMap",
                "Deployment"
            ]
        );
        assert_eq!(objects[25]["spec"]["replicas"], 2);
    }

    #[test]
    fn an_operator_of_one_namespace_has_rights_there_and_on_no_other() {
        let objects = manifests(&deployment(&["team"]));
        let roles = objects.iter().filter(|object| object["kind"] == "Role");
        let places: Vec<&Value> = roles.map(|role| &role["metadata"]["namespace"]).collect();
        assert_eq!(places, ["team", "trainyard"]);
        let cluster = objects
            .iter()
            .find(|object| object["kind"] == "ClusterRole")
            .unwrap();
        assert_eq!(cluster["rules"].as_array().unwrap().len(), 1);
    }
    #[test]
    fn a_config_map_that_somebody_else_keeps_can_be_read_and_none_is_made() {
        let of = |namespace: &str| {
            let (namespace, name) = (namespace.to_owned(), "gpus".to_owned());
            let deployment = Deployment {
                configuration: Configuration::Of { namespace, name },
                ..deployment(&["team"])
            };
            let objects = manifests(&deployment);
            assert!(!kinds(&objects).contains(&"ConfigMap"));
            let roles = objects.iter().filter(|object| object["kind"] == "Role");
            let names = |role: &Value| -> Vec<Value> {
                let rules = role["rules"].as_array().unwrap().iter();
                rules
                    .filter(|rule| rule["resourceNames"].is_array())
                    .cloned()
                    .collect()
            };
            let places: Vec<(String, usize)> = roles
                .map(|role| (role["metadata"]["namespace"].to_string(), names(role).len()))
                .collect();
            places
        };
        let place = |name: &str, rules: usize| (format!("{name:?}"), rules);
        assert_eq!(
            of("lab"),
            [place("lab", 1), place("team", 0), place("trainyard", 0)]
        );
        assert_eq!(of("trainyard"), [place("team", 0), place("trainyard", 1)]);
        // There it may read all of them.
        assert_eq!(of("team"), [place("team", 0), place("trainyard", 0)]);
    }
}
