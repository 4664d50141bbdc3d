//! Owners and what they own.

use serde_json::{Value, json};

use crate::{Check, Context, Outcome, answer::Answer, failure::ensure};

const AREA: &str = "garbage";

/// A config map owned by another.
fn owned(cx: &Context<'_>, name: &str, owner: &Answer, blocks: bool) -> Outcome<Answer> {
    let reference = reference(owner, blocks);
    cx.create(
        "v1",
        "configmaps",
        json!({"metadata": {"name": name, "ownerReferences": [reference]}}),
    )
}

fn reference(owner: &Answer, blocks: bool) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": owner.text("/metadata/name"), "uid": owner.uid(),
        "blockOwnerDeletion": blocks,
    })
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "what is owned goes after its owner", |cx| {
        let owner = cx.config_map("owner")?;
        owned(cx, "owned", &owner, false)?;
        cx.delete(cx.core("configmaps/owner")?)
            .query("propagationPolicy", "Background")
            .expect(200)?;
        cx.get(cx.core("configmaps/owner")?).expect(404)?;
        cx.gone(cx.core("configmaps/owned")?)?.done()
    })
    .with_controllers(),
    Check::new(AREA, "what is owned goes in a chain", |cx| {
        let owner = cx.config_map("owner")?;
        let middle = owned(cx, "middle", &owner, false)?;
        owned(cx, "last", &middle, false)?;
        cx.delete(cx.core("configmaps/owner")?).expect(200)?;
        cx.gone(cx.core("configmaps/last")?)?.done()
    })
    .with_controllers(),
    Check::new(AREA, "in the foreground the owner goes last", |cx| {
        let owner = cx.config_map("owner")?;
        let reference = reference(&owner, true);
        let metadata = json!({
            "name": "owned", "ownerReferences": [reference], "finalizers": ["example.com/hold"],
        });
        cx.create("v1", "configmaps", json!({"metadata": metadata}))?;
        cx.delete(cx.core("configmaps/owner")?)
            .query("propagationPolicy", "Foreground")
            .expect(200)?
            .has(
                json!({"metadata": {"finalizers": ["foregroundDeletion"], "deletionTimestamp": "<time>"}}),
            )?;
        let path = cx.core("configmaps/owned")?;
        cx.eventually(|| {
            cx.get(&path).expect(200)?.has(json!({
                "metadata": {"deletionTimestamp": "<time>"},
            }))
        })?;
        cx.get(cx.core("configmaps/owner")?).expect(200)?;
        cx.merge_patch(&path, json!({"metadata": {"finalizers": null}}))
            .expect(200)?;
        cx.gone(cx.core("configmaps/owner")?)?.done()
    })
    .with_controllers(),
    Check::new(
        AREA,
        "in the foreground nobody waits for those who do not block",
        |cx| {
            let owner = cx.config_map("owner")?;
            let reference = reference(&owner, false);
            let metadata = json!({
                "name": "owned", "ownerReferences": [reference], "finalizers": ["example.com/hold"],
            });
            cx.create("v1", "configmaps", json!({"metadata": metadata}))?;
            cx.delete(cx.core("configmaps/owner")?)
                .query("propagationPolicy", "Foreground")
                .expect(200)?;
            cx.gone(cx.core("configmaps/owner")?)?;
            let path = cx.core("configmaps/owned")?;
            cx.get(&path).expect(200)?;
            cx.merge_patch(&path, json!({"metadata": {"finalizers": null}}))
                .expect(200)?;
            cx.gone(&path)?.done()
        },
    )
    .with_controllers(),
    Check::new(AREA, "an orphan loses its owner and stays", |cx| {
        let owner = cx.config_map("owner")?;
        owned(cx, "owned", &owner, false)?;
        cx.delete(cx.core("configmaps/owner")?)
            .query("propagationPolicy", "Orphan")
            .expect(200)?
            .has(json!({"metadata": {"finalizers": ["orphan"]}}))?;
        cx.gone(cx.core("configmaps/owner")?)?;
        cx.get(cx.core("configmaps/owned")?)
            .expect(200)?
            .has(json!({"metadata": {"ownerReferences": "<absent>", "deletionTimestamp": "<absent>"}}))?
            .done()
    })
    .with_controllers(),
    Check::new(AREA, "an owner that never was is gone", |cx| {
        let reference = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": "never",
            "uid": "0b4ae9f5-8b0f-4b8a-9a3e-0c8a4b6f7d11",
        });
        cx.create(
            "v1",
            "configmaps",
            json!({
                "metadata": {"name": "owned", "ownerReferences": [reference]},
            }),
        )?;
        cx.gone(cx.core("configmaps/owned")?)?.done()
    })
    .with_controllers(),
    Check::new(AREA, "an owner of the same name with another uid is gone", |cx| {
        cx.config_map("owner")?;
        let reference = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
            "uid": "0b4ae9f5-8b0f-4b8a-9a3e-0c8a4b6f7d11",
        });
        cx.create(
            "v1",
            "configmaps",
            json!({
                "metadata": {"name": "owned", "ownerReferences": [reference]},
            }),
        )?;
        cx.gone(cx.core("configmaps/owned")?)?;
        cx.get(cx.core("configmaps/owner")?).expect(200)?.done()
    })
    .with_controllers(),
    Check::new(AREA, "with two owners it stays until both are gone", |cx| {
        let one = cx.config_map("one")?;
        let two = cx.config_map("two")?;
        let references = json!([reference(&one, false), reference(&two, false)]);
        cx.create(
            "v1",
            "configmaps",
            json!({"metadata": {"name": "owned", "ownerReferences": references}}),
        )?;
        cx.delete(cx.core("configmaps/one")?).expect(200)?;
        let path = cx.core("configmaps/owned")?;
        cx.eventually(|| {
            let owned = cx.get(&path).expect(200)?;
            let left = owned
                .at("/metadata/ownerReferences")
                .as_array()
                .map_or(0, Vec::len);
            ensure(left == 1, "one owner left", left)
        })?;
        cx.delete(cx.core("configmaps/two")?).expect(200)?;
        cx.gone(&path)?.done()
    })
    .with_controllers(),
    Check::new(AREA, "an owner may be of the cluster", |cx| {
        let owner = cx.create_cluster("v1", "nodes", json!({"metadata": {"name": cx.unique("node")}}))?;
        let name = owner.text("/metadata/name");
        let reference = json!({"apiVersion": "v1", "kind": "Node", "name": name, "uid": owner.uid()});
        cx.create(
            "v1",
            "configmaps",
            json!({
                "metadata": {"name": "owned", "ownerReferences": [reference]},
            }),
        )?;
        cx.get(cx.core("configmaps/owned")?).expect(200)?;
        cx.delete(format!("/api/v1/nodes/{name}")).expect(200)?;
        cx.gone(cx.core("configmaps/owned")?)?.done()
    })
    .with_controllers(),
    Check::new(
        AREA,
        "a replica set without a policy takes its pods along",
        |cx| {
            let template = json!({
                "metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
            });
            let spec =
                json!({"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": template});
            let owner = cx.create(
                "apps/v1",
                "replicasets",
                json!({"metadata": {"name": "a"}, "spec": spec}),
            )?;
            let reference = json!({
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": owner.uid(),
            });
            cx.create(
                "v1",
                "configmaps",
                json!({
                    "metadata": {"name": "owned", "ownerReferences": [reference]},
                }),
            )?;
            cx.delete(cx.in_group("apps/v1", "replicasets/a")?).expect(200)?;
            cx.gone(cx.core("configmaps/owned")?)?.done()
        },
    )
    .with_controllers(),
    Check::new(AREA, "a job without a policy leaves what it owns", |cx| {
        let spec = json!({"suspend": true, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
        }}});
        let owner = cx.create(
            "batch/v1",
            "jobs",
            json!({"metadata": {"name": "a"}, "spec": spec}),
        )?;
        let reference = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "a", "uid": owner.uid()});
        cx.create(
            "v1",
            "configmaps",
            json!({
                "metadata": {"name": "owned", "ownerReferences": [reference]},
            }),
        )?;
        cx.delete(cx.in_group("batch/v1", "jobs/a")?).expect(200)?;
        cx.gone(cx.in_group("batch/v1", "jobs/a")?)?;
        cx.get(cx.core("configmaps/owned")?)
            .expect(200)?
            .has(json!({
                "metadata": {"ownerReferences": "<absent>"},
            }))?
            .done()
    })
    .with_controllers(),
];
