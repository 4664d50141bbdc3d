use serde_json::{Value, json};

use super::*;

struct Fixed;

impl Sources for Fixed {
    fn config_map(&self, name: &str) -> Option<Arc<ConfigMap>> {
        (name == "map").then(|| object(json!({"data": {"COLOUR": "red", "size": "5"}})))
    }

    fn secret(&self, name: &str) -> Option<Arc<Secret>> {
        (name == "secret").then(|| object(json!({"data": {"password": "aHVudGVyMg=="}})))
    }

    fn services(&self) -> Vec<Arc<Service>> {
        let service = |namespace: &str, name: &str, spec: Value| {
            object(json!({"metadata": {"namespace": namespace, "name": name}, "spec": spec}))
        };
        let ports = json!([{"name": "https", "port": 443, "protocol": "TCP"}]);
        vec![
            service(
                "default",
                "kubernetes",
                json!({"clusterIP": "10.96.0.1", "ports": ports}),
            ),
            service(
                "n",
                "my-db",
                json!({"clusterIP": "10.96.0.7", "ports": [{"port": 5432}]}),
            ),
            service(
                "n",
                "headless",
                json!({"clusterIP": "None", "ports": [{"port": 1}]}),
            ),
            service(
                "elsewhere",
                "other",
                json!({"clusterIP": "10.96.0.8", "ports": [{"port": 1}]}),
            ),
        ]
    }

    fn allocatable(&self) -> Resources {
        Resources {
            cpu: "2".into(),
            memory: "4Gi".into(),
            ephemeral_storage: "10Gi".into(),
        }
    }
}

fn object<T: serde::de::DeserializeOwned>(value: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(value).unwrap())
}

/// The variables of a container, services left out.
fn check(container: Value) -> Result<Vec<(String, String)>, Missing> {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"namespace": "n", "name": "p", "labels": {"app": "a"}},
        "spec": {"enableServiceLinks": false, "containers": [container]},
        "status": {"podIP": "10.244.0.5"},
    }))
    .unwrap();
    let container = &pod.spec.as_ref().unwrap().containers[0];
    let pairs = environment(&pod, container, &Fixed)?.into_pairs();
    Ok(pairs
        .into_iter()
        .filter(|(name, _)| !name.starts_with("KUBERNETES_"))
        .collect())
}

fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
}

#[test]
fn variables_refer_to_those_before_them() {
    let env = json!([
        {"name": "A", "value": "one"},
        {"name": "B", "value": "$(A)-$(C)"},
        {"name": "C", "value": "three"},
        {"name": "A", "value": "again"},
    ]);
    let wanted = pairs([("A", "again"), ("B", "one-$(C)"), ("C", "three")]);
    assert_eq!(check(json!({"name": "c", "env": env})).unwrap(), wanted);
}

#[test]
fn config_maps_and_secrets_come_whole_or_by_key() {
    let container = json!({
        "name": "c",
        "envFrom": [{"prefix": "X_", "configMapRef": {"name": "map"}}],
        "env": [{"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "secret", "key": "password"}}}],
    });
    let wanted = pairs([("X_COLOUR", "red"), ("X_size", "5"), ("PASSWORD", "hunter2")]);
    assert_eq!(check(container).unwrap(), wanted);
}

#[test]
fn what_is_missing_is_named_unless_it_is_optional() {
    let by_key = |name: &str, key: &str, optional: bool| {
        let reference = json!({"name": name, "key": key, "optional": optional});
        check(json!({"name": "c", "env": [{"name": "A", "valueFrom": {"configMapKeyRef": reference}}]}))
    };
    assert_eq!(
        by_key("no", "k", false).unwrap_err().to_string(),
        "configmap \"no\" not found"
    );
    let key = by_key("map", "k", false).unwrap_err().to_string();
    assert_eq!(key, "couldn't find key k in ConfigMap n/map");
    assert_eq!(by_key("no", "k", true).unwrap(), []);
}

#[test]
fn the_pod_and_its_limits_can_be_read() {
    let field = |path: &str| json!({"name": path, "valueFrom": {"fieldRef": {"fieldPath": path}}});
    let limit = |resource: &str, divisor: &str| {
        let reference = json!({"resource": resource, "divisor": divisor});
        json!({"name": format!("{resource}/{divisor}"), "valueFrom": {"resourceFieldRef": reference}})
    };
    let container = json!({
        "name": "c",
        "resources": {"limits": {"cpu": "1500m"}, "requests": {"memory": "100Mi"}},
        "env": [
            field("metadata.name"), field("metadata.labels['app']"), field("status.podIP"),
            limit("limits.cpu", "1"), limit("limits.cpu", "1m"), limit("limits.memory", "1Mi"),
            limit("requests.memory", "1Mi"),
        ],
    });
    let wanted = pairs([
        ("metadata.name", "p"),
        ("metadata.labels['app']", "a"),
        ("status.podIP", "10.244.0.5"),
        ("limits.cpu/1", "2"),
        ("limits.cpu/1m", "1500"),
        ("limits.memory/1Mi", "4096"),
        ("requests.memory/1Mi", "100"),
    ]);
    assert_eq!(check(container).unwrap(), wanted);
}

#[test]
fn services_are_told_of_as_links() {
    let pod: Pod = serde_json::from_value(json!({"metadata": {"namespace": "n"}})).unwrap();
    let names = |links| {
        let variables = services::variables(&pod, &Fixed.services(), links);
        variables
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(true)[8..],
        [
            "MY_DB_SERVICE_HOST=10.96.0.7",
            "MY_DB_SERVICE_PORT=5432",
            "MY_DB_PORT=tcp://10.96.0.7:5432",
            "MY_DB_PORT_5432_TCP=tcp://10.96.0.7:5432",
            "MY_DB_PORT_5432_TCP_PROTO=tcp",
            "MY_DB_PORT_5432_TCP_PORT=5432",
            "MY_DB_PORT_5432_TCP_ADDR=10.96.0.7",
        ]
    );
    assert_eq!(names(false).len(), 8);
    assert_eq!(names(false)[2], "KUBERNETES_SERVICE_PORT_HTTPS=443");
}

#[test]
fn a_service_without_a_way_to_its_address_is_told_of_at_another() {
    let api = Fixed.services().remove(0);
    let moved = [Arc::new(at(&api, ([127, 0, 0, 1], 6443).into()))];
    let told = services::variables(&Pod::default(), &moved, true);
    let value = |name: &str| {
        told.iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    };
    assert_eq!(value("KUBERNETES_SERVICE_HOST"), Some("127.0.0.1"));
    assert_eq!(value("KUBERNETES_SERVICE_PORT"), Some("6443"));
    assert_eq!(value("KUBERNETES_SERVICE_PORT_HTTPS"), Some("6443"));
    assert_eq!(value("KUBERNETES_PORT"), Some("tcp://127.0.0.1:6443"));
}
