//! Request bodies in protobuf, which every client-go since 1.32 sends for built-in kinds.

use serde_json::json;

use crate::{
    Check, Context, Outcome,
    context::pod,
    protobuf::{Message, metadata},
    request::Request,
};

const AREA: &str = "protobuf bodies";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

fn post<'a>(
    cx: &Context<'a>,
    path: &str,
    message: &Message,
    version: &str,
    kind: &str,
) -> Outcome<Request<'a>> {
    let path = cx.in_group(version, path)?;
    Ok(cx
        .request("POST", path)
        .accept("application/json")
        .bytes(PROTOBUF, message.envelope(version, kind)))
}

/// A time: seconds since the epoch.
fn time(seconds: u64) -> Message {
    Message::new().varint(1, seconds)
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "a config map is read", |cx| {
        let message = Message::new()
            .message(1, &metadata("a").entry(11, "l", "1"))
            .entry(2, "k", "v")
            .bytes(
                3,
                // A map entry whose value is bytes.
                b"\x0a\x01b\x12\x02\x00\xff",
            );
        post(cx, "configmaps", &message, "v1", "ConfigMap")?
            .expect(201)?
            .has(
                json!({"metadata": {"labels": {"l": "1"}}, "data": {"k": "v"}, "binaryData": {"b": "AP8="}}),
            )?
            .done()
    }),
    Check::new(AREA, "a secret with bytes is read", |cx| {
        let message = Message::new()
            .message(1, &metadata("a"))
            .bytes(2, b"\x0a\x01k\x12\x03\x00\x01\x02")
            .text(3, "Opaque");
        post(cx, "secrets", &message, "v1", "Secret")?
            .expect(201)?
            .exactly("/data", json!({"k": "AAEC"}))?
            .done()
    }),
    Check::new(AREA, "a lease with precise times is read", |cx| {
        let renewed = Message::new().varint(1, 1_700_000_000).varint(2, 123_456_000);
        let spec = Message::new()
            .text(1, "me")
            .varint(2, 15)
            .message(3, &renewed)
            .message(4, &renewed)
            .varint(5, 2);
        let message = Message::new().message(1, &metadata("a")).message(2, &spec);
        post(cx, "leases", &message, "coordination.k8s.io/v1", "Lease")?
            .expect(201)?
            .exactly(
                "/spec",
                json!({
                    "holderIdentity": "me", "leaseDurationSeconds": 15, "leaseTransitions": 2,
                    "acquireTime": "2023-11-14T22:13:20.123456Z", "renewTime": "2023-11-14T22:13:20.123456Z",
                }),
            )?
            .done()
    }),
    Check::new(AREA, "a deployment with nested messages is read", |cx| {
        let limit = Message::new()
            .text(1, "cpu")
            .message(2, &Message::new().text(1, "1500m"));
        let port = Message::new().text(1, "web").varint(3, 80);
        let container = Message::new()
            .text(1, "c")
            .text(2, "i:1")
            .text(4, "--flag")
            .message(6, &port)
            .message(8, &Message::new().message(1, &limit));
        let template = Message::new()
            .message(1, &Message::new().entry(11, "app", "a"))
            .message(2, &Message::new().message(2, &container));
        let selector = Message::new().entry(1, "app", "a");
        let surge = Message::new().varint(1, 1).text(3, "30%");
        let strategy = Message::new()
            .text(1, "RollingUpdate")
            .message(2, &Message::new().message(2, &surge));
        let spec = Message::new()
            .varint(1, 0)
            .message(2, &selector)
            .message(3, &template)
            .message(4, &strategy);
        let message = Message::new().message(1, &metadata("a")).message(2, &spec);
        post(cx, "deployments", &message, "apps/v1", "Deployment")?
            .expect(201)?
            .has(json!({"spec": {
                "replicas": 0, "selector": {"matchLabels": {"app": "a"}},
                "strategy": {
                    "type": "RollingUpdate", "rollingUpdate": {"maxSurge": "30%", "maxUnavailable": "25%"},
                },
                "template": {"spec": {"containers": [{
                    "name": "c", "image": "i:1", "args": ["--flag"], "imagePullPolicy": "IfNotPresent",
                    "ports": [{"name": "web", "containerPort": 80, "protocol": "TCP"}],
                    "resources": {"limits": {"cpu": "1500m"}},
                }]}},
            }}))?
            .done()
    }),
    Check::new(
        AREA,
        "a pod with a volume is read, whose source is flattened in JSON",
        |cx| {
            let source = Message::new().message(6, &Message::new().text(1, "s"));
            let volume = Message::new().text(1, "v").message(2, &source);
            let container = Message::new().text(1, "c").text(2, "i");
            let probe = Message::new().message(
                1,
                &Message::new().message(3, &Message::new().message(1, &Message::new().varint(2, 80))),
            );
            let container = container.message(10, &probe);
            let spec = Message::new()
                .message(1, &volume)
                .message(2, &container)
                .text(19, "nobody");
            let message = Message::new().message(1, &metadata("a")).message(2, &spec);
            post(cx, "pods", &message, "v1", "Pod")?
            .expect(201)?
            .has(json!({"spec": {
                "schedulerName": "nobody",
                "volumes": ["<includes>", {"name": "v", "secret": {"secretName": "s", "defaultMode": 420}}],
                "containers": [{"livenessProbe": {"tcpSocket": {"port": 80}, "periodSeconds": 10}}],
            }}))?
            .done()
        },
    ),
    Check::new(AREA, "an event with a time is read", |cx| {
        let namespace = cx.namespace()?;
        let object = Message::new().text(1, "Pod").text(2, namespace).text(3, "p");
        let message = Message::new()
            .message(1, &metadata("a").text(3, namespace))
            .message(2, &object)
            .text(3, "Because")
            .text(4, "it happened")
            .message(6, &time(1_700_000_000))
            .message(7, &time(1_700_000_001))
            .varint(8, 3)
            .text(9, "Normal");
        post(cx, "events", &message, "v1", "Event")?
            .expect(201)?
            .has(json!({
                "involvedObject": {"kind": "Pod", "name": "p"}, "count": 3,
                "firstTimestamp": "2023-11-14T22:13:20Z", "lastTimestamp": "2023-11-14T22:13:21Z",
            }))?
            .done()
    }),
    Check::new(AREA, "a review of one's own access is answered", |cx| {
        let attributes = Message::new().text(1, "default").text(2, "list").text(5, "pods");
        let message = Message::new()
            .message(1, &Message::new())
            .message(2, &Message::new().message(1, &attributes));
        cx.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
            .accept("application/json")
            .bytes(
                PROTOBUF,
                message.envelope("authorization.k8s.io/v1", "SelfSubjectAccessReview"),
            )
            .expect(201)?
            .has(json!({"status": {"allowed": true}}))?
            .done()
    }),
    Check::new(AREA, "delete options are obeyed", |cx| {
        let made = cx.config_map("a")?;
        let options = |uid: &str| {
            Message::new()
                .message(2, &Message::new().text(1, uid))
                .text(4, "Background")
        };
        let body = |uid: &str| options(uid).envelope("v1", "DeleteOptions");
        cx.delete(cx.core("configmaps/a")?)
            .bytes(PROTOBUF, body("wrong"))
            .expect(409)?;
        cx.delete(cx.core("configmaps/a")?)
            .bytes(PROTOBUF, body(&made.uid()))
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "an eviction is carried out", |cx| {
        cx.create("v1", "pods", pod("a"))?;
        let message = Message::new().message(1, &metadata("a").text(3, cx.namespace()?));
        cx.request("POST", cx.core("pods/a/eviction")?)
            .accept("application/json")
            .bytes(PROTOBUF, message.envelope("policy/v1", "Eviction"))
            .expect(201)?
            .done()
    }),
    Check::new(AREA, "a replacement is made, once", |cx| {
        let made = cx.config_map("a")?;
        let message = Message::new()
            .message(1, &metadata("a").text(6, &made.resource_version()))
            .entry(2, "k", "w");
        let body = message.envelope("v1", "ConfigMap");
        cx.request("PUT", cx.core("configmaps/a")?)
            .accept("application/json")
            .bytes(PROTOBUF, body.clone())
            .expect(200)?
            .exactly("/data", json!({"k": "w"}))?;
        cx.request("PUT", cx.core("configmaps/a")?)
            .accept("application/json")
            .bytes(PROTOBUF, body)
            .expect(409)?
            .done()
    }),
    Check::new(AREA, "an unknown field is passed over", |cx| {
        let message = Message::new()
            .message(1, &metadata("a"))
            .entry(2, "k", "v")
            .text(99, "future");
        post(cx, "configmaps", &message, "v1", "ConfigMap")?
            .expect(201)?
            .exactly("/data", json!({"k": "v"}))?
            .done()
    }),
    Check::new(AREA, "a zero that means something is kept", |cx| {
        let spec = Message::new()
            .varint(1, 0)
            .message(2, &Message::new().entry(1, "app", "a"))
            .message(
                3,
                &Message::new()
                    .message(1, &Message::new().entry(11, "app", "a"))
                    .message(
                        2,
                        &Message::new().message(2, &Message::new().text(1, "c").text(2, "i")),
                    ),
            );
        let message = Message::new().message(1, &metadata("a")).message(2, &spec);
        post(cx, "replicasets", &message, "apps/v1", "ReplicaSet")?
            .expect(201)?
            .has(json!({"spec": {"replicas": 0}}))?
            .done()
    }),
    Check::new(AREA, "a body without the magic bytes is refused", |cx| {
        cx.request("POST", cx.core("configmaps")?)
            .bytes(PROTOBUF, b"nonsense".to_vec())
            .expect(400)?
            .has(json!({
                "message": "the object provided is unrecognized (must be of type ConfigMap): provided data \
                 does not appear \
                    to be a protobuf message, expected prefix [107 56 115 0] (6e6f6e73656e7365)",
                "reason": "BadRequest",
            }))?
            .done()
    }),
    Check::new(AREA, "a body that is cut off is refused", |cx| {
        let mut body = Message::new()
            .message(1, &metadata("a"))
            .entry(2, "k", "v")
            .envelope("v1", "ConfigMap");
        body.truncate(body.len() - 3);
        cx.request("POST", cx.core("configmaps")?)
            .bytes(PROTOBUF, body)
            .expect(400)?
            .has(json!({
                "message": "the object provided is unrecognized (must be of type ConfigMap): unexpected EOF \
                 (6b387300{*} ...)",
                "reason": "BadRequest",
            }))?
            .done()
    }),
    Check::new(AREA, "a body of another kind is refused", |cx| {
        let message = Message::new().message(1, &metadata("a"));
        cx.request("POST", cx.core("configmaps")?)
            .bytes(PROTOBUF, message.envelope("v1", "Secret"))
            .expect(400)?
            .has(json!({"reason": "BadRequest"}))?
            .done()
    }),
    Check::new(AREA, "text that is not UTF-8 is refused", |cx| {
        let message = Message::new().message(1, &Message::new().bytes(1, b"\xff\xfe"));
        post(cx, "configmaps", &message, "v1", "ConfigMap")?
            .send()?
            .satisfies("a refusal", |answer| answer.status() == 422)?
            .done()
    }),
];
