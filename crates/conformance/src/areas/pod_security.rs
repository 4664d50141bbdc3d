//! The Pod Security Standards: what a namespace's labels let its pods ask for.

use serde_json::{Value, json};

use crate::{Check, Context, Outcome, context::root};

const AREA: &str = "pod security";

/// A namespace that enforces a level, and warns of it.
fn enforcing(cx: &Context<'_>, level: &str) -> Outcome<String> {
    cx.make_namespace(json!({"pod-security.kubernetes.io/enforce": level}))
}

fn pods(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

/// A pod with one plain container and these parts of a spec.
fn pod(spec: Value) -> Value {
    let mut pod = json!({
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "main", "image": "nginx"}]},
    });
    if let (Some(all), Value::Object(own)) = (pod["spec"].as_object_mut(), spec) {
        all.extend(own);
    }
    pod
}

/// A pod whose container has this security context.
fn confined(context: Value) -> Value {
    pod(json!({"containers": [{"name": "main", "image": "nginx", "securityContext": context}]}))
}

/// A pod that breaks no rule of any level.
fn harmless() -> Value {
    pod(json!({
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "main", "image": "nginx", "securityContext": {
            "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
        }}],
    }))
}

/// Each pod is refused with its sentence about the policy.
fn refuses(cx: &Context<'_>, level: &str, cases: &[(Value, &str)]) -> Outcome {
    let namespace = enforcing(cx, level)?;
    for (pod, violations) in cases {
        let message =
            format!("pods \"a\" is forbidden: violates PodSecurity \"{level}:latest\": {violations}");
        cx.eventually(|| {
            cx.post(pods(&namespace), pod.clone())
                .query("dryRun", "All")
                .refused(403, "Forbidden", &message)
        })?
        .has(json!({"details": {"name": "a", "kind": "pods"}}))?;
    }
    Ok(())
}

/// As `eventually`, for a pod that is accepted: the real server's admission hears of a new namespace late.
fn accepts(cx: &Context<'_>, namespace: &str, pod: &Value, warnings: &[&str]) -> Outcome {
    cx.eventually(|| {
        cx.post(pods(namespace), pod.clone())
            .query("dryRun", "All")
            .expect(201)?
            .warns(warnings)
    })?
    .done()
}

/// A workload is accepted with a warning about its template.
fn warns_of_template(cx: &Context<'_>, version: &str, resource: &str, spec: &Value) -> Outcome {
    let namespace = enforcing(cx, "baseline")?;
    let path = format!("{}/namespaces/{namespace}/{resource}", root(version));
    cx.eventually(|| {
        cx.post(&path, json!({"metadata": {"name": "a"}, "spec": spec}))
            .query("dryRun", "All")
            .expect(201)?
            .warns(&["would violate PodSecurity \"baseline:latest\": host namespaces (hostPID=true)"])
    })?
    .done()
}

