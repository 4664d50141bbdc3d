//! Several versions of a custom resource.

use serde_json::{Value, json};

use super::{Widgets, define, definition, unique_group};
use crate::{
    Check, Context, Outcome,
    failure::ensure,
    webhook::{Respond, Webhook},
};

const AREA: &str = "custom versions";

fn version(name: &str, served: bool, storage: bool, properties: Value) -> Value {
    let spec = json!({"type": "object", "properties": properties});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    json!({"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": schema}})
}

/// The version, with what selectors may name in it.
fn selecting(mut version: Value, field: &str) -> Value {
    version["selectableFields"] = json!([{"jsonPath": field}]);
    version
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

/// Widgets with a size in `v1`, which is stored, and a length in `v2`, and the webhook between them.
fn converted_by(cx: &Context<'_>, respond: Respond) -> Outcome<(Widgets, Webhook)> {
    let webhook = cx.webhooks()?.serve(respond);
    let mut body = definition(&unique_group(cx), json!({"type": "object"}));
    body["spec"]["versions"] = json!([
        selecting(
            version("v1", true, true, json!({"size": {"type": "integer"}})),
            ".spec.size"
        ),
        selecting(
            version("v2", true, false, json!({"length": {"type": "integer"}})),
            ".spec.length"
        ),
    ]);
    body["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "clientConfig": webhook.client_config(), "conversionReviewVersions": ["v1"],
    }});
    Ok((define(cx, body)?, webhook))
}

/// Calls the size a length, or the other way round.
fn rename(request: &Value) -> Value {
    let desired = &request["desiredAPIVersion"];
    let to_length = desired.as_str().is_some_and(|version| version.ends_with("/v2"));
    let (from, to) = if to_length {
        ("size", "length")
    } else {
        ("length", "size")
    };
    let objects = request["objects"].as_array().cloned().unwrap_or_default();
    let converted = objects.into_iter().map(|mut object| {
        object["apiVersion"] = desired.clone();
        if let Some(value) = object["spec"].get(from).cloned() {
            object["spec"] = json!({to: value});
        }
        object
    });
    json!({"result": {"status": "Success"}, "convertedObjects": converted.collect::<Value>()})
}

fn rename_and_move(request: &Value) -> Value {
    let mut response = rename(request);
    response["convertedObjects"][0]["metadata"]["name"] = json!("b");
    response
}

fn rename_and_label(request: &Value) -> Value {
    let mut response = rename(request);
    let metadata = &mut response["convertedObjects"][0]["metadata"];
    metadata["labels"] = json!({"converted": "true"});
    metadata["finalizers"] = json!(["example.com/held"]);
    response
}

fn fail_to_convert(_: &Value) -> Value {
    json!({"result": {"status": "Failed", "message": "no idea"}})
}

/// What a webhook is asked, and what a reader of the other version gets.
fn fails_to_read(cx: &Context<'_>, respond: Respond, why: &str) -> Outcome {
    let (widgets, _) = converted_by(cx, respond)?;
    widgets.create(cx, json!({"spec": {"size": 1}}))?;
    let path = in_version(cx, &widgets, "v2")?;
    let message = format!("conversion webhook for {}/v1, Kind=Widget {why}", widgets.group);
    cx.eventually(|| {
        cx.get(&path)
            .expect(500)?
            .has(json!({"kind": "Status", "message": message}))
    })?
    .done()
}

/// Widgets whose versions have more than their name apart; `v1` is stored.
fn with_unlike_versions(cx: &Context<'_>) -> Outcome<Widgets> {
    let text = json!({"type": "string"});
    let stored = json!({"both": text, "stored": {"type": "string", "default": "by v1"}});
    let other = json!({"both": text, "other": text, "late": {"type": "string", "default": "by v1beta1"}});
    let widgets = with_versions(
        cx,
        json!([
            version("v1", true, true, stored),
            version("v1beta1", true, false, other)
        ]),
    )?;
    let path = cx.in_group(&format!("{}/v1beta1", widgets.group), "widgets")?;
    cx.eventually(|| cx.get(&path).expect(200))?;
    Ok(widgets)
}

