//! Writes that only show what they would do.

use serde_json::json;

use crate::{Check, context::pod, failure::ensure};

const AREA: &str = "dry run";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        AREA,
        "a dry creation answers with the object and stores nothing",
        |cx| {
            cx.post(cx.core("configmaps")?, json!({"metadata": {"name": "a"}}))
                .query("dryRun", "All")
                .expect(201)?
                .has(json!({"metadata": {
                    "name": "a", "uid": "<uid>", "creationTimestamp": "<time>", "resourceVersion": "<absent>",
                }}))?;
            cx.get(cx.core("configmaps/a")?).expect(404)?.done()
        },
    ),
    Check::new(AREA, "a dry creation applies defaults and admission", |cx| {
        cx.post(cx.core("pods")?, pod("a"))
            .query("dryRun", "All")
            .expect(201)?
            .has(json!({
                "spec": {"restartPolicy": "Always", "serviceAccountName": "default", "tolerations": "<any>"},
            }))?
            .done()
    }),
    Check::new(AREA, "a dry creation is validated", |cx| {
        cx.post(
            cx.core("pods")?,
            json!({"metadata": {"name": "a"}, "spec": {"containers": []}}),
        )
        .query("dryRun", "All")
        .invalid(&[("spec.containers", "FieldValueRequired", "Required value")])?
        .done()
    }),
    Check::new(AREA, "a dry creation of what exists is refused", |cx| {
        cx.config_map("a")?;
        cx.post(cx.core("configmaps")?, json!({"metadata": {"name": "a"}}))
            .query("dryRun", "All")
            .refused(409, "AlreadyExists", "configmaps \"a\" already exists")?
            .done()
    }),
    Check::new(AREA, "a dry creation generates a name", |cx| {
        cx.post(
            cx.core("configmaps")?,
            json!({"metadata": {"generateName": "made-"}}),
        )
        .query("dryRun", "All")
        .expect(201)?
        .has(json!({"metadata": {"name": "made-{*}"}}))?
        .done()
    }),
    Check::new(AREA, "a dry replacement leaves the stored object", |cx| {
        let made = cx.config_map("a")?;
        cx.put(
            cx.core("configmaps/a")?,
            json!({"metadata": {"name": "a"}, "data": {"x": "1"}}),
        )
        .query("dryRun", "All")
        .expect(200)?
        .exactly("/data", json!({"x": "1"}))?
        .has(json!({"metadata": {"resourceVersion": made.resource_version()}}))?;
        cx.get(cx.core("configmaps/a")?)
            .expect(200)?
            .exactly("", made.json)?
            .done()
    }),
    Check::new(AREA, "a dry patch leaves the stored object", |cx| {
        let made = cx.config_map("a")?;
        cx.merge_patch(cx.core("configmaps/a")?, json!({"data": {"x": "1"}}))
            .query("dryRun", "All")
            .expect(200)?
            .has(json!({"data": {"x": "1"}}))?;
        cx.get(cx.core("configmaps/a")?)
            .expect(200)?
            .exactly("", made.json)?
            .done()
    }),
    Check::new(AREA, "a dry apply creates nothing", |cx| {
        let body =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}});
        cx.apply(cx.core("configmaps/a")?, "me", body)
            .query("dryRun", "All")
            .expect(201)?
            .has(json!({"data": {"x": "1"}}))?;
        cx.get(cx.core("configmaps/a")?).expect(404)?.done()
    }),
    Check::new(AREA, "a dry deletion leaves the object", |cx| {
        let made = cx.config_map("a")?;
        cx.delete(cx.core("configmaps/a")?)
            .query("dryRun", "All")
            .expect(200)?
            .has(json!({"status": "Success"}))?;
        cx.get(cx.core("configmaps/a")?)
            .expect(200)?
            .exactly("", made.json)?
            .done()
    }),
    Check::new(AREA, "a dry deletion can be asked for in the body", |cx| {
        cx.config_map("a")?;
        cx.delete(cx.core("configmaps/a")?)
            .json(&json!({"dryRun": ["All"]}))
            .expect(200)?;
        cx.get(cx.core("configmaps/a")?).expect(200)?.done()
    }),
    Check::new(AREA, "a dry deletion of a collection leaves the objects", |cx| {
        cx.create("v1", "secrets", json!({"metadata": {"name": "a"}}))?;
        cx.delete(cx.core("secrets")?)
            .query("dryRun", "All")
            .expect(200)?;
        cx.get(cx.core("secrets")?).expect(200)?.lists(&["a"])?.done()
    }),
    Check::new(AREA, "an unknown way to run dry is refused", |cx| {
        cx.post(cx.core("configmaps")?, json!({"metadata": {"name": "a"}}))
            .query("dryRun", "Some")
            .invalid(&[(
                "dryRun",
                "FieldValueNotSupported",
                "Unsupported value: [\"Some\"]: supported values: \"All\"",
            )])?
            .has(json!({"details": {"group": "meta.k8s.io", "kind": "CreateOptions"}}))?
            .done()
    }),
    Check::new(
        AREA,
        "a dry service gets no address that another could not get",
        |cx| {
            let body = json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}});
            let dry = cx
                .post(cx.core("services")?, body.clone())
                .query("dryRun", "All")
                .expect(201)?;
            ensure(
                dry.text("/spec/clusterIP").starts_with("10.96."),
                "an address",
                &dry.json,
            )?;
            cx.create("v1", "services", body)?.done()
        },
    ),
    Check::new(AREA, "a dry write is no event", |cx| {
        let first = cx.create("v1", "secrets", json!({"metadata": {"name": "a"}}))?;
        let mut watch = cx
            .get(cx.core("secrets")?)
            .query("resourceVersion", first.resource_version())
            .watch()?;
        cx.post(cx.core("secrets")?, json!({"metadata": {"name": "b"}}))
            .query("dryRun", "All")
            .expect(201)?;
        cx.create("v1", "secrets", json!({"metadata": {"name": "c"}}))?;
        watch.expect_named("ADDED", "c")?;
        Ok(())
    }),
];
