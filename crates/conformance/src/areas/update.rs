//! Replacing objects: optimistic concurrency, what cannot change, and generations.

use serde_json::json;

use crate::{Check, Context, Outcome, answer::Answer, context::pod, failure::ensure};

const AREA: &str = "update";

/// A deployment that runs nothing.
fn deployment(cx: &Context<'_>) -> Outcome<Answer> {
    let template = json!({
        "metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let spec = json!({"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": template});
    cx.create(
        "apps/v1",
        "deployments",
        json!({"metadata": {"name": "a"}, "spec": spec}),
    )
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        AREA,
        "a replaced object keeps its uid and gets a new version",
        |cx| {
            let made = cx.config_map("a")?;
            let mut body = made.json.clone();
            body["data"] = json!({"other": "1"});
            let changed = cx
                .put(cx.core("configmaps/a")?, body)
                .expect(200)?
                .has(json!({"metadata": {"uid": made.uid()}}))?
                .exactly("/data", json!({"other": "1"}))?;
            ensure(
                changed.resource_version() != made.resource_version(),
                "another version",
                changed.json,
            )
        },
    ),
    Check::new(AREA, "a stale version is a conflict", |cx| {
        let made = cx.config_map("a")?;
        cx.merge_patch(cx.core("configmaps/a")?, json!({"data": {"x": "1"}}))
            .expect(200)?;
        cx.put(cx.core("configmaps/a")?, made.json)
            .refused(
                409,
                "Conflict",
                "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please \
                 apply your \
                 changes to the latest version and try again",
            )?
            .exactly("/details", json!({"name": "a", "kind": "configmaps"}))?
            .done()
    }),
    Check::new(AREA, "without a version the last writer wins", |cx| {
        cx.config_map("a")?;
        cx.put(
            cx.core("configmaps/a")?,
            json!({"metadata": {"name": "a"}, "data": {"x": "1"}}),
        )
        .expect(200)?
        .exactly("/data", json!({"x": "1"}))?
        .done()
    }),
    Check::new(AREA, "a replacement without a version does not create", |cx| {
        cx.put(cx.core("configmaps/nope")?, json!({"metadata": {"name": "nope"}}))
            .refused(404, "NotFound", "configmaps \"nope\" not found")?
            .done()
    }),
    Check::new(
        AREA,
        "a replacement of what was deleted meanwhile is not found",
        |cx| {
            let made = cx.config_map("a")?;
            cx.delete(cx.core("configmaps/a")?).expect(200)?;
            cx.put(cx.core("configmaps/a")?, made.json)
                .refused(404, "NotFound", "configmaps \"a\" not found")?
                .done()
        },
    ),
    Check::new(AREA, "another uid is a conflict", |cx| {
        let made = cx.config_map("a")?;
        let body = json!({"metadata": {"name": "a", "uid": "0b4ae9f5-8b0f-4b8a-9a3e-0c8a4b6f7d11"}});
        cx.put(cx.core("configmaps/a")?, body)
            .refused(
                409,
                "Conflict",
                &format!(
                    "Operation cannot be fulfilled on configmaps \"a\": StorageError: invalid object, Code: \
                     4, Key: \
                     {{*}}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in \
                     precondition: \
                     0b4ae9f5-8b0f-4b8a-9a3e-0c8a4b6f7d11, UID in object meta: {}",
                    made.uid()
                ),
            )?
            .done()
    }),
    Check::new(AREA, "another name than the path's is refused", |cx| {
        cx.config_map("a")?;
        cx.put(cx.core("configmaps/a")?, json!({"metadata": {"name": "b"}}))
            .refused(
                400,
                "BadRequest",
                "the name of the object (b) does not match the name on the URL (a)",
            )?
            .done()
    }),
    Check::new(AREA, "the name must be given, though it is in the path", |cx| {
        cx.config_map("a")?;
        cx.put(cx.core("configmaps/a")?, json!({"data": {"x": "1"}}))
            .refused(
                400,
                "BadRequest",
                "the name of the object (a based on URL) was undeterminable: name must be provided",
            )?
            .done()
    }),
    Check::new(
        AREA,
        "a replacement that changes nothing keeps the version",
        |cx| {
            let made = cx.config_map("a")?;
            let version = made.resource_version();
            cx.put(cx.core("configmaps/a")?, made.json)
                .expect(200)?
                .has(json!({"metadata": {"resourceVersion": version}}))?
                .done()
        },
    ),
    Check::new(AREA, "the creation time cannot be changed", |cx| {
        let made = cx.config_map("a")?;
        let time = made.text("/metadata/creationTimestamp");
        let body = json!({"metadata": {"name": "a", "creationTimestamp": "2001-01-01T00:00:00Z"}});
        cx.put(cx.core("configmaps/a")?, body)
            .expect(200)?
            .has(json!({"metadata": {"creationTimestamp": time}}))?
            .done()
    }),
    Check::new(AREA, "a changed spec raises the generation", |cx| {
        deployment(cx)?;
        cx.merge_patch(
            cx.in_group("apps/v1", "deployments/a")?,
            json!({"spec": {"minReadySeconds": 5}}),
        )
        .expect(200)?
        .has(json!({"metadata": {"generation": 2}}))?
        .done()
    }),
    Check::new(AREA, "changed labels leave the generation", |cx| {
        deployment(cx)?;
        cx.merge_patch(
            cx.in_group("apps/v1", "deployments/a")?,
            json!({"metadata": {"labels": {"x": "1"}}}),
        )
        .expect(200)?
        .has(json!({"metadata": {"generation": 1}}))?
        .done()
    }),
    Check::new(
        AREA,
        "a deployment's annotations raise the generation, as its controller reads them",
        |cx| {
            deployment(cx)?;
            cx.merge_patch(
                cx.in_group("apps/v1", "deployments/a")?,
                json!({"metadata": {"annotations": {"x": "1"}}}),
            )
            .expect(200)?
            .has(json!({"metadata": {"generation": 2}}))?
            .done()
        },
    ),
    Check::new(AREA, "a replacement of the whole leaves the status alone", |cx| {
        cx.create("v1", "pods", pod("a"))?;
        let status = json!({"status": {"phase": "Running"}});
        cx.merge_patch(cx.core("pods/a/status")?, status).expect(200)?;
        let mut body = cx.get(cx.core("pods/a")?).expect(200)?.json;
        body["status"] = json!({"phase": "Failed"});
        body["metadata"]["labels"] = json!({"x": "1"});
        cx.put(cx.core("pods/a")?, body)
            .expect(200)?
            .has(json!({"status": {"phase": "Running"}, "metadata": {"labels": {"x": "1"}}}))?
            .done()
    }),
    Check::new(
        AREA,
        "a pod's command cannot be changed, and the answer shows how it differs",
        |cx| {
            let made = cx.create("v1", "pods", pod("a"))?;
            let mut body = made.json;
            body["spec"]["containers"][0]["command"] = json!(["sh"]);
            cx.put(cx.core("pods/a")?, body)
                .invalid(&[(
                    "spec",
                    "FieldValueForbidden",
                    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,\
                 `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only \
                 additions to existing \
                 tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                 previously negative)\
                 {*}",
                )])?
                .done()
        },
    ),
    Check::new(AREA, "a pod's image can be changed", |cx| {
        let mut body = cx.create("v1", "pods", pod("a"))?.json;
        body["spec"]["containers"][0]["image"] = json!("busybox:2");
        cx.put(cx.core("pods/a")?, body)
            .expect(200)?
            .has(json!({"spec": {"containers": [{"image": "busybox:2"}]}, "metadata": {"generation": 2}}))?
            .done()
    }),
    Check::new(AREA, "a deployment's selector cannot be changed", |cx| {
        let mut body = deployment(cx)?.json;
        body["spec"]["selector"] = json!({"matchLabels": {"app": "a", "more": "1"}});
        body["spec"]["template"]["metadata"]["labels"] = json!({"app": "a", "more": "1"});
        cx.put(cx.in_group("apps/v1", "deployments/a")?, body)
            .invalid(&[(
                "spec.selector",
                "FieldValueInvalid",
                "Invalid value: {\"matchLabels\":{\"app\":\"a\",\"more\":\"1\"}}: field is immutable",
            )])?
            .done()
    }),
    Check::new(AREA, "an immutable config map cannot be changed", |cx| {
        cx.create(
            "v1",
            "configmaps",
            json!({"metadata": {"name": "a"}, "data": {"k": "v"}, "immutable": true}),
        )?;
        cx.put(
            cx.core("configmaps/a")?,
            json!({"metadata": {"name": "a"}, "data": {"k": "w"}, "immutable": true}),
        )
        .invalid(&[(
            "data",
            "FieldValueForbidden",
            "Forbidden: field is immutable when `immutable` is set",
        )])?;
        cx.put(
            cx.core("configmaps/a")?,
            json!({"metadata": {"name": "a"}, "data": {"k": "v"}}),
        )
        .invalid(&[(
            "immutable",
            "FieldValueForbidden",
            "Forbidden: field is immutable when `immutable` is set",
        )])?
        .done()
    }),
    Check::new(AREA, "a secret's type cannot be changed", |cx| {
        cx.create(
            "v1",
            "secrets",
            json!({"metadata": {"name": "a"}, "type": "example.com/one"}),
        )?;
        cx.put(
            cx.core("secrets/a")?,
            json!({"metadata": {"name": "a"}, "type": "example.com/two"}),
        )
        .invalid(&[(
            "type",
            "FieldValueInvalid",
            "Invalid value: \"example.com/two\": field is immutable",
        )])?
        .done()
    }),
    Check::new(
        AREA,
        "a service keeps its address when a replacement leaves it out",
        |cx| {
            let spec = json!({"ports": [{"port": 80}]});
            let made = cx.create("v1", "services", json!({"metadata": {"name": "a"}, "spec": spec}))?;
            let address = made.text("/spec/clusterIP");
            ensure(
                address.starts_with("10.96."),
                "an address of the service range",
                &address,
            )?;
            let body = json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 81}]}});
            cx.put(cx.core("services/a")?, body)
                .expect(200)?
                .has(
                    json!({"spec": {"clusterIP": address, "clusterIPs": [address], "ports": [{"port": 81}]}}),
                )?
                .done()
        },
    ),
    Check::new(AREA, "a service's address cannot be changed", |cx| {
        cx.create(
            "v1",
            "services",
            json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}),
        )?;
        let body = json!({"metadata": {"name": "a"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}});
        cx.put(cx.core("services/a")?, body)
            .invalid(&[(
                "spec.clusterIPs[0]",
                "FieldValueInvalid",
                "Invalid value: [\"None\"]: may not change once set",
            )])?
            .done()
    }),
    Check::new(AREA, "a claim's access modes cannot be changed", |cx| {
        let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
        let mut body = cx
            .create(
                "v1",
                "persistentvolumeclaims",
                json!({"metadata": {"name": "a"}, "spec": spec}),
            )?
            .json;
        body["spec"]["accessModes"] = json!(["ReadWriteMany"]);
        cx.put(cx.core("persistentvolumeclaims/a")?, body)
            .invalid(&[(
                "spec",
                "FieldValueForbidden",
                "Forbidden: spec is immutable after creation except \
                resources.requests and volumeAttributesClassName for bound claims\n{*}",
            )])?
            .done()
    }),
    Check::new(AREA, "a job's template cannot be changed", |cx| {
        let spec = json!({"suspend": false, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
        }}});
        let mut body = cx
            .create(
                "batch/v1",
                "jobs",
                json!({"metadata": {"name": "a"}, "spec": spec}),
            )?
            .json;
        body["spec"]["template"]["spec"]["containers"][0]["image"] = json!("j");
        cx.put(cx.in_group("batch/v1", "jobs/a")?, body)
            .invalid(&[(
                "spec.template",
                "FieldValueInvalid",
                "Invalid value: {*}: field is immutable",
            )])?
            .done()
    }),
    Check::new(AREA, "a label value that no label can have is refused", |cx| {
        cx.config_map("a")?;
        cx.put(
            cx.core("configmaps/a")?,
            json!({"metadata": {"name": "a", "labels": {"x": "a b"}}}),
        )
        .refused(
            422,
            "Invalid",
            "ConfigMap \"a\" is invalid: metadata.labels: Invalid value: \"a b\": a valid label must be \
                 an empty string or \
                 consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                 alphanumeric character \
                 (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
                 '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        )?
        .done()
    }),
    Check::new(
        AREA,
        "a deletion timestamp cannot be set by a replacement",
        |cx| {
            let mut body = cx.config_map("a")?.json;
            body["metadata"]["deletionTimestamp"] = json!("2001-01-01T00:00:00Z");
            cx.put(cx.core("configmaps/a")?, body)
                .refused(
                    422,
                    "Invalid",
                    "ConfigMap \"a\" is invalid: metadata.deletionTimestamp: Invalid value: \
                 \"2001-01-01T00:00:00Z\": field is \
                 immutable",
                )?
                .done()
        },
    ),
];