fn template(restart_policy: &str) -> Value {
    let mut template = pod(json!({"hostPID": true, "restartPolicy": restart_policy}));
    template["metadata"] = json!({"labels": {"app": "a"}});
    template
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "a namespace without labels lets everything in", |cx| {
        cx.post(
            cx.core("pods")?,
            pod(json!({"hostNetwork": true, "hostPID": true})),
        )
        .expect(201)?
        .warns(&[])?
        .done()
    }),
    Check::new(AREA, "the baseline keeps pods off the host", |cx| {
        let ports = |number: i64| {
            json!({"name": format!("c{number}"), "image": "nginx", "ports": [
                {"containerPort": 80, "hostPort": number},
            ]})
        };
        let probe = json!({"httpGet": {"port": 80, "host": "example.com"}});
        refuses(
            cx,
            "baseline",
            &[
                (
                    pod(json!({"hostNetwork": true, "hostPID": true, "hostIPC": true})),
                    "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)",
                ),
                (
                    pod(json!({"volumes": [
                        {"name": "a", "hostPath": {"path": "/a"}}, {"name": "b", "hostPath": {"path": "/b"}},
                        {"name": "c", "emptyDir": {}},
                    ]})),
                    "hostPath volumes (volumes \"a\", \"b\")",
                ),
                (
                    pod(json!({"containers": [ports(81)]})),
                    "hostPort (container \"c81\" uses hostPort 81)",
                ),
                (
                    pod(json!({"containers": [ports(9), ports(81)]})),
                    "hostPort (containers \"c9\", \"c81\" use hostPorts 81, 9)",
                ),
                (
                    pod(json!({"containers": [{"name": "main", "image": "nginx", "livenessProbe": probe}]})),
                    "probe or lifecycle host (container \"main\" uses probe or lifecycle host \"example.com\")",
                ),
                (
                    pod(json!({"securityContext": {"sysctls": [
                        {"name": "kernel.msgmax", "value": "1"}, {"name": "net.ipv4.tcp_rmem", "value": "1"},
                    ]}})),
                    "forbidden sysctls (kernel.msgmax)",
                ),
            ],
        )
    }),
    Check::new(AREA, "the baseline refuses privileges", |cx| {
        refuses(
            cx,
            "baseline",
            &[
                (
                    confined(json!({"privileged": true})),
                    "privileged (container \"main\" must not set securityContext.privileged=true)",
                ),
                (
                    confined(json!({"capabilities": {"add": ["SYS_ADMIN", "CHOWN", "NET_RAW"]}})),
                    "non-default capabilities (container \"main\" must not include \"NET_RAW\", \"SYS_ADMIN\" in \
                 securityContext.capabilities.add)",
                ),
            ],
        )
    }),
    Check::new(AREA, "the baseline refuses profiles that do not confine", |cx| {
        refuses(
            cx,
            "baseline",
            &[
                (
                    confined(json!({"seccompProfile": {"type": "Unconfined"}})),
                    "seccompProfile (container \"main\" must not set securityContext.seccompProfile.type to \
                 \"Unconfined\")",
                ),
                (
                    pod(json!({"securityContext": {"appArmorProfile": {"type": "Unconfined"}}})),
                    "forbidden AppArmor profile (pod must not set AppArmor profile type to \"Unconfined\")",
                ),
                (
                    confined(json!({"seLinuxOptions": {"type": "spc_t", "user": "u", "role": "r"}})),
                    "seLinuxOptions (container \"main\" set forbidden securityContext.seLinuxOptions: type \
                 \"spc_t\"; user may not be set; role may not be set)",
                ),
            ],
        )
    }),
    Check::new(AREA, "the baseline lets a plain pod in", |cx| {
        let namespace = enforcing(cx, "baseline")?;
        accepts(cx, &namespace, &pod(json!({})), &[])
    }),
    Check::new(AREA, "the restricted level refuses a plain pod", |cx| {
        refuses(
            cx,
            "restricted",
            &[(
                pod(json!({"volumes": [{"name": "v", "nfs": {"server": "a", "path": "/"}}]})),
                "allowPrivilegeEscalation != false (container \"main\" must set \
             securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container \"main\" \
             must set securityContext.capabilities.drop=[\"ALL\"]), restricted volume types (volume \"v\" uses \
             restricted volume type \"nfs\"), runAsNonRoot != true (pod or container \"main\" must set \
             securityContext.runAsNonRoot=true), seccompProfile (pod or container \"main\" must set \
             securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")",
            )],
        )
    }),
    Check::new(AREA, "the restricted level refuses root", |cx| {
        let mut root = harmless();
        root["spec"]["securityContext"]["runAsUser"] = json!(0);
        root["spec"]["containers"][0]["securityContext"]["runAsNonRoot"] = json!(false);
        refuses(
            cx,
            "restricted",
            &[(
                root,
                "runAsNonRoot != true (container \"main\" must not set securityContext.runAsNonRoot=false), \
             runAsUser=0 (pod must not set runAsUser=0)",
            )],
        )
    }),
    Check::new(AREA, "the restricted level lets a harmless pod in", |cx| {
        let namespace = enforcing(cx, "restricted")?;
        accepts(cx, &namespace, &harmless(), &[])
    }),
    Check::new(AREA, "an older version has the rules of its time", |cx| {
        let namespace = cx.make_namespace(json!({
            "pod-security.kubernetes.io/enforce": "restricted",
            "pod-security.kubernetes.io/enforce-version": "v1.20",
        }))?;
        let mut pod = harmless();
        pod["spec"]["containers"][0]["securityContext"]["capabilities"] = json!({});
        pod["spec"]["securityContext"]["runAsUser"] = json!(0);
        accepts(cx, &namespace, &pod, &[])?;
        pod["spec"]["hostPID"] = json!(true);
        cx.eventually(|| {
            cx.post(pods(&namespace), pod.clone()).refused(
                403,
                "Forbidden",
                "pods \"a\" is forbidden: violates PodSecurity \"restricted:v1.20\": host namespaces \
                 (hostPID=true)",
            )
        })?
        .done()
    }),
    Check::new(AREA, "a namespace may warn without refusing", |cx| {
        let namespace = cx.make_namespace(json!({
            "pod-security.kubernetes.io/enforce": "privileged",
            "pod-security.kubernetes.io/warn": "baseline",
            "pod-security.kubernetes.io/warn-version": "v1.34",
        }))?;
        let warning = "would violate PodSecurity \"baseline:v1.34\": host namespaces (hostPID=true)";
        accepts(cx, &namespace, &pod(json!({"hostPID": true})), &[warning])
    }),
    Check::new(AREA, "a deployment is only warned of", |cx| {
        let spec = json!({"selector": {"matchLabels": {"app": "a"}}, "template": template("Always")});
        warns_of_template(cx, "apps/v1", "deployments", &spec)
    }),
    Check::new(AREA, "a job is only warned of", |cx| {
        warns_of_template(cx, "batch/v1", "jobs", &json!({"template": template("Never")}))
    }),
    Check::new(AREA, "a cron job is only warned of", |cx| {
        let job = json!({"spec": {"template": template("Never")}});
        warns_of_template(
            cx,
            "batch/v1",
            "cronjobs",
            &json!({"schedule": "* * * * *", "jobTemplate": job}),
        )
    }),
    Check::new(AREA, "labels must name levels and versions", |cx| {
        let labels = json!({
            "pod-security.kubernetes.io/enforce": "strict",
            "pod-security.kubernetes.io/warn-version": "1.20",
            "pod-security.kubernetes.io/audit": "",
        });
        cx.post(
            "/api/v1/namespaces",
            json!({"metadata": {"name": cx.unique("ns"), "labels": labels}}),
        )
        .query("dryRun", "All")
        .invalid(&[
            (
                "metadata.labels[pod-security.kubernetes.io/enforce]",
                "FieldValueInvalid",
                "Invalid value: \"strict\": must be one of privileged, baseline, restricted",
            ),
            (
                "metadata.labels[pod-security.kubernetes.io/audit]",
                "FieldValueInvalid",
                "Invalid value: \"\": must be one of privileged, baseline, restricted",
            ),
            (
                "metadata.labels[pod-security.kubernetes.io/warn-version]",
                "FieldValueInvalid",
                "Invalid value: \"1.20\": must be \"latest\" or \"v1.x\"",
            ),
        ])?
        .done()
    }),
    Check::new(AREA, "a stricter namespace warns of the pods it has", |cx| {
        let namespace = cx.make_namespace(json!({}))?;
        for (name, spec) in [
            ("b", json!({"hostPID": true})),
            ("a", json!({"hostPID": true})),
            ("c", json!({"hostIPC": true})),
            (
                "d",
                json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}),
            ),
            ("e", json!({})),
        ] {
            let mut pod = pod(spec);
            pod["metadata"]["name"] = json!(name);
            cx.eventually(|| cx.post(pods(&namespace), pod.clone()).expect(201))?;
        }
        let path = format!("/api/v1/namespaces/{namespace}");
        let labels = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}});
        cx.eventually(|| {
            cx.merge_patch(&path, labels.clone())
                .query("dryRun", "All")
                .expect(200)?
                .warns(&[
                    &format!(
                        "existing pods in namespace \"{namespace}\" violate the new PodSecurity enforce level \
                         \"baseline:latest\""
                    ),
                    "a (and 2 other pods): host namespaces",
                    "d: hostPath volumes",
                ])
        })?
        .done()
    }),
    Check::new(AREA, "an ephemeral container is held to the policy", |cx| {
        let namespace = enforcing(cx, "baseline")?;
        cx.eventually(|| cx.post(pods(&namespace), pod(json!({}))).expect(201))?;
        let container = json!({"name": "debug", "image": "busybox", "securityContext": {"privileged": true}});
        cx.strategic_patch(
            format!("{}/a/ephemeralcontainers", pods(&namespace)),
            json!({"spec": {"ephemeralContainers": [container]}}),
        )
        .refused(
            403,
            "Forbidden",
            "pods \"a\" is forbidden: violates PodSecurity \"baseline:latest\": privileged (container \
             \"debug\" must not set securityContext.privileged=true)",
        )?
        .done()
    }),
    Check::new(
        AREA,
        "what runs may be relabelled under a stricter policy",
        |cx| {
            let namespace = cx.make_namespace(json!({}))?;
            cx.eventually(|| {
                cx.post(pods(&namespace), pod(json!({"hostPID": true})))
                    .expect(201)
            })?;
            cx.merge_patch(
                format!("/api/v1/namespaces/{namespace}"),
                json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}),
            )
            .expect(200)?;
            let path = format!("{}/a", pods(&namespace));
            cx.merge_patch(&path, json!({"metadata": {"labels": {"app": "a"}}}))
                .expect(200)?
                .warns(&[])?;
            let image = json!({"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}});
            cx.eventually(|| cx.strategic_patch(&path, image.clone()).expect(403))?
                .done()
        },
    ),
    Check::new(AREA, "a generated name is named in the refusal", |cx| {
        let namespace = enforcing(cx, "baseline")?;
        let mut pod = pod(json!({"hostPID": true}));
        pod["metadata"] = json!({"generateName": "worker-"});
        cx.eventually(|| {
            cx.post(pods(&namespace), pod.clone())
                .expect(403)?
                .has(json!({"message": "pods \"worker-{*}\" is forbidden: violates PodSecurity{*}"}))
        })?
        .done()
    }),
];
