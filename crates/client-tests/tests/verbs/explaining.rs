//! `why` on jobs that cannot start, have no place, or crash.

use serde_json::Value;

use crate::{until, with_clusters};

#[test]
fn every_cause_is_found_and_told_with_what_to_do() {
    with_clusters(|_, shell| {
        shell.ok("trainyard run --detach --name pulls --image nowhere.invalid/app:1 -- train");
        shell.ok("trainyard run --detach --wait --name large --nodes 2 --cpus 4000 -- train");
        shell.run("trainyard run --name crashes -- sh -c 'echo all is lost; exit 3'");
        shell.ok("trainyard run --detach --name absent -- no-such-program");

        let pulls = until(
            shell,
            "trainyard why pulls",
            "the image `nowhere.invalid/app:1` cannot be pulled",
        );
        assert_eq!(pulls.code, 1);
        assert!(
            pulls.stdout.contains("trainyard image import"),
            "{}",
            pulls.stdout
        );

        let large = until(shell, "trainyard why pytorchjob/large", "Insufficient cpu");
        assert!(
            large
                .stdout
                .contains("hint: a pod asks for 4k CPU, and no node of the cluster has more than"),
            "{}",
            large.stdout
        );

        let crashes = shell.run("trainyard why crashes");
        assert_eq!(crashes.code, 1);
        assert!(
            crashes
                .stdout
                .contains("1. master-0: its program ended with exit code 3; its last line: all is lost"),
            "{}",
            crashes.stdout
        );
        let pod = shell.run("trainyard why pod/crashes-master-0 -o json");
        let json: Value = serde_json::from_str(&pod.stdout).unwrap();
        assert_eq!((pod.code, &json["state"]), (1, &"Failed".into()));
        assert_eq!(json["causes"][0]["class"], "Failed");

        let absent = until(shell, "trainyard why absent", "absent is Failed");
        assert_eq!(absent.code, 1);
        assert!(
            absent
                .stdout
                .contains("1. master-0: its program could not be started: exec: \"no-such-program\""),
            "{}",
            absent.stdout
        );
        assert!(
            absent.stdout.contains("hint: check the command"),
            "{}",
            absent.stdout
        );

        let good = shell.run("trainyard run --name good -- true && trainyard why good");
        assert_eq!(good.code, 0, "{good:?}");
        assert!(
            good.stdout.contains("Nothing stands in its way"),
            "{}",
            good.stdout
        );
        assert_eq!(shell.run("trainyard why nobody").code, 1);
        assert_eq!(shell.run("trainyard why poem/nobody").code, 2);
    });
}
