//! Certificates asked for and trusted.

use jiff::SignedDuration;
use serde_json::Value;

use super::{
    AGE, NAME, Table,
    duration::human_duration,
    row::{NONE, cells, condition, or},
    string,
};
use crate::read::{int, list, text};

pub(super) static SIGNING_REQUEST: Table = Table {
    columns: &[
        NAME,
        AGE,
        string("SignerName", "Signer asked to sign."),
        string("Requestor", "User who asks."),
        string("RequestedDuration", "How long the certificate shall be valid."),
        string(
            "Condition",
            "Whether the request was approved and the certificate issued.",
        ),
    ],
    cells: |row| {
        let spec = row.spec();
        cells![
            row.name(),
            row.age(),
            or(text(spec, "signerName"), NONE),
            text(spec, "username"),
            requested_duration(spec),
            signing_state(row.status()),
        ]
    },
};

fn requested_duration(spec: &Value) -> String {
    int(spec, "expirationSeconds").map_or_else(
        || NONE.to_owned(),
        |seconds| human_duration(SignedDuration::from_secs(seconds)),
    )
}

fn signing_state(status: &Value) -> String {
    let has = |r#type| condition(status, r#type).is_some();
    let decision = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    };
    let failed = if has("Failed") { ",Failed" } else { "" };
    let issued = if text(status, "certificate").is_empty() {
        ""
    } else {
        ",Issued"
    };
    format!("{decision}{failed}{issued}")
}

pub(super) static CLUSTER_TRUST_BUNDLE: Table = Table {
    columns: &[NAME, string("SignerName", "Signer the bundle belongs to.")],
    cells: |row| cells![row.name(), or(text(row.spec(), "signerName"), NONE)],
};

pub(super) static POD_CERTIFICATE_REQUEST: Table = Table {
    columns: &[
        NAME,
        string("PodName", "Pod the certificate is for."),
        string("ServiceAccountName", "Service account of the pod."),
        string("NodeName", "Node the pod runs on."),
        string("SignerName", "Signer asked to sign."),
        string(
            "State",
            "Whether the request is pending, issued, denied or failed.",
        ),
    ],
    cells: |row| {
        let spec = row.spec();
        cells![
            row.name(),
            text(spec, "podName"),
            text(spec, "serviceAccountName"),
            text(spec, "nodeName"),
            text(spec, "signerName"),
            pod_request_state(row.status()),
        ]
    },
};

/// The three end states exclude each other, so the last one told is the state.
fn pod_request_state(status: &Value) -> &str {
    list(status, "conditions")
        .iter()
        .rev()
        .map(|condition| text(condition, "type"))
        .find(|state| matches!(*state, "Issued" | "Denied" | "Failed"))
        .unwrap_or("Pending")
}
