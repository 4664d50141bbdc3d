//! Who may what: tokens with roles in namespaces, tokens that end, tokens of the cluster, and the log of it all.

use client_tests::{Release, Shell, kubectl, needed};
use serde_json::{Value, json};

use crate::{Service, countdown};

/// A token with a role in a namespace.
#[track_caller]
fn token(service: &Service, name: &str, role: &str, namespace: &str) -> String {
    let body = json!({"name": name, "grants": [{"role": role, "namespace": namespace}]});
    let made = service.post("/v1/tokens", &body).expect(201);
    made["token"].as_str().unwrap().to_owned()
}

#[test]
fn a_token_may_what_its_role_says_where_it_says() {
    let service = Service::start();
    service.register_countdown("countdown");
    let viewer = token(&service, "vera", "viewer", "default");
    let submitter = token(&service, "sam", "submitter", "default");
    let elsewhere = token(&service, "eve", "submitter", "elsewhere");
    let author = token(&service, "tom", "template-admin", "*");
    let local = token(&service, "lara", "admin", "default");
    let values = countdown("countdown", 1);
    let template = json!({"name": "mine", "template": "kind: Job\n"});
    let status = |token: &str, method: &str, path: &str, body: Option<&Value>| {
        let reply = service.curl_as(token, &["-X", method], path, body);
        if reply.status == 403 {
            reply.problem(403, "forbidden");
        }
        reply.status
    };

    assert_eq!(status(&viewer, "GET", "/v1/tasks", None), 200);
    assert_eq!(status(&viewer, "POST", "/v1/tasks", Some(&values)), 403);
    assert_eq!(status(&viewer, "GET", "/v1/tasks?namespace=*", None), 403);
    assert_eq!(status(&viewer, "GET", "/v1/signing-key", None), 403);
    assert_eq!(status(&submitter, "POST", "/v1/tasks", Some(&values)), 201);
    assert_eq!(status(&submitter, "POST", "/v1/templates", Some(&template)), 403);
    assert_eq!(status(&submitter, "GET", "/v1/tokens", None), 403);
    assert_eq!(status(&submitter, "GET", "/v1/audit", None), 403);
    // A token for one namespace means it, and no other.
    assert_eq!(status(&elsewhere, "GET", "/v1/tasks", None), 200);
    assert_eq!(
        status(&elsewhere, "GET", "/v1/tasks?namespace=default", None),
        403
    );
    assert_eq!(status(&author, "POST", "/v1/templates", Some(&template)), 201);
    let trusted = json!({"name": "root", "template": "kind: Job\n", "trusted": true});
    assert_eq!(status(&author, "POST", "/v1/templates", Some(&trusted)), 403);
    assert_eq!(service.post("/v1/templates", &trusted).status, 201);
    // Whoever may let a template make anything may do anything.
    let making =
        |name: &str, kind: &str| json!({"name": name, "template": "kind: Job\n", "allowed_kinds": [kind]});
    let binding = making("binds", "rbac.authorization.k8s.io/v1/RoleBinding");
    assert_eq!(status(&author, "POST", "/v1/templates", Some(&binding)), 403);
    assert_eq!(service.post("/v1/templates", &binding).status, 201);
    let jobs = making("jobs", "batch/v1/Job");
    assert_eq!(status(&author, "POST", "/v1/templates", Some(&jobs)), 201);
    // An admin of a namespace gives away what is there, and nothing else.
    let grant =
        |namespace: &str| json!({"name": "x", "grants": [{"role": "viewer", "namespace": namespace}]});
    assert_eq!(status(&local, "POST", "/v1/tokens", Some(&grant("default"))), 201);
    assert_eq!(status(&local, "POST", "/v1/tokens", Some(&grant("*"))), 403);
    assert_eq!(status(&local, "GET", "/v1/audit", None), 200);
    assert_eq!(status(&local, "GET", "/v1/audit?namespace=*", None), 403);
    // What a token may elsewhere is nobody's business here.
    let both = json!({"name": "both", "grants": [
        {"role": "viewer", "namespace": "default"}, {"role": "admin", "namespace": "secret-project"},
    ]});
    service.post("/v1/tokens", &both).expect(201);
    let seen = service.curl_as(&local, &[], "/v1/tokens", None);
    assert!(seen.expect(200).to_string().contains("\"both\""), "{seen:?}");
    assert!(!seen.body.contains("secret-project"), "{seen:?}");
}

#[test]
fn whoever_has_no_token_is_told_so_and_nothing_else() {
    let service = Service::start();
    for arguments in [
        &[][..],
        &["-H", "Authorization: Bearer ty_0123456789abcdef_wrong"],
        &["-H", "Authorization: Bearer nonsense"],
        &["-H", "Authorization: Basic YWRtaW46YWRtaW4="],
    ] {
        let reply = crate::curl::ask(&format!("{}/v1/tasks", service.address), arguments, None);
        reply.problem(401, "unauthenticated");
        assert!(
            reply
                .header("www-authenticate")
                .is_some_and(|value| value.starts_with("Bearer"))
        );
    }
    // Health and the document are everybody's.
    for path in ["/healthz", "/readyz", "/openapi.json"] {
        let reply = crate::curl::ask(&format!("{}{path}", service.address), &[], None);
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
    }
}

