use serde_json::{Value, json};

use super::*;

fn policy(text: &str) -> Policy {
    let (level, version) = text.split_once(':').unwrap();
    let labels = json!({
        "pod-security.kubernetes.io/enforce": level,
        "pod-security.kubernetes.io/enforce-version": version,
    });
    let (policies, errors) = policies(&labels);
    assert_eq!(errors, []);
    policies.enforce
}

fn breaks(text: &str, spec: &Value) -> String {
    describe(&violations(policy(text), &json!({}), spec))
}

fn container(context: Value) -> Value {
    json!({"containers": [{"name": "main", "securityContext": context}]})
}

/// A pod that the restricted level allows.
fn harmless() -> Value {
    let mut spec = container(json!({
        "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
    }));
    spec["securityContext"] = json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}});
    spec
}

#[test]
fn each_level_allows_what_it_should() {
    assert_eq!(breaks("privileged:latest", &json!({"hostPID": true})), "");
    assert_eq!(breaks("baseline:latest", &container(json!({}))), "");
    assert_eq!(breaks("restricted:latest", &harmless()), "");
}

#[test]
fn stricter_rules_stand_in_for_those_they_replace() {
    let mut spec = harmless();
    spec["containers"][0]["securityContext"]["capabilities"]["add"] = json!(["SYS_ADMIN"]);
    let added = "container \"main\" must not include \"SYS_ADMIN\" in securityContext.capabilities.add";
    assert_eq!(
        breaks("restricted:v1.21", &spec),
        format!("non-default capabilities ({added})")
    );
    assert_eq!(
        breaks("restricted:v1.22", &spec),
        format!("unrestricted capabilities ({added})")
    );
}

#[test]
fn versions_have_the_rules_of_their_time() {
    let parameter = |name: &str| json!({"securityContext": {"sysctls": [{"name": name, "value": "1"}]}});
    let forbidden = "forbidden sysctls (net.ipv4.tcp_rmem)";
    assert_eq!(
        breaks("baseline:v1.31", &parameter("net.ipv4.tcp_rmem")),
        forbidden
    );
    assert_eq!(breaks("baseline:v1.32", &parameter("net.ipv4.tcp_rmem")), "");
    assert_eq!(breaks("baseline:v1.99", &parameter("net.ipv4.tcp_rmem")), "");

    let engine = container(json!({"seLinuxOptions": {"type": "container_engine_t"}}));
    assert_ne!(breaks("baseline:v1.30", &engine), "");
    assert_eq!(breaks("baseline:v1.31", &engine), "");

    let probe = json!({"containers": [{"name": "main", "readinessProbe": {"tcpSocket": {"host": "a"}}}]});
    assert_eq!(breaks("baseline:v1.33", &probe), "");
    assert_ne!(breaks("baseline:latest", &probe), "");
}

#[test]
fn windows_pods_need_not_give_up_what_they_do_not_have() {
    let mut spec = container(json!({"runAsNonRoot": true}));
    spec["os"] = json!({"name": "windows"});
    assert_eq!(breaks("restricted:latest", &spec), "");
    assert_ne!(breaks("restricted:v1.24", &spec), "");
}

#[test]
fn all_kinds_of_containers_are_looked_at() {
    let privileged = |name| json!([{"name": name, "securityContext": {"privileged": true}}]);
    let spec = json!({
        "containers": privileged("b"), "initContainers": privileged("a"), "ephemeralContainers": privileged("c"),
    });
    assert_eq!(
        breaks("baseline:latest", &spec),
        "privileged (containers \"a\", \"b\", \"c\" must not set securityContext.privileged=true)"
    );
}

#[test]
fn annotations_count_as_they_did() {
    let metadata = json!({"annotations": {
        "container.apparmor.security.beta.kubernetes.io/main": "unconfined",
        "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
    }});
    let found = violations(policy("baseline:v1.18"), &metadata, &container(json!({})));
    assert_eq!(
        describe(&found),
        "forbidden AppArmor profile (annotation must not set AppArmor profile type to \
         \"container.apparmor.security.beta.kubernetes.io/main=\"unconfined\"\"), seccompProfile (forbidden \
         annotation seccomp.security.alpha.kubernetes.io/pod=\"unconfined\")"
    );
}

#[test]
fn who_enforces_is_warned_of_templates() {
    let read = |labels: Value| policies(&labels).0;
    let both = read(json!({
        "pod-security.kubernetes.io/enforce": "baseline",
        "pod-security.kubernetes.io/enforce-version": "v1.30",
    }));
    assert_eq!(both.warn, both.enforce);
    let own = read(json!({
        "pod-security.kubernetes.io/enforce": "restricted",
        "pod-security.kubernetes.io/warn": "privileged",
    }));
    assert_eq!(own.warn.level, Level::Privileged);
    let wrong = read(json!({"pod-security.kubernetes.io/enforce": "strict"}));
    assert_eq!(wrong.enforce.level, Level::Restricted);
    assert_eq!(wrong.warn.level, Level::Privileged);
}

#[test]
fn versions_are_latest_or_releases() {
    for (version, fine) in [
        ("latest", true),
        ("v1.0", true),
        ("v1.34", true),
        ("v1.034", false),
        ("v1.", false),
        ("v1.+3", false),
        ("v2.0", false),
        ("1.34", false),
        ("", false),
    ] {
        let labels = json!({"pod-security.kubernetes.io/audit-version": version});
        assert_eq!(policies(&labels).1.is_empty(), fine, "{version}");
    }
}

#[test]
fn pods_that_break_the_same_are_told_together() {
    let pod = |name: &str, owner: &str| {
        json!({
            "metadata": {"name": name, "ownerReferences": [{"uid": owner, "controller": true}]},
            "spec": {"hostPID": true},
        })
    };
    let pods = [pod("b", "1"), pod("a", "1"), pod("c", "2")];
    let warnings = warnings_about_existing("home", policy("baseline:latest"), &pods);
    assert_eq!(
        warnings,
        [
            "existing pods in namespace \"home\" violate the new PodSecurity enforce level \"baseline:latest\"",
            "a (and 2 other pods): host namespaces",
        ]
    );
}

#[test]
fn only_what_runs_makes_an_update_significant() {
    let pod = |image: &str| json!({"spec": {"containers": [{"name": "main", "image": image}]}});
    assert!(is_significant_update(&pod("a"), &pod("b")));
    let mut labelled = pod("a");
    labelled["metadata"] = json!({"labels": {"app": "a"}});
    assert!(!is_significant_update(&labelled, &pod("a")));
    let mut debugged = pod("a");
    debugged["spec"]["ephemeralContainers"] = json!([{"name": "debug", "image": "a"}]);
    assert!(is_significant_update(&debugged, &pod("a")));
}
