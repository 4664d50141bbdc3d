//! The life of a namespace.

use serde_json::json;

use crate::{Check, failure::ensure};

const AREA: &str = "namespaces";

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "a deleted namespace is terminating and then gone", |cx| {
        let name = cx.make_namespace(json!({}))?;
        let path = format!("/api/v1/namespaces/{name}");
        cx.delete(&path)
            .expect(200)?
            .has(json!({
                "kind": "Namespace", "metadata": {"deletionTimestamp": "<time>"},
                "status": {"phase": "Terminating"},
            }))?;
        cx.gone(&path)?.done()
    })
    .with_controllers(),
    Check::new(AREA, "what is in a deleted namespace goes with it", |cx| {
        let name = cx.make_namespace(json!({}))?;
        let path = format!("/api/v1/namespaces/{name}");
        cx.post(format!("{path}/configmaps"), json!({"metadata": {"name": "a"}})).expect(201)?;
        cx.post(format!("/apis/coordination.k8s.io/v1/namespaces/{name}/leases"), json!({
            "metadata": {"name": "a"}, "spec": {},
        }))
            .expect(201)?;
        cx.delete(&path).expect(200)?;
        cx.gone(&path)?;
        cx.get(format!("{path}/configmaps/a")).expect(404)?.done()
    })
    .with_controllers(),
    Check::new(AREA, "nothing can be made in a terminating namespace", |cx| {
        let name = cx.make_namespace(json!({}))?;
        let path = format!("/api/v1/namespaces/{name}");
        let held = json!({"metadata": {"name": "held", "finalizers": ["example.com/hold"]}});
        cx.post(format!("{path}/configmaps"), held).expect(201)?;
        cx.delete(&path).expect(200)?;
        cx.eventually(|| {
            cx.post(format!("{path}/secrets"), json!({
                "metadata": {"name": "b"},
            })).query("dryRun", "All").refused(
                403,
                "Forbidden",
                &format!(
                    "secrets \"b\" is forbidden: unable to create new content in namespace {name} because it \
                     is being terminated"
                ),
            )
        })?
        .exactly(
            "/details",
            json!({"name": "b", "kind": "secrets", "causes": [{
                "reason": "NamespaceTerminating", "message": format!("namespace {name} is being terminated"),
                "field": "metadata.namespace",
            }]}),
        )?;
        cx.merge_patch(format!("{path}/configmaps/held"), json!({
            "metadata": {"finalizers": null},
        })).expect(200)?;
        cx.gone(&path)?.done()
    })
    .with_controllers(),
    Check::new(AREA, "a namespace that waits for finalizers says which", |cx| {
        let name = cx.make_namespace(json!({}))?;
        let path = format!("/api/v1/namespaces/{name}");
        let held = json!({"metadata": {"name": "held", "finalizers": ["example.com/hold"]}});
        cx.post(format!("{path}/configmaps"), held).expect(201)?;
        cx.delete(&path).expect(200)?;
        cx.eventually(|| {
            cx.get(&path).expect(200)?.has(json!({"status": {"phase": "Terminating", "conditions": ["<includes>",
                {"type": "NamespaceContentRemaining", "status": "True", "reason": "SomeResourcesRemain",
                    "message": "Some resources are remaining: configmaps. has 1 resource instances"},
                {"type": "NamespaceFinalizersRemaining", "status": "True", "reason": "SomeFinalizersRemain",
                    "message": "Some content in the namespace has finalizers remaining: example.com/hold in \
                     1 resource instances"},
                {
                    "type": "NamespaceDeletionDiscoveryFailure", "status": "False",
                    "reason": "ResourcesDiscovered",
                },
                {"type": "NamespaceDeletionContentFailure", "status": "False", "reason": "ContentDeleted"},
                {
                    "type": "NamespaceDeletionGroupVersionParsingFailure", "status": "False",
                    "reason": "ParsedGroupVersions",
                },
            ]}}))
        })?;
        cx.merge_patch(format!("{path}/configmaps/held"), json!({
            "metadata": {"finalizers": null},
        })).expect(200)?;
        cx.gone(&path)?.done()
    })
    .with_controllers(),
    Check::new(AREA, "the default namespace cannot be deleted", |cx| {
        cx.delete("/api/v1/namespaces/default")
            .query("dryRun", "All")
            .refused(403, "Forbidden", "namespaces \"default\" is forbidden: this namespace may not be \
                deleted")?
            .done()
    }),
    Check::new(AREA, "the namespace of the system cannot be deleted", |cx| {
        cx.delete("/api/v1/namespaces/kube-system")
            .query("dryRun", "All")
            .refused(403, "Forbidden", "namespaces \"kube-system\" is forbidden: this namespace may not be \
                deleted")?
            .done()
    }),
    Check::new(AREA, "a new namespace gets an account and the authority's certificate", |cx| {
        let name = cx.unique("conformance");
        cx.post("/api/v1/namespaces", json!({"metadata": {"name": name}})).expect(201)?;
        cx.clean_up(format!("/api/v1/namespaces/{name}"));
        cx.eventually(|| cx.get(format!("/api/v1/namespaces/{name}/serviceaccounts/default")).expect(200))?;
        let map = cx.eventually(|| cx.get(format!("/api/v1/namespaces/{name}/configmaps/kube-root-ca.crt")).expect(200))?;
        ensure(map.text("/data/ca.crt").starts_with("-----BEGIN CERTIFICATE-----"), "a \
            certificate", &map.json)
    })
    .with_controllers(),
    Check::new(AREA, "the certificate of the authority comes back when it is deleted", |cx| {
        let path = cx.core("configmaps/kube-root-ca.crt")?;
        cx.eventually(|| cx.get(&path).expect(200))?;
        let uid = cx.get(&path).expect(200)?.uid();
        cx.delete(&path).expect(200)?;
        cx.eventually(|| {
            let again = cx.get(&path).expect(200)?;
            ensure(again.uid() != uid, "a new one", again.uid())
        })
    })
    .with_controllers(),
    Check::new(AREA, "the name's label cannot be changed away", |cx| {
        let name = cx.namespace()?;
        cx.merge_patch(format!("/api/v1/namespaces/{name}"), json!({
            "metadata": {"labels": {"kubernetes.io/metadata.name": "x"}},
        }))
            .expect(200)?
            .has(json!({"metadata": {"labels": {"kubernetes.io/metadata.name": name}}}))?
            .done()
    }),
    Check::new(AREA, "the finalizers of a namespace can be taken away by hand", |cx| {
        let name = cx.make_namespace(json!({}))?;
        let path = format!("/api/v1/namespaces/{name}");
        let body = json!({"metadata": {"name": name}, "spec": {"finalizers": []}});
        cx.put(format!("{path}/finalize"), body).expect(200)?.exactly("/spec", json!({}))?.done()
    }),
];
