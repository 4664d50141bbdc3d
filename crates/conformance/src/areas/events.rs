//! Events and leases: the small objects that controllers write most.

use serde_json::{Value, json};

use crate::{Check, Context, Outcome, answer::Answer, failure::ensure};

const AREA: &str = "events and leases";

fn event(cx: &Context<'_>, name: &str) -> Outcome<Answer> {
    let body = json!({
        "metadata": {"name": name}, "reason": "Because", "message": "it happened", "type": "Normal",
        "count": 2,
        "involvedObject": {
            "apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": cx.namespace()?, "uid": "u-1",
        },
        "source": {"component": "tester", "host": "here"},
        "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-02T00:00:00Z",
    });
    cx.create("v1", "events", body)
}

fn new_event(cx: &Context<'_>) -> Outcome<Value> {
    Ok(json!({
        "metadata": {"name": "a"}, "reason": "Because", "note": "it happened", "type": "Normal",
        "action": "Testing",
        "reportingController": "example.com/tester", "reportingInstance": "tester-1",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": cx.namespace()?},
        "eventTime": "2026-01-01T00:00:00.123456Z",
    }))
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "an old event is a new event under other names", |cx| {
        event(cx, "a")?;
        cx.get(cx.in_group("events.k8s.io/v1", "events/a")?)
            .expect(200)?
            .has(json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event", "reason": "Because", "note": "it happened",
                "regarding": {"kind": "Pod", "name": "p"}, "deprecatedCount": 2, "eventTime": null,
                "deprecatedSource": {"component": "tester", "host": "here"},
                "deprecatedFirstTimestamp": "2026-01-01T00:00:00Z",
                "deprecatedLastTimestamp": "2026-01-02T00:00:00Z",
            }))?
            .done()
    }),
    Check::new(AREA, "a new event is an old event under other names", |cx| {
        cx.create("events.k8s.io/v1", "events", new_event(cx)?)?;
        cx.get(cx.core("events/a")?)
            .expect(200)?
            .has(json!({
                "apiVersion": "v1", "message": "it happened", "involvedObject": {"kind": "Pod", "name": "p"},
                "eventTime": "2026-01-01T00:00:00.123456Z", "reportingComponent": "example.com/tester",
                "reportingInstance": "tester-1", "action": "Testing", "firstTimestamp": null,
                "lastTimestamp": null, "source": {},
            }))?
            .done()
    }),
    Check::new(AREA, "events are found by what they are about", |cx| {
        event(cx, "a")?;
        let path = cx.core("events")?;
        let finds = |selector: &str, names: &[&str]| {
            cx.get(&path)
                .query("fieldSelector", selector)
                .expect(200)?
                .lists(names)
        };
        finds(
            "involvedObject.name=p,involvedObject.uid=u-1,involvedObject.kind=Pod",
            &["a"],
        )?;
        finds("involvedObject.name=q", &[])?;
        finds("reason=Because,type=Normal", &["a"])?;
        finds("source=tester", &["a"])?;
        finds("reportingComponent=nobody", &[])?.done()
    }),
    Check::new(AREA, "new events are found by their own names of fields", |cx| {
        event(cx, "a")?;
        cx.get(cx.in_group("events.k8s.io/v1", "events")?)
            .query("fieldSelector", "regarding.name=p,regarding.kind=Pod")
            .expect(200)?
            .lists(&["a"])?
            .done()
    }),
    Check::new(AREA, "a repeated event is a patch", |cx| {
        event(cx, "a")?;
        cx.strategic_patch(
            cx.core("events/a")?,
            json!({"count": 3, "lastTimestamp": "2026-01-03T00:00:00Z"}),
        )
        .expect(200)?
        .has(json!({"count": 3, "lastTimestamp": "2026-01-03T00:00:00Z"}))?
        .done()
    }),
    Check::new(AREA, "an event is about an object of its own namespace", |cx| {
        let body = json!({
            "metadata": {"name": "a"}, "reason": "Because", "type": "Normal",
            "involvedObject": {"kind": "Pod", "name": "p", "namespace": "elsewhere"},
        });
        cx.post(cx.core("events")?, body)
            .invalid(&[(
                "involvedObject.namespace",
                "FieldValueInvalid",
                "Invalid value: \"elsewhere\": does not match event.namespace",
            )])?
            .done()
    }),
    Check::new(AREA, "a new event needs its time and type", |cx| {
        let body = json!({
            "metadata": {"name": "a"},
            "regarding": {"kind": "Pod", "name": "p", "namespace": cx.namespace()?},
        });
        cx.post(cx.in_group("events.k8s.io/v1", "events")?, body)
            .invalid(&[
                ("eventTime", "FieldValueRequired", "Required value"),
                (
                    "type",
                    "FieldValueInvalid",
                    "Invalid value: \"\": has invalid value: ",
                ),
            ])?
            .done()
    }),
    Check::new(AREA, "a new event cannot be changed afterwards", |cx| {
        cx.create("events.k8s.io/v1", "events", new_event(cx)?)?;
        cx.merge_patch(
            cx.in_group("events.k8s.io/v1", "events/a")?,
            json!({"reason": "Other"}),
        )
        .refused(
            422,
            "Invalid",
            "Event \"a\" is invalid: reason: Invalid value: \"Other\": field is immutable",
        )?
        .done()
    }),
    Check::new(AREA, "both forms of an event are one object in watches", |cx| {
        let first = event(cx, "a")?;
        let mut watch = cx
            .get(cx.in_group("events.k8s.io/v1", "events")?)
            .query("resourceVersion", first.resource_version())
            .watch()?;
        event(cx, "b")?;
        watch.expect(
            "ADDED",
            json!({"apiVersion": "events.k8s.io/v1", "note": "it happened", "metadata": {"name": "b"}}),
        )?;
        Ok(())
    }),
    Check::new(AREA, "a lease keeps microseconds", |cx| {
        let spec = json!({
            "holderIdentity": "me", "leaseDurationSeconds": 15, "acquireTime": "2026-01-01T00:00:00.000001Z",
            "renewTime": "2026-01-01T02:00:00.500000+02:00", "leaseTransitions": 0,
        });
        cx.create(
            "coordination.k8s.io/v1",
            "leases",
            json!({"metadata": {"name": "a"}, "spec": spec}),
        )?
        .exactly(
            "/spec",
            json!({
                "holderIdentity": "me", "leaseDurationSeconds": 15,
                "acquireTime": "2026-01-01T00:00:00.000001Z",
                "renewTime": "2026-01-01T00:00:00.500000Z", "leaseTransitions": 0,
            }),
        )?
        .done()
    }),
    Check::new(AREA, "a lease cannot be replaced without its version", |cx| {
        let body = json!({"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}});
        cx.create("coordination.k8s.io/v1", "leases", body.clone())?;
        cx.put(cx.in_group("coordination.k8s.io/v1", "leases/a")?, body)
            .refused(
                422,
                "Invalid",
                "leases.coordination.k8s.io \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: \
                 must be specified \
                 for an update",
            )?
            .done()
    }),
    Check::new(
        AREA,
        "of two that take a lease at once one gets a conflict",
        |cx| {
            let made = cx.create(
                "coordination.k8s.io/v1",
                "leases",
                json!({"metadata": {"name": "a"}, "spec": {}}),
            )?;
            let path = cx.in_group("coordination.k8s.io/v1", "leases/a")?;
            let take = |holder: &str| {
                let mut body = made.json.clone();
                body["spec"]["holderIdentity"] = json!(holder);
                cx.put(&path, body).send()
            };
            take("one")?.expect(200)?;
            take("two")?.expect(409)?;
            cx.get(&path)
                .expect(200)?
                .has(json!({"spec": {"holderIdentity": "one"}}))?
                .done()
        },
    ),
    Check::new(AREA, "many writers raise a counter one by one", |cx| {
        cx.create(
            "v1",
            "configmaps",
            json!({"metadata": {"name": "a"}, "data": {"n": "0"}}),
        )?;
        let path = cx.core("configmaps/a")?;
        let mut conflicts = 0;
        let stale = cx.get(&path).expect(200)?.json;
        for n in 1..=5 {
            let mut body = if n == 1 {
                stale.clone()
            } else {
                cx.get(&path).expect(200)?.json
            };
            body["data"]["n"] = json!(n.to_string());
            cx.put(&path, body).expect(200)?;
            conflicts += u32::from(cx.put(&path, stale.clone()).send()?.status() == 409);
        }
        ensure(conflicts == 5, "five conflicts", conflicts)
    }),
];
