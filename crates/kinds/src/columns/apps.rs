//! Workloads that keep pods running: how many they want, have and have ready.

use serde_json::Value;

use super::{
    AGE, CONTAINERS, IMAGES, NAME, SELECTOR, Table, integer,
    row::{NONE, Row, cells, containers, number},
    selector::{labels, requirements, selector},
    string,
};
use crate::read::{at, flag, get, list, text};

pub(super) static POD_TEMPLATE: Table = Table {
    columns: &[
        NAME,
        string("Containers", "Names of the containers in the template."),
        string("Images", "Images of the containers in the template."),
        string("Pod Labels", "Labels that pods made from the template get."),
    ],
    cells: |row| {
        let template = get(row.object, "template");
        let (names, images) = containers(template);
        cells![
            row.name(),
            names,
            images,
            labels(get(template, "metadata"), "labels")
        ]
    },
};

pub(super) static REPLICATION_CONTROLLER: Table = Table {
    columns: REPLICA_COLUMNS,
    cells: |row| replica_cells(row, labels(row.spec(), "selector").into()),
};

pub(super) static REPLICA_SET: Table = Table {
    columns: REPLICA_COLUMNS,
    cells: |row| replica_cells(row, selector(get(row.spec(), "selector")).into()),
};

const REPLICA_COLUMNS: &[super::Column] = &[
    NAME,
    integer("Desired", "Pods asked for."),
    integer("Current", "Pods there are."),
    integer("Ready", "Pods that are ready."),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

fn replica_cells(row: &Row<'_>, selector: Value) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let (names, images) = containers(get(spec, "template"));
    cells![
        row.name(),
        number(spec, "replicas"),
        number(status, "replicas"),
        number(status, "readyReplicas"),
        row.age(),
        names,
        images,
        selector,
    ]
}

pub(super) static DEPLOYMENT: Table = Table {
    columns: &[
        NAME,
        string("Ready", "Pods that are ready, of those asked for."),
        string("Up-to-date", "Pods made from the latest template."),
        string("Available", "Pods that have been ready for long enough."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cells: |row| {
        let (spec, status) = (row.spec(), row.status());
        let (names, images) = containers(get(spec, "template"));
        cells![
            row.name(),
            ready_of_desired(row),
            number(status, "updatedReplicas"),
            number(status, "availableReplicas"),
            row.age(),
            names,
            images,
            requirements(get(spec, "selector")).unwrap_or_else(|| "<invalid>".to_owned()),
        ]
    },
};

pub(super) static STATEFUL_SET: Table = Table {
    columns: &[
        NAME,
        string("Ready", "Pods that are ready, of those asked for."),
        AGE,
        CONTAINERS,
        IMAGES,
    ],
    cells: |row| {
        let (names, images) = containers(get(row.spec(), "template"));
        cells![row.name(), ready_of_desired(row), row.age(), names, images]
    },
};

fn ready_of_desired(row: &Row<'_>) -> String {
    format!(
        "{}/{}",
        number(row.status(), "readyReplicas"),
        number(row.spec(), "replicas")
    )
}

pub(super) static DAEMON_SET: Table = Table {
    columns: &[
        NAME,
        integer("Desired", "Nodes that should run the pod."),
        integer("Current", "Nodes that run the pod, of those that should."),
        integer("Ready", "Nodes on which the pod is ready."),
        integer("Up-to-date", "Nodes that run the pod of the latest template."),
        integer(
            "Available",
            "Nodes on which the pod has been ready for long enough.",
        ),
        string("Node Selector", "Labels a node needs to run the pod."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cells: |row| {
        let (spec, status) = (row.spec(), row.status());
        let (names, images) = containers(get(spec, "template"));
        cells![
            row.name(),
            number(status, "desiredNumberScheduled"),
            number(status, "currentNumberScheduled"),
            number(status, "numberReady"),
            number(status, "updatedNumberScheduled"),
            number(status, "numberAvailable"),
            labels(at(spec, &["template", "spec"]), "nodeSelector"),
            row.age(),
            names,
            images,
            selector(get(spec, "selector")),
        ]
    },
};

pub(super) static CONTROLLER_REVISION: Table = Table {
    columns: &[
        NAME,
        string("Controller", "Workload whose history this revision belongs to."),
        string("Revision", "Place in the history, from 1 on."),
        AGE,
    ],
    cells: |row| {
        cells![
            row.name(),
            controller(row.metadata()),
            number(row.object, "revision"),
            row.age()
        ]
    },
};

/// The controlling owner: `statefulset.apps/web`.
fn controller(metadata: &Value) -> String {
    let Some(owner) = list(metadata, "ownerReferences")
        .iter()
        .find(|owner| flag(owner, "controller"))
    else {
        return NONE.to_owned();
    };
    let kind = text(owner, "kind").to_lowercase();
    match text(owner, "apiVersion").split_once('/') {
        Some((group, _)) => format!("{kind}.{}/{}", group.to_lowercase(), text(owner, "name")),
        None => format!("{kind}/{}", text(owner, "name")),
    }
}