/// A widget of `v1beta1` with something `v1` does not know.
fn of_other_version(widgets: &Widgets) -> Value {
    json!({
        "apiVersion": format!("{}/v1beta1", widgets.group), "kind": "Widget", "metadata": {"name": "a"},
        "spec": {"both": "x", "other": "lost"},
    })
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        AREA,
        "what is written in another version is kept as the stored version knows it",
        |cx| {
            let widgets = with_unlike_versions(cx)?;
            let (stored, other) = (
                in_version(cx, &widgets, "v1")?,
                in_version(cx, &widgets, "v1beta1")?,
            );
            let collection = other.trim_end_matches("/a");
            let object = of_other_version(&widgets);
            cx.post(collection, object.clone())
                .query("dryRun", "All")
                .expect(201)?
                .exactly("/spec", json!({"both": "x"}))?;
            cx.post(collection, object)
                .expect(201)?
                .exactly("/spec", json!({"both": "x"}))?;
            cx.get(stored)
                .expect(200)?
                .exactly("/spec", json!({"both": "x", "stored": "by v1"}))?;
            cx.get(collection)
                .expect(200)?
                .exactly("/items/0/spec", json!({"both": "x"}))?;
            cx.get(other)
                .expect(200)?
                .exactly("/spec", json!({"both": "x"}))?
                .done()
        },
    ),
    Check::new(
        AREA,
        "an object has no defaults of a version it is only read in",
        |cx| {
            let widgets = with_unlike_versions(cx)?;
            widgets.create(cx, json!({"spec": {"both": "x"}}))?;
            cx.get(in_version(cx, &widgets, "v1beta1")?)
                .expect(200)?
                .exactly("/spec", json!({"both": "x"}))?
                .done()
        },
    ),
    Check::new(
        AREA,
        "what is replaced in another version is kept as the stored version knows it",
        |cx| {
            let widgets = with_unlike_versions(cx)?;
            let path = in_version(cx, &widgets, "v1beta1")?;
            let made = cx
                .post(path.trim_end_matches("/a"), of_other_version(&widgets))
                .expect(201)?;
            let mut watch = cx
                .get(path.trim_end_matches("/a"))
                .query("resourceVersion", made.resource_version())
                .watch()?;
            let mut body = of_other_version(&widgets);
            body["metadata"]["resourceVersion"] = json!(made.resource_version());
            body["spec"]["both"] = json!("y");
            cx.put(&path, body)
                .expect(200)?
                .exactly("/spec", json!({"both": "y"}))?;
            let seen = watch.expect("MODIFIED", json!({"spec": {"both": "y"}}))?;
            ensure(
                seen["object"]["spec"] == json!({"both": "y"}),
                "the spec of the version asked for",
                &seen,
            )?;
            cx.get(in_version(cx, &widgets, "v1")?)
                .expect(200)?
                .exactly("/spec", json!({"both": "y", "stored": "by v1"}))?
                .done()
        },
    ),
    Check::new(AREA, "a webhook converts what is read in another version", |cx| {
        let (widgets, webhook) = converted_by(cx, rename)?;
        widgets.create(cx, json!({"spec": {"size": 1}}))?;
        let path = in_version(cx, &widgets, "v2")?;
        cx.eventually(|| {
            cx.get(&path)
                .expect(200)?
                .has(json!({"apiVersion": format!("{}/v2", widgets.group), "metadata": {"name": "a"}}))?
                .exactly("/spec", json!({"length": 1}))
        })?;
        let asked = webhook.received().pop().unwrap_or_default();
        let expected = json!({
            "kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
            "desiredAPIVersion": format!("{}/v2", widgets.group), "objects": 1,
        });
        let request = &asked["request"];
        let got = json!({
            "kind": asked["kind"], "apiVersion": asked["apiVersion"],
            "desiredAPIVersion": request["desiredAPIVersion"],
            "objects": request["objects"].as_array().map_or(0, Vec::len),
        });
        ensure(got == expected, &expected.to_string(), got)
    }),
    Check::new(
        AREA,
        "a webhook converts what is written in another version",
        |cx| {
            let (widgets, _) = converted_by(cx, rename)?;
            let path = in_version(cx, &widgets, "v2")?;
            let collection = path.trim_end_matches("/a");
            let object = json!({
                "apiVersion": format!("{}/v2", widgets.group), "kind": "Widget", "metadata": {"name": "a"},
                "spec": {"length": 3},
            });
            cx.eventually(|| cx.post(collection, object.clone()).expect(201))?
                .exactly("/spec", json!({"length": 3}))?;
            cx.get(in_version(cx, &widgets, "v1")?)
                .expect(200)?
                .exactly("/spec", json!({"size": 3}))?;
            cx.merge_patch(&path, json!({"spec": {"length": 4}}))
                .expect(200)?
                .exactly("/spec", json!({"length": 4}))?;
            cx.get(in_version(cx, &widgets, "v1")?)
                .expect(200)?
                .exactly("/spec", json!({"size": 4}))?
                .done()
        },
    ),
    Check::new(AREA, "a webhook converts every object of a list", |cx| {
        let (widgets, _) = converted_by(cx, rename)?;
        widgets.create(cx, json!({"spec": {"size": 1}}))?;
        let path = in_version(cx, &widgets, "v2")?;
        cx.eventually(|| {
            cx.get(path.trim_end_matches("/a"))
                .expect(200)?
                .has(json!({"apiVersion": format!("{}/v2", widgets.group), "kind": "WidgetList"}))?
                .exactly("/items/0/spec", json!({"length": 1}))
        })?
        .done()
    }),
    Check::new(
        AREA,
        "what is selected in a version is what that version shows",
        |cx| {
            let (widgets, _) = converted_by(cx, rename)?;
            widgets.create(cx, json!({"spec": {"size": 1}}))?;
            let path = in_version(cx, &widgets, "v2")?;
            let collection = path.trim_end_matches("/a");
            let lists = |path: &str, selector: &str, names: &[&str]| {
                let request = cx.get(path).query("fieldSelector", selector);
                request.expect(200)?.lists(names)
            };
            cx.eventually(|| lists(collection, "spec.length=1", &["a"]))?;
            lists(&widgets.path, "spec.size=1", &["a"])?;
            for (selector, left) in [("spec.length=2", &["a"][..]), ("spec.length=1", &[][..])] {
                let request = cx.delete(collection).query("fieldSelector", selector);
                request.expect(200)?;
                lists(collection, "spec.length=1", left)?;
            }
            Ok(())
        },
    ),
    Check::new(AREA, "each version selects by its own fields", |cx| {
        // With one schema for all versions there would be one list of fields for all.
        let first = json!({"size": {"type": "integer"}, "color": {"type": "string"}});
        let second = json!({"color": {"type": "string"}});
        let widgets = with_versions(
            cx,
            json!([
                selecting(version("v1", true, true, first), ".spec.size"),
                selecting(version("v2", true, false, second), ".spec.color"),
            ]),
        )?;
        widgets.create(cx, json!({"spec": {"size": 1, "color": "red"}}))?;
        let v2 = in_version(cx, &widgets, "v2")?;
        for (collection, selector) in [
            (widgets.path.as_str(), "spec.size=1"),
            (v2.trim_end_matches("/a"), "spec.color=red"),
        ] {
            cx.eventually(|| {
                let request = cx.get(collection).query("fieldSelector", selector);
                request.expect(200)?.lists(&["a"])
            })?;
        }
        Ok(())
    }),
    Check::new(AREA, "a webhook converts labels but no other metadata", |cx| {
        let (widgets, _) = converted_by(cx, rename_and_label)?;
        widgets.create(cx, json!({"spec": {"size": 1}}))?;
        let path = in_version(cx, &widgets, "v2")?;
        cx.eventually(|| {
            cx.get(&path)
                .expect(200)?
                .exactly("/metadata/labels", json!({"converted": "true"}))?
                .satisfies("no finalizers", |answer| {
                    answer.at("/metadata/finalizers").is_null()
                })
        })?
        .done()
    }),
    Check::new(AREA, "a conversion that fails fails the read", |cx| {
        fails_to_read(cx, fail_to_convert, "failed: no idea")
    }),
    Check::new(AREA, "a conversion may not make another object", |cx| {
        fails_to_read(
            cx,
            rename_and_move,
            "returned invalid object: must have the same name: a != b",
        )
    }),
    Check::new(AREA, "a conversion that fails fails the write", |cx| {
        let (widgets, _) = converted_by(cx, fail_to_convert)?;
        let path = in_version(cx, &widgets, "v2")?;
        let object = json!({
            "apiVersion": format!("{}/v2", widgets.group), "kind": "Widget", "metadata": {"name": "a"},
        });
        let message = format!(
            "conversion webhook for {}/v2, Kind=Widget failed: no idea",
            widgets.group
        );
        cx.eventually(|| {
            cx.post(path.trim_end_matches("/a"), object.clone())
                .expect(500)?
                .has(json!({"message": message}))
        })?
        .done()
    }),
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
