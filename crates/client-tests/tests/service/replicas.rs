//! Two services beside one cluster are one: what one of them does the other knows, and shows.

use std::{
    process::{Child, Command},
    thread,
};

use client_tests::binary;
use serde_json::{Value, json};

use crate::{
    Service, countdown,
    curl::{self, Reply},
    streams::OpenStream,
    until,
};

struct Replica {
    process: Child,
    address: String,
    token: String,
}

impl Replica {
    /// One more service beside the cluster of another, which takes the same tokens.
    #[track_caller]
    fn of(service: &Service) -> Self {
        let mut command = Command::new(binary());
        command
            .args(["service", "--listen", "127.0.0.1:0", "--writes-per-second", "0"])
            .arg("--admin-token-file")
            .arg(service.server.home().join("token-of-the-other"));
        let (process, line) = crate::start(&mut command, &service.server, " answers on ");
        let (_, address) = line.rsplit_once(' ').expect("the line ends with the address");
        Self {
            process,
            address: address.to_owned(),
            token: service.token.clone(),
        }
    }

    #[track_caller]
    fn ask(&self, arguments: &[&str], path: &str, body: Option<&Value>) -> Reply {
        self.ask_as(&self.token, arguments, path, body)
    }

    #[track_caller]
    fn ask_as(&self, token: &str, arguments: &[&str], path: &str, body: Option<&Value>) -> Reply {
        let authorization = format!("Authorization: Bearer {token}");
        let mut all = vec!["-H", authorization.as_str()];
        all.extend(arguments);
        let body = body.map(Value::to_string);
        curl::ask(&format!("{}{path}", self.address), &all, body.as_deref())
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn what_one_replica_does_the_other_knows() {
    let service = Service::start();
    let other = Replica::of(&service);
    service.register_countdown("countdown");
    until("the definition at the other", || {
        let found = other.ask(&[], "/v1/definitions/countdown", None);
        (found.status == 200).then_some(()).ok_or(found.body)
    });

    // A key is one task, whoever is asked.
    let values = countdown("countdown", 1);
    let key = ["-X", "POST", "-H", "Idempotency-Key: k-1"];
    let names: Vec<String> = thread::scope(|scope| {
        let asked: Vec<_> = (0..8)
            .map(|number| {
                let (service, other, values, key) = (&service, &other, &values, &key);
                scope.spawn(move || {
                    let reply = if number % 2 == 0 {
                        service.curl(key, "/v1/tasks", Some(&values.to_string()))
                    } else {
                        other.ask(key, "/v1/tasks", Some(values))
                    };
                    reply.expect(201)["name"].as_str().unwrap().to_owned()
                })
            })
            .collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    assert!(names.iter().all(|name| *name == names[0]), "{names:?}");

    // Who did what is in one log.
    let body = json!({"name": "vera", "grants": [{"role": "viewer", "namespace": "default"}]});
    let vera = other.ask(&["-X", "POST"], "/v1/tokens", Some(&body)).expect(201);
    let audit = |reply: Reply| -> Vec<String> {
        let records = reply.expect(200);
        let records = records["items"].as_array().unwrap();
        let operation = |record: &Value| record["operation"].as_str().unwrap().to_owned();
        // Each has made a token for its admin, which nobody asked it for.
        let asked_for = records.iter().filter(|record| record["who"] != "trainyard");
        asked_for.map(operation).collect()
    };
    let here = audit(service.get("/v1/audit?namespace=*"));
    assert_eq!(here, audit(other.ask(&[], "/v1/audit?namespace=*", None)));
    assert_eq!(here, ["createToken", "createTask", "createDefinition"]);

    // A token that is revoked at one of them ends at both.
    let (text, id) = (vera["token"].as_str().unwrap(), vera["id"].as_str().unwrap());
    assert_eq!(other.ask_as(text, &[], "/v1/whoami", None).status, 200);
    let long = service.endless();
    let url = format!("{}/v1/tasks/{long}/status", other.address);
    let stream = OpenStream::begin(&url, text);
    service
        .curl(&["-X", "DELETE"], &format!("/v1/tokens/{id}"), None)
        .expect(204);
    until("the token to end at the other", || {
        let reply = other.ask_as(text, &[], "/v1/whoami", None);
        (reply.status == 401).then_some(()).ok_or(reply.body)
    });
    stream.ends();
}
