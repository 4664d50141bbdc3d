//! Label and field selectors.

use serde_json::json;

use crate::{Check, Context, Outcome, context::pod};

const AREA: &str = "selectors";

/// Three secrets: `a` and `b` have a tier, `c` has none.
fn labelled(cx: &Context<'_>) -> Outcome<String> {
    let labels = [
        ("a", json!({"tier": "front", "n": "1"})),
        ("b", json!({"tier": "back", "n": "2"})),
        ("c", json!({})),
    ];
    for (name, labels) in labels {
        cx.create(
            "v1",
            "secrets",
            json!({"metadata": {"name": name, "labels": labels}}),
        )?;
    }
    cx.core("secrets")
}

/// Whether a label selector finds these of the three.
fn finds(cx: &Context<'_>, selector: &str, names: &[&str]) -> Outcome {
    cx.get(labelled(cx)?)
        .query("labelSelector", selector)
        .expect(200)?
        .lists(names)?
        .done()
}

fn refuses(cx: &Context<'_>, selector: &str, message: &str) -> Outcome {
    cx.get("/api/v1/secrets")
        .query("labelSelector", selector)
        .refused(400, "BadRequest", message)?
        .done()
}

fn refuses_field(cx: &Context<'_>, resource: &str, selector: &str, message: &str) -> Outcome {
    cx.get(resource)
        .query("fieldSelector", selector)
        .refused(400, "BadRequest", message)?
        .done()
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "a query may have signs that should be escaped", |cx| {
        let path = cx.core("secrets")?;
        cx.get(format!("{path}?labelSelector=size>3")).expect(200)?;
        cx.get(format!("{path}?labelSelector=size>x")).expect(400)?.done()
    }),
    Check::new(AREA, "a label equals", |cx| finds(cx, "tier=front", &["a"])),
    Check::new(AREA, "a label equals, with two signs", |cx| {
        finds(cx, "tier==front", &["a"])
    }),
    Check::new(AREA, "a label differs, which a missing one does too", |cx| {
        finds(cx, "tier!=front", &["b", "c"])
    }),
    Check::new(AREA, "a label is one of several", |cx| {
        finds(cx, "tier in (front, back)", &["a", "b"])
    }),
    Check::new(AREA, "a label is none of several", |cx| {
        finds(cx, "tier notin (front,other)", &["b", "c"])
    }),
    Check::new(AREA, "a label exists", |cx| finds(cx, "tier", &["a", "b"])),
    Check::new(AREA, "a label does not exist", |cx| finds(cx, "!tier", &["c"])),
    Check::new(AREA, "a label is greater than a number", |cx| {
        finds(cx, "n>1", &["b"])
    }),
    Check::new(AREA, "a label is less than a number", |cx| {
        finds(cx, "n<2", &["a"])
    }),
    Check::new(AREA, "requirements are combined", |cx| {
        finds(cx, "tier,tier!=back,n in (1,2)", &["a"])
    }),
    Check::new(AREA, "an empty selector finds everything", |cx| {
        finds(cx, "", &["a", "b", "c"])
    }),
    Check::new(AREA, "an empty value is a value", |cx| finds(cx, "tier=", &[])),
    Check::new(AREA, "a missing operator is refused", |cx| {
        refuses(
            cx,
            "a b",
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
        )
    }),
    Check::new(AREA, "a sign too many is refused", |cx| {
        refuses(cx, "a==b=", "found '=', expected: ',' or 'end of string'")
    }),
    Check::new(AREA, "a key with a bad name is refused", |cx| {
        refuses(
            cx,
            "-a",
            "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of \
             alphanumeric characters, \
             '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or \
             'my.name',  or \
             '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        )
    }),
    Check::new(AREA, "an unclosed set is refused", |cx| {
        refuses(
            cx,
            "a in (b",
            "unable to parse requirement: found '', expected: ',' or ')'",
        )
    }),
    Check::new(AREA, "a comparison with a word is refused", |cx| {
        refuses(
            cx,
            "n>many",
            "unable to parse requirement: values[0]: Invalid value: \"many\": for 'Gt', 'Lt' operators, the \
             value must be \
             an integer",
        )
    }),
    Check::new(AREA, "a value that no label can have is refused", |cx| {
        refuses(
            cx,
            "a=b_",
            "unable to parse requirement: values[0][a]: Invalid value: \"b_\": a valid label must be an \
             empty string or \
             consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
             alphanumeric character \
             (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
             '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        )
    }),
    Check::new(AREA, "a field selector finds by name", |cx| {
        cx.get(labelled(cx)?)
            .query("fieldSelector", "metadata.name=b")
            .expect(200)?
            .lists(&["b"])?
            .done()
    }),
    Check::new(AREA, "a field selector excludes by name", |cx| {
        cx.get(labelled(cx)?)
            .query("fieldSelector", "metadata.name!=b")
            .expect(200)?
            .lists(&["a", "c"])?
            .done()
    }),
    Check::new(AREA, "field and label selectors are combined", |cx| {
        cx.get(labelled(cx)?)
            .query("fieldSelector", "metadata.name!=b")
            .query("labelSelector", "tier")
            .expect(200)?
            .lists(&["a"])?
            .done()
    }),
    Check::new(
        AREA,
        "a field selector finds by namespace across namespaces",
        |cx| {
            labelled(cx)?;
            cx.get("/api/v1/secrets")
                .query("fieldSelector", format!("metadata.namespace={}", cx.namespace()?))
                .expect(200)?
                .lists(&["a", "b", "c"])?
                .done()
        },
    ),
    Check::new(AREA, "secrets are found by type", |cx| {
        labelled(cx)?;
        cx.create(
            "v1",
            "secrets",
            json!({"metadata": {"name": "d"}, "type": "example.com/own"}),
        )?;
        cx.get(cx.core("secrets")?)
            .query("fieldSelector", "type=example.com/own")
            .expect(200)?
            .lists(&["d"])?
            .done()
    }),
    Check::new(
        AREA,
        "pods are found by phase, node, service account and scheduler",
        |cx| {
            cx.create("v1", "pods", pod("a"))?;
            let mut bound = pod("b");
            bound["spec"]["nodeName"] = json!("some-node");
            cx.create("v1", "pods", bound)?;
            let path = cx.core("pods")?;
            let finds = |selector: &str, names: &[&str]| {
                cx.get(&path)
                    .query("fieldSelector", selector)
                    .expect(200)?
                    .lists(names)
            };
            finds("status.phase=Pending", &["a", "b"])?;
            finds("status.phase=Running", &[])?;
            finds("spec.nodeName=some-node", &["b"])?;
            finds("spec.nodeName=", &["a"])?;
            finds("spec.serviceAccountName=default", &["a", "b"])?;
            finds("spec.schedulerName=nobody,spec.nodeName!=some-node", &["a"])?;
            finds("spec.restartPolicy=Always,spec.hostNetwork=false", &["a", "b"])?.done()
        },
    ),
    Check::new(AREA, "namespaces are found by phase", |cx| {
        let name = cx.namespace()?;
        cx.get("/api/v1/namespaces")
            .query(
                "fieldSelector",
                format!("status.phase=Active,metadata.name={name}"),
            )
            .expect(200)?
            .lists(&[name])?
            .done()
    }),
    Check::new(AREA, "jobs are found by how many pods succeeded", |cx| {
        let job = json!({"metadata": {"name": "a"}, "spec": {"suspend": true, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
        }}}});
        cx.create("batch/v1", "jobs", job)?;
        let path = cx.in_group("batch/v1", "jobs")?;
        cx.get(&path)
            .query("fieldSelector", "status.successful=0")
            .expect(200)?
            .lists(&["a"])?;
        cx.get(&path)
            .query("fieldSelector", "status.successful=1")
            .expect(200)?
            .lists(&[])?
            .done()
    }),
    Check::new(
        AREA,
        "nodes are found by whether they can be scheduled on",
        |cx| {
            let name = cx.unique("node");
            cx.create_cluster(
                "v1",
                "nodes",
                json!({"metadata": {"name": name}, "spec": {"unschedulable": true}}),
            )?;
            cx.get("/api/v1/nodes")
                .query(
                    "fieldSelector",
                    format!("spec.unschedulable=true,metadata.name={name}"),
                )
                .expect(200)?
                .lists(&[&name])?;
            cx.get("/api/v1/nodes")
                .query(
                    "fieldSelector",
                    format!("spec.unschedulable=false,metadata.name={name}"),
                )
                .expect(200)?
                .lists(&[])?
                .done()
        },
    ),
    Check::new(AREA, "an unknown field is refused", |cx| {
        let message =
            "\"spec.foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
        refuses_field(cx, "/api/v1/configmaps", "spec.foo=a", message)
    }),
    Check::new(AREA, "an unknown field of a pod is refused", |cx| {
        refuses_field(
            cx,
            "/api/v1/pods",
            "spec.foo=a",
            "field label not supported: spec.foo",
        )
    }),
    Check::new(AREA, "a field without an operator is refused", |cx| {
        refuses_field(
            cx,
            "/api/v1/pods",
            "a",
            "invalid selector: 'a'; can't understand 'a'",
        )
    }),
    Check::new(AREA, "an unknown field of a node is refused", |cx| {
        refuses_field(
            cx,
            "/api/v1/nodes",
            "spec.podCIDR=a",
            "field label not supported: spec.podCIDR",
        )
    }),
    Check::new(AREA, "an escaped comma belongs to the value", |cx| {
        cx.get(labelled(cx)?)
            .query("fieldSelector", "metadata.name=a\\,b")
            .expect(200)?
            .lists(&[])?
            .done()
    }),
];
