//! What the server fills in where the client says nothing.

use serde_json::{Value, json};

use crate::{Check, Context, Outcome, answer::Answer, failure::ensure};

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
        let spec = json!({"automountServiceAccountToken": false, "containers": [{"name": "c", "image": "i"}], "schedulerName": "s"});
        let mut expected = pod_spec("Always");
        expected["schedulerName"] = json!("s");
        expected["serviceAccountName"] = json!("default");
        expected["serviceAccount"] = json!("default");
        expected["automountServiceAccountToken"] = json!(false);
        expected["enableServiceLinks"] = json!(true);
        expected["priority"] = json!(0);
        expected["preemptionPolicy"] = json!("PreemptLowerPriority");
        expected["tolerations"] = json!([
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
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
                "name": "c", "image": "i:1", "ports": [{"containerPort": 80}], "livenessProbe": {"httpGet": {"port": 80}},
                "readinessProbe": {"grpc": {"port": 81}},
                "env": [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            });
            let probe = json!({"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3});
            let mut liveness = probe.clone();
            liveness["httpGet"] = json!({"path": "/", "port": 80, "scheme": "HTTP"});
            let mut readiness = probe;
            readiness["grpc"] = json!({"port": 81, "service": ""});
            with_spec(cx, "v1", "pods", json!({"schedulerName": "s", "containers": [container]}))?
            .exactly("/spec/containers/0/ports", json!([{"containerPort": 80, "protocol": "TCP"}]))?
            .exactly("/spec/containers/0/livenessProbe", liveness)?
            .exactly("/spec/containers/0/readinessProbe", readiness)?
            .exactly(
                "/spec/containers/0/env",
                json!([{"name": "E", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}]),
            )?
            .done()
        },
    ),
    Check::new(AREA, "volumes of a pod are filled in", |cx| {
        let volumes = json!([
            {"name": "s", "secret": {"secretName": "x"}}, {"name": "c", "configMap": {"name": "x"}},
            {"name": "d", "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
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
                        "items": [{"path": "p", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}],
                        "defaultMode": 420,
                    }},
                    {"name": "h", "hostPath": {"path": "/x", "type": ""}},
                    {"name": "e", "emptyDir": {}},
                    {"name": "p", "projected": {
                        "sources": [{"serviceAccountToken": {"expirationSeconds": 3600, "path": "t"}}], "defaultMode": 420,
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
                let spec = json!({"schedulerName": "s", "containers": [{"name": "c", "image": "i", "resources": resources}]});
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
                    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                    {"downwardAPI": {"items": [
                        {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
                    ]}},
                ]}}]),
            )?
            .exactly(
                "/spec/containers/0/volumeMounts",
                json!([{
                    "name": name, "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                }]),
            )?
            .done()
    }),
    Check::new(AREA, "a deployment is filled in", |cx| {
        with_spec(cx, "apps/v1", "deployments", json!({"selector": {"matchLabels": {"app": "a"}}, "template": template()}))?
            .exactly(
                "/spec",
                json!({
                    "replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": defaulted_template(),
                    "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
                    "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
                }),
            )?
            .done()
    }),
    Check::new(AREA, "a stateful set is filled in, with its claims", |cx| {
        let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
        let spec = json!({
            "replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "serviceName": "s", "template": template(),
            "volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": claim}],
        });
        with_spec(cx, "apps/v1", "statefulsets", spec)?
            .exactly(
                "/spec",
                json!({
                    "replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "serviceName": "s",
                    "template": defaulted_template(), "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": 10,
                    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
                    "volumeClaimTemplates": [{
                        "kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": {"name": "v"},
                        "spec": {
                            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                            "volumeMode": "Filesystem",
                        },
                        "status": {"phase": "Pending"},
                    }],
                }),
            )?
            .exactly("/status", json!({"replicas": 0, "availableReplicas": 0}))?
            .done()
    }),
    Check::new(AREA, "a daemon set is filled in", |cx| {
        let mut body = json!({
            "selector": {"matchLabels": {"app": "a"}}, "template": template(),
        });
        body["template"]["spec"]["nodeSelector"] = json!({"no": "where"});
        let mut pod = defaulted_template();
        pod["spec"]["nodeSelector"] = json!({"no": "where"});
        with_spec(cx, "apps/v1", "daemonsets", body)?
            .exactly(
                "/spec",
                json!({
                    "selector": {"matchLabels": {"app": "a"}}, "template": pod, "revisionHistoryLimit": 10,
                    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
                }),
            )?
            .has(json!({"metadata": {"annotations": {"deprecated.daemonset.template.generation": "1"}}}))?
            .done()
    }),
    Check::new(AREA, "a job is filled in, with a selector of its own uid", |cx| {
        let spec = json!({"suspend": true, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
        }}});
        let made = with_spec(cx, "batch/v1", "jobs", spec)?;
        let uid = made.uid();
        let labels = json!({
            "batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": "a", "controller-uid": uid, "job-name": "a",
        });
        made.exactly(
            "/spec",
            json!({
                "parallelism": 1, "completions": 1, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": true,
                "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}, "manualSelector": false,
                "podReplacementPolicy": "TerminatingOrFailed",
                "template": {"metadata": {"labels": labels}, "spec": pod_spec("Never")},
            }),
        )?
        .exactly("/metadata/labels", labels)?
        .done()
    }),
    Check::new(
        AREA,
        "an indexed job with a limit per index has no other limit",
        |cx| {
            let spec = json!({
                "suspend": true, "completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 1,
                "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
            });
            with_spec(cx, "batch/v1", "jobs", spec)?
                .has(json!({"spec": {"backoffLimit": 2_147_483_647, "parallelism": 1, "completions": 3}}))?
                .done()
        },
    ),
    Check::new(AREA, "a cron job is filled in", |cx| {
        let job = json!({"template": {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "c", "image": "i"}]}}});
        with_spec(cx, "batch/v1", "cronjobs", json!({"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job}}))?
            .exactly(
                "/spec",
                json!({
                    "schedule": "0 0 1 1 *", "concurrencyPolicy": "Allow", "suspend": false,
                    "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1,
                    "jobTemplate": {"metadata": {}, "spec": {"template": {"metadata": {}, "spec": pod_spec("OnFailure")}}},
                }),
            )?
            .done()
    }),
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
                "ports": [{"protocol": "TCP", "port": 80, "targetPort": 80}], "clusterIP": address, "clusterIPs": [address],
                "type": "ClusterIP", "sessionAffinity": "None", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
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
        with_spec(cx, "v1", "services", json!({"type": "LoadBalancer", "ports": [{"port": 80}]}))?
            .has(json!({"spec": {
                "allocateLoadBalancerNodePorts": true, "externalTrafficPolicy": "Cluster", "ports": [{"nodePort": "<any>"}],
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
    Check::new(AREA, "a claim is pending and protected", |cx| {
        let spec =
            json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}});
        with_spec(cx, "v1", "persistentvolumeclaims", spec)?
            .exactly(
                "/spec",
                json!({
                    "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Filesystem",
                }),
            )?
            .has(json!({"status": {"phase": "Pending"}, "metadata": {"finalizers": ["kubernetes.io/pvc-protection"]}}))?
            .done()
    }),
    Check::new(AREA, "a volume is retained and protected", |cx| {
        let spec = json!({"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}});
        cx.create_cluster("v1", "persistentvolumes", json!({"metadata": {"name": cx.unique("volume")}, "spec": spec}))?
            .exactly(
                "/spec",
                json!({
                    "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x", "type": ""}, "accessModes": ["ReadWriteOnce"],
                    "persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem",
                }),
            )?
            .has(json!({
                "status": {"phase": "Pending", "lastPhaseTransitionTime": "<time>"},
                "metadata": {"finalizers": ["kubernetes.io/pv-protection"]},
            }))?
            .done()
    }),
    Check::new(
        AREA,
        "an autoscaler aims at eighty percent of the processor",
        |cx| {
            let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
            with_spec(
                cx,
                "autoscaling/v2",
                "horizontalpodautoscalers",
                json!({"maxReplicas": 3, "scaleTargetRef": target}),
            )?
            .exactly(
                "/spec",
                json!({
                    "scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 3,
                    "metrics": [{"type": "Resource", "resource": {
                        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80},
                    }}],
                }),
            )?
            .done()
        },
    ),
    Check::new(
        AREA,
        "an autoscaler is the same object in both of its versions",
        |cx| {
            let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
            with_spec(
                cx,
                "autoscaling/v2",
                "horizontalpodautoscalers",
                json!({"maxReplicas": 3, "scaleTargetRef": target}),
            )?;
            cx.get(cx.in_group("autoscaling/v1", "horizontalpodautoscalers/a")?)
            .expect(200)?
            .has(json!({"apiVersion": "autoscaling/v1"}))?
            .exactly(
                "/spec",
                json!({
                    "scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 3, "targetCPUUtilizationPercentage": 80,
                }),
            )?
            .done()
        },
    ),
    Check::new(AREA, "a network policy is about what it mentions", |cx| {
        with_spec(cx, "networking.k8s.io/v1", "networkpolicies", json!({"podSelector": {}, "ingress": [{"ports": [{"port": 80}]}]}))?
            .exactly(
                "/spec",
                json!({
                    "podSelector": {}, "ingress": [{"ports": [{"protocol": "TCP", "port": 80}]}], "policyTypes": ["Ingress"],
                }),
            )?
            .done()
    }),
    Check::new(AREA, "a storage class deletes and binds at once", |cx| {
        let body = json!({"metadata": {"name": cx.unique("class")}, "provisioner": "example.com/none"});
        cx.create_cluster("storage.k8s.io/v1", "storageclasses", body)?
            .has(json!({"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate", "allowVolumeExpansion": "<absent>"}))?
            .done()
    }),
    Check::new(AREA, "a priority class preempts", |cx| {
        cx.create_cluster(
            "scheduling.k8s.io/v1",
            "priorityclasses",
            json!({"metadata": {"name": cx.unique("class")}, "value": 5}),
        )?
        .has(json!({"preemptionPolicy": "PreemptLowerPriority", "value": 5, "globalDefault": "<absent>"}))?
        .done()
    }),
    Check::new(AREA, "a pod of a priority class gets its value", |cx| {
        let name = cx.unique("class");
        cx.create_cluster(
            "scheduling.k8s.io/v1",
            "priorityclasses",
            json!({"metadata": {"name": name}, "value": 77}),
        )?;
        let spec = json!({"priorityClassName": name, "schedulerName": "s", "containers": [{"name": "c", "image": "i"}]});
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
    Check::new(AREA, "a limit range completes its defaults", |cx| {
        let limits = json!([{"type": "Container", "max": {"cpu": "2"}, "default": {"memory": "1Gi"}}]);
        with_spec(cx, "v1", "limitranges", json!({"limits": limits}))?
            .exactly(
                "/spec/limits",
                json!([{
                    "type": "Container", "max": {"cpu": "2"}, "default": {"cpu": "2", "memory": "1Gi"},
                    "defaultRequest": {"cpu": "2", "memory": "1Gi"},
                }]),
            )?
            .done()
    }),
    Check::new(AREA, "a role binding fills in groups", |cx| {
        let group = "rbac.authorization.k8s.io";
        let body = json!({
            "metadata": {"name": "a"}, "roleRef": {"kind": "ClusterRole", "name": "view"},
            "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}],
        });
        cx.create("rbac.authorization.k8s.io/v1", "rolebindings", body)?
            .exactly("/roleRef", json!({"apiGroup": group, "kind": "ClusterRole", "name": "view"}))?
            .exactly(
                "/subjects",
                json!([
                    {"kind": "User", "apiGroup": group, "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
                ]),
            )?
            .done()
    }),
    Check::new(
        AREA,
        "an endpoint slice's ports are named and have a protocol",
        |cx| {
            let body = json!({
                "metadata": {"name": "a"}, "addressType": "IPv4", "endpoints": [{"addresses": ["10.1.2.3"]}], "ports": [{"port": 80}],
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
    Check::new(
        AREA,
        "a replication controller takes labels and selector from its template",
        |cx| {
            with_spec(
                cx,
                "v1",
                "replicationcontrollers",
                json!({"replicas": 0, "template": template()}),
            )?
            .has(json!({"metadata": {"labels": {"app": "a"}}, "spec": {"selector": {"app": "a"}}}))?
            .done()
        },
    ),
    Check::new(AREA, "a namespace is labelled with its name", |cx| {
        let name = cx.namespace()?;
        cx.get(format!("/api/v1/namespaces/{name}"))
            .expect(200)?
            .exactly("/metadata/labels", json!({"kubernetes.io/metadata.name": name}))?
            .exactly("/spec", json!({"finalizers": ["kubernetes"]}))?
            .exactly("/status", json!({"phase": "Active"}))?
            .done()
    }),
    Check::new(AREA, "a new node is not ready", |cx| {
        let name = cx.unique("node");
        cx.create_cluster("v1", "nodes", json!({"metadata": {"name": name}}))?
            .exactly("/spec", json!({"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}))?
            .has(json!({"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 0}}, "nodeInfo": {"machineID": ""}}}))?
            .done()
    }),
    Check::new(AREA, "a webhook fails closed after ten seconds", |cx| {
        let webhook = json!({
            "name": "a.example.com", "clientConfig": {"service": {"name": "s", "namespace": "n"}}, "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "rules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["things"], "operations": ["CREATE"]}],
        });
        let body = json!({"metadata": {"name": cx.unique("webhook")}, "webhooks": [webhook]});
        cx.create_cluster("admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", body)?
            .has(json!({"webhooks": [{
                "failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10, "namespaceSelector": {},
                "objectSelector": {}, "clientConfig": {"service": {"port": 443}}, "rules": [{"scope": "*"}],
            }]}))?
            .done()
    }),
    Check::new(AREA, "a CSI driver attaches", |cx| {
        cx.create_cluster("storage.k8s.io/v1", "csidrivers", json!({"metadata": {"name": cx.unique("driver")}, "spec": {}}))?
            .exactly(
                "/spec",
                json!({
                    "attachRequired": true, "podInfoOnMount": false, "volumeLifecycleModes": ["Persistent"],
                    "storageCapacity": false, "fsGroupPolicy": "ReadWriteOnceWithFSType", "requiresRepublish": false,
                    "seLinuxMount": false,
                }),
            )?
            .done()
    }),
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
    Check::new(AREA, "the first namespaces exist", |cx| {
        for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            cx.get(format!("/api/v1/namespaces/{name}"))
                .expect(200)?
                .has(json!({"status": {"phase": "Active"}}))?;
        }
        Ok(())
    }),
    Check::new(AREA, "the first priority classes exist", |cx| {
        for (name, value) in [
            ("system-cluster-critical", 2_000_000_000),
            ("system-node-critical", 2_000_001_000),
        ] {
            cx.get(format!("/apis/scheduling.k8s.io/v1/priorityclasses/{name}"))
                .expect(200)?
                .has(json!({"value": value}))?;
        }
        Ok(())
    }),
    Check::new(AREA, "quantities are written in their shortest form", |cx| {
        let requests = json!({"cpu": "1000m", "memory": "1024Mi", "ephemeral-storage": "1e3"});
        let spec = json!({
            "schedulerName": "s", "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
        });
        with_spec(cx, "v1", "pods", spec)?
            .exactly(
                "/spec/containers/0/resources/requests",
                json!({"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1e3"}),
            )?
            .done()
    }),
];
