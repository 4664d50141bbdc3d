//! Who may do what: credentials, roles, bindings and impersonation.

use serde_json::{Value, json};

use crate::{Check, Context, Outcome, failure::ensure};

pub(super) mod reviews;

const AREA: &str = "access";
const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Gives a user these rules in the check's namespace.
fn allow(cx: &Context<'_>, user: &str, rules: Value) -> Outcome {
    cx.create(RBAC, "roles", json!({"metadata": {"name": user}, "rules": rules}))?;
    let subjects = json!([{"kind": "User", "name": user}]);
    let binding =
        json!({"metadata": {"name": user}, "roleRef": {"kind": "Role", "name": user}, "subjects": subjects});
    cx.create(RBAC, "rolebindings", binding)?.done()
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        AREA,
        "without credentials one is anonymous and may not list",
        |cx| {
            cx.get("/api/v1/namespaces/default/pods")
                .anonymous()
                .refused(
                    403,
                    "Forbidden",
                    "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\" in API group \
                 \"\" in the \
                 namespace \"default\"",
                )?
                .exactly("/details", json!({"kind": "pods"}))?
                .done()
        },
    ),
    Check::new(AREA, "a wrong token is not accepted", |cx| {
        cx.get("/api/v1/namespaces/default/pods")
            .token("wrong")
            .refused(401, "Unauthorized", "Unauthorized")?
            .done()
    }),
    Check::new(AREA, "a wrong token is not even anonymous", |cx| {
        cx.get("/version")
            .token("wrong")
            .refused(401, "Unauthorized", "Unauthorized")?
            .done()
    }),
    Check::new(AREA, "of an authorization header the second word counts", |cx| {
        cx.get("/api/v1/namespaces/default/pods")
            .authorization("bearer TOKEN and more")
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "to impersonate nobody is not to impersonate", |cx| {
        cx.get("/api/v1/namespaces/default/pods")
            .impersonate("")
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "to impersonate a group takes a user", |cx| {
        let answer = cx
            .get("/api/v1/namespaces/default/pods")
            .impersonate("")
            .impersonate_group("readers")
            .header("Impersonate-Uid", "5")
            .expect(500)?;
        let expected = "Internal Server Error: \"/api/v1/namespaces/default/pods\": requested \
            [{Group  readers    } {UID  5  authentication.k8s.io/v1  }] without impersonating a user\n";
        let text = answer.body_text();
        ensure(text == expected, expected, text)
    }),
    Check::new(AREA, "a user without rights may not get", |cx| {
        cx.get("/api/v1/namespaces/default/pods/p")
            .impersonate("jane")
            .refused(
                403,
                "Forbidden",
                "pods \"p\" is forbidden: User \"jane\" cannot get resource \"pods\" in API group \"\" in \
                 the namespace \
                 \"default\"",
            )?
            .exactly("/details", json!({"name": "p", "kind": "pods"}))?
            .done()
    }),
    Check::new(AREA, "a refusal names a role that is bound and missing", |cx| {
        let user = cx.unique("bound");
        let binding = json!({
            "metadata": {"name": cx.unique("bound")},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "missing"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        });
        cx.create_cluster("rbac.authorization.k8s.io/v1", "clusterrolebindings", binding)?;
        let message = format!(
            "pods \"p\" is forbidden: User \"{user}\" cannot get resource \"pods\" in API group \"\" in the \
             namespace \"default\": RBAC: clusterrole.rbac.authorization.k8s.io \"missing\" not found"
        );
        cx.eventually(|| {
            cx.get("/api/v1/namespaces/default/pods/p")
                .impersonate(&user)
                .refused(403, "Forbidden", &message)
        })?
        .done()
    }),
    Check::new(AREA, "a refusal at cluster scope says so", |cx| {
        cx.get("/apis/apps/v1/deployments")
            .impersonate("jane")
            .refused(
                403,
                "Forbidden",
                "deployments.apps is forbidden: User \"jane\" cannot list resource \"deployments\" in API \
                 group \"apps\" at the \
                 cluster scope",
            )?
            .exactly("/details", json!({"group": "apps", "kind": "deployments"}))?
            .done()
    }),
    Check::new(AREA, "a refusal of a subresource names it", |cx| {
        cx.get("/api/v1/namespaces/default/pods/p/log")
            .impersonate("jane")
            .refused(
                403,
                "Forbidden",
                "pods \"p\" is forbidden: User \"jane\" cannot get resource \"pods/log\" in API group \"\" \
                 in the namespace \
                 \"default\"",
            )?
            .done()
    }),
    Check::new(AREA, "a refusal of a path names it", |cx| {
        cx.get("/metrics")
            .impersonate("jane")
            .refused(
                403,
                "Forbidden",
                "forbidden: User \"jane\" cannot get path \"/metrics\"",
            )?
            .exactly("/details", json!({}))?
            .done()
    }),
    Check::new(AREA, "a watch is another verb than a list", |cx| {
        cx.get("/api/v1/namespaces/default/pods?watch=true")
            .impersonate("jane")
            .refused(
                403,
                "Forbidden",
                "pods is forbidden: User \"jane\" cannot watch resource \"pods\" in API group \"\" in the \
                 namespace \"default\"",
            )?
            .done()
    }),
    Check::new(AREA, "a deletion of a collection is a verb of its own", |cx| {
        cx.delete("/api/v1/namespaces/default/pods")
            .impersonate("jane")
            .refused(
                403,
                "Forbidden",
                "pods is forbidden: User \"jane\" cannot deletecollection resource \"pods\" in API group \
                 \"\" in the namespace \
                 \"default\"",
            )?
            .done()
    }),
    Check::new(
        AREA,
        "a role gives its verbs on its resources and nothing else",
        |cx| {
            allow(
                cx,
                "jane",
                json!([
                    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
                ]),
            )?;
            cx.config_map("a")?;
            let path = cx.core("configmaps/a")?;
            cx.eventually(|| cx.get(&path).impersonate("jane").expect(200))?;
            cx.get(cx.core("configmaps")?).impersonate("jane").expect(200)?;
            cx.delete(&path).impersonate("jane").expect(403)?;
            cx.get(cx.core("secrets")?).impersonate("jane").expect(403)?;
            cx.get("/api/v1/namespaces/default/configmaps")
                .impersonate("jane")
                .expect(403)?
                .done()
        },
    ),
    Check::new(AREA, "a role can be about one name", |cx| {
        let rule = json!({
            "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"], "verbs": ["get", "list"],
        });
        allow(cx, "jane", json!([rule]))?;
        cx.config_map("a")?;
        cx.config_map("b")?;
        let path = cx.core("configmaps/a")?;
        cx.eventually(|| cx.get(&path).impersonate("jane").expect(200))?;
        cx.get(cx.core("configmaps/b")?).impersonate("jane").expect(403)?;
        cx.get(cx.core("configmaps")?).impersonate("jane").expect(403)?;
        cx.get(cx.core("configmaps?fieldSelector=metadata.name=a")?)
            .impersonate("jane")
            .expect(200)?
            .lists(&["a"])?
            .done()
    }),
    Check::new(AREA, "a role can be about everything", |cx| {
        allow(
            cx,
            "jane",
            json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]),
        )?;
        let path = cx.in_group("apps/v1", "deployments")?;
        cx.eventually(|| cx.get(&path).impersonate("jane").expect(200))?;
        cx.get("/api/v1/nodes").impersonate("jane").expect(403)?.done()
    }),
    Check::new(AREA, "a right to a resource is none to its subresources", |cx| {
        allow(
            cx,
            "jane",
            json!([
                {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]},
                {"apiGroups": ["apps"], "resources": ["*/scale"], "verbs": ["get"]},
            ]),
        )?;
        let path = cx.in_group("apps/v1", "deployments/a")?;
        cx.eventually(|| cx.get(&path).impersonate("jane").expect(404))?;
        cx.get(format!("{path}/scale")).impersonate("jane").expect(404)?;
        cx.get(format!("{path}/status"))
            .impersonate("jane")
            .expect(403)?
            .done()
    }),
    Check::new(AREA, "a group's right is each member's", |cx| {
        cx.create(
            RBAC,
            "rolebindings",
            json!({
                "metadata": {"name": "a"}, "roleRef": {"kind": "ClusterRole", "name": "view"},
                "subjects": [{"kind": "Group", "name": "readers"}],
            }),
        )?;
        let path = cx.core("configmaps")?;
        cx.eventually(|| {
            cx.get(&path)
                .impersonate("jane")
                .impersonate_group("readers")
                .expect(200)
        })?;
        cx.get(&path).impersonate("jane").expect(403)?;
        cx.get(cx.core("secrets")?)
            .impersonate("jane")
            .impersonate_group("readers")
            .expect(403)?
            .done()
    }),
    Check::new(AREA, "a cluster role binding holds in every namespace", |cx| {
        let name = cx.unique("viewer");
        cx.create_cluster(
            RBAC,
            "clusterrolebindings",
            json!({
                "metadata": {"name": name}, "roleRef": {"kind": "ClusterRole", "name": "view"},
                "subjects": [{"kind": "User", "name": name}],
            }),
        )?;
        cx.eventually(|| cx.get("/api/v1/pods").impersonate(&name).expect(200))?;
        cx.get("/api/v1/namespaces/kube-system/configmaps")
            .impersonate(&name)
            .expect(200)?;
        cx.get("/api/v1/secrets").impersonate(&name).expect(403)?.done()
    }),
    Check::new(AREA, "a cluster role can be about paths", |cx| {
        let name = cx.unique("prober");
        cx.create_cluster(
            RBAC,
            "clusterroles",
            json!({
                "metadata": {"name": name}, "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
            }),
        )?;
        cx.create_cluster(
            RBAC,
            "clusterrolebindings",
            json!({
                "metadata": {"name": name}, "roleRef": {"kind": "ClusterRole", "name": name},
                "subjects": [{"kind": "User", "name": name}],
            }),
        )?;
        cx.eventually(|| cx.get("/metrics").impersonate(&name).expect(200))?
            .done()
    }),
    Check::new(AREA, "nobody gives rights they do not have", |cx| {
        allow(
            cx,
            "jane",
            json!([
                {
                    "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"],
                    "verbs": ["create", "get"],
                },
            ]),
        )?;
        let body = json!({
            "metadata": {"name": "more"},
            "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
        });
        let path = cx.in_group(RBAC, "roles")?;
        cx.eventually(|| {
            cx.post(&path, body.clone())
                .query("dryRun", "All")
                .impersonate("jane")
                .refused(
                    403,
                    "Forbidden",
                    "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"jane\" \
                 (groups=[\"system:authenticated\"]) is \
                 attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], \
                 Resources:[\"secrets\"], \
                 Verbs:[\"get\"]}",
                )
        })?
        .done()
    }),
    Check::new(AREA, "nobody binds a role with rights they do not have", |cx| {
        allow(
            cx,
            "jane",
            json!([
                {
                    "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["rolebindings"],
                    "verbs": ["create"],
                },
            ]),
        )?;
        let body = json!({
            "metadata": {"name": "more"}, "roleRef": {"kind": "ClusterRole", "name": "admin"},
            "subjects": [{"kind": "User", "name": "jane"}],
        });
        let path = cx.in_group(RBAC, "rolebindings")?;
        cx.eventually(|| {
            cx.post(&path, body.clone())
                .query("dryRun", "All")
                .impersonate("jane")
                .expect(403)?
                .has(
                    json!({"message": "rolebindings.rbac.authorization.k8s.io \"more\" is forbidden: user \
                    \"jane\" \
                    (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not \
                    currently held:{*}"}),
                )
        })?
        .done()
    }),
    Check::new(AREA, "a binding's role cannot be changed", |cx| {
        cx.create(
            RBAC,
            "rolebindings",
            json!({
                "metadata": {"name": "a"}, "roleRef": {"kind": "ClusterRole", "name": "view"},
            }),
        )?;
        cx.merge_patch(cx.in_group(RBAC, "rolebindings/a")?, json!({"roleRef": {"name": "edit"}}))
            .invalid(&[(
                "roleRef",
                "FieldValueInvalid",
                "Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"ClusterRole\",\"Name\":\"edit\"}: cannot \
                 change roleRef",
            )])?
            .done()
    }),
    Check::new(AREA, "impersonation needs a right", |cx| {
        let path = cx.core("serviceaccounts/default/token")?;
        let token = cx
            .post(path, json!({"spec": {}}))
            .expect(201)?
            .text("/status/token");
        let namespace = cx.namespace()?;
        cx.get("/api/v1/pods")
            .token(&token)
            .impersonate("jane")
            .refused(
                403,
                "Forbidden",
                &format!(
                    "users \"jane\" is forbidden: User \"system:serviceaccount:{namespace}:default\" cannot \
                     impersonate resource \"users\" in API group \"\" at the cluster scope"
                ),
            )?
            .done()
    }),
    Check::new(AREA, "impersonation of more needs more rights", |cx| {
        let name = cx.unique("impersonator");
        cx.create_cluster(
            RBAC,
            "clusterroles",
            json!({
                "metadata": {"name": name},
                "rules": [{"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]}],
            }),
        )?;
        let subject = json!({"kind": "ServiceAccount", "name": "default", "namespace": cx.namespace()?});
        cx.create_cluster(
            RBAC,
            "clusterrolebindings",
            json!({
                "metadata": {"name": name}, "roleRef": {"kind": "ClusterRole", "name": name},
                "subjects": [subject],
            }),
        )?;
        let path = cx.core("serviceaccounts/default/token")?;
        let token = cx
            .post(path, json!({"spec": {}}))
            .expect(201)?
            .text("/status/token");
        let as_jane = || cx.get("/api/v1/pods").token(&token).impersonate("jane");
        cx.eventually(|| as_jane().expect(403)?.has(json!({"details": {"kind": "pods"}})))?;
        for (header, value, resource) in [
            ("Impersonate-Group", "readers", "groups"),
            ("Impersonate-Uid", "5", "uids"),
            ("Impersonate-Extra-Scopes", "view", "userextras"),
        ] {
            as_jane()
                .header(header, value)
                .expect(403)?
                .has(json!({"details": {"kind": resource, "name": value}}))?;
        }
        Ok(())
    }),
    Check::new(AREA, "a group alone cannot be impersonated", |cx| {
        cx.get("/api/v1/pods")
            .impersonate_group("readers")
            .expect(500)?
            .done()
    }),
    Check::new(AREA, "the roles everybody needs exist", |cx| {
        for name in [
            "cluster-admin",
            "admin",
            "edit",
            "view",
            "system:discovery",
            "system:basic-user",
            "system:public-info-viewer",
            "system:auth-delegator",
            "system:monitoring",
            "system:kubelet-api-admin",
            "system:node-problem-detector",
            "system:persistent-volume-provisioner",
        ] {
            cx.get(format!("/apis/{RBAC}/clusterroles/{name}"))
                .expect(200)?
                .has(json!({"metadata": {"labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}}))?;
        }
        Ok(())
    }),
    Check::new(
        AREA,
        "servers of a part of the API find out whom to believe",
        |cx| {
            cx.get(format!(
                "/apis/{RBAC}/namespaces/kube-system/roles/extension-apiserver-authentication-reader"
            ))
            .expect(200)?
            .done()
        },
    ),
    Check::new(
        AREA,
        "an editor can evict pods and ask for tokens, no more of either",
        |cx| {
            cx.get(format!("/apis/{RBAC}/clusterroles/system:aggregate-to-edit"))
                .expect(200)?
                .has(json!({
                    "rules": ["<includes>", {"resources": ["pods/eviction"], "verbs": ["create"]}],
                }))?
                .has(json!({
                    "rules": ["<includes>", {"resources": ["serviceaccounts/token"], "verbs": ["create"]}],
                }))?
                .done()
        },
    ),
    Check::new(AREA, "nobody is a node by name and group alone", |cx| {
        cx.get("/api/v1/namespaces/kube-system/secrets")
            .impersonate("system:node:elsewhere")
            .impersonate_group("system:nodes")
            .expect(403)?
            .done()
    }),
    Check::new(AREA, "the roles of users grow by aggregation", |cx| {
        let name = cx.unique("aggregated");
        cx.create_cluster(
            RBAC,
            "clusterroles",
            json!({
                "metadata": {"name": name, "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
                "rules": [{"apiGroups": ["widgets.example.com"], "resources": [name], "verbs": ["get"]}],
            }),
        )?;
        cx.eventually(|| {
            cx.get(format!("/apis/{RBAC}/clusterroles/view"))
                .expect(200)?
                .has(json!({
                    "rules": ["<includes>", {"apiGroups": ["widgets.example.com"], "resources": [name]}],
                }))
        })?
        .done()
    })
    .with_controllers(),
    Check::new(AREA, "an aggregated role's own rules are replaced", |cx| {
        let name = cx.unique("aggregate");
        cx.create_cluster(
            RBAC,
            "clusterroles",
            json!({
                "metadata": {"name": format!("{name}-part"), "labels": {"part-of": name}},
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
            }),
        )?;
        cx.create_cluster(
            RBAC,
            "clusterroles",
            json!({
                "metadata": {"name": name},
                "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"part-of": name}}]},
                "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
            }),
        )?;
        cx.eventually(|| {
            cx.get(format!("/apis/{RBAC}/clusterroles/{name}"))
                .expect(200)?
                .exactly(
                    "/rules",
                    json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]),
                )
        })?
        .done()
    })
    .with_controllers(),
];
