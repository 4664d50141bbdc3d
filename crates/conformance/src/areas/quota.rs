//! Quotas and limit ranges.

use serde_json::{Value, json};

use crate::{Check, Context, Outcome, answer::Answer, context::pod};

const AREA: &str = "quota";

/// A quota `q` that is in force: it also forbids pod templates, and one has been refused.
fn quota(cx: &Context<'_>, mut hard: Value) -> Outcome<Answer> {
    hard["count/podtemplates"] = json!("0");
    cx.create(
        "v1",
        "resourcequotas",
        json!({"metadata": {"name": "q"}, "spec": {"hard": hard}}),
    )?;
    let path = cx.core("podtemplates")?;
    let body = json!({
        "metadata": {"name": "a"}, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
    });
    cx.eventually(|| cx.post(&path, body.clone()).query("dryRun", "All").expect(403))?;
    cx.get(cx.core("resourcequotas/q")?)
        .expect(200)?
        .exactly("/status/hard", hard)
}

fn limit_range(cx: &Context<'_>, limits: Value) -> Outcome<Answer> {
    cx.create(
        "v1",
        "limitranges",
        json!({"metadata": {"name": "l"}, "spec": {"limits": limits}}),
    )
}

fn with_resources(resources: Value) -> Value {
    let mut pod = pod("a");
    pod["spec"]["containers"][0]["resources"] = resources;
    pod
}

