//! What the server fills in where the client says nothing.

use serde_json::{Value, json};

use crate::{Check, Context, Outcome, answer::Answer, failure::ensure};

pub(super) mod cluster;
pub(super) mod networking;
pub(super) mod workloads;

const AREA: &str = "defaults";

/// Creates an object `a` with this spec.
fn with_spec(cx: &Context<'_>, version: &str, resource: &str, spec: Value) -> Outcome<Answer> {
    cx.create(
        version,
        resource,
        json!({"metadata": {"name": "a"}, "spec": spec}),
    )
}

/// A pod template before defaulting.
fn template() -> Value {
    json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

/// A pod template's spec after defaulting.
fn pod_spec(restart: &str) -> Value {
    json!({
        "containers": [{
            "name": "c", "image": "i", "resources": {}, "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File", "imagePullPolicy": "Always",
        }],
        "restartPolicy": restart, "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
        "securityContext": {}, "schedulerName": "default-scheduler",
    })
}

fn defaulted_template() -> Value {
    json!({"metadata": {"labels": {"app": "a"}}, "spec": pod_spec("Always")})
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "a pod is filled in", |cx| {
        let spec = json!({
            "automountServiceAccountToken": false, "containers": [{"name": "c", "image": "i"}],
            "schedulerName": "s",
        });
        let mut expected = pod_spec("Always");
        expected["schedulerName"] = json!("s");
        expected["serviceAccountName"] = json!("default");
        expected["serviceAccount"] = json!("default");
        expected["automountServiceAccountToken"] = json!(false);
        expected["enableServiceLinks"] = json!(true);
        expected["priority"] = json!(0);
        expected["preemptionPolicy"] = json!("PreemptLowerPriority");
        expected["tolerations"] = json!([
            {
                "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": 300,
            },
            {
                "key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": 300,
            },
        ]);
        with_spec(cx, "v1", "pods", spec)?
            .exactly("/spec", expected)?
            .exactly("/status", json!({"phase": "Pending", "qosClass": "BestEffort"}))?
            .done()
    }),
    Check::new(
        AREA,
        "an image with a tag is pulled only when it is missing",
        |cx| {
            for (image, policy) in [
                ("i", "Always"),
                ("i:latest", "Always"),
                ("i:1", "IfNotPresent"),
                ("r.example.com:5000/i", "Always"),
            ] {
                let spec = json!({"schedulerName": "s", "containers": [{"name": "c", "image": image}]});
                cx.post(cx.core("pods")?, json!({"metadata": {"name": "a"}, "spec": spec}))
                    .query("dryRun", "All")
                    .expect(201)?
                    .has(json!({"spec": {"containers": [{"imagePullPolicy": policy}]}}))?;
            }
            Ok(())
        },
    ),
    Check::new(
        AREA,
        "probes, ports and field references of a container are filled in",
        |cx| {
            let container = json!({
                "name": "c", "image": "i:1", "ports": [{"containerPort": 80}],
                "livenessProbe": {"httpGet": {"port": 80}},
                "readinessProbe": {"grpc": {"port": 81}},
                "env": [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            });
            let probe = json!({
                "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3,
            });
            let mut liveness = probe.clone();
            liveness["httpGet"] = json!({"path": "/", "port": 80, "scheme": "HTTP"});
            let mut readiness = probe;
            readiness["grpc"] = json!({"port": 81, "service": ""});
            with_spec(
                cx,
                "v1",
                "pods",
                json!({"schedulerName": "s", "containers": [container]}),
            )?
            .exactly(
                "/spec/containers/0/ports",
                json!([{"containerPort": 80, "protocol": "TCP"}]),
            )?
            .exactly("/spec/containers/0/livenessProbe", liveness)?
            .exactly("/spec/containers/0/readinessProbe", readiness)?
            .exactly(
                "/spec/containers/0/env",
                json!([
                    {
                        "name": "E",
                        "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
                    },
                ]),
            )?
            .done()
        },
    ),
    Check::new(AREA, "volumes of a pod are filled in", |cx| {
        let volumes = json!([
            {"name": "s", "secret": {"secretName": "x"}}, {"name": "c", "configMap": {"name": "x"}},
            {
                "name": "d",
                "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]},
            },
            {"name": "h", "hostPath": {"path": "/x"}}, {"name": "e"},
            {"name": "p", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        ]);
        let spec = json!({
            "schedulerName": "s", "automountServiceAccountToken": false, "volumes": volumes,
            "containers": [{"name": "c", "image": "i"}],
        });
        with_spec(cx, "v1", "pods", spec)?
            .exactly(
                "/spec/volumes",
                json!([
                    {"name": "s", "secret": {"secretName": "x", "defaultMode": 420}},
                    {"name": "c", "configMap": {"name": "x", "defaultMode": 420}},
                    {"name": "d", "downwardAPI": {
                        "items": [
                            {"path": "p", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
                        ],
                        "defaultMode": 420,
                    }},
                    {"name": "h", "hostPath": {"path": "/x", "type": ""}},
                    {"name": "e", "emptyDir": {}},
                    {"name": "p", "projected": {
                        "sources": [{"serviceAccountToken": {"expirationSeconds": 3600, "path": "t"}}],
                        "defaultMode": 420,
                    }},
                ]),
            )?
            .done()
    }),
    Check::new(
        AREA,
        "requests follow limits and decide the quality of service",
        |cx| {
            let quality = |resources: Value, class: &str| -> Outcome<Answer> {
                let spec = json!({
                    "schedulerName": "s", "containers": [{"name": "c", "image": "i", "resources": resources}],
                });
                cx.post(cx.core("pods")?, json!({"metadata": {"name": "a"}, "spec": spec}))
                    .query("dryRun", "All")
                    .expect(201)?
                    .has(json!({"status": {"qosClass": class}}))
            };
            quality(json!({}), "BestEffort")?;
            quality(json!({"limits": {"cpu": "1"}}), "Burstable")?
                .has(json!({"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}}))?;
            quality(json!({"limits": {"cpu": "1", "memory": "1Gi"}}), "Guaranteed")?.done()
        },
    ),
    Check::new(AREA, "a pod gets the token of its account mounted", |cx| {
        let answer = with_spec(
            cx,
            "v1",
            "pods",
            json!({"schedulerName": "s", "containers": [{"name": "c", "image": "i"}]}),
        )?;
        let name = answer.text("/spec/volumes/0/name");
        ensure(
            name.starts_with("kube-api-access-") && name.len() == 21,
            "kube-api-access- and five characters",
            &name,
        )?;
        answer
            .exactly(
                "/spec/volumes",
                json!([{"name": name, "projected": {"defaultMode": 420, "sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                    {
                        "configMap": {
                            "name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}],
                        },
                    },
                    {"downwardAPI": {"items": [
                        {
                            "path": "namespace",
                            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                        },
                    ]}},
                ]}}]),
            )?
            .exactly(
                "/spec/containers/0/volumeMounts",
                json!([{
                    "name": name, "readOnly": true,
                    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                }]),
            )?
            .done()
    }),
    Check::new(AREA, "a pod of a priority class gets its value", |cx| {
        let name = cx.unique("class");
        cx.create_cluster(
            "scheduling.k8s.io/v1",
            "priorityclasses",
            json!({"metadata": {"name": name}, "value": 77}),
        )?;
        let spec = json!({
            "priorityClassName": name, "schedulerName": "s", "containers": [{"name": "c", "image": "i"}],
        });
        let body = json!({"metadata": {"name": "a"}, "spec": spec});
        let path = cx.core("pods")?;
        cx.eventually(|| cx.post(&path, body.clone()).expect(201))?
            .has(json!({"spec": {"priority": 77, "priorityClassName": name}}))?
            .done()
    }),
    Check::new(AREA, "a pod of an unknown priority class is refused", |cx| {
        let spec = json!({"priorityClassName": "nope", "containers": [{"name": "c", "image": "i"}]});
        cx.post(cx.core("pods")?, json!({"metadata": {"name": "a"}, "spec": spec}))
            .refused(
                403,
                "Forbidden",
                "pods \"a\" is forbidden: no PriorityClass with name nope was found",
            )?
            .exactly("/details", json!({"name": "a", "kind": "pods"}))?
            .done()
    }),
    Check::new(AREA, "quantities are written in their shortest form", |cx| {
        let requests = json!({"cpu": "1000m", "memory": "1024Mi", "ephemeral-storage": "1e3"});
        let spec = json!({
            "schedulerName": "s",
            "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
        });
        with_spec(cx, "v1", "pods", spec)?
            .exactly(
                "/spec/containers/0/resources/requests",
                json!({"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1e3"}),
            )?
            .done()
    }),
];
