//! What happens while no operator runs is dealt with by the next, and what is over stays over.

use client_tests::{
    User,
    manifests::Job,
    team::{Team, names},
};
use serde_json::Value;

use crate::simulation::{end, job, start, until_active, with_nodes};

const PAIR: [(&str, u32, &str); 2] = [("Master", 1, ""), ("Worker", 1, "")];

fn submit(team: &Team<'_>, name: &str, more: &str) {
    let job = Job {
        name,
        roles: &PAIR,
        more,
        ..job()
    };
    team.apply(&job.manifest());
}

#[test]
fn what_was_changed_while_no_operator_ran_is_made_good_by_the_next() {
    with_nodes(|server, shell| {
        let team = Team {
            server,
            shell,
            user: User::Us,
            namespace: "default",
        };
        let mut first = start(server, shell);
        let jobs = ["deleted", "damaged", "ended", "suspended", "over", "late"];
        for name in jobs {
            let more = match name {
                "late" => "runPolicy: {activeDeadlineSeconds: 10}",
                _ => "",
            };
            submit(&team, name, more);
        }
        for name in jobs {
            until_active(&team, &format!("pytorchjobs/{name}"), "Worker", 1);
        }
        end(&team, "over-master-0", 0);
        let over = team.until_is("pytorchjobs/over", "Succeeded");
        first.signal("TERM");
        assert_eq!(first.ends().code(), Some(0));

        team.ok("delete pytorchjob deleted");
        team.ok("delete pod damaged-worker-0 --wait=true");
        team.ok("delete service damaged-master-0");
        end(&team, "ended-master-0", 0);
        team.ok("patch pytorchjob suspended --type=merge -p '{\"spec\":{\"runPolicy\":{\"suspend\":true}}}'");
        submit(&team, "new", "");

        let _second = start(server, shell);
        team.until_is("pytorchjobs/ended", "Succeeded");
        team.until_is("pytorchjobs/suspended", "Suspended");
        team.until_is("pytorchjobs/late", "Failed");
        until_active(&team, "pytorchjobs/new", "Worker", 1);
        until_active(&team, "pytorchjobs/damaged", "Worker", 1);
        team.until("services/damaged-master-0", Value::is_object);
        let is_of = |name: &str, job: &str| name.starts_with(&format!("{job}-"));
        let is_rest = |name: &String| is_of(name, "deleted") || is_of(name, "suspended");
        for list in ["pods", "services"] {
            team.until(list, |list| !names(list).iter().any(is_rest));
        }
        // Nothing was written to what is over.
        let version = |job: &Value| job["metadata"]["resourceVersion"].clone();
        assert_eq!(version(&team.find("pytorchjobs/over")), version(&over));
    });
}