pub(super) const CHECKS: &[Check] =
    &[
        Check::new(AREA, "a quota counts what is there", |cx| {
            cx.create("v1", "secrets", json!({"metadata": {"name": "a"}}))?;
            quota(cx, json!({"secrets": "5"}))?
                .has(json!({"status": {"used": {"secrets": "1"}}}))?
                .done()
        })
        .with_controllers(),
        Check::new(AREA, "a quota that is used up refuses the next object", |cx| {
            quota(cx, json!({"secrets": "1"}))?;
            cx.create("v1", "secrets", json!({"metadata": {"name": "a"}}))?;
            cx.post(cx.core("secrets")?, json!({"metadata": {"name": "b"}}))
                .refused(
                    403,
                    "Forbidden",
                    "secrets \"b\" is forbidden: exceeded quota: q, requested: secrets=1, used: secrets=1, \
                 limited: secrets=1",
                )?
                .exactly("/details", json!({"name": "b", "kind": "secrets"}))?
                .done()
        })
        .with_controllers(),
        Check::new(AREA, "a quota is freed by a deletion", |cx| {
            quota(cx, json!({"secrets": "1"}))?;
            cx.create("v1", "secrets", json!({"metadata": {"name": "a"}}))?;
            cx.delete(cx.core("secrets/a")?).expect(200)?;
            let path = cx.core("secrets")?;
            cx.eventually(|| cx.post(&path, json!({"metadata": {"name": "b"}})).expect(201))?
                .done()
        })
        .with_controllers(),
        Check::new(AREA, "a quota counts any kind by its name", |cx| {
            quota(cx, json!({"count/leases.coordination.k8s.io": "1"}))?;
            cx.create(
                "coordination.k8s.io/v1",
                "leases",
                json!({"metadata": {"name": "a"}, "spec": {}}),
            )?;
            cx.post(
                cx.in_group("coordination.k8s.io/v1", "leases")?,
                json!({
                    "metadata": {"name": "b"}, "spec": {},
                }),
            )
            .refused(
                403,
                "Forbidden",
                "leases.coordination.k8s.io \"b\" is forbidden: exceeded quota: q, requested: \
                 count/leases.coordination.k8s.io=1, used: count/leases.coordination.k8s.io=1, limited: \
                 count/leases.coordination.k8s.io=1",
            )?
            .done()
        })
        .with_controllers(),
        Check::new(AREA, "a quota of processors adds up requests", |cx| {
            quota(cx, json!({"requests.cpu": "1"}))?;
            cx.create("v1", "pods", with_resources(json!({"requests": {"cpu": "700m"}})))?;
            let mut second = with_resources(json!({"requests": {"cpu": "500m"}}));
            second["metadata"]["name"] = json!("b");
            cx.post(cx.core("pods")?, second)
                .refused(
                    403,
                    "Forbidden",
                    "pods \"b\" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: \
                 requests.cpu=700m, limited: \
                 requests.cpu=1",
                )?
                .done()
        })
        .with_controllers(),
        Check::new(
            AREA,
            "under a quota of processors a pod must say what it needs",
            |cx| {
                quota(cx, json!({"limits.cpu": "1", "requests.memory": "1Gi"}))?;
                cx.post(cx.core("pods")?, pod("a"))
                    .refused(
                        403,
                        "Forbidden",
                        "pods \"a\" is forbidden: failed quota: q: must specify limits.cpu for: main; \
                 requests.memory for: main",
                    )?
                    .done()
            },
        )
        .with_controllers(),
        Check::new(AREA, "a quota may be for pods without any requests only", |cx| {
        let spec = json!({"hard": {"pods": "0"}, "scopes": ["BestEffort"]});
        cx.create("v1", "resourcequotas", json!({"metadata": {"name": "q"}, "spec": spec}))?;
        let path = cx.core("pods")?;
        cx.eventually(|| {
            cx.post(&path, pod("b")).query("dryRun", "All").refused(
                403,
                "Forbidden",
                "pods \"b\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0",
            )
        })?;
        cx.create("v1", "pods", with_resources(json!({"requests": {"cpu": "1m"}})))?.done()
    })
    .with_controllers(),
    Check::new(AREA, "a quota of ports on nodes counts services", |cx| {
            quota(cx, json!({"services.nodeports": "0"}))?;
            cx.create(
                "v1",
                "services",
                json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}),
            )?;
            cx.post(
                cx.core("services")?,
                json!({
                    "metadata": {"name": "b"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]},
                }),
            )
            .refused(
                403,
                "Forbidden",
                "services \"b\" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: \
                 services.nodeports=0, \
                 limited: services.nodeports=0",
            )?
            .done()
        })
        .with_controllers(),
        Check::new(AREA, "a quota of storage adds up claims", |cx| {
            quota(cx, json!({"requests.storage": "1Gi"}))?;
            let spec =
                json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}});
            cx.post(
                cx.core("persistentvolumeclaims")?,
                json!({"metadata": {"name": "a"}, "spec": spec}),
            )
            .refused(
                403,
                "Forbidden",
                "persistentvolumeclaims \"a\" is forbidden: exceeded quota: q, requested: \
                 requests.storage=2Gi, used: \
                 requests.storage=0, limited: requests.storage=1Gi",
            )?
            .done()
        })
        .with_controllers(),
        Check::new(AREA, "a dry creation uses nothing up", |cx| {
            quota(cx, json!({"secrets": "1"}))?;
            cx.post(cx.core("secrets")?, json!({"metadata": {"name": "a"}}))
                .query("dryRun", "All")
                .expect(201)?;
            cx.create("v1", "secrets", json!({"metadata": {"name": "b"}}))?
                .done()
        })
        .with_controllers(),
        Check::new(AREA, "a limit range fills in limits and requests", |cx| {
            limit_range(
                cx,
                json!([
                    {"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "250m"}},
                ]),
            )?;
            let path = cx.core("pods")?;
            cx.eventually(|| {
            cx.post(&path, pod("a"))
                .query("dryRun", "All")
                .expect(201)?
                .exactly("/spec/containers/0/resources", json!({
                    "limits": {"cpu": "500m"}, "requests": {"cpu": "250m"},
                }))
        })?
        .has(json!({"metadata": {"annotations": {"kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu \
            request for \
            container main; cpu limit for container main"}}}))?
        .done()
        }),
        Check::new(AREA, "a limit range refuses what is too much", |cx| {
            limit_range(cx, json!([{"type": "Container", "max": {"cpu": "1"}}]))?;
            let path = cx.core("pods")?;
            cx.eventually(|| {
                cx.post(&path, with_resources(json!({"limits": {"cpu": "2"}})))
                    .query("dryRun", "All")
                    .refused(
                        403,
                        "Forbidden",
                        "pods \"a\" is forbidden: maximum cpu usage per Container is 1, but limit is 2",
                    )
            })?
            .done()
        }),
        Check::new(AREA, "a limit range refuses what is too little", |cx| {
            limit_range(cx, json!([{"type": "Container", "min": {"memory": "1Mi"}}]))?;
            let path = cx.core("pods")?;
            cx.eventually(|| {
                cx.post(
                    &path,
                    with_resources(json!({
                        "requests": {"memory": "1Ki"}, "limits": {"memory": "1Ki"},
                    })),
                )
                .query("dryRun", "All")
                .refused(
                    403,
                    "Forbidden",
                    "pods \"a\" is forbidden: minimum memory usage per Container is 1Mi, but request is 1Ki",
                )
            })?
            .done()
        }),
        Check::new(AREA, "a limit range refuses too wide a span", |cx| {
            limit_range(
                cx,
                json!([{"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}]),
            )?;
            let path = cx.core("pods")?;
            cx.eventually(|| {
                cx.post(
                    &path,
                    with_resources(json!({"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}})),
                )
                .query("dryRun", "All")
                .refused(
                    403,
                    "Forbidden",
                    "pods \"a\" is forbidden: cpu max limit to request ratio per Container is 2, but \
                     provided ratio is 10.000000",
                )
            })?
            .done()
        }),
        Check::new(AREA, "a limit range of pods adds their containers up", |cx| {
            limit_range(cx, json!([{"type": "Pod", "max": {"cpu": "1"}}]))?;
            let mut body = with_resources(json!({"limits": {"cpu": "700m"}}));
            body["spec"]["containers"] = json!([
                {"name": "c", "image": "i", "resources": {"limits": {"cpu": "700m"}}},
                {"name": "d", "image": "i", "resources": {"limits": {"cpu": "700m"}}},
            ]);
            let path = cx.core("pods")?;
            cx.eventually(|| {
                cx.post(&path, body.clone()).query("dryRun", "All").refused(
                    403,
                    "Forbidden",
                    "pods \"a\" is forbidden: maximum cpu usage per Pod is 1, but limit is 1400m",
                )
            })?
            .done()
        }),
        Check::new(AREA, "a limit range of claims bounds their size", |cx| {
            limit_range(
                cx,
                json!([{"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}]),
            )?;
            let spec =
                json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}});
            let path = cx.core("persistentvolumeclaims")?;
            cx.eventually(|| {
            cx.post(&path, json!({"metadata": {"name": "a"}, "spec": spec})).query("dryRun", "All").refused(
                403,
                "Forbidden",
                "persistentvolumeclaims \"a\" is forbidden: maximum storage usage per PersistentVolumeClaim \
                 is 1Gi, but request \
                 is 2Gi",
            )
        })?
        .done()
        }),
    ];
