//! Deleting: options in body and query, preconditions, grace, finalizers and collections.

use serde_json::json;

use crate::{Check, context::pod, failure::ensure};

const AREA: &str = "delete";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        AREA,
        "a deletion answers with a success and the object's uid",
        |cx| {
            let made = cx.config_map("a")?;
            cx.delete(cx.core("configmaps/a")?).expect(200)?.exactly(
                "",
                json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                    "details": {"name": "a", "kind": "configmaps", "uid": made.uid()},
                }),
            )?;
            cx.get(cx.core("configmaps/a")?).expect(404)?.done()
        },
    ),
    Check::new(AREA, "a deletion in a group names the group", |cx| {
        let spec = json!({"holderIdentity": "me"});
        cx.create(
            "coordination.k8s.io/v1",
            "leases",
            json!({"metadata": {"name": "a"}, "spec": spec}),
        )?;
        cx.delete(cx.in_group("coordination.k8s.io/v1", "leases/a")?)
            .expect(200)?
            .exactly(
                "/details",
                json!({"name": "a", "group": "coordination.k8s.io", "kind": "leases", "uid": "<uid>"}),
            )?
            .done()
    }),
    Check::new(AREA, "a second deletion is not found", |cx| {
        cx.config_map("a")?;
        cx.delete(cx.core("configmaps/a")?).expect(200)?;
        cx.delete(cx.core("configmaps/a")?)
            .refused(404, "NotFound", "configmaps \"a\" not found")?
            .done()
    }),
    Check::new(AREA, "a deletion of another uid is a conflict", |cx| {
        let made = cx.config_map("a")?;
        cx.delete(cx.core("configmaps/a")?)
            .json(&json!({"preconditions": {"uid": "wrong"}}))
            .refused(
                409,
                "Conflict",
                &format!(
                    "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (wrong) \
                     does not match \
                     the UID in record ({}). The object might have been deleted and then recreated",
                    made.uid()
                ),
            )?
            .done()
    }),
    Check::new(AREA, "a deletion of another version is a conflict", |cx| {
        let made = cx.config_map("a")?;
        cx.delete(cx.core("configmaps/a")?)
            .json(&json!({"preconditions": {"resourceVersion": "1"}}))
            .refused(
                409,
                "Conflict",
                &format!(
                    "Operation cannot be fulfilled on ConfigMap \"a\": the ResourceVersion in the \
                     precondition (1) does \
                     not match the ResourceVersion in record ({}). The object might have been modified",
                    made.resource_version()
                ),
            )?
            .done()
    }),
    Check::new(
        AREA,
        "a deletion with the right preconditions goes through",
        |cx| {
            let made = cx.config_map("a")?;
            let preconditions = json!({"uid": made.uid(), "resourceVersion": made.resource_version()});
            cx.delete(cx.core("configmaps/a")?)
                .json(&json!({"preconditions": preconditions}))
                .expect(200)?
                .done()
        },
    ),
    Check::new(AREA, "the options may name their kind", |cx| {
        cx.config_map("a")?;
        cx.delete(cx.core("configmaps/a")?)
            .json(&json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}))
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "the options may be of the resource's own group", |cx| {
        let spec = json!({"holderIdentity": "me"});
        cx.create(
            "coordination.k8s.io/v1",
            "leases",
            json!({"metadata": {"name": "a"}, "spec": spec}),
        )?;
        cx.delete(cx.in_group("coordination.k8s.io/v1", "leases/a")?)
            .json(&json!({"apiVersion": "coordination.k8s.io/v1", "kind": "DeleteOptions"}))
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "the options may be in the query", |cx| {
        cx.config_map("a")?;
        cx.delete(cx.core("configmaps/a")?)
            .query("propagationPolicy", "Foreground")
            .expect(200)?
            .has(json!({"metadata": {"finalizers": ["foregroundDeletion"], "deletionTimestamp": "<time>"}}))?
            .done()
    }),
    Check::new(AREA, "a body wins over the query", |cx| {
        cx.config_map("a")?;
        cx.delete(cx.core("configmaps/a")?)
            .query("propagationPolicy", "Foreground")
            .json(&json!({"propagationPolicy": "Background"}))
            .expect(200)?
            .has(json!({"status": "Success"}))?
            .done()
    }),
    Check::new(AREA, "an unknown propagation is refused", |cx| {
        cx.config_map("a")?;
        cx.delete(cx.core("configmaps/a")?)
            .query("propagationPolicy", "Sideways")
            .invalid(&[(
                "propagationPolicy",
                "FieldValueNotSupported",
                "Unsupported value: \"Sideways\": supported values: \"Foreground\", \"Background\", \
                 \"Orphan\", \"nil\"",
            )])?
            .has(json!({"details": {"group": "meta.k8s.io", "kind": "DeleteOptions"}}))?
            .done()
    }),
    Check::new(
        AREA,
        "propagation and the old way to orphan exclude each other",
        |cx| {
            cx.config_map("a")?;
            cx.delete(cx.core("configmaps/a")?)
            .json(&json!({"propagationPolicy": "Background", "orphanDependents": true}))
            .invalid(&[(
                "propagationPolicy",
                "FieldValueInvalid",
                "Invalid value: \"Background\": orphanDependents and deletionPropagation cannot be both set",
            )])?
            .done()
        },
    ),
    Check::new(AREA, "an object with finalizers is only marked", |cx| {
        let made = cx.create(
            "v1",
            "configmaps",
            json!({"metadata": {"name": "a", "finalizers": ["example.com/hold"]}}),
        )?;
        cx.delete(cx.core("configmaps/a")?).expect(200)?.has(json!({
            "kind": "ConfigMap",
            "metadata": {
                "name": "a", "uid": made.uid(), "deletionTimestamp": "<time>",
                "deletionGracePeriodSeconds": 0,
                "finalizers": ["example.com/hold"],
            },
        }))?;
        cx.get(cx.core("configmaps/a")?).expect(200)?;
        cx.merge_patch(cx.core("configmaps/a")?, json!({"metadata": {"finalizers": []}}))
            .expect(200)?;
        cx.get(cx.core("configmaps/a")?).expect(404)?.done()
    }),
    Check::new(AREA, "no finalizer can be added to what is being deleted", |cx| {
        cx.create(
            "v1",
            "configmaps",
            json!({"metadata": {"name": "a", "finalizers": ["example.com/hold"]}}),
        )?;
        cx.delete(cx.core("configmaps/a")?).expect(200)?;
        let finalizers = json!(["example.com/hold", "example.com/more"]);
        cx.merge_patch(
            cx.core("configmaps/a")?,
            json!({"metadata": {"finalizers": finalizers}}),
        )
        .refused(
            422,
            "Invalid",
            "ConfigMap \"a\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added \
                 if the object \
                 is being deleted, found new finalizers []string{\"example.com/more\"}",
        )?;
        cx.merge_patch(cx.core("configmaps/a")?, json!({"metadata": {"finalizers": []}}))
            .expect(200)?
            .done()
    }),
    Check::new(
        AREA,
        "a repeated deletion of a marked object keeps the time",
        |cx| {
            cx.create(
                "v1",
                "configmaps",
                json!({"metadata": {"name": "a", "finalizers": ["example.com/hold"]}}),
            )?;
            let first = cx.delete(cx.core("configmaps/a")?).expect(200)?;
            let second = cx.delete(cx.core("configmaps/a")?).expect(200)?;
            let same = first.at("/metadata/deletionTimestamp") == second.at("/metadata/deletionTimestamp");
            ensure(
                same && first.resource_version() == second.resource_version(),
                "the same object",
                &second.json,
            )?;
            cx.merge_patch(cx.core("configmaps/a")?, json!({"metadata": {"finalizers": []}}))
                .expect(200)?
                .done()
        },
    ),
    Check::new(AREA, "a pod without a node is gone at once", |cx| {
        cx.create("v1", "pods", pod("a"))?;
        cx.delete(cx.core("pods/a")?).expect(200)?.has(json!({
            "kind": "Pod", "metadata": {"deletionGracePeriodSeconds": 0, "deletionTimestamp": "<time>"},
        }))?;
        cx.get(cx.core("pods/a")?).expect(404)?.done()
    }),
    Check::new(AREA, "a pod on a node gets its grace period", |cx| {
        let mut body = pod("a");
        body["spec"]["nodeName"] = json!("some-node");
        cx.create("v1", "pods", body)?;
        cx.delete(cx.core("pods/a")?).expect(200)?.has(json!({
            "metadata": {
                "deletionGracePeriodSeconds": 30, "deletionTimestamp": "<time>", "generation": 2,
            },
        }))?;
        cx.get(cx.core("pods/a")?).expect(200)?;
        cx.delete(cx.core("pods/a")?)
            .query("gracePeriodSeconds", 0)
            .expect(200)?;
        cx.get(cx.core("pods/a")?).expect(404)?.done()
    }),
    Check::new(AREA, "a grace period can be shortened but not prolonged", |cx| {
        let mut body = pod("a");
        body["spec"]["nodeName"] = json!("some-node");
        cx.create("v1", "pods", body)?;
        let path = cx.core("pods/a")?;
        let grace = |seconds: i64| json!({"metadata": {"deletionGracePeriodSeconds": seconds}});
        cx.delete(&path)
            .query("gracePeriodSeconds", 20)
            .expect(200)?
            .has(grace(20))?;
        cx.delete(&path)
            .query("gracePeriodSeconds", 50)
            .expect(200)?
            .has(grace(20))?;
        cx.delete(&path)
            .query("gracePeriodSeconds", 5)
            .expect(200)?
            .has(grace(5))?;
        cx.delete(&path)
            .query("gracePeriodSeconds", 0)
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "a negative grace period is one second", |cx| {
        let mut body = pod("a");
        body["spec"]["nodeName"] = json!("some-node");
        cx.create("v1", "pods", body)?;
        cx.delete(cx.core("pods/a")?)
            .query("gracePeriodSeconds", -5)
            .expect(200)?
            .has(json!({"metadata": {"deletionGracePeriodSeconds": 1}}))?;
        cx.delete(cx.core("pods/a")?)
            .query("gracePeriodSeconds", 0)
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "a finished pod on a node is gone at once", |cx| {
        let mut body = pod("a");
        body["spec"]["nodeName"] = json!("some-node");
        cx.create("v1", "pods", body)?;
        cx.merge_patch(
            cx.core("pods/a/status")?,
            json!({"status": {"phase": "Succeeded"}}),
        )
        .expect(200)?;
        cx.delete(cx.core("pods/a")?).expect(200)?;
        cx.get(cx.core("pods/a")?).expect(404)?.done()
    }),
    Check::new(
        AREA,
        "a job deleted without a policy leaves its pods and warns of it",
        |cx| {
            let spec = json!({"suspend": true, "template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
            }}});
            cx.create(
                "batch/v1",
                "jobs",
                json!({"metadata": {"name": "a"}, "spec": spec}),
            )?;
            cx.delete(cx.in_group("batch/v1", "jobs/a")?)
                .expect(200)?
                .warns(
                    &["child pods are preserved by default when jobs are deleted; set \
                propagationPolicy=Background to \
                remove them or set propagationPolicy=Orphan to suppress this warning"],
                )?
                .done()
        },
    ),
    Check::new(AREA, "a job deleted with a policy draws no warning", |cx| {
        let spec = json!({"suspend": true, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
        }}});
        cx.create(
            "batch/v1",
            "jobs",
            json!({"metadata": {"name": "a"}, "spec": spec}),
        )?;
        cx.delete(cx.in_group("batch/v1", "jobs/a")?)
            .query("propagationPolicy", "Background")
            .expect(200)?
            .warns(&[])?
            .done()
    }),
    Check::new(AREA, "a collection is deleted as a whole", |cx| {
        for name in ["a", "b"] {
            cx.create("v1", "secrets", json!({"metadata": {"name": name}}))?;
        }
        cx.delete(cx.core("secrets")?)
            .expect(200)?
            .has(json!({"kind": "SecretList", "items": "<any>"}))?
            .lists(&["a", "b"])?;
        cx.get(cx.core("secrets")?).expect(200)?.lists(&[])?.done()
    }),
    Check::new(AREA, "a collection is deleted by label", |cx| {
        cx.create(
            "v1",
            "secrets",
            json!({"metadata": {"name": "a", "labels": {"x": "1"}}}),
        )?;
        cx.create("v1", "secrets", json!({"metadata": {"name": "b"}}))?;
        cx.delete(cx.core("secrets")?)
            .query("labelSelector", "x=1")
            .expect(200)?;
        cx.get(cx.core("secrets")?).expect(200)?.lists(&["b"])?.done()
    }),
    Check::new(AREA, "a collection is deleted by field", |cx| {
        for name in ["a", "b"] {
            cx.create("v1", "secrets", json!({"metadata": {"name": name}}))?;
        }
        cx.delete(cx.core("secrets")?)
            .query("fieldSelector", "metadata.name=a")
            .expect(200)?;
        cx.get(cx.core("secrets")?).expect(200)?.lists(&["b"])?.done()
    }),
    Check::new(AREA, "a collection with a bad selector is not deleted", |cx| {
        cx.create("v1", "secrets", json!({"metadata": {"name": "a"}}))?;
        cx.delete(cx.core("secrets")?)
            .query("fieldSelector", "nope=a")
            .refused(400, "BadRequest", "field label not supported: nope")?;
        cx.get(cx.core("secrets")?).expect(200)?.lists(&["a"])?.done()
    }),
    Check::new(AREA, "services are a collection too", |cx| {
        cx.create(
            "v1",
            "services",
            json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}),
        )?;
        cx.delete(cx.core("services")?).expect(200)?;
        cx.get(cx.core("services")?).expect(200)?.lists(&[])?.done()
    }),
    Check::new(AREA, "namespaces are not a collection to delete", |cx| {
        cx.delete("/api/v1/namespaces")
            .query("labelSelector", "never=matches")
            .refused(
                405,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource",
            )?
            .done()
    }),
    Check::new(
        AREA,
        "a deletion of an object is answered with the object for some kinds",
        |cx| {
            cx.create("v1", "serviceaccounts", json!({"metadata": {"name": "a"}}))?;
            cx.delete(cx.core("serviceaccounts/a")?)
                .expect(200)?
                .has(json!({"kind": "ServiceAccount", "metadata": {"name": "a"}}))?
                .done()
        },
    ),
    Check::new(AREA, "broken options are refused", |cx| {
        cx.config_map("a")?;
        cx.delete(cx.core("configmaps/a")?)
            .bytes("application/json", "{broken")
            .expect(500)?
            .has(
                json!({"message": "couldn't get version/kind; json parse error: invalid character 'b' \
                looking for \
                beginning of object key string"}),
            )?
            .done()
    }),
    Check::new(AREA, "options of another kind are refused", |cx| {
        cx.config_map("a")?;
        cx.delete(cx.core("configmaps/a")?)
            .json(&json!({"apiVersion": "v1", "kind": "ConfigMap"}))
            .expect(500)?
            .has(json!({
                "message": "no kind \"ConfigMap\" is registered for version \"v1\" in scheme \
                 \"pkg/runtime/scheme.go:110\"",
            }))?
            .done()
    }),
];
