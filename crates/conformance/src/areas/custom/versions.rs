//! Several versions of a custom resource.

use serde_json::{Value, json};

use super::{Widgets, define, definition, unique_group};
use crate::{Check, Context, Outcome};

const AREA: &str = "custom versions";

fn version(name: &str, served: bool, storage: bool, properties: Value) -> Value {
    let spec = json!({"type": "object", "properties": properties});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    json!({"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": schema}})
}

fn with_versions(cx: &Context<'_>, versions: Value) -> Outcome<Widgets> {
    let mut body = definition(&unique_group(cx), json!({"type": "object"}));
    body["spec"]["versions"] = versions;
    define(cx, body)
}

/// The path of the widget `a` in a version.
fn in_version(cx: &Context<'_>, widgets: &Widgets, version: &str) -> Outcome<String> {
    cx.in_group(&format!("{}/{version}", widgets.group), "widgets/a")
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        AREA,
        "an object is read in each version under that version's name",
        |cx| {
            let properties = json!({"size": {"type": "integer"}});
            let widgets = with_versions(
                cx,
                json!([
                    version("v1", true, true, properties.clone()),
                    version("v1beta1", true, false, properties)
                ]),
            )?;
            widgets.create(cx, json!({"spec": {"size": 1}}))?;
            let path = in_version(cx, &widgets, "v1beta1")?;
            cx.eventually(|| {
                cx.get(&path)
                    .expect(200)?
                    .has(json!({"apiVersion": format!("{}/v1beta1", widgets.group), "spec": {"size": 1}}))
            })?
            .done()
        },
    ),
    Check::new(AREA, "an object is pruned by the version it is read in", |cx| {
        let widgets = with_versions(
            cx,
            json!([
                version(
                    "v1",
                    true,
                    true,
                    json!({"size": {"type": "integer"}, "color": {"type": "string"}})
                ),
                version("v1beta1", true, false, json!({"size": {"type": "integer"}})),
            ]),
        )?;
        widgets.create(cx, json!({"spec": {"size": 1, "color": "red"}}))?;
        let path = in_version(cx, &widgets, "v1beta1")?;
        cx.eventually(|| cx.get(&path).expect(200)?.exactly("/spec", json!({"size": 1})))?
            .done()
    }),
    Check::new(
        AREA,
        "an object is validated by the version it is written in",
        |cx| {
            let widgets = with_versions(
                cx,
                json!([
                    version("v1", true, true, json!({"size": {"type": "integer"}})),
                    version(
                        "v1beta1",
                        true,
                        false,
                        json!({"size": {"type": "integer", "maximum": 5}})
                    ),
                ]),
            )?;
            widgets.create(cx, json!({"spec": {"size": 100}}))?;
            let path = in_version(cx, &widgets, "v1beta1")?;
            cx.eventually(|| cx.get(&path).expect(200))?;
            cx.merge_patch(path, json!({"spec": {"size": 101}}))
                .expect(422)?
                .done()
        },
    ),
    Check::new(AREA, "a version that is not served is not found", |cx| {
        let widgets = with_versions(
            cx,
            json!([
                version("v1", true, true, json!({})),
                version("v1alpha1", false, false, json!({}))
            ]),
        )?;
        cx.get(in_version(cx, &widgets, "v1alpha1")?).expect(404)?.done()
    }),
    Check::new(AREA, "discovery puts the most stable version first", |cx| {
        let widgets = with_versions(
            cx,
            json!([
                version("v1", true, true, json!({})),
                version("v2alpha1", true, false, json!({})),
                version("v2beta1", true, false, json!({})),
                version("v2", true, false, json!({})),
            ]),
        )?;
        let entry = |version: &str| {
            json!({
                "groupVersion": format!("{}/{version}", widgets.group), "version": version,
            })
        };
        cx.eventually(|| {
            cx.get(format!("/apis/{}", widgets.group))
                .expect(200)?
                .has(json!({
                    "versions": [entry("v2"), entry("v1"), entry("v2beta1"), entry("v2alpha1")],
                    "preferredVersion": entry("v2"),
                }))
        })?
        .done()
    }),
    Check::new(AREA, "a deprecated version warns", |cx| {
        let mut old = version("v1beta1", true, false, json!({}));
        old["deprecated"] = json!(true);
        let widgets = with_versions(cx, json!([version("v1", true, true, json!({})), old]))?;
        let path = cx.in_group(&format!("{}/v1beta1", widgets.group), "widgets")?;
        cx.eventually(|| cx.get(&path).expect(200))?
            .warns(&[&format!(
                "{}/v1beta1 Widget is deprecated; use {}/v1 Widget",
                widgets.group, widgets.group
            )])?
            .done()
    }),
    Check::new(AREA, "a watch sends the version that was asked for", |cx| {
        let widgets = with_versions(
            cx,
            json!([
                version("v1", true, true, json!({})),
                version("v1beta1", true, false, json!({}))
            ]),
        )?;
        let path = cx.in_group(&format!("{}/v1beta1", widgets.group), "widgets")?;
        cx.eventually(|| cx.get(&path).expect(200))?;
        let mut watch = cx.get(&path).watch()?;
        widgets.create(cx, json!({}))?;
        watch.expect(
            "ADDED",
            json!({"apiVersion": format!("{}/v1beta1", widgets.group)}),
        )?;
        Ok(())
    }),
    Check::new(
        AREA,
        "a body of another version than the path's is refused",
        |cx| {
            let widgets = with_versions(
                cx,
                json!([
                    version("v1", true, true, json!({})),
                    version("v1beta1", true, false, json!({}))
                ]),
            )?;
            let mut body = widgets.object(&json!({}));
            body["apiVersion"] = json!(format!("{}/v1beta1", widgets.group));
            cx.post(&widgets.path, body)
            .refused(
                400,
                "BadRequest",
                &format!(
                    "the API version in the data ({group}/v1beta1) does not match the expected API version \
                     ({group}/v1)",
                    group = widgets.group
                ),
            )?
            .done()
        },
    ),
];
