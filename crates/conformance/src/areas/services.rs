//! Addresses of services, and the objects that show them.

use serde_json::json;

use crate::{Check, failure::ensure};

const AREA: &str = "services";
const ADDRESSES: &str = "/apis/networking.k8s.io/v1/ipaddresses";

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "there is a network for addresses of services", |cx| {
        cx.get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
            .expect(200)?
            .has(json!({
                "spec": {"cidrs": ["10.96.0.0/16"]},
                "status": {"conditions": [{
                    "type": "Ready", "status": "True", "reason": "", "lastTransitionTime": "<time>",
                    "message": "Kubernetes default Service CIDR is ready",
                }]},
            }))?
            .done()
    }),
    Check::new(
        AREA,
        "a cluster address has an IPAddress as long as its service",
        |cx| {
            let service = cx.create(
                "v1",
                "services",
                json!({
                    "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]},
                }),
            )?;
            let path = format!("{ADDRESSES}/{}", service.text("/spec/clusterIP"));
            cx.eventually(|| cx.get(&path).expect(200))?
                .has(json!({"metadata": {"labels": {
                    "ipaddress.kubernetes.io/ip-family": "IPv4",
                    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
                }}}))?
                .exactly(
                    "/spec",
                    json!({
                        "parentRef": {"resource": "services", "namespace": cx.namespace()?, "name": "a"},
                    }),
                )?;
            cx.delete(cx.core("services/a")?).expect(200)?;
            cx.gone(&path)?.done()
        },
    ),
    Check::new(
        AREA,
        "a service that gives up its address gives up its IPAddress",
        |cx| {
            let service = cx.create(
                "v1",
                "services",
                json!({
                    "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]},
                }),
            )?;
            let path = format!("{ADDRESSES}/{}", service.text("/spec/clusterIP"));
            cx.eventually(|| cx.get(&path).expect(200))?;
            cx.merge_patch(cx.core("services/a")?, json!({"spec": {
            "type": "ExternalName", "externalName": "example.com", "clusterIP": null, "clusterIPs": null,
        }}))
        .expect(200)?;
            cx.gone(&path)?.done()
        },
    ),
    Check::new(AREA, "an address that is reserved is not given out", |cx| {
        cx.create_cluster(
            "networking.k8s.io/v1",
            "ipaddresses",
            json!({
                "metadata": {"name": "10.96.0.77"},
                "spec": {"parentRef": {"group": "example.com", "resource": "widgets", "name": "a"}},
            }),
        )?;
        cx.post(cx.core("services")?, json!({
            "metadata": {"name": "a"}, "spec": {"clusterIP": "10.96.0.77", "ports": [{"port": 80}]},
        }))
        .invalid(&[(
            "spec.clusterIPs",
            "FieldValueInvalid",
            "Invalid value: [\"10.96.0.77\"]: failed to allocate IP 10.96.0.77: provided IP is already allocated",
        )])?
        .done()
    }),
    Check::new(
        AREA,
        "the service of the API comes back when it is removed",
        |cx| {
            let path = "/api/v1/namespaces/default/services/kubernetes";
            let before = cx.get(path).expect(200)?;
            cx.delete(path).expect(200)?;
            cx.eventually(|| {
                let service = cx.get(path).expect(200)?;
                let uid = service.text("/metadata/uid");
                ensure(uid != before.text("/metadata/uid"), "a new service", uid)?;
                service.has(json!({"spec": {"clusterIP": before.text("/spec/clusterIP")}}))
            })?
            .done()
        },
    ),
];
