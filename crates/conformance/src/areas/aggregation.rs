//! APIServices: who answers for each version of a group.

use serde_json::json;

use super::custom::{widgets, with_properties};
use crate::{Check, failure::ensure};

const AREA: &str = "aggregation";
const SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "every built-in version has an APIService", |cx| {
        let groups = cx.get("/apis").expect(200)?;
        let versions = groups.at("/groups").as_array().into_iter().flatten();
        let served: Vec<String> = versions
            .flat_map(|group| group["versions"].as_array().into_iter().flatten())
            .filter_map(|version| version["groupVersion"].as_str()?.split_once('/'))
            .filter(|(group, _)| *group != "apiregistration.k8s.io" && !group.ends_with(".example.com"))
            .map(|(group, version)| format!("{version}.{group}"))
            .collect();
        ensure(served.len() > 15, "many groups", served.len())?;
        for name in served.iter().map(String::as_str).chain(["v1."]) {
            cx.get(format!("{SERVICES}/{name}")).expect(200)?.has(json!({
                "metadata": {"labels": {"kube-aggregator.kubernetes.io/automanaged": "onstart"}},
                "status": {"conditions": [{
                    "type": "Available", "status": "True", "lastTransitionTime": "<time>", "reason": "Local",
                    "message": "Local APIServices are always available",
                }]},
            }))?;
        }
        Ok(())
    }),
    Check::new(AREA, "the APIService of a built-in group has its rank", |cx| {
        cx.get(format!("{SERVICES}/v2.autoscaling"))
            .expect(200)?
            .exactly("/spec", json!({
                "group": "autoscaling", "version": "v2", "groupPriorityMinimum": 17500, "versionPriority": 30,
            }))?
            .done()
    }),
    Check::new(AREA, "an APIService comes and goes with its definition", |cx| {
        let widgets = widgets(cx, with_properties(json!({})))?;
        let path = format!("{SERVICES}/v1.{}", widgets.group);
        cx.eventually(|| cx.get(&path).expect(200))?.has(json!({
            "metadata": {"labels": {"kube-aggregator.kubernetes.io/automanaged": "true"}},
            "spec": {
                "group": widgets.group, "version": "v1", "groupPriorityMinimum": 1000,
                "versionPriority": 100,
            },
        }))?;
        cx.delete(&widgets.definition).expect(200)?;
        cx.gone(&path)?.done()
    }),
    Check::new(AREA, "an APIService that a definition needs comes back", |cx| {
        let widgets = widgets(cx, with_properties(json!({})))?;
        let path = format!("{SERVICES}/v1.{}", widgets.group);
        let uid = cx.eventually(|| cx.get(&path).expect(200))?.uid();
        cx.delete(&path).expect(200)?;
        cx.eventually(|| {
            cx.get(&path)
                .expect(200)?
                .satisfies("another object", |answer| answer.uid() != uid)
        })?
        .done()
    }),
];
