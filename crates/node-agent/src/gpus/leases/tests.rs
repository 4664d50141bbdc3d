use proptest::prelude::*;
use serde_json::json;

use super::*;

fn demand(container: &str, count: usize, is_step: bool) -> Demand {
    Demand {
        container: container.to_owned(),
        count,
        is_step,
    }
}

fn uuids(count: usize) -> Vec<String> {
    (0..count).map(|index| format!("GPU-{index}")).collect()
}

#[test]
fn a_pods_demands_are_read_from_its_limits() {
    let gpus = |count: &str| json!({"limits": {RESOURCE: count}});
    let pod: Pod = serde_json::from_value(json!({"metadata": {}, "spec": {
        "initContainers": [
            {"name": "step", "resources": gpus("2")},
            {"name": "helper", "restartPolicy": "Always", "resources": gpus("1")},
        ],
        "containers": [{"name": "a", "resources": gpus("1")}, {"name": "b"}],
    }}))
    .unwrap();
    let expected = [
        demand("step", 2, true),
        demand("helper", 1, false),
        demand("a", 1, false),
    ];
    assert_eq!(demands(&pod), expected);
}

#[test]
fn a_step_uses_what_the_others_get_later() {
    let mut leases = Leases::default();
    let demands = [
        demand("step", 2, true),
        demand("a", 1, false),
        demand("b", 1, false),
    ];
    leases.grant("pod", &demands, &uuids(2)).unwrap();
    assert_eq!(leases.of("pod", "step"), ["GPU-0", "GPU-1"]);
    assert_eq!(
        (leases.of("pod", "a"), leases.of("pod", "b")),
        (&uuids(2)[..1], &uuids(2)[1..])
    );
    assert_eq!(leases.of("pod", "other"), [] as [String; 0]);
}

#[test]
fn all_or_nothing_and_the_same_again() {
    let mut leases = Leases::default();
    leases.grant("one", &[demand("c", 2, false)], &uuids(3)).unwrap();
    let short = leases
        .grant("two", &[demand("c", 2, false)], &uuids(3))
        .unwrap_err();
    assert_eq!((short.requested, short.available), (2, 1));
    let before = leases.clone();
    leases.grant("one", &[demand("c", 2, false)], &uuids(0)).unwrap();
    assert_eq!(leases, before);
    assert!(leases.release("one"));
    assert!(!leases.release("one"));
    leases.grant("two", &[demand("c", 2, false)], &uuids(3)).unwrap();
}

#[test]
fn what_gone_pods_had_is_free_again() {
    let mut leases = Leases::default();
    for pod in ["one", "two"] {
        leases.grant(pod, &[demand("c", 1, false)], &uuids(2)).unwrap();
    }
    let gone = leases.keep_only(&BTreeSet::from(["two".to_owned()]));
    assert_eq!(gone, ["one"]);
    assert_eq!(leases.held(), BTreeSet::from(["GPU-1"]));
}

#[derive(Clone, Debug)]
enum Step {
    Grant(u8, usize, usize, usize),
    Release(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0_u8..6, 0_usize..4, 0_usize..3, 0_usize..3)
            .prop_map(|(pod, step, one, other)| Step::Grant(pod, step, one, other)),
        (0_u8..6).prop_map(Step::Release),
    ];
    prop::collection::vec(step, 0..50)
}

proptest! {
    /// Whatever comes and goes: no GPU is with two pods or with two containers that run side by side,
    /// and what is released was held.
    #[test]
    fn a_gpu_has_one_user(steps in steps()) {
        let mut leases = Leases::default();
        let usable = uuids(5);
        for step in steps {
            match step {
                Step::Grant(pod, step, one, other) => {
                    let demands: Vec<Demand> = [("s", step, true), ("a", one, false), ("b", other, false)]
                        .into_iter()
                        .filter(|(_, count, _)| *count > 0)
                        .map(|(name, count, is_step)| demand(name, count, is_step))
                        .collect();
                    let had = leases.pods.contains_key(&pod.to_string());
                    let granted = leases.grant(&pod.to_string(), &demands, &usable);
                    if granted.is_ok() && !had {
                        for demand in &demands {
                            prop_assert_eq!(leases.of(&pod.to_string(), &demand.container).len(), demand.count);
                        }
                    }
                }
                Step::Release(pod) => {
                    let had = leases.pods.contains_key(&pod.to_string());
                    prop_assert_eq!(leases.release(&pod.to_string()), had);
                }
            }
            let mut seen = BTreeSet::new();
            for containers in leases.pods.values() {
                let own: BTreeSet<&String> = containers.values().flatten().collect();
                for uuid in own {
                    prop_assert!(seen.insert(uuid.clone()));
                }
                let mut side_by_side = BTreeSet::new();
                for (name, uuids) in containers {
                    for uuid in uuids.iter().filter(|_| name != "s") {
                        prop_assert!(side_by_side.insert(uuid.clone()));
                    }
                }
            }
        }
    }
}