#[test]
fn tokens_end_when_their_time_is_over_and_when_they_are_revoked() {
    let service = Service::start();
    let asked = |token: &str| service.curl_as(token, &[], "/v1/whoami", None);
    // On a machine that is so busy that it ends before it is first used, one that lives longer.
    let used_in_time = (1..8).find_map(|power| {
        let grants = json!([{"role": "viewer", "namespace": "default"}]);
        let body = json!({"name": "brief", "grants": grants, "expires_in_seconds": 1 << power});
        let brief = service.post("/v1/tokens", &body).expect(201);
        assert!(brief["expires_at"].is_string());
        let reply = asked(brief["token"].as_str().unwrap());
        (reply.status == 200).then_some((reply.json(), brief))
    });
    let (known, brief) = used_in_time.expect("some token lives long enough");
    let text = brief["token"].as_str().unwrap();
    assert_eq!(known["name"], "brief");
    crate::until("the token to end", || {
        let reply = asked(text);
        (reply.status == 401).then_some(()).ok_or(reply.body)
    });

    let revoked = token(&service, "gone", "viewer", "default");
    let list = service.get("/v1/tokens?namespace=*").expect(200);
    let listed = list["items"].as_array().unwrap();
    let id = listed.iter().find(|token| token["name"] == "gone").unwrap()["id"]
        .as_str()
        .unwrap();
    assert!(!list.to_string().contains(&revoked), "no list shows a token");
    assert_eq!(asked(&revoked).status, 200);
    service
        .curl(&["-X", "DELETE"], &format!("/v1/tokens/{id}"), None)
        .expect(204);
    assert_eq!(asked(&revoked).status, 401);
    service.get(&format!("/v1/tokens/{id}")).problem(404, "not_found");
}

#[test]
fn the_creator_is_who_the_token_is_of_and_every_change_is_written_down() {
    let service = Service::start();
    service.register_countdown("countdown");
    let sam = token(&service, "sam", "submitter", "default");
    let made = service.curl_as(
        &sam,
        &["-X", "POST", "-H", "X-Request-ID: my-request"],
        "/v1/tasks",
        Some(&countdown("countdown", 1)),
    );
    let task = made.expect(201);
    assert_eq!(made.header("x-request-id"), Some("my-request"));
    assert_eq!(task["creator"], "sam", "not who the values say");
    assert!(task["warnings"].to_string().contains("sam"), "{task}");
    let mine = service.get("/v1/tasks?creator=sam").expect(200);
    assert_eq!(mine["items"].as_array().unwrap().len(), 1);

    let log = service.get("/v1/audit?namespace=*").expect(200);
    let records = log["items"].as_array().unwrap();
    let operations: Vec<&str> = records
        .iter()
        .map(|record| record["operation"].as_str().unwrap())
        .collect();
    assert_eq!(
        operations,
        ["createTask", "createToken", "createDefinition", "createToken"],
        "the latest first, and last the token of the admin: {log}"
    );
    let record = &records[0];
    assert_eq!(
        (&record["who"], &record["name"], &record["request_id"]),
        (&json!("sam"), &task["name"], &json!("my-request"))
    );
    // What is only tried or refused changes nothing.
    service
        .post("/v1/tasks?dryRun=true", &countdown("countdown", 1))
        .expect(200);
    service.curl_as(
        &sam,
        &["-X", "POST"],
        "/v1/tokens",
        Some(&json!({"name": "x", "grants": [{"role": "admin", "namespace": "*"}]})),
    );
    let log = service.get("/v1/audit?namespace=*&limit=2").expect(200);
    assert_eq!(log["items"][0], *record);
    // Page by page.
    let cursor = log["next_cursor"].as_str().unwrap();
    let rest = service
        .get(&format!("/v1/audit?namespace=*&limit=2&cursor={cursor}"))
        .expect(200);
    assert_eq!(rest["items"].as_array().unwrap().len(), 2);
    assert!(rest["next_cursor"].is_null());
}

#[test]
fn tokens_of_the_cluster_may_what_its_roles_say() {
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let service = Service::start();
    service.register_countdown("countdown");
    let shell = Shell::new(&service.server, &[("kubectl", &kubectl)]);
    shell.ok("kubectl create serviceaccount robot");
    let robot = shell.ok("kubectl create token robot").trim().to_owned();
    let submit = || {
        service.curl_as(
            &robot,
            &["-X", "POST"],
            "/v1/tasks",
            Some(&countdown("countdown", 1)),
        )
    };
    let name = "system:serviceaccount:default:robot";
    assert_eq!(
        service.curl_as(&robot, &[], "/v1/whoami", None).expect(200)["name"],
        name
    );
    submit().problem(403, "forbidden");
    shell.ok(
        "kubectl create clusterrole submit --verb=get,list,create --resource=tasks.trainyard.dev,taskdefinitions.trainyard.dev
         kubectl create rolebinding robot --clusterrole=submit --serviceaccount=default:robot",
    );
    crate::until("the role to count", || {
        let reply = submit();
        (reply.status == 201).then_some(()).ok_or(reply.body)
    });
}
