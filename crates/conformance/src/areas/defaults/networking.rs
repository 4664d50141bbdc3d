//! What is filled in for services, endpoints and network policies.

use serde_json::json;

use super::{AREA, with_spec};
use crate::{Check, failure::ensure};

pub(crate) const CHECKS: &[Check] = &[
    Check::new(AREA, "a service gets an address", |cx| {
        let made = with_spec(cx, "v1", "services", json!({"ports": [{"port": 80}]}))?;
        let address = made.text("/spec/clusterIP");
        ensure(
            address.starts_with("10.96."),
            "an address of the service range",
            &address,
        )?;
        made.exactly(
            "/spec",
            json!({
                "ports": [{"protocol": "TCP", "port": 80, "targetPort": 80}], "clusterIP": address,
                "clusterIPs": [address],
                "type": "ClusterIP", "sessionAffinity": "None", "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack",
                "internalTrafficPolicy": "Cluster",
            }),
        )?
        .exactly("/status", json!({"loadBalancer": {}}))?
        .done()
    }),
    Check::new(AREA, "a headless service gets no address", |cx| {
        with_spec(
            cx,
            "v1",
            "services",
            json!({"clusterIP": "None", "selector": {"a": "b"}}),
        )?
        .exactly(
            "/spec",
            json!({
                "selector": {"a": "b"}, "clusterIP": "None", "clusterIPs": ["None"], "type": "ClusterIP",
                "sessionAffinity": "None", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
                "internalTrafficPolicy": "Cluster",
            }),
        )?
        .done()
    }),
    Check::new(AREA, "a service on nodes gets a port of their range", |cx| {
        let ports = json!([{"port": 80, "targetPort": "web", "name": "x"}]);
        let made = with_spec(cx, "v1", "services", json!({"type": "NodePort", "ports": ports}))?
            .has(json!({"spec": {"externalTrafficPolicy": "Cluster", "ports": [{"targetPort": "web"}]}}))?;
        let port = made.at("/spec/ports/0/nodePort").as_u64().unwrap_or(0);
        ensure(
            (30000..=32767).contains(&port),
            "a port between 30000 and 32767",
            port,
        )
    }),
    Check::new(AREA, "a load balancer has ports on nodes too", |cx| {
        with_spec(
            cx,
            "v1",
            "services",
            json!({"type": "LoadBalancer", "ports": [{"port": 80}]}),
        )?
        .has(json!({"spec": {
            "allocateLoadBalancerNodePorts": true, "externalTrafficPolicy": "Cluster",
            "ports": [{"nodePort": "<any>"}],
        }}))?
        .done()
    }),
    Check::new(AREA, "an external name has no address", |cx| {
        with_spec(
            cx,
            "v1",
            "services",
            json!({"type": "ExternalName", "externalName": "example.com"}),
        )?
        .exactly(
            "/spec",
            json!({"type": "ExternalName", "sessionAffinity": "None", "externalName": "example.com"}),
        )?
        .done()
    }),
    Check::new(AREA, "session affinity lasts three hours", |cx| {
        with_spec(
            cx,
            "v1",
            "services",
            json!({"sessionAffinity": "ClientIP", "ports": [{"port": 80}]}),
        )?
        .exactly(
            "/spec/sessionAffinityConfig",
            json!({"clientIP": {"timeoutSeconds": 10800}}),
        )?
        .done()
    }),
    Check::new(AREA, "a network policy is about what it mentions", |cx| {
        with_spec(
            cx,
            "networking.k8s.io/v1",
            "networkpolicies",
            json!({
                "podSelector": {}, "ingress": [{"ports": [{"port": 80}]}],
            }),
        )?
        .exactly(
            "/spec",
            json!({
                "podSelector": {}, "ingress": [{"ports": [{"protocol": "TCP", "port": 80}]}],
                "policyTypes": ["Ingress"],
            }),
        )?
        .done()
    }),
    Check::new(
        AREA,
        "an endpoint slice's ports are named and have a protocol",
        |cx| {
            let body = json!({
                "metadata": {"name": "a"}, "addressType": "IPv4", "endpoints": [{"addresses": ["10.1.2.3"]}],
                "ports": [{"port": 80}],
            });
            cx.create("discovery.k8s.io/v1", "endpointslices", body)?
                .exactly("/ports", json!([{"name": "", "protocol": "TCP", "port": 80}]))?
                .exactly(
                    "/endpoints",
                    json!([{"addresses": ["10.1.2.3"], "conditions": {}}]),
                )?
                .done()
        },
    ),
    Check::new(AREA, "the cluster's own service exists", |cx| {
        cx.get("/api/v1/namespaces/default/services/kubernetes")
            .expect(200)?
            .has(json!({
                "metadata": {"labels": {"component": "apiserver", "provider": "kubernetes"}},
                "spec": {"clusterIP": "10.96.0.1", "type": "ClusterIP", "ports": [{
                    "name": "https", "protocol": "TCP", "port": 443, "targetPort": "<any>",
                }]},
            }))?
            .done()
    }),
];
