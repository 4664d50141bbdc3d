use serde_json::{Value, json};

use super::*;

fn pod(spec: Value) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": "trainer-0", "namespace": "team", "uid": "u"},
        "spec": spec,
    }))
    .unwrap()
}

fn host() -> HostFiles {
    HostFiles {
        hosts: "127.0.0.1 localhost\n".to_owned(),
        resolver: "nameserver 9.9.9.9\nsearch example.com\noptions edns0\n".to_owned(),
        api_server: [127, 0, 0, 1].into(),
    }
}

fn resolved(spec: Value) -> String {
    resolver(&pod(spec), Some([10, 244, 0, 1].into()), &host())
}

#[test]
fn names_of_the_cluster_are_asked_first_and_the_hosts_searches_stay() {
    assert_eq!(
        resolved(json!({"containers": []})),
        "search team.svc.cluster.local svc.cluster.local cluster.local example.com\nnameserver 10.244.0.1\noptions ndots:5\n"
    );
}

#[test]
fn a_pod_may_bring_its_own_resolver() {
    let text = resolved(json!({"containers": [], "dnsPolicy": "None", "dnsConfig": {
        "nameservers": ["1.1.1.1"], "searches": ["a.b"], "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
    }}));
    assert_eq!(text, "search a.b\nnameserver 1.1.1.1\noptions ndots:2 edns0\n");
}

#[test]
fn its_options_replace_those_of_the_cluster() {
    let text =
        resolved(json!({"containers": [], "dnsConfig": {"options": [{"name": "ndots", "value": "1"}]}}));
    assert!(text.ends_with("options ndots:1\n"), "{text}");
}

#[test]
fn on_the_hosts_network_only_the_hosts_resolver_is_reached() {
    for policy in ["ClusterFirst", "ClusterFirstWithHostNet", "Default"] {
        let text = resolved(json!({"containers": [], "hostNetwork": true, "dnsPolicy": policy}));
        assert!(text.contains("9.9.9.9") && !text.contains("10.244.0.1"), "{text}");
    }
    let of_its_own = resolved(json!({"containers": [], "dnsPolicy": "ClusterFirstWithHostNet"}));
    assert!(of_its_own.contains("10.244.0.1"), "{of_its_own}");
}

#[test]
fn on_the_hosts_network_the_api_server_is_found_by_its_name() {
    let pod = pod(json!({"containers": [], "hostNetwork": true}));
    let text = hosts(&pod, None, Some(&host()));
    let line =
        "127.0.0.1\tkubernetes.default.svc.cluster.local\tkubernetes.default.svc\tkubernetes.default\n";
    assert!(
        text.contains("127.0.0.1 localhost\n") && text.ends_with(line),
        "{text}"
    );
}

#[test]
fn a_pod_finds_itself_in_its_hosts_file_by_all_its_names() {
    let pod = pod(json!({"containers": [], "hostname": "zero", "subdomain": "ring",
        "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a", "b"]}]}));
    let text = hosts(&pod, Some([10, 244, 0, 7].into()), None);
    assert!(
        text.contains("\n10.244.0.7\tzero.ring.team.svc.cluster.local\tzero\n"),
        "{text}"
    );
    assert!(
        text.ends_with("\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n"),
        "{text}"
    );
}

#[test]
fn a_long_name_is_cut_to_one_label() {
    let mut long = pod(json!({"containers": []}));
    long.metadata.name = Some(format!("{}-rest", "x".repeat(62)));
    assert_eq!(hostname(&long), "x".repeat(62));
}

#[test]
fn the_kernel_may_be_told_the_whole_name() {
    let ground = Ground {
        tier: Tier::Root,
        user_namespace: None,
        memory: Vec::new(),
    };
    let pod = pod(json!({"containers": [], "subdomain": "ring", "setHostnameAsFQDN": true}));
    assert_eq!(
        sandbox(&pod, &ground).hostname.as_deref(),
        Some("trainer-0.ring.team.svc.cluster.local")
    );
}
