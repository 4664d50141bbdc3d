use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn container(probes: Value) -> Container {
    let mut container = json!({"name": "c"});
    for (key, value) in probes.as_object().unwrap() {
        container[key] = value.clone();
    }
    serde_json::from_value(container).unwrap()
}

fn machine(probes: Value) -> Machine {
    let container = container(probes);
    Machine::new(&container, Standing::new(&container))
}

#[test]
fn without_probes_a_container_is_started_and_ready() {
    let standing = machine(json!({})).standing();
    assert!(standing.is_started && standing.is_ready);
}

#[test]
fn readiness_comes_and_goes_at_its_thresholds() {
    let mut machine = machine(json!({"readinessProbe": {"successThreshold": 2, "failureThreshold": 2}}));
    let mut hear = |passed| {
        machine.hear(Kind::Readiness, passed);
        machine.standing().is_ready
    };
    let heard = [true, true, false, true, false, false, true, true].map(&mut hear);
    assert_eq!(heard, [false, true, true, true, true, false, false, true]);
}

#[test]
fn the_others_wait_for_startup() {
    let mut machine =
        machine(json!({"startupProbe": {}, "readinessProbe": {}, "livenessProbe": {"failureThreshold": 1}}));
    assert_eq!(machine.hear(Kind::Liveness, false), None);
    assert_eq!(machine.hear(Kind::Readiness, true), None);
    let started = machine.hear(Kind::Startup, true).unwrap();
    assert!(started.is_started && !started.is_ready);
    assert!(!machine.listens_to(Kind::Startup));
    assert!(machine.hear(Kind::Readiness, true).unwrap().is_ready);
    let condemned = machine.hear(Kind::Liveness, false).unwrap();
    assert_eq!(condemned.condemned_by, Some(Kind::Liveness));
    assert!(Kind::ALL.iter().all(|kind| !machine.listens_to(*kind)));
}

#[test]
fn startup_without_readiness_makes_ready_and_failing_it_condemns() {
    let mut passing = machine(json!({"startupProbe": {}}));
    assert!(!passing.standing().is_ready);
    assert!(passing.hear(Kind::Startup, true).unwrap().is_ready);
    let mut failing = machine(json!({"startupProbe": {"failureThreshold": 2}}));
    assert_eq!(failing.hear(Kind::Startup, false), None);
    assert_eq!(
        failing.hear(Kind::Startup, false).unwrap().condemned_by,
        Some(Kind::Startup)
    );
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Startup), Just(Kind::Readiness), Just(Kind::Liveness)]
}

fn probe() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        (1..4, 1..4)
            .prop_map(|(success, failure)| json!({"successThreshold": success, "failureThreshold": failure})),
    ]
}

proptest! {
    /// Whatever is heard: nothing is ready before it is started, nothing un-starts, the condemned stay
    /// condemned, and only as many results in a row as the threshold says change anything.
    #[test]
    fn a_standing_only_changes_as_the_thresholds_allow(
        startup in probe(), readiness in probe(), liveness in probe(),
        results in prop::collection::vec((kinds(), any::<bool>()), 0..60),
    ) {
        let container = container(json!({
            "startupProbe": startup, "readinessProbe": readiness, "livenessProbe": liveness,
        }));
        let mut machine = Machine::new(&container, Standing::new(&container));
        let mut heard: Vec<(Kind, bool)> = Vec::new();
        for (kind, passed) in results {
            let before = machine.standing();
            let listens = machine.listens_to(kind);
            let change = machine.hear(kind, passed);
            let after = machine.standing();
            prop_assert_eq!(change, (before != after).then_some(after));
            prop_assert!(!after.is_ready || after.is_started);
            prop_assert!(!before.is_started || after.is_started);
            if before.condemned_by.is_some() {
                prop_assert_eq!(before, after);
            }
            if !listens {
                prop_assert_eq!(before, after);
                continue;
            }
            heard.push((kind, passed));
            if before != after {
                let spec = kind.of(&container).unwrap();
                let threshold = if passed { spec.success_threshold } else { spec.failure_threshold };
                let row = heard.iter().rev().filter(|(other, _)| *other == kind)
                    .take_while(|(_, other)| *other == passed).count();
                prop_assert!(row >= usize::try_from(threshold.unwrap()).unwrap());
            }
        }
    }
}
