//! What the containers of a pod ask for together.

use serde_json::Value;

use crate::{
    read::{list, text},
    resource_list::{Amounts, add, raise},
};

/// The main containers of a pod, and then its init containers.
pub(crate) fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    list(spec, "containers")
        .iter()
        .chain(list(spec, "initContainers"))
}

/// The part a container has in its pod.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Main,
    /// Starts with the init containers and then keeps running.
    Sidecar,
    Init,
}

/// The most that is used at one time: by all main containers and sidecars, or by an init container next
/// to the sidecars before it.
pub(crate) fn total<'a>(spec: &'a Value, asked_by: impl Fn(&'a Value, Role) -> Amounts<'a>) -> Amounts<'a> {
    let mut running = Amounts::new();
    for container in list(spec, "containers") {
        add(&mut running, &asked_by(container, Role::Main));
    }
    let (mut sidecars, mut starting) = (Amounts::new(), Amounts::new());
    for container in list(spec, "initContainers") {
        if text(container, "restartPolicy") == "Always" {
            let asked = asked_by(container, Role::Sidecar);
            add(&mut running, &asked);
            add(&mut sidecars, &asked);
            raise(&mut starting, &sidecars);
        } else {
            let mut asked = asked_by(container, Role::Init);
            add(&mut asked, &sidecars);
            raise(&mut starting, &asked);
        }
    }
    raise(&mut running, &starting);
    running
}
